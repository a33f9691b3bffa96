// Claims about estimates of shares: the variance is at most what is claimed, and no mechanism of the promise has less
// than the bound, because a quadratic inequality holds at every ray of the cone of its columns.

import { Dyadic, mixedPrior, priorsOf } from "./claims.mjs";
import { corners } from "./corners.mjs";
import { Refuted, Unreadable, demand } from "./errors.mjs";
import { expBound, rateBound } from "./exponentials.mjs";
import { Rational, added, bitLength, divided, lcm, magnitude, toldApart } from "./numbers.mjs";

const LONGEST_WEIGHT = 512;
const LONGEST_SUMS = 1 << 16;
const POINT = 128n;
const FINE = 256;

/** Prove a claim of kind `shares` beside a table that has been proved. */
export function checkSharesClaim(file) {
  const { claims, sections } = file, n = file.secrets.length;
  const counts = mixedPrior(claims, sections, n), mass = added(counts);
  const table = new Dyadic(sections.workload, "the workload"), unit = table.unit.times(claims.unit);
  const gram = gramOf(table.all(), n), squared = unit.times(unit);
  for (const prior of priorsOf(sections, n)) {
    const found = variance(file, counts, gram, prior).times(squared);
    if (!found.atMost(claims.loss)) {
      throw new Refuted(`the variance is bounded by ${toldApart(found, claims.loss).join(", not by ")}`);
    }
  }
  if (!claims.bound) return;
  const dual = new Dyadic(sections.share_dual, "a dual number"), prices = new Dyadic(sections.share_prices, "a price");
  const products = added(table.all().map((value, k) => value * dual.at(k)));
  const trace = new Rational(products, 1n).times(unit).times(dual.unit);
  const middle = squared.times(Rational.of(quadratic(gram, counts, counts), mass * mass));
  const price = prices.unit.times(new Rational(added(prices.all()), 1n));
  const proved = trace.plus(trace).minus(price).minus(middle);
  if (!claims.bound.atMost(proved)) {
    throw new Refuted(`the numbers in the file prove a bound of ${toldApart(proved, claims.bound).join(", not of ")}`);
  }
  checkRays(file, counts, mass, dual, prices);
}

/** AᵀA for a table of rows of n. */
function gramOf(values, n) {
  const found = Array.from({ length: n }, () => new Array(n).fill(0n));
  for (let start = 0; start < values.length; start += n) {
    for (let x = 0; x < n; x++) for (let z = 0; z < n; z++) found[x][z] += values[start + x] * values[start + z];
  }
  return found;
}

const quadratic = (matrix, left, right) =>
  added(matrix.map((row, x) => left[x] * added(row.map((value, z) => value * right[z]))));

/** The variance for a prior, in squares of the workload's unit, of the estimates that are best for the mixture. */
function variance(file, counts, gram, prior) {
  file.shareScores ??= scores(file, counts, gram);
  const { numerators, denominator } = file.shareScores, { weights } = file;
  const mass = added(counts), other = added(prior);
  const columns = Array.from({ length: weights.columns }, (_, y) => weights.column(y));
  const spread = added(columns.map((column, y) => added(prior.map((c, x) => c * column[x])) * numerators[y]));
  const first = Rational.of(file.total * spread, denominator * other);
  const second = Rational.of(2n * quadratic(gram, prior, counts), other * mass);
  return first.minus(second).plus(Rational.of(quadratic(gram, counts, counts), mass * mass));
}

/** s_y = w_y² Σ N[x][y] S[x][z] N[z][y], over one denominator. */
function scores({ weights }, counts, gram) {
  const n = counts.length;
  const columns = Array.from({ length: weights.columns }, (_, y) => weights.column(y));
  const frequencies = columns.map((column) => added(column.map((weight, x) => counts[x] * weight)));
  let grain = 1n;
  for (const q of frequencies) {
    if (q) grain = lcm(grain, q);
    if (bitLength(grain) > LONGEST_WEIGHT) {
      const most = frequencies.reduce((a, b) => (a > b ? a : b));
      grain = 1n << BigInt(bitLength(most) + 128);
      break;
    }
  }
  const w = frequencies.map((q) => (q ? grain / q : 0n));
  const square = Array.from({ length: n }, (_, x) => Array.from({ length: n }, (_z, z) =>
    added(columns.map((column, y) => w[y] * column[x] * column[z]))));
  const longest = square.flat().reduce((a, b) => (a > b ? a : b));
  demand(n * bitLength(longest) <= LONGEST_SUMS, "the numbers of a claim about shares are too long");
  const first = solved(square, gram);
  const turned = first.values[0].map((_, z) => first.values.map((row) => row[z]));
  const second = solved(square, turned);
  const numerators = columns.map((column, y) => w[y] * w[y] * quadratic(second.values, column, column));
  return { numerators, denominator: first.denominator * second.denominator };
}

/** X with square · X = right, over one denominator, by elimination without fractions; unknowns left open are 0. */
function solved(square, right) {
  const n = square.length, rows = square.map((row, x) => [...row, ...right[x]]), width = rows[0].length;
  const pivots = [];
  let last = 1n;
  for (let column = 0; column < n; column++) {
    const rank = pivots.length;
    const found = rows.findIndex((row, x) => x >= rank && row[column] !== 0n);
    if (found < 0) continue;
    [rows[rank], rows[found]] = [rows[found], rows[rank]];
    const pivot = rows[rank][column];
    for (let x = 0; x < n; x++) {
      if (x === rank) continue;
      const factor = rows[x][column];
      for (let j = 0; j < width; j++) rows[x][j] = (rows[x][j] * pivot - factor * rows[rank][j]) / last;
    }
    last = pivot;
    pivots.push(column);
  }
  for (const row of rows.slice(pivots.length)) {
    const open = row.slice(n).some((value) => value !== 0n);
    if (open) throw new Refuted("the workload cannot be estimated from the answers");
  }
  const values = Array.from({ length: n }, () => new Array(width - n).fill(0n));
  pivots.forEach((column, rank) => (values[column] = rows[rank].slice(n)));
  return last < 0n ? { values: values.map((row) => row.map((value) => -value)), denominator: -last }
    : { values, denominator: last };
}

// ------------------------------------------------------------------ rays

/** |B r|² ≤ (μ·r)(p·r) at every ray r, all errors on the safe side. */
function checkRays(file, counts, mass, dual, prices) {
  const n = counts.length;
  const gram = gramOf(dual.all(), n), slopes = prices.all(), size = added(gram.flat().map(magnitude));
  const blur = 2n * ((1n << (POINT + 1n)) + 2n) * size;
  const loose = 2n * added(slopes.map((price) => (price < 0n ? -price : 0n)));
  // |B r|² is in squares of the dual's unit, the right-hand side in units of prices over the mass of the prior.
  const left = dual.unit.times(dual.unit), right = prices.unit.times(Rational.of(1n, mass));
  const shared = lcm(left.d, right.d);
  const leftScale = left.n * (shared / left.d), rightScale = right.n * (shared / right.d);
  const faded = fader(file);
  const one = (ray) => {
    const paid = added(slopes.map((price, x) => price * ray[x])) - loose;
    const seen = added(counts.map((count, x) => count * ray[x]));
    if (paid < 0n || leftScale * (quadratic(gram, ray, ray) + blur) > rightScale * paid * seen) {
      throw new Refuted("the dual numbers fail at a corner of the promise");
    }
  };
  if (n === 1) {
    one([1n << POINT]);
    return;
  }
  for (const drops of corners(file)) one(drops.map(faded));
}

/** ⌊2^128 e^(−ε·drop)⌋ or one less, so that the truth is at most two above; what was found is remembered. */
function fader({ promise, metric }) {
  const known = new Map();
  return (drop) => {
    const name = drop.name;
    if (known.has(name)) return known.get(name);
    if (known.size > 1 << 16) known.clear();
    const [low, high] = [false, true].map((up) =>
      rateBound(promise, FINE, up).times(metric.form === "float" ? drop.bound(up) : drop.bound(up).times(metric.unit)));
    let found = 0n;
    if (low.n <= low.d * BigInt(FINE)) {
      // The exponent is at most 256, so that 2^e is far below 2^128.
      const scaled = ([m, e], up) => divided(1n << (POINT - BigInt(e)), m, up);
      found = scaled(expBound(high.n, high.d, FINE, true), false);
      if (scaled(expBound(low.n, low.d, FINE, false), true) > found + 2n) {
        throw new Unreadable("a ray of the promise cannot be enclosed");
      }
    }
    known.set(name, found);
    return found;
  };
}

