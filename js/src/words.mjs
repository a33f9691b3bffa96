// Promises and proofs in words, for people, who must not be told more than was proved.

import { bitLength, divided, whole } from "./numbers.mjs";
import { quoted } from "./text.mjs";

/** Six digits or more of a number, rounded to the side on which what is said of it stays true. */
export function rounded({ n, d }, up = true) {
  const power = 6 - Math.floor((bitLength(n) - bitLength(d)) * Math.log10(2));
  const scale = (exponent) => 10n ** BigInt(Math.max(exponent, 0));
  const text = `${divided(n * scale(power), d * scale(-power), up)}e${-power}`, found = Number(text);
  return Number.isFinite(found) && (found || !n) ? String(found) : text;
}

/** ε or α for a unit of distance. */
function amountText({ promise, unit }) {
  const each = unit ? `per ${quoted(unit)}` : "per unit of distance";
  return promise.epsilon ? `epsilon = ${promise.epsilon} ${each}` : `alpha = ${promise.alpha} ${each}`;
}

/** How far apart the secrets are, and for how many pairs that is so far that next to nothing is left of the promise. */
function distancesInWords({ metric: { form, source, unit }, span, unit: name }, { loose, pairs }) {
  if (!span) return [];
  const [low, high] = span.map((v) => (form === "rational" ? unit.times(whole(v))
    : form === "root" ? Math.sqrt(Number(v)) * unit.about : v));
  const what = source === "edges" ? "Distances along edges" : "Distances";
  const unitText = name && " " + quoted(name), found = [`${what} are ${low} to ${high}${unitText}.`];
  if (loose) found.push(`Of ${pairs} checked pairs ${loose} are so far apart that only zeros are ruled out.`);
  return found;
}

const onlyEvents = (file) => file.promise.kind === "events";

/** What somebody who gives a secret is promised. */
export function promiseInWords(file) {
  const { promise, proof } = file;
  if (proof && !file.box && !file.events.length && !(proof.pairs + proof.implied)) {
    return file.secrets.length === 1 ? "There is one secret, and nothing to tell it from."
      : "Nothing is promised: no two secrets have a finite distance.";
  }
  const before = proof ? "" : "Not verified: the file says that ";
  const sentences = [];
  if (!onlyEvents(file)) {
    const { n, d } = promise.alpha ?? {};
    const growth = promise.epsilon ? `e^(${promise.epsilon}·d)` : n === 1n ? `${d}^d` : `(${d}/${n})^d`;
    const factor = promise.epsilon ? Math.exp(promise.epsilon.about) : 1 / promise.alpha.about;
    const unit = file.unit ? ` ${quoted(file.unit)}` : "";
    const who = file.box ? "any two points of the box" : "two secrets";
    const lead = before ? "whatever is told" : "Whatever is told";
    sentences.push(`${before}${lead} is at most ${growth} times as likely for one as for the other of ${who} that are `
      + `d${unit} apart: about ${Number(factor.toPrecision(3))} times at a distance of 1${unit}.`);
    if (proof?.open) sentences.push(`Nothing is promised about ${proof.open} pairs of secrets that no distances join.`);
    if (!file.box && proof) sentences.push(...distancesInWords(file, proof));
    if (!file.box) sentences.push("The promise is about these secrets, not about points between them.");
  }
  for (const { factor, epsilon, delta, pairs } of file.events ?? []) {
    const times = factor ? String(factor) : `e^${epsilon}`;
    sentences.push(`${before}${before ? "an" : "An"} event is at most ${times} times as likely, plus ${delta}, for `
      + `${pairs} ordered pairs of secrets.`);
  }
  return sentences.join(" ");
}

/** What was proved, line by line. */
export function reportLines(file, found) {
  const nothing = !file.box && !file.events.length && !(found.pairs + found.implied);
  const lines = [];
  if (nothing) {
    lines.push(file.secrets.length === 1 ? "PROVED one secret: there is nothing to tell it from"
      : "PROVED nothing is promised: no two secrets have a finite distance");
  } else lines.push(`PROVED private with ${onlyEvents(file) ? "promises about events" : amountText(file)}`);
  if (file.box) {
    const { box, lattice, noise } = file;
    const sides = box.sides.map((side) => side.about).join(" × ");
    const shape = lattice ? lattice.shape : noise.cells.map((cells) => cells + 2);
    lines.push(`  all points of a box of sides ${sides} (${box.metric}), rounded to `
      + `${shape.join(" × ")} lattice points`);
    const rate = file.promise.rate.about;
    lines.push(`  ${found.cells} cells, ${found.comparisons} coefficients compared at the rate ${rate}`);
    if (box.frame) {
      lines.push(`  on the Earth from ${box.frame.south.about}° N, ${box.frame.west.about}° E, up to `
        + `${box.frame.margin.about} outside of the box`);
    }
  } else {
    const size = `${file.secrets.length} secrets and ${file.outputs.length} outputs`;
    lines.push(...distancesInWords(file, found).map((text) => `  ${text}`));
    lines.push(`  ${size}; about these secrets, not points between`);
    lines.push(`  ${found.pairs} pairs checked, ${found.implied} implied, ${found.open} open`);
    for (const { factor, epsilon, delta, pairs } of file.events) {
      const times = factor ? String(factor) : `e^${epsilon}`;
      lines.push(`  events: at most ${times} times as likely, plus ${delta}, for ${pairs} ordered pairs`);
    }
  }
  const { claims } = file;
  if (claims) {
    const name = claims.name ? ` ${quoted(claims.name)}` : "";
    const what = claims.kind === "shares" ? "variance of estimated shares" : `loss${name}`;
    lines.push(`  ${what} (${claims.criterion}) at most ${rounded(claims.loss)}`);
    for (const limit of claims.ceilings) {
      lines.push(`  limit ${quoted(limit.name)}: ${rounded(limit.level)}`);
    }
    if (claims.bound) lines.push(`  no mechanism of this promise goes below ${rounded(claims.bound, false)}`);
  }
  lines.push(`  sha256 ${file.digest}`);
  return lines;
}

