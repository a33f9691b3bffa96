// Claims about a loss: it is what it is said to be, limits are kept, and no mechanism goes below a bound.

import { Refuted, demand } from "./errors.mjs";
import { factorAbove, grainOf, inGrains } from "./exponentials.mjs";
import { Rational, ZERO, added, bitLength, commonOf, lcm, maximum, toldApart, total } from "./numbers.mjs";
import { EVENT_METRIC, eventPairs, pairPosition } from "./rows.mjs";

/** Doubles as integers over one power of two, made when they are asked for: as such they take ten times the room. */
export class Dyadic {
  constructor(values, what) {
    let least = 0;
    for (const value of values) {
      demand(Number.isFinite(value), `${what} is not finite`);
      if (!Number.isInteger(value)) least = Math.max(least, bitLength(Rational.ofDouble(value).d) - 1);
    }
    const common = 1n << BigInt(least);
    this.unit = Rational.of(1n, common);
    this.at = (k) => {
      const { n, d } = Rational.ofDouble(values[k]);
      return n * (common / d);
    };
    this.all = () => Array.from(values, (_, k) => this.at(k));
  }
}

/** The priors of a claim, lists of counts, each with a positive sum. */
export function priorsOf({ prior }, n) {
  const found = [];
  for (let start = 0; start < prior.length; start += n) {
    const counts = prior.slice(start, start + n);
    demand(added(counts) > 0n, "a prior has the sum 0");
    found.push(counts);
  }
  return found;
}

/** The counts under which a bound is proved: those of the prior, or of the mixture of several. */
export function mixedPrior(claims, sections, n) {
  const priors = priorsOf(sections, n);
  if (claims.criterion !== "worst prior") return priors[0];
  const shares = sections.mixture.all();
  demand(added(shares) > 0n, "the shares of priors have the sum 0");
  const sums = priors.map(added), common = commonOf(sums);
  return priors[0].map((_, x) => added(priors.map((counts, k) => shares[k] * (common / sums[k]) * counts[x])));
}

const expectation = (counts, values) => Rational.of(added(counts.map((c, x) => c * values[x])), added(counts));

/** Σ_y N[x][y]·table(remap[y], x) for each secret x, in units of the table. */
function spent(weights, table, remap, n) {
  const found = [];
  for (let x = 0; x < n; x++) {
    let sum = 0n;
    weights.row(x).forEach((weight, y) => (sum += weight * table.at(remap[y] * n + x)));
    found.push(sum);
  }
  return found;
}

/** Check a claim of kind `loss` beside a table that has been proved. */
export function checkLossClaim(file) {
  const { claims, sections, weights } = file, n = file.secrets.length, a = claims.actions.length;
  for (const action of sections.remap) demand(action < a, "the remap names an action that does not exist");
  const losses = new Dyadic(sections.loss, "a loss"), scale = losses.unit.times(claims.unit);
  const values = spent(weights, losses, sections.remap, n);
  const priors = priorsOf(sections, n);
  const means = claims.criterion === "worst secret" ? values.map((v) => new Rational(v, 1n))
    : priors.map((counts) => expectation(counts, values));
  const loss = maximum(means).times(scale).times(Rational.of(1n, file.total));
  if (!loss.equals(claims.loss)) throw new Refuted(`the loss is ${toldApart(loss, claims.loss).join(", not ")}`);
  const limits = claims.ceilings.map((limit, j) => {
    const table = new Dyadic(sections.ceilings.subarray(j * a * n, (j + 1) * a * n), "a limit");
    const unit = table.unit.times(limit.unit);
    for (const value of spent(weights, table, sections.remap, n)) {
      const found = unit.times(Rational.of(value, file.total));
      if (!found.atMost(limit.level)) {
        throw new Refuted(`a limit is ${toldApart(limit.level, found).join(", and a secret has ")}`);
      }
    }
    return { table, unit, level: limit.level };
  });
  if (!claims.bound) return { loss, bound: null };
  const counts = mixedPrior(claims, sections, n);
  const problem = {
    n, a, counts, unit: scale, losses: (x) => claims.actions.map((_, w) => losses.at(w * n + x)),
    promise: file.promise, metric: file.metric,
    distance: pairDistance(file), dualUnit: claims.dualUnit, sections, limits,
    events: file.events.length ? file : null,
  };
  checkBound(problem, claims.bound);
  return { loss, bound: claims.bound };
}

/** The distance of two secrets by their numbers; null where none is finite, or where they have no edge. */
function pairDistance(file) {
  const n = file.secrets.length;
  if (file.metric.source !== "edges") {
    return (x, z) => file.distance(pairPosition(Math.min(x, z), Math.max(x, z), n));
  }
  const edges = new Map(file.pairs.map(([x, z, value]) => [x * n + z, value]));
  return (x, z) => edges.get(Math.min(x, z) * n + Math.max(x, z)) ?? null;
}

/** Weak duality: Σ_x min_w S[x][w], less the prices of limits and events, is at least the bound. */
export function checkBound(problem, bound) {
  const { n, a, counts, unit, losses, dualUnit, sections, limits, events } = problem;
  const { dual, dual_from: from, dual_to: to, dual_action: action } = sections;
  const factors = new Map(), apart = [];
  for (let k = 0; k < dual.length; k++) {
    demand(from[k] < n && to[k] < n && from[k] !== to[k] && action[k] < a, "a dual number stands on no constraint");
    const value = problem.distance(from[k], to[k]);
    if (value === null) throw new Refuted("a dual number stands on a pair without a finite distance");
    if (!factors.has(value)) factors.set(value, factorAbove(problem.promise, problem.metric, value));
    apart.push(value);
  }
  const grain = grainOf(factors.values());
  const grained = new Map([...factors].map(([value, factor]) => [value, inGrains(factor, grain)]));
  // Sums of dual numbers over one denominator, the grain of factors times that of events.
  const charged = Array.from({ length: n }, () => new Map());
  const put = (x, w, amount) => charged[x].set(w, (charged[x].get(w) ?? 0n) + amount);
  const event = events ? eventCharges(events, a) : { grain: 1n, charges: [], price: ZERO };
  for (let k = 0; k < dual.length; k++) {
    const z = dual.at(k) * event.grain;
    put(from[k], action[k], z * grain);
    put(to[k], action[k], -z * grained.get(apart[k]));
  }
  for (const [x, w, amount] of event.charges) put(x, w, amount * grain);
  const mass = added(counts), perCharge = dualUnit.times(Rational.of(1n, grain * event.grain));
  const perLoss = unit.times(Rational.of(1n, mass));
  let price = event.price.times(dualUnit);
  const taxes = limits.map(({ table, unit: each, level }, j) => {
    const prices = sections.ceiling_prices.slice(j * n, (j + 1) * n);
    price = price.plus(level.times(dualUnit).times(new Rational(added(prices), 1n)));
    return { table, prices, unit: each.times(dualUnit) };
  });
  // All terms are integers over one denominator, so that the least of many is a comparison of integers.
  const units = [perLoss, perCharge, ...taxes.map((tax) => tax.unit)];
  const common = units.reduce((d, u) => lcm(d, u.d), 1n);
  const [lossScale, chargeScale, ...taxScales] = units.map((u) => u.n * (common / u.d));
  const nothing = new Array(a).fill(0);
  let sum = 0n;
  for (let x = 0; x < n; x++) {
    // Where there is no mass nothing is lost; of actions without dual numbers only that of the least loss matters.
    const scale = lossScale * counts[x], row = scale ? losses(x) : nothing;
    let least = null, free = Infinity;
    for (let w = 0; w < a; w++) {
      const charge = charged[x].get(w);
      if (!charge && !taxes.length) {
        if (row[w] >= free) continue;
        free = row[w];
      }
      let value = scale * BigInt(row[w]) + chargeScale * (charge ?? 0n);
      taxes.forEach(({ table, prices }, j) => (value += taxScales[j] * prices[x] * table.at(w * n + x)));
      if (least === null || value < least) least = value;
    }
    sum += least;
  }
  const proved = Rational.of(sum, common).minus(price);
  if (!bound.atMost(proved)) {
    throw new Refuted(`the numbers in the file prove a bound of ${toldApart(proved, bound).join(", not of ")}`);
  }
}

/** What dual numbers of events add to S, over a grain, and what they cost. */
function eventCharges(file, a) {
  const { event_dual: dual, event_dual_pair: pair, event_dual_action: action } = file.sections;
  const pairs = eventPairs(file);
  const factors = file.events.map(({ factor, epsilon }) =>
    factor ?? factorAbove({ epsilon, alpha: null, step: null }, EVENT_METRIC, 1n));
  const grain = grainOf(factors), grained = factors.map((factor) => inGrains(factor, grain));
  const sums = new Map(), charges = [];
  for (let k = 0; k < dual.length; k++) {
    demand(pair[k] < pairs.length && action[k] < a, "a dual number stands on no constraint");
    const [x, z, number] = pairs[pair[k]], value = dual.at(k);
    charges.push([x, action[k], value * grain], [z, action[k], -value * grained[number]]);
    const name = pair[k] * a + action[k];
    sums.set(name, (sums.get(name) ?? 0n) + value);
  }
  const most = new Map();
  for (const [name, value] of sums) {
    const e = Math.floor(name / a);
    if (value > (most.get(e) ?? 0n)) most.set(e, value);
  }
  const price = total([...most].map(([e, value]) => file.events[pairs[e][2]].delta.times(new Rational(value, 1n))));
  return { grain, charges, price };
}

