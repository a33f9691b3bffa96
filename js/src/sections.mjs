// Which sections a header calls for, how many numbers each has, and how much the file asks for.

import { demand } from "./errors.mjs";
import { bitLength, magnitude, product } from "./numbers.mjs";

/** Counts by name, the effort of the file, and the bytes of an unfolded table. `count` is −1 for what is absent. */
export function expectedSections(file, count, width) {
  return file.box ? ofBox(file, count, width) : ofRows(file, count, width);
}

function upTo(found, least, most, what) {
  demand(found >= least && found <= most, `the section ${what} is missing, or has too many numbers or too few`);
  return found;
}

/** Counts of weights with or without runs. */
function ofWeights(file, rows, columns, count, width) {
  const entries = rows * columns;
  if (count("run_starts") < 0) return { weights: [entries], unfolded: 0 };
  const runs = upTo(count("run_starts"), 0, entries, "run_starts");
  const weights = upTo(count("weights"), columns, columns + entries, "weights");
  return { weights: [weights, runs], unfolded: entries * width("weights") };
}

function ofRows(file, count, width) {
  const n = file.secrets.length, m = file.outputs.length, pairs = (n * (n - 1)) / 2;
  const { weights, unfolded } = ofWeights(file, n, m, count, width);
  const expected = { weights: weights[0] };
  if (weights.length > 1) expected.run_starts = expected.run_lengths = weights[1];
  let effort = unfolded, edges = pairs;
  if (file.metric.source === "edges") {
    edges = upTo(count("distances"), 0, pairs, "distances");
    Object.assign(expected, { edge_first: edges, edge_second: edges, distances: edges });
  } else {
    if (file.metric.source === "places") {
      const many = upTo(count("places"), n, 64 * n, "places");
      demand(many % n === 0, "a section has no whole number of rows");
      expected.places = many;
      effort += pairs;
    } else expected.distances = pairs;
    if (count("via") >= 0) expected.via = pairs;
  }
  const bits = bitLength(file.total);
  effort += edges * (Math.floor((m * Math.floor(bits / 128) ** 2) / 8) + 4 * Math.floor(bits / 512) ** 3);
  const ordered = file.events.reduce((sum, event) => sum + event.pairs, 0);
  if (file.events.length) expected.event_upper = expected.event_lower = ordered;
  const { claims } = file;
  if (claims) {
    const several = claims.criterion === "worst prior";
    expected.prior = several ? upTo(count("prior"), n, 1000 * n, "prior") : n;
    demand(expected.prior % n === 0, "a section has no whole number of rows");
    if (claims.kind === "shares") {
      if (several) expected.mixture = expected.prior / n;
      const size = upTo(count("workload"), n, 1000 * n, "workload");
      demand(size % n === 0, "a section has no whole number of rows");
      expected.workload = size;
      if (claims.bound) Object.assign(expected, { share_dual: size, share_prices: n });
    } else {
      const a = claims.actions.length;
      Object.assign(expected, { remap: m, loss: a * n });
      if (claims.ceilings.length) expected.ceilings = claims.ceilings.length * a * n;
      if (claims.bound) {
        addDuals(expected, upTo(count("dual"), 0, 2 * a * edges, "dual"));
        if (several) expected.mixture = expected.prior / n;
        if (claims.ceilings.length) expected.ceiling_prices = claims.ceilings.length * n;
        if (file.events.length) {
          const many = upTo(count("event_dual"), 0, a * ordered, "event_dual");
          expected.event_dual = expected.event_dual_pair = expected.event_dual_action = many;
        }
      }
    }
  }
  return { expected, effort, unfolded };
}

function addDuals(expected, many) {
  expected.dual = expected.dual_from = expected.dual_to = expected.dual_action = many;
}

function ofBox(file, count, width) {
  const { box, claims, noise, lattice } = file;
  const cells = product(box.cells);
  const expected = {};
  let effort, unfolded = 0;
  if (noise) {
    expected.weights = product(noise.reach.map((r) => r + 1));
    effort = product(noise.reach.map((r) => 2 * (r + 2) * 2 ** noise.halvings + 1));
    if (claims) effort += product(noise.reach.map((r) => (r + 2) * claims.parts)) + cells;
  } else {
    const columns = file.outputs.length;
    const found = ofWeights(file, product(lattice.shape), columns, count, width);
    expected.weights = found.weights[0];
    if (found.weights.length > 1) expected.run_starts = expected.run_lengths = found.weights[1];
    unfolded = found.unfolded;
    const sides = lattice.breaks.map((axis) => axis.length - 1);
    effort = columns * product(sides.map((side) => 2 * side * 2 ** lattice.halvings + 1));
    if (claims) effort += columns * product(sides.map((side, k) => 2 * (side + box.cells[k]) * claims.parts)) + cells;
  }
  if (claims) {
    expected.prior = cells;
    if (claims.bound && noise) {
      const layers = upTo(count("layer_counts"), 0, 1000, "layer_counts");
      Object.assign(expected, { layer_counts: layers, layer_ends: 2 * box.cells.length * layers });
    } else if (claims.bound) {
      const splits = upTo(count("splits"), 0, 2 ** 18, "splits"), secrets = product(claims.boundSecrets);
      demand(secrets * splits <= 2 ** 28, "the bound asks for too much");
      expected.splits = splits;
      addDuals(expected, upTo(count("dual"), 0, secrets * (secrets - 1) * 2 ** box.cells.length * splits, "dual"));
      effort += 4 * secrets * splits;
    }
  }
  const { rate } = file.promise;
  const bits = Math.max(bitLength(magnitude(rate.n)), bitLength(rate.d));
  const wide = Math.floor(bits / 8) + width("weights") + (claims ? width("prior") : 0);
  return { expected, effort: effort * (1 + Math.floor(wide / 64)), unfolded };
}
