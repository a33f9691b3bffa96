// The header of a file: objects have the keys that the format lists and no others, and numbers are what they say.
//
// What is returned has numbers as fractions and small integers as numbers, and null for what the file does not say. A
// key that may be left out is not null unless the format says so.

import { demand } from "./errors.mjs";
import { Rational, bitLength, commonOf, magnitude, product, whole } from "./numbers.mjs";
import { groundExtent, logBound } from "./exponentials.mjs";
import { fractionOf } from "./labels.mjs";
import { isPlain, quoted } from "./text.mjs";

/** The version of the format that is read, outside of the header and inside. */
export const VERSION = 3n;

const LENGTH_TEXT = /^-?[0-9]{1,100}(\/[0-9]{1,100})?$/;
const INTEGER_TEXT = /^[0-9]{1,4000}$/;
const FORM_OF = { euclidean: "root", manhattan: "rational", chebyshev: "rational" };
const CRITERIA = ["expected", "worst secret", "worst prior"];

/** An object with all of some keys and perhaps others, named in messages. */
function table(value, what, needed, optional = []) {
  demand(value instanceof Map, `${what} is no object`);
  for (const key of needed) demand(value.has(key), `${what} has no ${key}`);
  for (const key of value.keys()) {
    demand(needed.includes(key) || optional.includes(key), `${what} has an unknown key`);
  }
  return (key) => value.get(key);
}

/** What may be left out or null. */
const absent = (value) => value === undefined || value === null;

const listOf = (value, what) => {
  demand(Array.isArray(value), `${what} is no list`);
  return value;
};

function whole32(value, least, most, what) {
  demand(typeof value === "bigint" && value >= least && value <= most, `${what} is no integer of ${least} to ${most}`);
  return Number(value);
}

/** A number as a text; above zero, or not below, where that is asked for. */
function number(value, what, least = null, strict = true) {
  const found = fractionOf(value);
  demand(found !== null, `${what} is no number`);
  demand(least === null || (strict ? found.n > least : found.n >= least), `${what} is too small`);
  return found;
}

function lengthOf(value, what, positive = false) {
  demand(typeof value === "string" && LENGTH_TEXT.test(value), `${what} is no length`);
  return number(value, what, positive ? 0n : null);
}

function natural(value, what) {
  demand(typeof value === "string" && INTEGER_TEXT.test(value) && BigInt(value), `${what} is no positive integer`);
  return BigInt(value);
}

function shortText(value, what) {
  if (value === undefined) return "";
  demand(typeof value === "string", `${what} is no text`);
  demand([...value].length <= 200 && isPlain(value), `${what} is no short text`);
  return value;
}

/** A unit is at most two words of letters, digits and few signs, which say nothing else and lengthen no number. */
const NO_UNIT = new RegExp("^ | $| .* |[^\\x80-\\u{10ffff}A-Za-z0-9 %'*+/^-]"
  + "|[\\xa1-\\xaf\\xb8-\\xbf\\u2010-\\u205e\\u3001-\\u303f\\uff01-\\uff65]"
  + "|^[\\p{Nd}'*+/^\\xb1-\\xb4\\xb6\\xb7\\xd7\\xf7\\u2070-\\u209f\\u2150-\\u2bff\\u3190-\\u32ff"
  + "\\u{10000}-\\u{1ffff}-]|.{21}", "u");

function unitText(value) {
  const unit = shortText(value, "the unit");
  demand(!NO_UNIT.test(unit), `${quoted(unit)} is no unit`);
  return unit;
}

/** Metres in a unit of length, by its names. */
const METRES = Object.entries({
  "mm|millimet(re|er)s?": "1/1000", "cm|centimet(re|er)s?": "1/100", "m|met(re|er)s?": "1",
  "km|kilomet(re|er)s?": "1000", "in|inch|inches": "127/5000", "ft|foot|feet": "381/1250", "yd|yards?": "1143/1250",
  "mi|miles?": "201168/125", "nmi|nautical miles?": "1852",
});

/** The Earth is a sphere of 6371.0088 km; what is on another one is not "on the ground". */
function checkEarth(radius, unit) {
  const found = METRES.find(([names]) => new RegExp(`^(${names})$`).test(unit));
  demand(found && String(radius.times(fractionOf(found[1]))) === "31855044/5",
    `a sphere of radius ${radius} ${quoted(unit)} is not the Earth`);
}

/** What two labels share if the format calls them equal, as a text. */
function valueKey(label, what) {
  const inside = (each) => {
    if (each === null) return "null";
    if (typeof each === "string") return JSON.stringify(each);
    if (typeof each === "boolean") return each ? "#1" : "#0";
    if (Array.isArray(each)) return `[${each.map(inside).join(",")}]`;
    if (typeof each === "bigint") return `#${each}`;
    if (typeof each === "number") {
      demand(Number.isFinite(each), `${what}: a number is too large`);
      return `#${Rational.ofDouble(each)}`;
    }
    const fraction = each instanceof Map && each.size === 1 ? fractionOf(each.get("fraction")) : null;
    demand(fraction !== null, `${what}: a label is not one`);
    return `#${fraction}`;
  };
  return inside(label);
}

function labels(value, what) {
  listOf(value, what);
  demand(value.length > 0, `${what}: there are none`);
  const seen = new Set(value.map((label) => valueKey(label, what)));
  demand(seen.size === value.length, `${what}: two have one name`);
  return value;
}

/** All that a header says. */
export function readHeader(json) {
  demand(json instanceof Map, "the header is no object");
  const promise = json.get("promise");
  const kind = promise instanceof Map ? promise.get("kind") : null;
  return json.has("box") || kind === "coordinates" ? boxHeader(json) : rowsHeader(json);
}

function beginning(get, spaceKeys) {
  demand(get("version") === VERSION, "the header has another version");
  const space = get("space") === undefined ? () => undefined : table(get("space"), "the space", [], spaceKeys);
  const listed = listOf(get("sections"), "the list of sections").map((section) => {
    const about = table(section, "a section", ["name", "width", "count", "size"]);
    demand(typeof about("name") === "string", "a section has no name");
    const [width, count, size] = ["width", "count", "size"].map((key) => whole32(about(key), 0n, 1n << 40n, key));
    return { name: about("name"), width, count, size };
  });
  return {
    listed, total: natural(get("total"), "the total"), name: shortText(space("name"), "the name of the space"),
    unit: unitText(space("unit")), coordinates: space("coordinates") ?? null,
    ground: space("ground") ?? null, provenance: get("provenance") ?? null,
  };
}

/** A positive number, or null where there is none. */
const positive = (get, key) => (absent(get(key)) ? null : number(get(key), key, 0n));

/** ε or α, exactly one of them. */
function amount(get, what) {
  const epsilon = positive(get, "epsilon"), alpha = positive(get, "alpha");
  demand((epsilon === null) !== (alpha === null), `${what} has epsilon or alpha`);
  demand(alpha === null || alpha.n < alpha.d, "alpha is not below 1");
  return { epsilon, alpha };
}

// ------------------------------------------------------------------ files about rows

function rowsHeader(json) {
  const needed = ["version", "secrets", "outputs", "total", "metric", "promise", "sections"];
  const get = table(json, "the header", needed, ["space", "events", "claims", "provenance"]);
  const file = beginning(get, ["name", "unit", "coordinates", "ground"]);
  file.secrets = labels(get("secrets"), "the secrets");
  file.outputs = labels(get("outputs"), "the outputs");
  file.metric = readMetric(get("metric"));
  file.promise = readPromise(get("promise"), file.metric);
  const n = file.secrets.length;
  file.events = get("events") === undefined ? [] : listOf(get("events"), "events").map((event) => readEvent(event, n));
  demand(file.promise.kind === "rows" || file.events.length, "a promise about events lists none");
  file.claims = readClaims(get("claims"));
  if (file.claims?.kind === "shares") {
    demand(file.promise.kind === "rows" && !file.events.length, "claims about shares are beside promises about rows");
    demand(n <= 32, "claims about shares are for at most 32 secrets");
  }
  return file;
}

function readMetric(value) {
  const get = table(value, "the metric", ["form", "unit", "source"], ["norm"]);
  const [form, source, norm] = ["form", "source", "norm"].map(get);
  const unit = number(get("unit"), "the unit of the metric", 0n);
  if (source === "places") {
    demand(typeof norm === "string" && Object.hasOwn(FORM_OF, norm) && FORM_OF[norm] === form, "the norm is not known");
  } else {
    demand(!value.has("norm"), "a metric has a norm without places");
    const known = source === "table" ? ["rational", "root", "float"] : source === "edges" ? ["rational", "float"] : [];
    demand(known.includes(form), "the form or source of the metric is not known");
  }
  demand(form !== "float" || (unit.n === 1n && unit.d === 1n), "distances in doubles have the unit 1");
  return { form, source, norm, unit };
}

function readPromise(value, metric) {
  const get = table(value, "the promise", ["kind"], ["epsilon", "alpha", "step"]);
  const kind = get("kind");
  demand(kind === "rows" || kind === "events", "the kind of promise is not known");
  const step = positive(get, "step"), promise = { kind, ...amount(get, "the promise"), step };
  if (step) {
    const { n, d } = metric.unit;
    demand(promise.alpha && step.n < step.d && n <= 64n && d <= 64n, "step needs alpha and a short unit");
    const power = (v, k) => [v.n ** k, v.d ** k];
    const [left, right] = [power(step, d), power(promise.alpha, n)];
    demand(left[0] === right[0] && left[1] === right[1], "step is not alpha to the power of the unit");
  }
  return promise;
}

function readEvent(value, n) {
  const get = table(value, "a promise about events", ["delta", "pairs"], ["factor", "epsilon"]);
  const delta = number(get("delta"), "delta", 0n, false);
  demand(delta.n <= delta.d, "delta is above 1");
  const factor = positive(get, "factor"), epsilon = positive(get, "epsilon");
  demand((factor === null) !== (epsilon === null), "a promise about events has a factor or epsilon");
  return { delta, factor, epsilon, pairs: whole32(get("pairs"), 1n, BigInt(n) * BigInt(n - 1), "pairs") };
}

function readClaims(value) {
  if (value === undefined) return null;
  demand(value instanceof Map, "the claims are no object");
  if (!value.size) return null;
  const kind = value.get("kind");
  demand(kind === "loss" || kind === "shares", "the kind of claim is not known");
  return kind === "loss" ? readLossClaim(value) : readSharesClaim(value);
}

function readLossClaim(value) {
  const bounded = value.has("bound");
  const get = table(value, "the claim", ["kind", "loss", "loss_unit", "actions", ...(bounded ? ["dual_unit"] : [])],
    ["loss_name", "criterion", "ceilings", "bound"]);
  const criterion = get("criterion") === undefined ? "expected" : get("criterion");
  demand(CRITERIA.includes(criterion), "the criterion is not known");
  const ceilings = get("ceilings") === undefined ? [] : listOf(get("ceilings"), "the limits").map((limit) => {
    const about = table(limit, "a limit", ["unit", "level"], ["name"]);
    return {
      name: shortText(about("name"), "the name of a limit"), unit: number(about("unit"), "the unit of a limit", 0n),
      level: number(about("level"), "a level"),
    };
  });
  demand(ceilings.length <= 1000, "there are too many limits");
  commonOf(ceilings.map(({ unit }) => unit.d));
  return {
    kind: "loss", criterion, ceilings, loss: number(get("loss"), "the loss"),
    unit: number(get("loss_unit"), "the unit of the loss", 0n), actions: labels(get("actions"), "the actions"),
    name: shortText(get("loss_name"), "the name of the loss"),
    bound: bounded ? number(get("bound"), "the bound") : null,
    dualUnit: bounded ? number(get("dual_unit"), "the unit of the dual", 0n) : null,
  };
}

function readSharesClaim(value) {
  const get = table(value, "the claim", ["kind", "loss", "workload_unit"], ["bound", "criterion", "workload_name"]);
  const criterion = get("criterion") === undefined ? "expected" : get("criterion");
  demand(criterion === "expected" || criterion === "worst prior", "the criterion is not known");
  return {
    kind: "shares", criterion, ceilings: [], loss: number(get("loss"), "the loss"),
    unit: number(get("workload_unit"), "the unit of the workload", 0n),
    name: shortText(get("workload_name"), "the name of the workload"),
    bound: get("bound") === undefined ? null : number(get("bound"), "the bound"),
  };
}

// ------------------------------------------------------------------ files about coordinates

function boxHeader(json) {
  const noisy = json.has("noise");
  const needed = ["version", "total", "box", "promise", "sections", ...(noisy ? ["noise"] : ["lattice", "outputs"])];
  const get = table(json, "the header", needed, ["space", "claims", "provenance"]);
  const file = beginning(get, ["name", "unit"]);
  const box = (file.box = readBox(get("box"), file.unit));
  const axes = box.sides.length;
  if (noisy) file.noise = readNoise(get("noise"), box);
  else {
    file.lattice = readLattice(get("lattice"), box);
    file.outputs = labels(get("outputs"), "the outputs");
    file.points = file.outputs.map((label) => pointOf(label, axes));
    const seen = new Set(file.points.map((point) => point.join(" ")));
    demand(seen.size === file.points.length, "two outputs are one point");
  }
  const promised = table(get("promise"), "the promise", ["kind", "rate"], ["epsilon", "alpha"]);
  demand(promised("kind") === "coordinates", "the promise is not about coordinates");
  const rate = number(promised("rate"), "rate", 0n);
  file.promise = { kind: "coordinates", ...amount(promised, "the promise"), rate };
  if (!box.frame) checkRate(file.promise);
  file.claims = readBoxClaims(get("claims"), box, file.lattice ?? null, file.noise ?? null);
  return file;
}

/** ε from below, as finely as the rate is told. */
export function epsilonBelow({ epsilon, alpha, rate }) {
  return epsilon ?? logBound(Rational.of(alpha.d, alpha.n), 128 + bitLength(rate.d), false);
}

function checkRate(promise) {
  demand(promise.rate.compare(epsilonBelow(promise)) <= 0, "the rate exceeds the promise");
}

/** A list with one entry for each axis. */
function axesOf(get, key, { length }) {
  const found = listOf(get(key), key);
  demand(found.length === length, `${key} are not one for each axis`);
  return found;
}

function readBox(value, unit) {
  const get = table(value, "the box", ["sides", "cells", "metric", "origin", "frame"]);
  const sides = listOf(get("sides"), "sides").map((side) => lengthOf(side, "a side", true));
  demand(sides.length >= 1 && sides.length <= 3, "a box has 1 to 3 sides");
  const cells = axesOf(get, "cells", sides).map((count) => whole32(count, 1n, 1n << 14n, "the number of cells"));
  demand(product(cells) <= 2 ** 22, "the box has too many cells");
  const metric = get("metric");
  demand(typeof metric === "string" && Object.hasOwn(FORM_OF, metric), "the metric is not known");
  const box = { sides, cells, metric, origin: null, frame: null };
  box.origin = axesOf(get, "origin", sides).map((at) => lengthOf(at, "the origin"));
  if (absent(get("frame"))) return box;
  const frame = table(get("frame"), "the frame", ["south", "west", "radius", "margin", "degrees"]);
  const degrees = listOf(frame("degrees"), "degrees").map((scale) => lengthOf(scale, "degrees", true));
  demand(degrees.length === 2 && sides.length === 2 && metric === "euclidean", "a map has two sides and is Euclidean");
  demand(box.origin.every(({ n }) => !n), "the origin of a map is 0");
  box.frame = {
    degrees, south: lengthOf(frame("south"), "south"), west: lengthOf(frame("west"), "west"),
    radius: lengthOf(frame("radius"), "the radius", true), margin: lengthOf(frame("margin"), "the margin"),
  };
  demand(box.frame.margin.n >= 0n, "the margin is below 0");
  checkEarth(box.frame.radius, unit);
  for (const end of [box.frame.south, box.frame.west]) demand(magnitude(end.n) <= 360n * end.d, "a corner is no place");
  const { highest, wide } = groundExtent(box.frame, sides);
  demand(highest.compare(whole(90)) < 0 && wide.compare(whole(180)) < 0, "the box reaches too far around the Earth");
  return box;
}

function readLattice(value, box) {
  const get = table(value, "the lattice", ["degree", "halvings", "breaks"]);
  const degree = whole32(get("degree"), 1n, 2n, "the degree"), halvings = whole32(get("halvings"), 0n, 4n, "halvings");
  const breaks = axesOf(get, "breaks", box.sides).map((axis) => listOf(axis, "breaks"));
  const ends = breaks.map((axis, k) => {
    demand(axis.length >= 2 && axis.length <= 1 + 2 ** (14 - halvings), "an axis has too few breaks or too many");
    const found = axis.map((at) => lengthOf(at, "a break"));
    demand(!found[0].n && found.at(-1).equals(box.sides[k]), "breaks go from 0 to the side");
    for (let i = 1; i < found.length; i++) demand(found[i - 1].compare(found[i]) < 0, "breaks do not go up");
    return found;
  });
  const shape = ends.map((axis) => axis.length - 1 + degree);
  demand(product(shape) <= 2 ** 22, "the lattice has too many points");
  const pieces = product(ends.map((axis) => (axis.length - 1) * 2 ** halvings));
  demand(pieces <= 2 ** 24, "the lattice has too many cells");
  return { degree, halvings, breaks: ends, shape };
}

function readNoise(value, box) {
  const get = table(value, "the noise", ["cells", "reach", "floor", "halvings"]);
  const each = (key, least, most) =>
    axesOf(get, key, box.sides).map((count) => whole32(count, least, most, key));
  const cells = each("cells", 1n, 1n << 31n), reach = each("reach", 0n, 1n << 10n);
  demand(cells.every((count, k) => count % box.cells[k] === 0), "cells of noise are no multiples of those of the box");
  const halvings = whole32(get("halvings"), 0n, 4n, "halvings"), floor = natural(get("floor"), "the floor");
  const extended = cells.reduce((all, count, k) => all * BigInt(count + 2 + 2 * reach[k]), 1n);
  demand(extended < 1n << 62n, "the lattice of noise is too large");
  demand(product(reach.map((r) => (r + 4) * 2 ** halvings)) <= 2 ** 24, "the noise reaches too far");
  return { cells, reach, halvings, floor, extended };
}

/** A point of the plane as fractions. */
function pointOf(label, axes) {
  const parts = axes === 1 ? [label] : label;
  demand(Array.isArray(parts) && parts.length === axes, "an output is no point of the box");
  return parts.map((part) => {
    if (typeof part === "bigint") return new Rational(part, 1n);
    if (typeof part === "number") return Rational.ofDouble(part);
    const found = part instanceof Map ? fractionOf(part.get("fraction")) : null;
    demand(found !== null, "an output is no point of the box");
    return found;
  });
}

function readBoxClaims(value, box, lattice, noise) {
  if (value === undefined || (value instanceof Map && !value.size)) return null;
  const bounded = value instanceof Map && value.has("bound");
  const more = noise ? ["bound"] : ["bound", "dual_unit", "bound_parts", "bound_strides"];
  const owed = bounded && !noise ? ["dual_unit", "bound_parts"] : [];
  const get = table(value, "the claim", ["kind", "loss", "parts", ...owed], ["loss_name", ...more]);
  demand(get("kind") === "loss on a box", "the kind of claim is not known");
  const parts = whole32(get("parts"), noise ? 2n : 1n, 64n, "parts");
  const claims = {
    kind: "loss on a box", criterion: "expected", ceilings: [], parts, loss: number(get("loss"), "the loss"),
    name: shortText(get("loss_name"), "the name of the loss"),
    bound: bounded ? number(get("bound"), "the bound") : null,
  };
  if (noise) {
    demand(parts % 2 === 0, "parts are no even number");
    demand(product(noise.reach.map((r) => (r + 1) * parts)) <= 2 ** 24, "there are too many parts");
    return claims;
  }
  const along = lattice.breaks.map((axis, k) => (axis.length + box.cells[k]) * parts);
  demand(along.every((many) => many <= 2 ** 15) && product(along) <= 2 ** 24, "there are too many parts");
  if (!bounded) {
    demand(!["dual_unit", "bound_parts", "bound_strides"].some((key) => value.has(key)), "a bound is missing");
    return claims;
  }
  const each = (key, most) =>
    axesOf(get, key, box.cells).map((count, k) => whole32(count, 1n, BigInt(most(k)), key));
  claims.dualUnit = number(get("dual_unit"), "the unit of the dual", 0n);
  claims.boundParts = each("bound_parts", () => 2 ** 14);
  const secrets = box.cells.map((count, k) => count * claims.boundParts[k]);
  const fit = secrets.every((count) => count >= 2 && count <= 2 ** 14);
  demand(fit, "a bound has too few secrets or too many");
  claims.strides = value.has("bound_strides") ? each("bound_strides", (k) => Math.floor(secrets[k] / 2))
    : secrets.map(() => 1);
  demand(claims.strides.every((stride, k) => secrets[k] % stride === 0), "strides are no divisors");
  claims.boundSecrets = secrets;
  return claims;
}
