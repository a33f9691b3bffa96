// Files about all points of a box: the promise, the ground, the loss that is claimed, and noise.

import { Refuted, demand } from "./errors.mjs";
import { expBound, grainOf, inGrains, largestStretch, mapPromise, power2, rateBound, rootOf } from "./exponentials.mjs";
import { epsilonBelow } from "./header.mjs";
import {
  ONE, Rational, ZERO, added, gcd, lcm, magnitude, maximum, minimum, placesOf, product, toldApart, whole,
} from "./numbers.mjs";
import { quotedLabel } from "./rows.mjs";
import { applied, axisForms, cellForms, partForms, tooSteep } from "./splines.mjs";
import { checkSums, weightsOf } from "./weights.mjs";

const ROOT_BITS = 48n;

/** Prove the promise of a file about coordinates that has a table. */
export function checkLattice(file) {
  const { lattice, box, promise } = file;
  const weights = (file.weights = weightsOf(file.sections, product(lattice.shape), file.outputs.length));
  checkSums(weights, file.total);
  checkGround(file);
  const axes = lattice.breaks.map((breaks) => axisForms(breaks, lattice.degree, lattice.halvings));
  for (let y = 0; y < weights.columns; y++) {
    const found = tooSteep(weights.column(y), lattice.shape, axes, box.metric, promise.rate);
    if (found) {
      throw new Refuted(`output ${quotedLabel(file.outputs[y])} becomes likelier too fast in the cell `
        + `(${found.cells.join(", ")}) of the lattice: the rate ${promise.rate.about} is exceeded`, { output: y });
    }
  }
  const cells = product(lattice.breaks.map((breaks) => breaks.length - 1));
  return { cells, comparisons: weights.columns * product(axes.map((axis) => axis.length)) };
}

function checkGround({ box, promise }) {
  if (!box.frame) return;
  if (promise.rate.times(largestStretch(box.frame, box.sides)).compare(epsilonBelow(promise)) > 0) {
    throw new Refuted("the promise is not kept on the ground");
  }
}

/** ⌈2^ROOT_BITS √square⌉. Below 2^46 it is F·2^20 + c, and what decides c is the sign of a sum of two whole numbers
 * that doubles hold exactly, as all of those are that lead to it. */
export function rootAbove(square) {
  const n = Number(square);
  if (n >= 2 ** 46 || !n) return rootOf(square << (2n * ROOT_BITS), true);
  const F = Math.floor(Math.sqrt(n) * 2 ** 28), q = F % 2 ** 26, p = (F - q) / 2 ** 26;
  // n·2^56 − F², which is no more than 2F + 1 by size
  const rest = ((16 * n - p * p) * 2 ** 25 - p * q) * 2 ** 27 - q * q;
  const below = (c) => ((128 * p * c - rest) * 2 ** 20 + 2 * q * c) * 2 ** 20 + c * c < 0;
  let c = Math.floor((rest * 2 ** 19) / F) - 1;
  while (below(c)) c++;
  return BigInt(F) * 1048576n + BigInt(c);
}

/** Norms of lengths that are not negative, rounded up: integers in units of `unit`. What is `joined` of all lengths
 * along the axes, the last axis first, has norms when it is `ended`. */
function normUp(metric) {
  const root = metric === "euclidean", join = metric === "chebyshev" ? (a, b) => (a > b ? a : b) : (a, b) => a + b;
  const joined = (axes) => axes.reduce((all, along) => {
    const each = root ? along.map((v) => v * v) : along;
    return all.flatMap((a) => each.map((b) => join(a, b)));
  }, [0n]);
  const ended = root ? rootAbove : (length) => length;
  return { join, joined, ended, unit: root ? Rational.of(1n, 1n << ROOT_BITS) : ONE };
}

function boxPrior({ sections }) {
  const counts = sections.prior.all();
  demand(added(counts) > 0n, "the prior has the sum 0");
  return counts;
}

function compared(found, claimed) {
  if (found.atMost(claimed)) return;
  throw new Refuted(`the loss is bounded by ${toldApart(found, claimed).join(", not by ")}`);
}

// ------------------------------------------------------------------ the loss of a table

const MOMENTS = {
  2: [[[1n, 3n], [1n, 6n]], [[1n, 6n], [1n, 3n]]],
  3: [[[1n, 4n], [1n, 6n], [1n, 12n]], [[1n, 12n], [1n, 6n], [1n, 4n]]],
};

/** Nodes along an axis, and the form of what lies at each for each cell of the box, in integers over a grain. */
function momentsOf(breaks, degree, side, cells, parts) {
  const h = side.over(whole(cells));
  const borders = [...breaks];
  for (let k = 1; k < cells; k++) borders.push(h.times(whole(k)));
  borders.sort((a, b) => a.compare(b));
  const ends = borders.filter((at, k) => !k || !at.equals(borders[k - 1]));
  const nodes = [ends[0]], found = [];
  let cell = 0;
  for (let k = 0; k + 1 < ends.length; k++) {
    while (breaks[cell + 1].compare(ends[k]) <= 0) cell++;
    const width = ends[k + 1].minus(ends[k]).over(whole(parts)), inside = breaks[cell + 1].minus(breaks[cell]);
    const values = cellForms(breaks, degree, cell)[0], boxCell = Number(ends[k].over(h).floor), share = width.over(h);
    for (let i = 0; i < parts; i++) {
      const s = nodes.at(-1), t = ends[k].plus(width.times(whole(i + 1)));
      nodes.push(t);
      const place = (at) => at.minus(breaks[cell]).over(inside);
      const coefficients = partForms(values, place(s), place(t));
      const forms = MOMENTS[degree + 1].map((weights) => {
        const form = new Map();
        coefficients.forEach((each, u) => {
          const weight = Rational.of(...weights[u]).times(share);
          for (const [v, amount] of each) form.set(v, (form.get(v) ?? ZERO).plus(amount.times(weight)));
        });
        return form;
      });
      found.push({ boxCell, forms });
    }
  }
  const grain = grainOf(found.flatMap(({ forms }) => forms.flatMap((form) => [...form.values()])));
  // Two parts that meet within a cell of the box have one form at their node.
  const rods = new Map();
  found.forEach(({ boxCell, forms }, i) => forms.forEach((form, end) => {
    const node = i + end, name = `${node} ${boxCell}`;
    if (!rods.has(name)) rods.set(name, { node, boxCell, form: new Map() });
    const sums = rods.get(name).form;
    for (const [v, amount] of form) sums.set(v, (sums.get(v) ?? 0n) + inGrains(amount, grain));
  }));
  return { nodes, grain, rods: [...rods.values()].map((rod) => ({ ...rod, form: [...rod.form] })) };
}

/** The claimed loss is an upper bound, by chords on small parts on which a convex loss lies below them. */
export function checkBoxLoss(file) {
  const { box, lattice, claims, weights, points } = file;
  const counts = boxPrior(file);
  const axes = lattice.breaks.map((breaks, i) =>
    momentsOf(breaks, lattice.degree, box.sides[i], box.cells[i], claims.parts));
  const places = axes.map(({ nodes }, i) => nodes.map((at) => at.plus(box.origin[i])));
  const grain = grainOf([...places.flat(), ...points.flat()]);
  const { join, joined, ended, unit } = normUp(box.metric);
  const distance = (a, b) => {
    const { n, d } = a.minus(b);
    return inGrains(new Rational(magnitude(n), d), grain);
  };
  const [{ rods }, ...inner] = axes, forms = inner.map((axis) => axis.rods.map(({ form }) => form));
  const innerCells = product(box.cells.slice(1));
  const spots = inner.reduce((all, axis, j) => all.flatMap(([cell, place]) => axis.rods.map((rod) =>
    [cell * box.cells[j + 1] + rod.boxCell, place * axis.nodes.length + rod.node])), [[0, 0]]);
  const byNode = places[0].map(() => []);
  for (const rod of rods) byNode[rod.node].push(rod);
  let sum = 0n;
  points.forEach((point, y) => {
    const [first, ...others] = places.map((along, i) => along.map((at) => distance(point[i], at)));
    const near = joined([first]), beside = joined(others);
    const column = weights.column(y);
    // Masses are gathered at nodes, so that each norm is worked out once.
    byNode.forEach((some, node) => {
      const masses = new Array(beside.length).fill(0n);
      for (const { boxCell, form } of some) {
        const table = applied(column, lattice.shape, [[form], ...forms]);
        spots.forEach(([cell, place], i) => (masses[place] += counts[boxCell * innerCells + cell] * table[i]));
      }
      masses.forEach((mass, place) => {
        if (mass) sum += mass * ended(join(near[node], beside[place]));
      });
    });
  });
  const scale = axes.reduce((all, axis) => all * axis.grain, file.total * added(counts) * grain);
  compared(unit.times(Rational.of(sum, scale)), claims.loss);
}

// ------------------------------------------------------------------ noise

/** How often a table for offsets that are not negative counts each: twice along an axis, but once at 0. */
function signsOf(index, shape) {
  return placesOf(index, shape).reduce((many, at) => (at ? 2n * many : many), 1n);
}

/** Prove the promise of noise that is the same everywhere. */
export function checkNoise(file) {
  const { noise, box, promise, sections } = file;
  const table = sections.weights.all(), shape = noise.reach.map((r) => r + 1);
  const sum = table.reduce((all, g, i) => all + g * signsOf(i, shape), noise.floor * noise.extended);
  if (sum !== file.total) throw new Refuted(`the weights of noise sum to ${sum}, not to ${file.total}`);
  checkGround(file);
  const sides = noise.reach.map((r) => r + 4);
  const column = Array.from({ length: product(sides) }, (_, i) => {
    const offsets = placesOf(i, sides).map((at) => Math.abs(at - 1));
    if (offsets.some((offset, axis) => offset > noise.reach[axis])) return noise.floor;
    return noise.floor + table[offsets.reduce((place, offset, axis) => place * shape[axis] + offset, 0)];
  });
  const axes = noise.reach.map((r, i) => {
    const step = box.sides[i].over(whole(noise.cells[i]));
    return axisForms(Array.from({ length: r + 3 }, (_, j) => step.times(whole(j))), 2, noise.halvings);
  });
  const found = tooSteep(column, sides, axes, box.metric, promise.rate);
  if (found) {
    throw new Refuted(`chances fall too fast at the offset (${found.cells.join(", ")}): `
      + `the rate ${promise.rate.about} is exceeded`);
  }
  return { cells: product(noise.reach.map((r) => r + 2)), comparisons: product(axes.map((axis) => axis.length)) };
}

/** The claimed loss of noise is an upper bound of it. */
export function checkNoiseLoss(file) {
  const { noise, box, claims, sections } = file, k = box.sides.length, { parts } = claims;
  boxPrior(file);
  const sigma = (z) => {
    const size = Math.abs(z);
    if (size >= 3 * parts) return 0;
    return size > parts ? (3 * parts - size) ** 2 : 6 * parts ** 2 - 2 * z * z;
  };
  const spread = (3 * parts) / 2;
  const chances = new Map();
  for (let j = -spread; j <= spread; j++) {
    chances.set(j, BigInt(2 * (sigma(2 * j) + sigma(2 * j - 1) + sigma(2 * j + 1))));
  }
  const forms = noise.reach.map((r) => {
    const found = [];
    for (let j = 0; j <= r * parts + spread; j++) {
      const form = new Map();
      for (let o = -r; o <= r; o++) {
        const chance = chances.get(j - o * parts);
        if (chance) form.set(Math.abs(o), (form.get(Math.abs(o)) ?? 0n) + chance);
      }
      found.push([...form]);
    }
    return found;
  });
  const table = applied(sections.weights.all(), noise.reach.map((r) => r + 1), forms);
  const shape = forms.map((each) => each.length);
  const steps = box.sides.map((side, i) => side.over(whole(noise.cells[i] * parts)));
  const grain = grainOf([...steps, ...box.sides]);
  const { joined, ended, unit } = normUp(box.metric);
  let sum = 0n;
  const lengths = shape.map((side, axis) =>
    Array.from({ length: side }, (_, j) => inGrains(steps[axis].times(whole(j)), grain)));
  const offsets = joined(lengths), [across] = joined(box.sides.map((side) => [inGrains(side, grain)]));
  table.forEach((mass, i) => {
    if (mass) sum += mass * signsOf(i, shape) * ended(offsets[i]);
  });
  const inside = Rational.of(sum, BigInt(48 * parts ** 3) ** BigInt(k));
  const beyond = new Rational(noise.floor * noise.extended * ended(across), 1n);
  compared(inside.plus(beyond).times(unit).times(Rational.of(1n, file.total * grain)), claims.loss);
}

/** The bound of noise: uniform boxes one upon the other, below the prior, each of which costs what the theorem says. */
export function checkLayers(file) {
  const { box, claims, sections, promise } = file, k = box.sides.length;
  const counts = boxPrior(file), left = [...counts];
  const heights = sections.layer_counts.all(), ends = sections.layer_ends;
  const map = mapPromise(promise, box);
  const epsilon = rateBound(map, 160, true);
  const values = new Map();
  let sum = ZERO;
  heights.forEach((height, layer) => {
    const first = [...ends.subarray(2 * k * layer, 2 * k * layer + k)];
    const last = [...ends.subarray(2 * k * layer + k, 2 * k * (layer + 1))];
    demand(first.every((low, i) => low < last[i] && last[i] <= box.cells[i]), "a layer is no box of cells");
    const extent = first.map((low, i) => last[i] - low);
    for (let i = 0; i < product(extent); i++) {
      let cell = 0, step = 1;
      for (let axis = k - 1, rest = i; axis >= 0; axis--) {
        cell += step * (first[axis] + (rest % extent[axis]));
        rest = Math.floor(rest / extent[axis]);
        step *= box.cells[axis];
      }
      left[cell] -= height;
    }
    const name = extent.join(" ");
    if (!values.has(name)) {
      const sides = extent.map((many, i) => box.sides[i].times(Rational.of(BigInt(many), BigInt(box.cells[i]))));
      values.set(name, layerValue(sides, epsilon));
    }
    sum = sum.plus(values.get(name).times(new Rational(height * BigInt(product(extent)), 1n)));
  });
  if (left.some((rest) => rest < 0n)) throw new Refuted("layers lie above the prior");
  const proved = sum.times(Rational.of(1n, added(counts)));
  if (!claims.bound.atMost(proved)) {
    throw new Refuted(`the layers prove a bound of ${toldApart(proved, claims.bound).join(", not of ")}`);
  }
}

/** k ∫ e^{−ετ} Π (1 − 2τ/a_i) dτ from 0 to half of the shortest side, from below. */
function layerValue(sides, epsilon) {
  const k = whole(sides.length), end = minimum(sides).over(whole(2));
  let polynomial = [ONE];
  for (const side of sides) {
    const slope = whole(-2).over(side);
    const next = [...polynomial, ZERO];
    polynomial.forEach((c, j) => (next[j + 1] = next[j + 1].plus(c.times(slope))));
    polynomial = next;
  }
  const at = (coefficients, place) => coefficients.reduceRight((sum, c) => sum.times(place).plus(c), ZERO);
  let first = ZERO, last = ZERO, power = epsilon;
  for (let each = polynomial; each.length; each = each.slice(1).map((c, j) => c.times(whole(j + 1)))) {
    first = first.plus(at(each, ZERO).over(power));
    last = last.plus(at(each, end).over(power));
    power = power.times(epsilon);
  }
  const exponent = epsilon.times(end);
  if (exponent.compare(whole(2 ** 16)) > 0) {
    return k.times(first.minus(maximum([last, ZERO]).times(Rational.of(1n, 1n << 65536n))));
  }
  const [m, e] = expBound(exponent.n, exponent.d, 128, last.n < 0n);
  return maximum([ZERO, k.times(first.minus(last.over(power2(m, e))))]);
}

/** Fractions as integers times the largest fraction that allows it. */
export function multiples(fractions) {
  const d = fractions.reduce((all, f) => lcm(all, f.d), 1n);
  const shared = fractions.reduce((all, f) => gcd(all, f.n * (d / f.d)), 0n);
  return { counts: fractions.map((f) => (f.n * (d / f.d)) / shared), unit: Rational.of(shared, d) };
}
