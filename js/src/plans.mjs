// What turns random words into outputs: rows of a table; points that are rounded to a lattice first; points that get
// noise which is the same everywhere. A coordinate is the fraction that a double stores, and fractions decide.

import { InvalidInput } from "./errors.mjs";
import { Blake2b } from "./hashes.mjs";
import { pythonJson } from "./json.mjs";
import { Rational, bitLength, divided, gcd, lcm, product } from "./numbers.mjs";
import { AliasRow, Lane } from "./randomness.mjs";
import { asciiBytes } from "./text.mjs";

const FLOOR_WORD = 8;
const FULL_TURN = 360n;
const PERSON_SAMPLER = asciiBytes("sfumato sampler");

/** Rows of a table; each is made ready when it is first drawn from. */
export class TablePlan {
  /** `row(x)` lists the weights of a secret, which sum to `total`. */
  constructor(rows, row, total) {
    this.rows = rows;
    this.row = row;
    this.total = total;
    this.ready = new Map();
  }

  draw(x, stream, first = 0) {
    let row = this.ready.get(x);
    if (!row) this.ready.set(x, (row = new AliasRow(this.row(x), this.total)));
    return row.draw(stream, first);
  }

  /** The weights in lowest terms, which name what is drawn. */
  identity(update) {
    let shared = this.total, most = 0n;
    for (let x = 0; x < this.rows; x++) {
      for (const weight of this.row(x)) {
        if (shared !== 1n) shared = gcd(shared, weight);
        if (weight > most) most = weight;
      }
    }
    const limbs = Math.ceil(bitLength(most / shared) / 64);
    update(asciiBytes(`table ${limbs}`));
    for (let x = 0; x < this.rows; x++) {
      const row = this.row(x);
      const words = new BigUint64Array(limbs * row.length);
      row.forEach((weight, y) => {
        let rest = weight / shared;
        for (let k = 0; k < limbs; k++, rest >>= 64n) words[limbs * y + k] = BigInt.asUintN(64, rest);
      });
      update(new Uint8Array(words.buffer));
    }
  }
}

/** One axis of a lattice: where it begins, the ends of its cells from there, and the degree of rounding. */
export class RoundingAxis {
  constructor(origin, breaks, degree, reach = null) {
    this.origin = origin;
    this.breaks = breaks;
    this.degree = degree;
    this.reach = reach;
    // Ends of cells are integers over one denominator, so that a place is found and compared without fractions.
    this.unit = breaks.reduce((unit, { d }) => lcm(unit, d), origin.d);
    this.edges = breaks.map(({ n, d }) => n * (this.unit / d));
    this.start = origin.n * (this.unit / origin.d);
  }

  get size() {
    return this.breaks.length - 1 + this.degree;
  }

  /** The coordinate with whole turns undone, an error where nothing is promised about it. */
  accepted(coordinate) {
    if (this.reach === null) return coordinate;
    const { low, high, turn } = this.reach;
    let found = coordinate;
    if (turn) {
      const gap = coordinate.minus(low);
      found = coordinate.minus(new Rational(FULL_TURN * divided(gap.n, gap.d * FULL_TURN), 1n));
    }
    if (found.compare(low) < 0 || found.compare(high) > 0) {
      const ends = [low, high].map((end) => +end.about.toFixed(5)).join(" and ");
      throw new InvalidInput(
        `the ${turn ? "longitude" : "latitude"} ${coordinate.about} is not between ${ends}: nothing is promised there`);
    }
    return found;
  }

  /** The first lattice point that a coordinate may be rounded to, and the cumulative chances, exactly. */
  chances(coordinate) {
    const { edges } = this, { n, d } = this.accepted(coordinate), last = edges.length - 1;
    // The place is a whole number of parts, d of which make a unit.
    let place = n * this.unit - this.start * d;
    if (place < 0n) place = 0n;
    if (place > edges[last] * d) place = edges[last] * d;
    let low = 0, high = last - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (edges[middle] * d <= place) low = middle;
      else high = middle - 1;
    }
    const here = edges[low + 1] - edges[low];
    const before = low ? edges[low] - edges[low - 1] : here;
    const after = low + 1 < last ? edges[low + 2] - edges[low + 1] : here;
    // s is inside/side, and what is left of the cell is 1 − s.
    const side = here * d, inside = place - edges[low] * d, left = side - inside;
    if (this.degree === 1) return [low, [new Rational(left, side)]];
    const square = side * side, upper = square * (here + after);
    return [low, [
      new Rational(left * left * here, square * (before + here)),
      new Rational(upper - inside * inside * here, upper),
    ]];
  }

  identity() {
    const edges = this.breaks.map((edge) => `'${edge}'`).join(", ");
    return `('${this.origin}', [${edges}], ${this.degree})`;
  }
}

/** Rounding along every axis, then a row of a table with one row for each lattice point, the last axis first. */
export class RoundingPlan {
  constructor(axes, table) {
    this.axes = axes;
    this.table = table;
    this.room = Math.min(32, Math.floor(64 / axes.length));
  }

  /** The place of a point along each axis of the lattice, by word number 0. */
  rounded(point, stream) {
    const word = stream.word(0);
    return this.axes.map((axis, number) => {
      const [first, chances] = axis.chances(point[number]);
      const digits = BigInt.asUintN(64, word << BigInt(this.room * number)) >> BigInt(64 - this.room);
      return first + new Lane(stream, 2 + number).passes(digits, this.room, chances);
    });
  }

  draw(point, stream) {
    const places = this.rounded(point, stream);
    const row = places.reduce((place, at, k) => place * this.axes[k].size + at, 0);
    return this.table.draw(row, stream, 1);
  }

  identity(update) {
    update(asciiBytes(`rounding [${this.axes.map((axis) => axis.identity()).join(", ")}]`));
    this.table.identity(update);
  }
}

/** Rounding along every axis, then an offset up to `reach`; the last entry of the table stands for the floor. */
export class OffsetPlan extends RoundingPlan {
  constructor(axes, table, reach) {
    super(axes, table);
    this.reach = reach;
    const ones = axes.map((axis, k) => new Array(axis.size + 2 * reach[k]).fill(1n));
    this.floors = ones.map((row) => new TablePlan(1, () => row, BigInt(row.length)));
    this.offsets = product(reach.map((r) => 2 * r + 1));
  }

  draw(point, stream) {
    const places = this.rounded(point, stream);
    let chosen = this.table.draw(0, stream, 1);
    const found = new Array(places.length);
    if (chosen === this.offsets) {
      this.floors.forEach((floor, k) => (found[k] = floor.draw(0, stream, FLOOR_WORD + k) - this.reach[k]));
    } else {
      for (let k = places.length - 1; k >= 0; k--) {
        const side = 2 * this.reach[k] + 1;
        found[k] = places[k] + (chosen % side) - this.reach[k];
        chosen = Math.floor(chosen / side);
      }
    }
    return found.reduce((number, at, k) => {
      const side = this.axes[k].size;
      return number * side + Math.min(Math.max(at, 0), side - 1);
    }, 0);
  }

  identity(update) {
    const reach = this.reach.length === 1 ? `(${this.reach[0]},)` : `(${this.reach.join(", ")})`;
    update(asciiBytes(`offsets ${reach} `));
    super.identity(update);
  }
}

/** What names the distribution that is drawn: labels and weights, as sfumato in Python has it. */
export function drawDigest(secrets, outputs, plan) {
  const state = new Blake2b(32, { person: PERSON_SAMPLER });
  state.update(asciiBytes(pythonJson([secrets, outputs])));
  plan.identity((bytes) => state.update(bytes));
  return state.digest();
}
