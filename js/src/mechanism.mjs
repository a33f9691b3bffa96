// A mechanism as callers use it: verified, drawn from, remembered, explained.

import { checkFile } from "./check.mjs";
import { InvalidInput, Refuted } from "./errors.mjs";
import { readFile } from "./format.mjs";
import { labelKey, numberOf, plainLabel, shownLabel } from "./labels.mjs";
import { Rational, ZERO, maximum, minimum, product, total, whole } from "./numbers.mjs";
import { OffsetPlan, RoundingAxis, RoundingPlan, TablePlan, drawDigest } from "./plans.mjs";
import { FreshStream, KeyedCiphers, KeyedStream } from "./randomness.mjs";
import { Remembered } from "./remember.mjs";
import { quotedLabel } from "./rows.mjs";
import { weightsOf } from "./weights.mjs";
import { promiseInWords, reportLines } from "./words.mjs";

const UNPROVED = "this file has not been verified: call verify(mechanism) first and look at its answer, "
  + "or say { withoutProof: true } if you trust it unseen";

/** Read a mechanism file. Nothing is proved yet. */
export function load(bytes) {
  const given = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;
  return new Mechanism(readFile(given));
}

/** Prove everything that a file says: `outcome` is "proved" or "refuted", and `reason` a sentence. */
export function verify(mechanism) {
  if (!(mechanism instanceof Mechanism)) throw new InvalidInput("verify takes what load(bytes) returned");
  const { file } = mechanism;
  try {
    const found = checkFile(file);
    file.proof = found;
    const report = reportLines(file, found);
    return { outcome: "proved", reason: report[0], report, ...found };
  } catch (error) {
    if (!(error instanceof Refuted)) throw error;
    file.proof = null;
    return { outcome: "refuted", reason: error.message, report: [`REFUTED ${error.message}`], witness: error.witness };
  }
}

/** What load(bytes) returns. */
export class Mechanism {
  constructor(file) {
    this.file = file;
    file.proof = null;
  }

  /** The SHA-256 that ends the file, in hexadecimal digits. */
  get digest() {
    return this.file.digest;
  }

  get proved() {
    return this.file.proof !== null;
  }

  /** The labels of the secrets; null where all points of a box are secrets. */
  get secrets() {
    return this.file.box ? null : this.file.secrets.map(shownLabel);
  }

  /** The labels of the outputs; null for noise on several axes, whose outputs are the points of a lattice. */
  get outputs() {
    if (this.file.outputs) return this.file.outputs.map(shownLabel);
    return this.file.box.sides.length > 1 ? null : this.noiseAxis(0).map((at) => ({ fraction: String(at) }));
  }

  /** Where the secrets of a table lie, for maps; null where the file does not say. */
  get coordinates() {
    const { coordinates } = this.file;
    return Array.isArray(coordinates) ? coordinates.map((point) => [].concat(point).map(Number)) : null;
  }

  /** The box whose points are secrets, [low, high] along each axis; on the Earth degrees of longitude and latitude. */
  get extent() {
    const { box } = this.file;
    if (!box) return null;
    const { frame } = box;
    return box.sides.map((side, i) => {
      const low = !frame ? box.origin[i] : i ? frame.south : frame.west;
      return [low.about, low.plus(frame ? side.times(frame.degrees[i]) : side).about];
    });
  }

  /** Whether coordinates are degrees on the Earth. */
  get onEarth() {
    return Boolean(this.file.box ? this.file.box.frame : this.file.ground instanceof Map);
  }

  /** What is promised, in sentences that say so where nothing has been verified. */
  get promise() {
    return promiseInWords(this.file);
  }

  // ---------------------------------------------------------------- draws

  /** One output for a secret, with fresh random bits: the exact distribution that was proved. */
  draw(secret, { random = null, withoutProof = false } = {}) {
    this.permitted(withoutProof);
    if (!this.fresh || this.freshFrom !== random) {
      this.fresh = new FreshStream(random);
      this.freshFrom = random;
    }
    return this.output(this.plan.draw(this.secretOf(secret), this.fresh));
  }

  /** The number of the output, a function of key, id and mechanism: what sfumato in Python draws, bit for bit. */
  drawKeyed(secret, id, key, { secretNeverChanges = false, withoutProof = false } = {}) {
    this.permitted(withoutProof);
    if (secretNeverChanges !== true) {
      throw new InvalidInput("with a key a changed answer tells for certain that the secret has changed: say "
        + "{ secretNeverChanges: true } if the secret of an id never does");
    }
    checkBytes(id, 16, "an id");
    checkBytes(key, 32, "a key");
    if (!this.ciphers || this.ciphers.key.some((byte, k) => byte !== key[k])) {
      this.ciphers = new KeyedCiphers(Uint8Array.from(key), this.drawDigest);
    }
    return this.output(this.plan.draw(this.secretOf(secret), new KeyedStream(this.ciphers, id)));
  }

  /** Draws that return their first answer until the caller ends the period; see Remembered. */
  remember(store, options) {
    return new Remembered(this, store, options);
  }

  permitted(withoutProof) {
    if (!this.proved && withoutProof !== true) throw new InvalidInput(UNPROVED);
  }

  /** 32 bytes that name the distribution: labels and weights, not claims. */
  get drawDigest() {
    const { file } = this;
    let outputs = file.outputs ? file.outputs.map(plainLabel) : null;
    if (file.noise && file.box.sides.length === 1) {
      outputs = this.noiseAxis(0).map((at) => new Map([["fraction", String(at)]]));
    }
    const secrets = file.box ? null : file.secrets.map(plainLabel);
    return (this.digestOfDraws ??= drawDigest(secrets, outputs, this.plan));
  }

  get weights() {
    const { file } = this;
    const rows = file.box ? product(file.lattice.shape) : file.secrets.length;
    return (file.weights ??= weightsOf(file.sections, rows, file.outputs.length));
  }

  /** What turns random words into the number of an output. */
  get plan() {
    if (this.ready) return this.ready;
    const { file } = this, { box, lattice, noise } = file;
    if (noise) {
      const row = this.noiseRow();
      this.ready = new OffsetPlan(this.axes, new TablePlan(1, () => row, file.total), noise.reach);
      return this.ready;
    }
    const { weights } = this;
    const table = new TablePlan(weights.rows, (x) => weights.row(x), file.total);
    return (this.ready = box ? new RoundingPlan(this.axes, table) : table);
  }

  /** The axes of the lattice; on the Earth in degrees, since an affine map changes no rounding. */
  get axes() {
    const { box, lattice, noise } = this.file, { frame } = box;
    const degree = noise ? 2 : lattice.degree;
    return box.sides.map((side, i) => {
      const breaks = noise ? multiplesOf(side, noise.cells[i]) : lattice.breaks[i];
      if (!frame) return new RoundingAxis(box.origin[i], breaks, degree);
      const scale = frame.degrees[i], origin = i ? frame.south : frame.west, beyond = frame.margin.times(scale);
      const reach = { low: origin.minus(beyond), high: origin.plus(side.times(scale)).plus(beyond), turn: i === 0 };
      return new RoundingAxis(origin, breaks.map((at) => at.times(scale)), degree, reach);
    });
  }

  /** Weights of all offsets of both signs, and of the floor. */
  noiseRow() {
    const { noise, sections } = this.file, sides = noise.reach.map((r) => 2 * r + 1);
    const found = [];
    for (let i = 0; i < product(sides); i++) {
      let place = 0, step = 1;
      for (let axis = sides.length - 1, left = i; axis >= 0; axis--) {
        place += step * Math.abs((left % sides[axis]) - noise.reach[axis]);
        left = Math.floor(left / sides[axis]);
        step *= noise.reach[axis] + 1;
      }
      found.push(sections.weights.at(place));
    }
    return [...found, noise.floor * noise.extended];
  }

  /** The lattice points of noise along an axis, moved into the box. */
  noiseAxis(i) {
    const { box, noise } = this.file, step = box.sides[i].over(whole(noise.cells[i]));
    return Array.from({ length: noise.cells[i] + 2 }, (_, place) => {
      const at = step.times(Rational.of(BigInt(2 * place - 1), 2n));
      return box.origin[i].plus(minimum([maximum([at, ZERO]), box.sides[i]]));
    });
  }

  // ---------------------------------------------------------------- secrets and outputs

  /** The row of a label, or a point as fractions. */
  secretOf(secret) {
    if (this.file.box) return this.pointOf(secret);
    this.rows ??= new Map(this.file.secrets.map((label, x) => [labelKey(label), x]));
    const row = this.rows.get(labelKey(secret));
    if (row === undefined) {
      const { secrets } = this.file, few = secrets.slice(0, 9).map(quotedLabel).join(", ");
      const more = secrets.length > 9 ? ` and ${secrets.length - 9} more` : "";
      throw new InvalidInput(`${quotedLabel(secret)} is none of those that the mechanism is about: ${few}${more}`);
    }
    return row;
  }

  /** A point of the box: a number, a list of them, or on the Earth { latitude, longitude }. */
  pointOf(point) {
    const { box } = this.file, axes = box.sides.length;
    if (box.frame && !Array.isArray(point)) point = [point?.longitude, point?.latitude];
    const parts = Array.isArray(point) ? point : [point];
    const found = parts.map((part) => (typeof part === "string" ? null : numberOf(part)));
    if (found.length !== axes || found.some((part) => part === null)) {
      const form = box.frame ? "{ latitude, longitude } in degrees" : `a list of ${axes} finite numbers`;
      throw new InvalidInput(`a secret is ${form}`);
    }
    return found;
  }

  /** An output as callers get it: its number and label; of a box also its point, on the Earth its place in degrees. */
  output(number) {
    const { file } = this;
    const many = file.outputs?.length ?? product(file.noise.cells.map((cells) => cells + 2));
    if (number >= many) throw new InvalidInput("this output is unknown to the mechanism");
    if (!file.box) return { number, label: shownLabel(file.outputs[number]) };
    const point = file.points ? file.points[number] : this.noisePoint(number);
    const found = { number, point: point.map((at) => at.about) };
    if (file.outputs) found.label = shownLabel(file.outputs[number]);
    const { frame } = file.box;
    if (frame) {
      const degrees = (corner, i) => corner.plus(point[i].times(frame.degrees[i])).about;
      const [longitude, latitude] = [frame.west, frame.south].map(degrees);
      Object.assign(found, { latitude, longitude });
    }
    return found;
  }

  noisePoint(number) {
    const found = [];
    for (let axis = this.file.box.sides.length - 1; axis >= 0; axis--) {
      this.along ??= this.file.box.sides.map((_, i) => this.noiseAxis(i));
      found.unshift(this.along[axis][number % this.along[axis].length]);
      number = Math.floor(number / this.along[axis].length);
    }
    return found;
  }

  /** The secret of a table that lies nearest to a point, by the coordinates that the file has for maps. */
  nearest(point) {
    const { coordinates } = this;
    if (this.file.box || !coordinates) throw new InvalidInput("this mechanism has no secrets with coordinates");
    const given = point?.latitude === undefined ? point : [point.longitude, point.latitude];
    if (!Array.isArray(given) || given.length !== coordinates[0].length || !given.every(Number.isFinite)) {
      throw new InvalidInput(`a point is a list of ${coordinates[0].length} finite numbers`);
    }
    const ground = this.file.ground instanceof Map;
    // On the ground the nearest place is the nearest in space, wherever longitudes begin again.
    const spot = ([first, second, ...more]) => {
      if (!ground) return [first, second, ...more];
      const [x, y] = [first, second].map((at) => (at * Math.PI) / 180);
      return [Math.cos(x) * Math.cos(y), Math.sin(x) * Math.cos(y), Math.sin(y)];
    };
    const here = spot(given), apart = coordinates.map((each) =>
      spot(each).reduce((sum, at, i) => sum + (i in here ? (at - here[i]) ** 2 : 0), 0));
    return shownLabel(this.file.secrets[apart.indexOf(Math.min(...apart))]);
  }

  // ---------------------------------------------------------------- what an output tells

  /** The action that the file claims its loss for, for an output by its number. */
  remap(output) {
    const { claims, sections, outputs } = this.file;
    if (!sections.remap) throw new InvalidInput("this file claims no loss, and has no remap");
    return shownLabel(claims.actions[sections.remap[this.outputNumber(output, outputs.length)]]);
  }

  outputNumber(output, many) {
    const number = typeof output === "number" ? output : output?.number;
    if (!Number.isInteger(number) || number < 0 || number >= many) {
      throw new InvalidInput(`an output is given by its number, 0 to ${many - 1}, or as a draw returned it`);
    }
    return number;
  }

  /**
   * What somebody concludes from an output who believes in a prior: the exact chance of every secret, as numbers that
   * are rounded for people. The prior is a list of counts or chances, that of the claim, or uniform.
   */
  posterior(output, { prior = null, points = null } = {}) {
    const { file } = this;
    if (file.noise) throw new InvalidInput("the posterior of noise is listed for tables and lattices only");
    const y = this.outputNumber(output, file.outputs.length);
    if (file.box && !Array.isArray(points)) {
      throw new InvalidInput("on a box, say between which points: { points: […] }");
    }
    const n = file.box ? points.length : file.secrets.length;
    const chances = file.box ? points.map((point) => this.chance(point, y))
      : Array.from({ length: n }, (_, x) => new Rational(this.weights.read(x * this.weights.columns + y), 1n));
    const believed = this.believed(prior, n);
    const joint = chances.map((chance, x) => chance.times(believed[x])), mass = total(joint);
    if (!mass.n) throw new InvalidInput("under this prior the output is impossible");
    return joint.map((each) => each.over(mass).about);
  }

  believed(prior, n) {
    if (prior === null) {
      const { claims, sections } = this.file;
      if (!this.file.box && claims && claims.criterion !== "worst prior") {
        return sections.prior.slice(0, n).map((count) => new Rational(count, 1n));
      }
      return new Array(n).fill(whole(1));
    }
    const found = Array.isArray(prior) ? prior.map((each) => numberOf(each)) : [];
    if (found.length !== n || found.some((each) => each === null || each.n < 0n)) {
      throw new InvalidInput(`a prior is a list of ${n} numbers that are not negative`);
    }
    return found;
  }

  /** The exact chance of an output at a point of a box, as a fraction. */
  chance(point, output) {
    const { file, weights, axes } = this;
    if (!file.lattice) throw new InvalidInput("chances at a point are worked out for lattices");
    const y = this.outputNumber(output, file.outputs.length);
    let found = [[0, whole(1)]];
    this.pointOf(point).forEach((at, i) => {
      const [first, cumulative] = axes[i].chances(at);
      const shares = [...cumulative, whole(1)].map((c, k) => (k ? c.minus(cumulative[k - 1]) : c));
      found = found.flatMap(([row, chance]) =>
        shares.map((share, k) => [row * axes[i].size + first + k, chance.times(share)]));
    });
    return total(found.map(([row, chance]) =>
      chance.times(Rational.of(weights.read(row * weights.columns + y), file.total))));
  }
}

function checkBytes(value, size, what) {
  if (!(value instanceof Uint8Array) || value.length !== size) {
    throw new InvalidInput(`${what} is a Uint8Array of ${size} bytes`);
  }
}

/** The multiples of a part of a side, from 0 to the side. */
function multiplesOf(side, many) {
  return Array.from({ length: many + 1 }, (_, j) => side.times(Rational.of(BigInt(j), BigInt(many))));
}

