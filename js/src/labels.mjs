// Labels of secrets, outputs and actions: texts, numbers, truth values, nothing, lists of these. A fraction is
// {fraction: "1/3"} in a file and for callers alike.

import { InvalidInput } from "./errors.mjs";
import { Rational, bitLength } from "./numbers.mjs";

const FRACTION = /^-?[0-9]{1,4000}(\/[0-9]{1,4000})?$/;

/** The fraction that a text says, or null. */
export function fractionOf(text) {
  if (typeof text !== "string" || !FRACTION.test(text)) return null;
  const [n, d = "1"] = text.split("/");
  return BigInt(d) ? Rational.of(BigInt(n), BigInt(d)) : null;
}

/** A text that two labels share if and only if they are the same: 1 and 1.0, but not 1 and true. */
export function labelKey(label) {
  if (label === null || typeof label === "boolean") return String(label);
  if (typeof label === "string") return JSON.stringify(label);
  if (typeof label === "bigint") return `#${label}`;
  if (typeof label === "number") return Number.isFinite(label) ? `#${Rational.ofDouble(label)}` : `#${label}`;
  if (Array.isArray(label)) return `[${label.map(labelKey).join(",")}]`;
  const text = label instanceof Map ? label.get("fraction") : label?.fraction;
  const fraction = fractionOf(text);
  if (fraction === null) throw new InvalidInput("a label is a text, a number, a list of labels or {fraction: \"1/3\"}");
  return `#${fraction}`;
}

/** A label as callers see it: whole numbers as numbers where these are exact. */
export function shownLabel(label) {
  if (typeof label === "bigint") return bitLength(label) <= 53 ? Number(label) : label;
  if (Array.isArray(label)) return label.map(shownLabel);
  if (label instanceof Map) return { fraction: String(fractionOf(label.get("fraction"))) };
  return label;
}

/** A label as the digest of a mechanism has it: fractions in lowest terms. */
export function plainLabel(label) {
  if (Array.isArray(label)) return label.map(plainLabel);
  if (label instanceof Map) return new Map([["fraction", String(fractionOf(label.get("fraction")))]]);
  return label;
}

/** A label as people read it: of a file, or as callers give it. */
export function labelText(label) {
  if (Array.isArray(label)) return `(${label.map(labelText).join(", ")})`;
  return String(fractionOf(label instanceof Map ? label.get("fraction") : label?.fraction) ?? label);
}

/** A number that a label or a caller gives, exactly; null for what is none. */
export function numberOf(value) {
  if (typeof value === "bigint") return new Rational(value, 1n);
  if (typeof value === "number") return Number.isFinite(value) ? Rational.ofDouble(value) : null;
  if (value instanceof Rational) return value;
  return fractionOf(value instanceof Map ? value.get("fraction") : value?.fraction ?? value);
}
