// Promises about rows and about events of a table: all pairs of secrets that are not implied by others, every output.

import { Comparer } from "./compare.mjs";
import { Refuted, demand } from "./errors.mjs";
import { factorBelow } from "./exponentials.mjs";
import { labelText } from "./labels.mjs";
import { ONE, Rational, magnitude, toldApart } from "./numbers.mjs";
import { quoted } from "./text.mjs";
import { checkSums, weightsOf } from "./weights.mjs";

const NOWHERE = 0xffffffff;
const UNBOUNDED = (1n << 64n) - 1n;
const GREATEST = { rational: (1n << 61n) - 1n, root: (1n << 30n) - 1n };
const REMEMBERED = 1 << 16;

/** Quoted and cut, so that no label can write a line of a report. */
export const quotedLabel = (label) => quoted(labelText(label));

/** Distances of the file by position, null for what is infinitely far; each is looked at once. */
export function distancesOf(file) {
  const { metric, sections, secrets } = file;
  const values = metric.source === "places" ? placeDistances(metric, sections.places, secrets.length)
    : sections.distances;
  const { form, source } = metric;
  let span = null;
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v < (form === "float" ? Infinity : UNBOUNDED)) {
      const [low, high] = span ?? [v, v];
      span = [v < low ? v : low, v > high ? v : high];
    }
    if (form === "float") {
      demand(v >= 0 && (v > 0 || source === "edges"), "a distance is no positive number");
    } else if (v !== UNBOUNDED) {
      demand(v <= GREATEST[form], "a distance is too large");
      demand(v > 0n || source === "edges", "a distance is 0");
    }
  }
  file.span = span;
  return form === "float" ? (i) => (values[i] === Infinity ? null : values[i])
    : (i) => (values[i] === UNBOUNDED ? null : values[i]);
}

function placeDistances({ norm, form }, places, n) {
  const k = places.length / n, found = new BigUint64Array((n * (n - 1)) / 2);
  for (let x = 0, i = 0; x < n; x++) {
    for (let z = x + 1; z < n; z++, i++) {
      let sum = 0n, most = 0n;
      for (let c = 0; c < k; c++) {
        const apart = magnitude(BigInt(places[x * k + c]) - BigInt(places[z * k + c]));
        sum += form === "root" ? apart * apart : apart;
        if (apart > most) most = apart;
      }
      const value = norm === "chebyshev" ? most : sum;
      demand(value > 0n && value <= GREATEST[form], "two places have no distance that the format knows");
      found[i] = value;
    }
  }
  return found;
}

/** The position of a pair x < z in a triangle. */
export const pairPosition = (x, z, n) => (x * (2 * n - x - 1)) / 2 + z - x - 1;

/** a + b ≤ c for distances of one form, exactly. */
function fits(form, a, b, c) {
  if (form === "rational") return a + b <= c;
  if (form === "float") return Rational.ofDouble(a).plus(Rational.ofDouble(b)).atMost(Rational.ofDouble(c));
  return c >= a + b && (c - a - b) ** 2n >= 4n * a * b;
}

/** All pairs that have to be checked, [x, z, distance], visited in their order, and how many are implied. */
function pairsOf(file, distance, visit, join) {
  const n = file.secrets.length, { sections, metric } = file;
  const pairs = [];
  let implied = 0, checked = 0;
  if (metric.source === "edges") {
    const { edge_first: first, edge_second: second } = sections;
    const seen = new Set();
    for (let i = 0; i < first.length; i++) {
      const x = Math.min(first[i], second[i]), z = Math.max(first[i], second[i]);
      demand(z < n && x !== z, "an edge joins no two secrets");
      demand(!seen.has(x * n + z), "an edge occurs twice");
      seen.add(x * n + z);
      const value = distance(i);
      if (value === null) continue;
      pairs.push([x, z, value]);
      join(x, z);
    }
    // What is no graph is unreadable, whatever its weights are; so all edges are looked at before any is compared.
    for (const pair of pairs) visit(...pair);
    return { pairs, implied, checked: pairs.length };
  }
  const { via } = sections;
  for (let x = 0, i = 0; x < n; x++) {
    for (let z = x + 1; z < n; z++, i++) {
      const value = distance(i);
      if (value === null) continue;
      join(x, z);
      if (!via || via[i] === NOWHERE) {
        checked++;
        // Claims about shares need them, and are about few secrets.
        if (n <= 32) pairs.push([x, z, value]);
        visit(x, z, value);
        continue;
      }
      const y = via[i];
      demand(y < n && y !== x && y !== z, "a point between two secrets is none");
      const leg = (u) => distance(pairPosition(Math.min(u, y), Math.max(u, y), n));
      const a = leg(x), b = leg(z);
      if (a === null || b === null || !fits(metric.form, a, b, value)) {
        throw new Refuted(`${quotedLabel(file.secrets[y])} is not between ${quotedLabel(file.secrets[x])} and `
          + `${quotedLabel(file.secrets[z])}, as the file says`);
      }
      implied++;
    }
  }
  return { pairs, implied, checked };
}

/** Prove the promise of a file about rows; how many pairs were compared, implied, and left open. */
export function checkRows(file) {
  const n = file.secrets.length, m = file.outputs.length, { total } = file;
  const weights = (file.weights = weightsOf(file.sections, n, m));
  checkSums(weights, total);
  const leader = Int32Array.from({ length: n }, (_, x) => x);
  const find = (x) => {
    while (leader[x] !== x) x = leader[x] = leader[leader[x]];
    return x;
  };
  const distance = (file.distance = distancesOf(file));
  // No weight exceeds the total, since rows have that sum.
  const comparer = new Comparer(weights, total >> 66n > 0n);
  const factors = new Map();
  let loose = 0;
  const compare = (x, z, value) => {
    demand(file.promise.kind === "rows", "a promise about events alone has finite distances");
    let factor = factors.get(value);
    if (!factor) {
      if (factors.size > REMEMBERED) factors.clear();
      factors.set(value, (factor = factorBelow(file.promise, file.metric, value, total)));
    }
    if (factor[0] >= factor[1] * total) loose++;
    for (const [upper, lower] of [[x, z], [z, x]]) {
      const y = comparer.firstAbove(upper, lower, ...factor);
      if (y >= 0) throw violation(file, weights, upper, lower, y, factor);
    }
  };
  const { pairs, implied, checked } = pairsOf(file, distance, compare, (x, z) => (leader[find(x)] = find(z)));
  file.pairs = pairs;
  demand(file.promise.kind === "rows" || !implied, "a promise about events alone has finite distances");
  const sizes = new Map();
  for (let x = 0; x < n; x++) sizes.set(find(x), (sizes.get(find(x)) ?? 0) + 1);
  let open = (n * (n - 1)) / 2;
  for (const size of sizes.values()) open -= (size * (size - 1)) / 2;
  const events = checkEvents(file, weights);
  return { pairs: checked, implied, open, loose, comparisons: 2 * checked * m, events };
}

function violation(file, weights, x, z, y, [p, q]) {
  const a = weights.read(x * weights.columns + y), b = weights.read(z * weights.columns + y);
  const [found, allowed] = toldApart(b ? Rational.of(a, b) : ONE, Rational.of(p, q));
  const times = b ? `${found} times as much` : "where that is impossible";
  return new Refuted(
    `output ${quotedLabel(file.outputs[y])} has weight ${a} for ${quotedLabel(file.secrets[x])} and ${b} for `
      + `${quotedLabel(file.secrets[z])}: ${times}, at most ${allowed} times is allowed`,
    { secrets: [x, z], output: y });
}

// ------------------------------------------------------------------ events

export const EVENT_METRIC = { form: "rational", unit: new Rational(1n, 1n) };

/** The ordered pairs of all promises about events, [upper, lower, number of the promise]. */
export function eventPairs(file) {
  const n = file.secrets.length, { event_upper: upper, event_lower: lower } = file.sections;
  const found = [], seen = new Map();
  let at = 0;
  file.events.forEach((event, number) => {
    const name = `${event.factor} ${event.epsilon} ${event.delta}`;
    if (!seen.has(name)) seen.set(name, new Set());
    for (let k = 0; k < event.pairs; k++, at++) {
      const x = upper[at], z = lower[at];
      demand(x < n && z < n && x !== z, "a promise about events joins no two secrets");
      demand(!seen.get(name).has(x * n + z), "a promise about events occurs twice");
      seen.get(name).add(x * n + z);
      found.push([x, z, number]);
    }
  });
  return found;
}

function checkEvents(file, weights) {
  if (!file.events.length) return 0;
  const { total } = file;
  const factors = file.events.map(({ factor, epsilon }) =>
    factor ? [factor.n, factor.d] : factorBelow({ epsilon, alpha: null, step: null }, EVENT_METRIC, 1n, total));
  const pairs = eventPairs(file);
  for (const [x, z, number] of pairs) {
    const [p, q] = factors[number], { delta } = file.events[number];
    const upper = weights.row(x), lower = weights.row(z);
    let excess = 0n;
    upper.forEach((weight, y) => {
      const more = q * weight - p * lower[y];
      if (more > 0n) excess += more;
    });
    if (excess * delta.d > delta.n * q * total) {
      throw new Refuted(`an event is likelier for ${quotedLabel(file.secrets[x])} than ${quotedLabel(file.secrets[z])} `
        + "allows: what remains above the factor exceeds delta", { secrets: [x, z] });
    }
  }
  return pairs.length;
}
