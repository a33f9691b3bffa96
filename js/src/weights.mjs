// The table of weights, in full: columns that are listed by their support are unfolded.

import { Refuted, demand } from "./errors.mjs";
import { added } from "./numbers.mjs";

/** N[x][y] for x < rows and y < columns. */
export class Weights {
  constructor(rows, columns, read, width) {
    this.rows = rows;
    this.columns = columns;
    this.read = read;
    this.width = width;
  }

  row(x) {
    const found = new Array(this.columns);
    for (let y = 0, i = x * this.columns; y < found.length; y++, i++) found[y] = this.read(i);
    return found;
  }

  column(y) {
    const found = new Array(this.rows);
    for (let x = 0, i = y; x < found.length; x++, i += this.columns) found[x] = this.read(i);
    return found;
  }
}

export function weightsOf(sections, rows, columns) {
  const { weights, run_starts: starts, run_lengths: lengths } = sections;
  if (!starts) return new Weights(rows, columns, (i) => weights.at(i), weights.width);
  const kind = weights.small ? weights.small.constructor : weights.width === 8 ? BigUint64Array : Array;
  const table = new kind(rows * columns);
  const listed = weights.small ?? (weights.width === 8 ? weights.words : weights.all());
  for (let x = 0, i = 0; x < rows; x++) for (let y = 0; y < columns; y++, i++) table[i] = listed[y];
  let next = columns, free = 0;
  for (let run = 0; run < starts.length; run++) {
    const start = starts[run], length = lengths[run];
    const y = Math.floor(start / rows), s = start % rows;
    demand(start >= free && length > 0 && y < columns && s + length <= rows, "the runs of columns are out of order");
    demand(next + length <= listed.length, "the runs of columns are out of order");
    for (let k = 0; k < length; k++) table[(s + k) * columns + y] = listed[next++];
    free = start + length;
  }
  demand(next === listed.length, "the runs of columns are out of order");
  const read = weights.small ? (i) => BigInt(table[i]) : (i) => table[i];
  return new Weights(rows, columns, read, weights.width);
}

/** Every row has the sum that the file says. */
export function checkSums(weights, total) {
  for (let x = 0; x < weights.rows; x++) {
    const found = added(weights.row(x));
    if (found !== total) throw new Refuted(`the weights of row ${x} sum to ${found}, not to ${total}`);
  }
}
