// The corners of the polytope of heights h with |h_x − h_z| ≤ d(x, z) for all pairs that are checked, up to a constant.
//
// At a corner the pairs with equality connect all secrets. From corner to corner one walks along edges: a set of
// secrets that is connected, whose complement is connected, and which may be raised without breaking an equality, is
// raised until another pair becomes tight.

import { demand } from "./errors.mjs";
import { Rational, lcm, rootBelow } from "./numbers.mjs";

const MOST_CORNERS = 1 << 16;
const DROP_BITS = 384n;

/** How far each secret lies below the highest one, for each corner: lists of {name, bound(up)}. */
export function* corners(file) {
  const n = file.secrets.length, ruler = rulerOf(file);
  const lengths = file.pairs.map(([x, z], k) => [x, z, ruler.lengths[k]]);
  const leader = Array.from({ length: n }, (_, x) => x);
  const find = (x) => (leader[x] === x ? x : (leader[x] = find(leader[x])));
  let joined = 1;
  for (const [x, z] of lengths) {
    if (find(x) !== find(z)) joined++;
    leader[find(x)] = find(z);
  }
  demand(joined === n, "a claim about shares has secrets that no chain of distances joins");
  const found = lengths.length === n - 1 ? ofTree(lengths, n, ruler)
    : alike(lengths, n) ? ofEqual(lengths[0][2], n, ruler) : walked(lengths, n, ruler);
  for (const heights of found) {
    const top = heights.reduce((a, b) => (ruler.sign(ruler.less(a, b)) >= 0 ? a : b));
    yield heights.map((height) => ruler.drop(ruler.less(top, height)));
  }
}

const alike = (lengths, n) =>
  lengths.length === (n * (n - 1)) / 2 && lengths.every(([, , d]) => String(d) === String(lengths[0][2]));

function countCorners(many) {
  demand(many <= MOST_CORNERS, "the promise has too many corners");
}

/** Lengths as lists of integers, the coefficients of roots of square-free numbers, and what is known about those. */
function rulerOf({ metric, pairs }) {
  const values = pairs.map(([, , value]) => value);
  if (metric.form !== "root") {
    const exact = metric.form === "float" ? Rational.ofDouble : (value) => new Rational(value, 1n);
    const fractions = values.map(exact);
    const unit = fractions.reduce((d, f) => lcm(d, f.d), 1n);
    return ruler(fractions.map(({ n, d }) => [n * (unit / d)]), [1n], unit);
  }
  const split = values.map(squareFree), radicands = [...new Set(split.map(([, free]) => free))];
  return ruler(split.map(([k, free]) => radicands.map((each) => (each === free ? k : 0n))), radicands, 1n);
}

/** v = k²·free. */
function squareFree(v) {
  let k = 1n, free = 1n;
  for (let p = 2n; p * p * p <= v; p++) {
    let power = 0;
    for (; v % p === 0n; v /= p) power++;
    k *= p ** BigInt(power >> 1);
    if (power & 1) free *= p;
  }
  // What is left has no prime factor below its cube root: a prime, a product of two, or a square.
  const root = rootBelow(v);
  return root * root === v ? [k * root, free] : [k, free * v];
}

function ruler(lengths, radicands, unit) {
  const plain = radicands.length === 1 && radicands[0] === 1n;
  const kept = new Map();
  const roots = (bits) => {
    if (!kept.has(bits)) kept.set(bits, radicands.map((s) => rootBelow(s << (2n * bits))));
    return kept.get(bits);
  };
  /** Σ c·√s in units of 2^-bits: [low, high]. */
  const enclosed = (height, bits) => {
    let low = 0n, high = 0n;
    roots(bits).forEach((root, k) => {
      const c = height[k], exact = root * root === radicands[k] << (2n * bits);
      const a = c * root, b = c * (exact ? root : root + 1n);
      low += a < b ? a : b;
      high += a < b ? b : a;
    });
    return [low, high];
  };
  const sign = (height) => {
    if (height.every((c) => c === 0n)) return 0;
    if (plain) return height[0] > 0n ? 1 : -1;
    for (let bits = 64n; ; bits *= 2n) {
      const [low, high] = enclosed(height, bits);
      if (low > 0n) return 1;
      if (high < 0n) return -1;
    }
  };
  const drop = (height) => ({
    name: height.join(" "),
    bound: (up) => Rational.of(enclosed(height, DROP_BITS)[up ? 1 : 0], unit << DROP_BITS),
  });
  return {
    lengths, sign, drop, zero: radicands.map(() => 0n),
    plus: (a, b) => a.map((c, k) => c + b[k]), less: (a, b) => a.map((c, k) => c - b[k]),
  };
}

function* ofTree(lengths, n, ruler) {
  countCorners(2 ** (n - 1));
  const near = Array.from({ length: n }, () => []);
  for (const [x, z, d] of lengths) {
    near[x].push([z, d]);
    near[z].push([x, d]);
  }
  const order = [[0, -1, null]];
  for (let k = 0; k < order.length; k++) {
    for (const [z, d] of near[order[k][0]]) if (z !== order[k][1]) order.push([z, order[k][0], d]);
  }
  for (let signs = 0; signs < 2 ** (n - 1); signs++) {
    const heights = new Array(n).fill(ruler.zero);
    order.slice(1).forEach(([x, from, d], k) => {
      heights[x] = (signs >> k) & 1 ? ruler.less(heights[from], d) : ruler.plus(heights[from], d);
    });
    yield heights;
  }
}

function* ofEqual(length, n, ruler) {
  countCorners(2 ** n - 2);
  for (let set = 1; set < 2 ** n - 1; set++) {
    yield Array.from({ length: n }, (_, x) => ((set >> x) & 1 ? length : ruler.zero));
  }
}

function* walked(lengths, n, ruler) {
  const shortest = new Array(n).fill(null);
  shortest[0] = ruler.zero;
  for (let changed = true; changed; ) {
    changed = false;
    for (const [a, b, d] of lengths) {
      for (const [x, z] of [[a, b], [b, a]]) {
        if (!shortest[x]) continue;
        const way = ruler.plus(shortest[x], d);
        if (!shortest[z] || ruler.sign(ruler.less(way, shortest[z])) < 0) {
          shortest[z] = way;
          changed = true;
        }
      }
    }
  }
  const seen = new Set([shortest.join(";")]), waiting = [shortest];
  let moves = 0;
  while (waiting.length) {
    const heights = waiting.pop();
    yield heights;
    const slacks = lengths.flatMap(([x, z, d]) => [[x, z, d], [z, x, d]]).map(([x, z, d]) =>
      [x, z, ruler.less(d, ruler.less(heights[x], heights[z]))]);
    const arcs = new Int32Array(n), near = new Int32Array(n);
    for (const [x, z, slack] of slacks) {
      if (slack.some((c) => c !== 0n)) continue;
      arcs[x] |= 1 << z;
      near[x] |= 1 << z;
      near[z] |= 1 << x;
    }
    for (const set of movable(arcs, near, n)) {
      countCorners(++moves / 16);
      let step = null;
      for (const [x, z, slack] of slacks) {
        if (!((set >> x) & 1) || (set >> z) & 1) continue;
        if (step === null || ruler.sign(ruler.less(slack, step)) < 0) step = slack;
      }
      const next = heights.map((height, x) => ((set >> x) & 1 ? ruler.plus(height, step) : height));
      const from = next[0], moved = next.map((height) => ruler.less(height, from)), name = moved.join(";");
      if (seen.has(name)) continue;
      seen.add(name);
      countCorners(seen.size);
      waiting.push(moved);
    }
  }
}

/** Sets of secrets, as bits, that are closed under arcs and connected, and whose complements are connected. */
function* movable(arcs, near, n) {
  const all = n === 32 ? -1 : (1 << n) - 1;
  const reach = Int32Array.from(arcs, (mask, x) => mask | (1 << x));
  for (let y = 0; y < n; y++) for (let x = 0; x < n; x++) if ((reach[x] >> y) & 1) reach[x] |= reach[y];
  const above = new Int32Array(n);
  for (let x = 0; x < n; x++) for (let y = 0; y < n; y++) if ((reach[x] >> y) & 1) above[y] |= 1 << x;
  const neighbours = (set) => {
    let found = 0;
    for (let x = 0; x < n; x++) if ((set >> x) & 1) found |= near[x];
    return found & ~set;
  };
  const component = (start, within) => {
    for (let found = start; ; ) {
      const more = found | (neighbours(found) & within);
      if (more === found) return found;
      found = more;
    }
  };
  const closure = (set) => {
    let found = set;
    for (let x = 0; x < n; x++) if ((set >> x) & 1) found |= reach[x];
    return found;
  };
  function* grow(set, outside) {
    // What stays outside is connected through what is not inside; other parts of that have to come inside.
    while (set && outside) {
      const part = component(outside & -outside, all & ~set);
      if (outside & ~part) return;
      const others = all & ~set & ~part;
      if (!others) break;
      set |= closure(others);
      if (set & outside) return;
    }
    const open = set ? neighbours(set) & ~outside : all & ~outside;
    if (!open) {
      if (set && set !== all) yield set;
      return;
    }
    const x = 31 - Math.clz32(open & -open);
    yield* grow(set | reach[x], outside);
    yield* grow(set, outside | above[x]);
  }
  yield* grow(0, 0);
}
