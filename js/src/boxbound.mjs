// The bound of a table on a box: one finite problem, whose losses at the corners of cubes are lowered by what the norm
// bends in them. Lengths have at most 24 binary digits, so that sums of squares are whole numbers below 2^53, exact.

import { multiples } from "./boxes.mjs";
import { checkBound } from "./claims.mjs";
import { demand } from "./errors.mjs";
import { mapPromise } from "./exponentials.mjs";
import { Rational, bitLength, divided, placesOf, product, total, whole } from "./numbers.mjs";

const DIGITS = 24;
const DEEPEST = 6;

/** ⌊√n⌋ or ⌈√n⌉ of a whole number below 2^53, corrected in integers. */
function smallRoot(n, up) {
  let root = Math.floor(Math.sqrt(n));
  while (root * root > n) root--;
  while ((root + 1) * (root + 1) <= n) root++;
  return up && root * root < n ? root + 1 : root;
}

/** ⌊a / b⌋ of whole numbers below 2^52: a remainder is exact, and so is what divides without one. */
const smallQuotient = (a, b) => (a - (a % b)) / b;

const NORMS_SMALL = {
  euclidean: (lengths, up) => smallRoot(lengths.reduce((sum, v) => sum + v * v, 0), up),
  manhattan: (lengths) => lengths.reduce((sum, v) => sum + v, 0),
  chebyshev: (lengths) => Math.max(...lengths),
};

/** The cubes that are used, lower corner and width in units of the smallest, and the depth of that. */
function cubesOf(splits, shape) {
  const k = shape.length, found = [];
  let at = 0, deepest = 0;
  const read = (corner, depth) => {
    demand(at < splits.length && splits[at] <= 1 && depth <= DEEPEST, "the cubes of the bound are no cover");
    deepest = Math.max(deepest, depth);
    if (!splits[at++]) {
      found.push({ corner, depth });
      return;
    }
    for (let half = 0; half < 2 ** k; half++) {
      read(corner.map((c, axis) => 2 * c + ((half >> (k - 1 - axis)) & 1)), depth + 1);
    }
  };
  const cubes = shape.map((many) => many - 1);
  for (let number = 0; number < product(cubes); number++) read(placesOf(number, cubes), 0);
  demand(at === splits.length, "the cubes of the bound are more than a cover");
  const scaled = found.map(({ corner, depth }) => {
    const width = 2 ** (deepest - depth);
    return { corner: corner.map((c) => c * width), width };
  });
  return { cubes: scaled, deepest };
}

/** Check the bound of a file about coordinates. */
export function checkBoxBound(file) {
  const { box, claims, sections } = file, k = box.sides.length;
  const secrets = claims.boundSecrets, { strides } = claims, n = product(secrets);
  const shape = secrets.map((many, i) => many / strides[i]);
  const { cubes, deepest } = cubesOf(sections.splits, shape);
  const grid = shape.map((many) => (many - 1) * 2 ** deepest + 1);
  const number = (corner) => corner.reduce((all, c, axis) => all * grid[axis] + c, 0);
  const ends = Array.from({ length: 2 ** k }, (_, e) => shape.map((_s, axis) => (e >> (k - 1 - axis)) & 1));
  const used = new Set();
  for (const { corner, width } of cubes) {
    for (const end of ends) used.add(number(corner.map((c, i) => c + width * end[i])));
  }
  const corners = Float64Array.from(used).sort();
  const index = new Map(Array.from(corners, (each, w) => [each, w]));
  const places = Array.from(corners, (each) => placesOf(each, grid));
  for (const cube of cubes) {
    cube.actions = ends.map((end) => index.get(number(cube.corner.map((c, i) => c + cube.width * end[i]))));
  }

  const gammas = box.sides.map((side, i) => side.over(whole(shape[i] * 2 ** deepest)));
  const { unit: g } = multiples(gammas);
  const extent = total(gammas.map((gamma, i) => gamma.times(whole((shape[i] - 1) * 2 ** deepest))));
  const spare = DIGITS - bitLength(extent.over(g).floor);
  const unit = spare >= 0 ? g.times(Rational.of(1n, 1n << BigInt(spare))) : extent.over(whole(2 ** DIGITS - 4));
  const ruler = (up) => gammas.map((gamma, i) => {
    const { n: a, d } = gamma.over(unit);
    return Float64Array.from({ length: grid[i] }, (_, j) => Number(divided(a * BigInt(j), d, up)));
  });
  const below = ruler(false), above = ruler(true);
  const norm = NORMS_SMALL[box.metric];

  const bend = (near, width) => {
    const [low, high] = [below, above].map((ruler) => near.map((at, i) => [ruler[i][at], ruler[i][at + width]]));
    const tangent = (u, length) => Math.max(...ends.map((end) => {
      const along = low.reduce((sum, pair, i) => sum + u[i] * pair[end[i]], 0);
      return norm(high.map((pair, i) => pair[end[i]]), true) - smallQuotient(along, length);
    }));
    if (box.metric === "chebyshev") {
      return Math.min(...ends.slice(1).map((u) => tangent(u, u.reduce((sum, v) => sum + v, 0))));
    }
    const u = low.map(([a, b]) => a + b);
    const straight = tangent(u, Math.max(1, norm(u, true)));
    const nearest = low.reduce((sum, [a]) => sum + a * a, 0), sides = above.map((along) => along[width]);
    if (nearest < Math.max(1, sides.reduce((sum, side) => sum + side * side, 0))) return straight;
    const squares = high.map(([, b]) => b * b), all = squares.reduce((sum, v) => sum + v, 0);
    const root = BigInt(smallRoot(nearest, false));
    let curved = 0n;
    sides.forEach((side, i) => {
      const ratio = divided(BigInt(all - squares[i]) << 12n, BigInt(nearest), true);
      curved += divided(divided(BigInt(side) ** 2n * ratio, 1n << 15n, true), root, true);
    });
    return curved < BigInt(straight) ? Number(curved) : straight;
  };

  // Cubes lie alike beside many secrets.
  const known = new Map();
  /** The losses of all corners at a secret, in units. */
  const losses = (x) => {
    const secret = placesOf(x, secrets).map((at, i) => Math.floor(at / strides[i]) * 2 ** deepest);
    const bends = new Float64Array(places.length);
    if (box.metric !== "manhattan") {
      for (const { corner, width, actions } of cubes) {
        const near = corner.map((c, i) => (c >= secret[i] ? c - secret[i] : secret[i] - c - width));
        const name = number(near) * 2 ** DEEPEST + width - 1;
        let found = known.get(name);
        if (found === undefined) {
          if (known.size > 2 ** 20) known.clear();
          known.set(name, (found = bend(near, width)));
        }
        for (const w of actions) if (found > bends[w]) bends[w] = found;
      }
    }
    const length = (corner) => norm(corner.map((c, i) => below[i][Math.abs(c - secret[i])]), false);
    return places.map((corner, w) => length(corner) - bends[w]);
  };

  const steps = multiples(box.sides.map((side, i) => side.over(whole(secrets[i]))));
  const distance = (x, z) => {
    const a = placesOf(x, secrets), b = placesOf(z, secrets);
    const apart = a.map((at, i) => Math.abs(at - b[i]));
    if (apart.some((gap, i) => gap % strides[i])) return null;
    const lengths = apart.map((gap, i) => steps.counts[i] * BigInt(gap));
    if (box.metric === "chebyshev") return lengths.reduce((p, q) => (p > q ? p : q));
    return lengths.reduce((sum, v) => sum + (box.metric === "euclidean" ? v * v : v), 0n);
  };
  const counts = sections.prior.all();
  const cellOf = (x) => placesOf(x, secrets).reduce(
    (cell, at, i) => cell * box.cells[i] + Math.floor(at / claims.boundParts[i]), 0);
  checkBound({
    n, a: places.length, counts: Array.from({ length: n }, (_, x) => counts[cellOf(x)]), unit, losses, distance,
    promise: mapPromise(file.promise, box), dualUnit: claims.dualUnit, sections, limits: [], events: null,
    metric: { form: box.metric === "euclidean" ? "root" : "rational", unit: steps.unit },
  }, claims.bound);
}
