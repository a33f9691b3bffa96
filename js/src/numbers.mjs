// Integers of any length and fractions of them. No float decides anything here.

import { demand } from "./errors.mjs";

/** |a|. */
export const magnitude = (a) => (a < 0n ? -a : a);

/** The greatest common divisor. */
export function gcd(a, b) {
  a = magnitude(a);
  b = magnitude(b);
  while (b) [a, b] = [b, a % b];
  return a;
}

/** The least common multiple. */
export const lcm = (a, b) => (a / gcd(a, b)) * b;

/** That of many, over which sums are taken: each number in them becomes as long. */
export const commonOf = (numbers) => numbers.reduce((a, b) => {
  a = lcm(a, b);
  demand(bitLength(a) <= 1 << 16, "sums have no short common multiple");
  return a;
}, 1n);

/** ⌊a / b⌋ for b > 0, or ⌈a / b⌉ where it is rounded up. */
export function divided(a, b, up = false) {
  const found = a / b;
  const rest = a % b;
  if (up) return rest > 0n ? found + 1n : found;
  return rest < 0n ? found - 1n : found;
}

/** The number of binary digits. */
export function bitLength(a) {
  a = magnitude(a);
  if (!a) return 0;
  const digits = a.toString(16);
  return 4 * digits.length - Math.clz32(parseInt(digits[0], 16)) + 28;
}

/** ⌊√a⌋. */
export function rootBelow(a) {
  if (a < 2n) return a;
  // Floats guess and correct the guess once, so that most roots are right before they are looked at.
  const guess = Math.sqrt(Number(a));
  let found;
  if (guess < Infinity) {
    found = BigInt(Math.floor(guess));
    found += BigInt(Math.floor(Number(a - found * found) / (2 * guess)));
  } else found = 1n << BigInt(bitLength(a) >> 1);
  for (;;) {
    const rest = a - found * found, twice = 2n * found;
    if (rest >= 0n && rest <= twice) return found;
    found += divided(rest, twice);
  }
}

export const largest = (values) => values.reduce((a, b) => (a > b ? a : b));
export const smallest = (values) => values.reduce((a, b) => (a < b ? a : b));
export const added = (values) => values.reduce((a, b) => a + b, 0n);
/** The product of whole numbers that are small. */
export const product = (values) => values.reduce((a, b) => a * b, 1);

/** The places of a number in a table, the last axis first. */
export function placesOf(number, shape) {
  const found = new Array(shape.length);
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    found[axis] = number % shape[axis];
    number = Math.floor(number / shape[axis]);
  }
  return found;
}

/** A fraction in lowest terms, its denominator above zero. */
export class Rational {
  constructor(n, d) {
    this.n = n;
    this.d = d;
  }

  static of(n, d = 1n) {
    if (d < 0n) [n, d] = [-n, -d];
    const shared = gcd(n, d);
    return shared === 1n ? new Rational(n, d) : new Rational(n / shared, d / shared);
  }

  /** The number that a double is. */
  static ofDouble(value) {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, value);
    const word = view.getBigUint64(0);
    const power = Number((word >> 52n) & 2047n);
    const digits = (word & ((1n << 52n) - 1n)) | (power ? 1n << 52n : 0n);
    const shift = (power || 1) - 1075;
    const n = word >> 63n ? -digits : digits;
    if (shift >= 0 || !digits) return new Rational(n << BigInt(Math.max(shift, 0)), 1n);
    // The denominator is a power of two, so that lowest terms are a matter of shifts.
    const even = Math.min(bitLength(digits & -digits) - 1, -shift);
    return new Rational(n >> BigInt(even), 1n << BigInt(-shift - even));
  }

  plus(b) {
    return Rational.of(this.n * b.d + b.n * this.d, this.d * b.d);
  }

  minus(b) {
    return Rational.of(this.n * b.d - b.n * this.d, this.d * b.d);
  }

  times(b) {
    return Rational.of(this.n * b.n, this.d * b.d);
  }

  over(b) {
    return Rational.of(this.n * b.d, this.d * b.n);
  }

  /** Below zero, zero or above zero as this is less than, equal to or more than b. */
  compare(b) {
    const left = this.n * b.d, right = b.n * this.d;
    return left < right ? -1 : left > right ? 1 : 0;
  }

  atMost(b) {
    return this.compare(b) <= 0;
  }

  equals(b) {
    return this.n === b.n && this.d === b.d;
  }

  get floor() {
    return divided(this.n, this.d);
  }

  get ceiling() {
    return divided(this.n, this.d, true);
  }

  /** The nearest double or so: for people and maps, never for a decision. */
  get about() {
    const shift = bitLength(this.n) - bitLength(this.d) - 64;
    const found = shift >= 0 ? this.n / (this.d << BigInt(shift)) : (this.n << BigInt(-shift)) / this.d;
    return shift < -1000 ? (Number(found) * 2 ** -1000) * 2 ** (shift + 1000) : Number(found) * 2 ** shift;
  }

  toString() {
    return this.d === 1n ? `${this.n}` : `${this.n}/${this.d}`;
  }
}

/** Two fractions in decimal digits, as many as it takes for different numbers to look different. */
export function toldApart(a, b) {
  for (let digits = 6; ; digits *= 2) {
    const texts = [a, b].map(({ n, d }) => {
      const scaled = String((magnitude(n) * 10n ** BigInt(digits)) / d).padStart(digits + 1, "0");
      return `${n < 0n ? "-" : ""}${scaled.slice(0, -digits)}.${scaled.slice(-digits)}`;
    });
    if (texts[0] !== texts[1] || a.compare(b) === 0) return texts;
  }
}

export const ZERO = new Rational(0n, 1n);
export const ONE = new Rational(1n, 1n);
export const whole = (n) => new Rational(BigInt(n), 1n);
export const maximum = (values) => values.reduce((a, b) => (a.compare(b) >= 0 ? a : b));
export const minimum = (values) => values.reduce((a, b) => (a.compare(b) <= 0 ? a : b));
export const total = (values) => values.reduce((a, b) => a.plus(b), ZERO);
