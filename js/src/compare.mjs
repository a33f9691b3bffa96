// Is q·a ≤ p·b for every output of two rows? Integers decide, most of them as three pieces of 22 bits each.
//
// Products of pieces have 44 bits, and a sum of six of them fewer than 47: all are whole numbers below 2^53, on which
// doubles calculate without rounding. So this is the arithmetic of integers, at a tenth of the price of BigInt; numbers
// that are longer than 66 bits take the long way.

const PIECE = 22n;
const BASE = 2 ** 22;
const MASK_PIECE = (1n << PIECE) - 1n;
const LONGEST = 1n << 66n;

/** The integers of a table, ready to be compared. */
export class Comparer {
  /** `read(i)` is the integer number i of `rows` × `columns`; `long` says that some have more than 66 bits. */
  constructor(rows, columns, read, long) {
    this.columns = columns;
    this.read = read;
    this.long = long;
    if (long) return;
    const size = rows * columns;
    this.low = new Float64Array(size);
    this.middle = new Float64Array(size);
    this.high = new Float64Array(size);
    for (let i = 0; i < size; i++) {
      const value = read(i);
      this.low[i] = Number(value & MASK_PIECE);
      this.middle[i] = Number((value >> PIECE) & MASK_PIECE);
      this.high[i] = Number(value >> (2n * PIECE));
    }
  }

  /** The first output y with q·N[x][y] > p·N[z][y], or −1. */
  firstAbove(x, z, p, q) {
    const { columns } = this;
    const a = x * columns, b = z * columns;
    if (this.long || p >= LONGEST || q >= LONGEST) {
      for (let y = 0; y < columns; y++) if (q * this.read(a + y) > p * this.read(b + y)) return y;
      return -1;
    }
    const { low, middle, high } = this;
    const p0 = Number(p & MASK_PIECE), p1 = Number((p >> PIECE) & MASK_PIECE), p2 = Number(p >> (2n * PIECE));
    const q0 = Number(q & MASK_PIECE), q1 = Number((q >> PIECE) & MASK_PIECE), q2 = Number(q >> (2n * PIECE));
    for (let y = 0; y < columns; y++) {
      const a0 = low[a + y], a1 = middle[a + y], a2 = high[a + y];
      const b0 = low[b + y], b1 = middle[b + y], b2 = high[b + y];
      let c = Math.floor((p0 * b0 - q0 * a0) / BASE);
      c = Math.floor((c + p0 * b1 + p1 * b0 - q0 * a1 - q1 * a0) / BASE);
      c = Math.floor((c + p0 * b2 + p1 * b1 + p2 * b0 - q0 * a2 - q1 * a1 - q2 * a0) / BASE);
      c = Math.floor((c + p1 * b2 + p2 * b1 - q1 * a2 - q2 * a1) / BASE);
      if (c + p2 * b2 - q2 * a2 < 0) return y;
    }
    return -1;
  }
}
