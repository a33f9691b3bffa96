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
  /** `long` says that some weights have more than 66 bits; of short ones no more than their low pieces are held. */
  constructor({ rows, columns, read, width }, long) {
    this.columns = columns;
    this.read = read;
    this.long = long;
    if (long) return;
    const size = rows * columns, wide = (this.wide = width > 2);
    // A piece fits into the 24 bits of a short float; what is put beyond the end of an array is dropped.
    [this.low, this.middle, this.high] = [size, wide && size, wide && size].map((room) => new Float32Array(room));
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
    const { low, middle, high, wide } = this;
    const p0 = Number(p & MASK_PIECE), p1 = Number((p >> PIECE) & MASK_PIECE), p2 = Number(p >> (2n * PIECE));
    const q0 = Number(q & MASK_PIECE), q1 = Number((q >> PIECE) & MASK_PIECE), q2 = Number(q >> (2n * PIECE));
    for (let y = 0; y < columns; y++) {
      const a0 = low[a + y], b0 = low[b + y];
      const a1 = wide ? middle[a + y] : 0, a2 = wide ? high[a + y] : 0;
      const b1 = wide ? middle[b + y] : 0, b2 = wide ? high[b + y] : 0;
      let c = Math.floor((p0 * b0 - q0 * a0) / BASE);
      c = Math.floor((c + p0 * b1 + p1 * b0 - q0 * a1 - q1 * a0) / BASE);
      c = Math.floor((c + p0 * b2 + p1 * b1 + p2 * b0 - q0 * a2 - q1 * a1 - q2 * a0) / BASE);
      c = Math.floor((c + p1 * b2 + p2 * b1 - q1 * a2 - q2 * a1) / BASE);
      if (c + p2 * b2 - q2 * a2 < 0) return y;
    }
    return -1;
  }
}
