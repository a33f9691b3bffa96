// Bounds of e^x, ln x, cosines and roots in integers, each on the side that is asked for: the reference bounds of the
// format, so that two verifiers round alike.

import { Refuted } from "./errors.mjs";
import { ONE, Rational, bitLength, divided, lcm, magnitude, minimum, rootBelow, whole } from "./numbers.mjs";

const BELOW_BITS = 128;
const ABOVE_BITS = 160;
const MANTISSA = 62;
const LONGEST_POWER = 1 << 16;
const GRAIN = 1n << 1024n;

const shiftedUp = (a, bits, up) => (up ? -(-a >> bits) : a >> bits);

/** m and e with at most so many binary digits (one more if rounding up carries), on the side that is asked for. */
export function shortened(m, e, bits, up) {
  const s = bitLength(m) - bits;
  return s > 0 ? [shiftedUp(m, BigInt(s), up), e + s] : [m, e];
}

/** m and e with m·2^e ≤ e^(a/b), or ≥ if up. */
export function expBound(a, b, bits, up) {
  const halvings = bitLength(a / b) + 8;
  const digits = bits + halvings + 16;
  const point = BigInt(digits);
  const x = divided(a << point, b << BigInt(halvings), up);
  const least = up ? 1n : 0n;
  let term = 1n << point, sum = term;
  for (let j = 1n; term > least; j++) {
    term = divided(shiftedUp(term * x, point, up), j, up);
    sum += term;
  }
  if (up) sum += 2n;
  let e = -digits;
  let length = bitLength(sum);
  for (let k = 0; k < halvings; k++) {
    sum *= sum;
    e *= 2;
    length = 2 * length - (sum >> BigInt(2 * length - 1) ? 0 : 1);
    const s = length - digits;
    if (s > 0) {
      sum = shiftedUp(sum, BigInt(s), up);
      e += s;
      length = up && sum >> point ? digits + 1 : digits;
    }
  }
  return shortened(sum, e, bits, up);
}

function artanhBound(r, bits, up) {
  const point = BigInt(bits + 16);
  const t = divided(r.n << point, r.d, up);
  const square = shiftedUp(t * t, point, up);
  const least = up ? 1n : 0n;
  let power = t, sum = t;
  for (let j = 3n; power > least; j += 2n) {
    power = shiftedUp(power * square, point, up);
    sum += divided(power, j, up);
  }
  return Rational.of(sum + (up ? 2n : 0n), 1n << point);
}

/** A fraction that is at most ln v, or at least if up, for v > 1. */
export function logBound(v, bits, up) {
  let k = 0n;
  const two = whole(2);
  while (v.compare(two) >= 0) {
    v = v.over(two);
    k++;
  }
  const main = artanhBound(v.minus(ONE).over(v.plus(ONE)), bits, up);
  return main.plus(artanhBound(Rational.of(1n, 3n), bits, up).times(new Rational(k, 1n))).times(two);
}

const logs = new Map();
/** The ε of a promise from one side: what it says, or −ln α. */
export function rateBound(promise, bits, up) {
  if (promise.epsilon) return promise.epsilon;
  const name = `${promise.alpha} ${bits} ${up}`;
  if (!logs.has(name)) {
    if (logs.size > 100) logs.clear();
    logs.set(name, logBound(ONE.over(promise.alpha), bits, up));
  }
  return logs.get(name);
}

/** ⌊√k⌋ or ⌈√k⌉. */
export const rootOf = (k, up) => (up && k > 0n ? rootBelow(k - 1n) + 1n : rootBelow(k));

/** The exponent ε·d for a distance of a file, from one side. */
export function exponentBound(promise, metric, value, up) {
  const bits = up ? ABOVE_BITS : BELOW_BITS;
  const rate = rateBound(promise, bits, up);
  if (metric.form === "float") return rate.times(Rational.ofDouble(value));
  const scaled = rate.times(metric.unit);
  if (metric.form === "rational") return scaled.times(new Rational(value, 1n));
  return scaled.times(Rational.of(rootOf(value << BigInt(2 * bits), up), 1n << BigInt(bits)));
}

/** e^(ε·d) itself as [p, q] where the file makes it rational, else null. */
function exactFactor(promise, metric, value) {
  if (!promise.step) return null;
  let k = value;
  if (metric.form === "float") {
    if (!Number.isInteger(value)) return null;
    k = BigInt(value);
  } else if (metric.form === "root") {
    k = rootBelow(value);
    if (k * k !== value) return null;
  }
  const { n, d } = promise.step;
  return k * BigInt(bitLength(d)) <= LONGEST_POWER ? [d ** k, n ** k] : null;
}

/** [p, q] with p/q ≤ e^(ε·d); what exceeds `cap`, the total of all rows, is that. */
export function factorBelow(promise, metric, value, cap) {
  const bits = Math.max(MANTISSA, bitLength(cap));
  const exact = exactFactor(promise, metric, value);
  let m, e;
  if (exact) {
    const [p, q] = exact;
    if (p >= cap * q) return [cap, 1n];
    if (p <= cap) return exact;
    const k = Math.max(0, bits + 2 - bitLength(p) + bitLength(q));
    [m, e] = shortened((p << BigInt(k)) / q, -k, bits, false);
  } else {
    const { n, d } = exponentBound(promise, metric, value, false);
    if (n >= d * BigInt(bitLength(cap))) return [cap, 1n];
    [m, e] = expBound(n, d, bits, false);
  }
  if (e < 0) return [m, 1n << BigInt(-e)];
  const factor = m << BigInt(e);
  return [factor < cap ? factor : cap, 1n];
}

/** A fraction that is at least e^(ε·d). */
export function factorAbove(promise, metric, value) {
  const exact = exactFactor(promise, metric, value);
  if (exact) return Rational.of(...exact);
  const { n, d } = exponentBound(promise, metric, value, true);
  if (n > d * BigInt(LONGEST_POWER)) throw new Refuted("two secrets are so far apart that a bound cannot join them");
  return power2(...expBound(n, d, 128, true));
}

/** m·2^e. */
export const power2 = (m, e) => (e >= 0 ? new Rational(m << BigInt(e), 1n) : Rational.of(m, 1n << BigInt(-e)));

/** A common denominator of fractions, or 2^1024 if that is less. */
export function grainOf(fractions) {
  let grain = 1n;
  for (const { d } of fractions) {
    grain = lcm(grain, d);
    if (grain > GRAIN) return GRAIN;
  }
  return grain;
}

/** ⌈f·g⌉. */
export const inGrains = ({ n, d }, grain) => divided(n * grain, d, true);

const PI_LOW = Rational.of(3141592653589793238462643383279n, 10n ** 30n);
const PI_HIGH = Rational.of(3141592653589793238462643383280n, 10n ** 30n);
const COSINE_BITS = 96n;

function cosBound(degrees, up) {
  let x = degrees.times(up ? PI_LOW : PI_HIGH).over(whole(180));
  x = Rational.of(divided(x.n << COSINE_BITS, x.d, !up), 1n << COSINE_BITS);
  const square = x.times(x);
  let term = ONE, sum = ONE;
  for (let k = 2; ; k += 2) {
    term = term.times(square).times(Rational.of(-1n, BigInt(k * (k - 1))));
    sum = sum.plus(term);
    if (magnitude(term.n) << COSINE_BITS <= term.d && (up ? term.n >= 0n : term.n <= 0n)) return sum;
  }
}

/** How far a box on the Earth reaches: its lowest and highest latitude by size, and its width, in degrees. */
export function groundExtent(frame, sides) {
  const size = (v) => new Rational(magnitude(v.n), v.d);
  const [a, b] = frame.degrees;
  const beyond = frame.margin.times(b);
  const top = frame.south.plus(sides[1].times(b));
  const crossing = frame.south.n < 0n && top.n > 0n;
  const lowest = crossing ? whole(0) : minimum([size(frame.south), size(top)]);
  const ends = [size(frame.south.minus(beyond)), size(top.plus(beyond))];
  const highest = ends[0].compare(ends[1]) >= 0 ? ends[0] : ends[1];
  return { lowest, highest, wide: sides[0].plus(frame.margin.times(whole(2))).times(a) };
}

/** The most by which lengths on the map exceed those on the ground. */
export function largestStretch(frame, sides) {
  const { highest, wide } = groundExtent(frame, sides);
  const [a, b] = frame.degrees;
  const c = cosBound(highest, false), k = cosBound(wide.over(whole(2)), false);
  if (c.n <= 0n || k.n <= 0n) throw new Refuted("the box reaches too far around the Earth");
  const square = ONE.minus(c.times(c).times(ONE.minus(k.times(k))));
  const root = rootBelow(divided(square.n << (2n * COSINE_BITS), square.d)) + 1n;
  const along = Rational.of(root, 1n << COSINE_BITS).over(a.times(c).times(k));
  const up = ONE.over(b);
  return whole(180).over(PI_LOW.times(frame.radius)).times(along.compare(up) >= 0 ? along : up);
}

/** The least ratio of lengths on the map to those on the ground. */
export function smallestStretch(frame, sides) {
  const [a, b] = frame.degrees;
  const along = a.times(cosBound(groundExtent(frame, sides).lowest, true));
  return whole(180).over(PI_HIGH.times(frame.radius)).over(along.compare(b) >= 0 ? along : b);
}

/** The promise for a unit of the map, for bounds: not below what is promised on the ground. */
export function mapPromise(promise, box) {
  if (!box.frame) return { epsilon: promise.epsilon, alpha: promise.alpha, step: null };
  const found = rateBound(promise, ABOVE_BITS, true).over(smallestStretch(box.frame, box.sides));
  return { epsilon: Rational.of(divided(found.n << 96n, found.d, true), 1n << 96n), alpha: null, step: null };
}
