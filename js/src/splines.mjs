// A promise about all points of a box. On every cell of the lattice the probability of an output is a polynomial, whose
// Bernstein coefficients F, and those G of its gradient, are linear in the column of weights. The promise is kept if
// ‖G‖* ≤ rate · F in the dual norm for all of them (docs/theory/coordinates.md); squares are compared where the norm is
// Euclidean, so that nothing but integers is needed.

import { Rational, lcm, magnitude, placesOf, product } from "./numbers.mjs";

const HALF = new Rational(1n, 2n);

/** A linear form of lattice points: pairs of an index and a fraction. */
const form = (...terms) => new Map(terms);

function mean(first, second) {
  const found = new Map();
  for (const each of [first, second]) {
    for (const [v, share] of each) {
      const half = share.times(HALF);
      found.set(v, found.has(v) ? found.get(v).plus(half) : half);
    }
  }
  return found;
}

/** Coefficients on the two halves of a cell, by de Casteljau's algorithm. */
function halves(coefficients) {
  const levels = [coefficients];
  while (levels.at(-1).length > 1) {
    const last = levels.at(-1);
    levels.push(last.slice(1).map((each, k) => mean(last[k], each)));
  }
  return [levels.map((level) => level[0]), levels.map((level) => level.at(-1)).reverse()];
}

/** Coefficients of value and derivative on cell j: [[F], [G]], forms of the lattice points of the axis. */
export function cellForms(breaks, degree, j) {
  const one = new Rational(1n, 1n);
  const here = breaks[j + 1].minus(breaks[j]);
  if (degree === 1) {
    const slope = form([j, new Rational(-1n, 1n).over(here)], [j + 1, one.over(here)]);
    return [[form([j, one]), form([j + 1, one])], [slope, slope]];
  }
  const before = j ? breaks[j].minus(breaks[j - 1]) : here;
  const after = j + 2 < breaks.length ? breaks[j + 2].minus(breaks[j + 1]) : here;
  const low = before.plus(here), high = here.plus(after);
  const values = [
    form([j, here.over(low)], [j + 1, before.over(low)]), form([j + 1, one]),
    form([j + 1, after.over(high)], [j + 2, here.over(high)]),
  ];
  const slope = (v, width) => form([v, new Rational(-2n, 1n).over(width)], [v + 1, new Rational(2n, 1n).over(width)]);
  const left = slope(j, low), right = slope(j + 1, high);
  return [values, [left, mean(left, right), right]];
}

/** All pairs of coefficients along an axis, in integers over one denominator: cell, indices, values and slopes. */
export function axisForms(breaks, degree, halvings) {
  const found = [];
  for (let j = 0; j + 1 < breaks.length; j++) {
    let parts = [cellForms(breaks, degree, j)];
    for (let k = 0; k < halvings; k++) {
      parts = parts.flatMap(([values, slopes]) => {
        const [lowValues, highValues] = halves(values), [lowSlopes, highSlopes] = halves(slopes);
        return [[lowValues, lowSlopes], [highValues, highSlopes]];
      });
    }
    parts.forEach(([values, slopes], part) => {
      values.forEach((value, k) => {
        // Where two pieces meet both coefficients are the same for degree 2; for degree 1 slopes jump.
        if (degree === 2 && k === 0 && (part || j)) return;
        found.push({ cell: j, value, slope: slopes[k] });
      });
    });
  }
  let unit = 1n;
  for (const { value, slope } of found) {
    for (const each of [value, slope]) for (const { d } of each.values()) unit = lcm(unit, d);
  }
  const integral = (each) => [...each].map(([v, { n, d }]) => [v, n * (unit / d)]);
  return found.map(({ cell, value, slope }) => ({ cell, value: integral(value), slope: integral(slope) }));
}

/** A table with forms put in the place of each axis; `shape` is the table's. */
export function applied(table, shape, forms) {
  forms.forEach((each, axis) => {
    table = along(table, shape, axis, each);
    shape = shape.map((side, i) => (i === axis ? each.length : side));
  });
  return table;
}

function along(table, shape, axis, forms) {
  const inner = product(shape.slice(axis + 1)), outer = product(shape.slice(0, axis)), side = shape[axis];
  const found = new Array(outer * forms.length * inner);
  let at = 0;
  for (let o = 0; o < outer; o++) {
    for (const terms of forms) {
      for (let i = 0; i < inner; i++) {
        let sum = 0n;
        for (const [v, share] of terms) sum += share * table[(o * side + v) * inner + i];
        found[at++] = sum;
      }
    }
  }
  return found;
}

/** The first place where a column of lattice points becomes likelier too fast: its cells and coefficients, or null. */
export function tooSteep(column, shape, axes, metric, rate) {
  for (const first of axes[0]) {
    const found = steepSlice(column, shape, [[first], ...axes.slice(1)], metric, rate);
    if (found) return found;
  }
  return null;
}

/** The same for some forms of the first axis, so that never more than a slice of coefficients is held. */
function steepSlice(column, shape, axes, metric, rate) {
  const tables = [];
  for (let which = -1; which < shape.length; which++) {
    tables.push(applied(column, shape, axes.map((forms, axis) =>
      forms.map((each) => (axis === which ? each.slope : each.value)))));
  }
  const [values, ...slopes] = tables;
  for (let i = 0; i < values.length; i++) {
    if (kept(metric, slopes.map((slope) => slope[i]), values[i], rate)) continue;
    const cells = placesOf(i, axes.map((forms) => forms.length)).map((at, axis) => axes[axis][at].cell);
    return { cells, value: values[i], slopes: slopes.map((slope) => slope[i]) };
  }
  return null;
}

/** ‖G‖* ≤ rate · F in the dual norm. */
function kept(metric, slopes, value, rate) {
  const limit = rate.n * value;
  if (metric === "euclidean") {
    return rate.d * rate.d * slopes.reduce((sum, slope) => sum + slope * slope, 0n) <= limit * limit;
  }
  if (metric === "manhattan") return slopes.every((slope) => rate.d * magnitude(slope) <= limit);
  return rate.d * slopes.reduce((sum, slope) => sum + magnitude(slope), 0n) <= limit;
}

/** The coefficients of a column's values on the part from s to t of a cell, places inside of it from 0 to 1. */
export function partForms(values, s, t) {
  const mixed = (first, second, share) => {
    const found = new Map();
    for (const [each, weight] of [[first, new Rational(share.d - share.n, share.d)], [second, share]]) {
      for (const [v, amount] of each) {
        const more = amount.times(weight);
        found.set(v, found.has(v) ? found.get(v).plus(more) : more);
      }
    }
    return found;
  };
  if (values.length === 2) return [mixed(...values, s), mixed(...values, t)];
  const polar = (x, y) => mixed(mixed(values[0], values[1], x), mixed(values[1], values[2], x), y);
  return [polar(s, s), polar(s, t), polar(t, t)];
}
