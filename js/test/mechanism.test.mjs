// What callers may and may not do, and that draws have the proved distribution.

import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidInput, load, verify } from "../sfumato.mjs";
import { Rational } from "../src/numbers.mjs";
import { reportLines, rounded } from "../src/words.mjs";
import { rewritten, vector } from "./rewritten.mjs";

const proved = (name) => {
  const mechanism = load(vector(name));
  assert.equal(verify(mechanism).outcome, "proved");
  return mechanism;
};
const KEY = new Uint8Array(32), ID = new Uint8Array(16);
const refused = (act, message) => assert.throws(act, (error) => error instanceof InvalidInput && message.test(error.message));

test("nothing is drawn from a file that was not verified, or was refuted", () => {
  const mechanism = load(vector("rows-epsilon"));
  const [secret] = mechanism.secrets;
  refused(() => mechanism.draw(secret), /not been verified/);
  refused(() => mechanism.drawKeyed(secret, ID, KEY, { secretNeverChanges: true }), /not been verified/);
  refused(() => mechanism.remember(new Map()).draw(secret), /not been verified/);
  refused(() => mechanism.draw(secret, { withoutProof: "yes" }), /not been verified/);
  assert.match(mechanism.promise, /^Not verified/);
  assert.ok(mechanism.draw(secret, { withoutProof: true }).number >= 0);
  const forged = load(vector("ratio-one-unit"));
  assert.equal(verify(forged).outcome, "refuted");
  refused(() => forged.draw(forged.secrets[0]), /not been verified/);
});

test("bad input has an error with a sentence", () => {
  const mechanism = proved("rows-epsilon"), [secret] = mechanism.secrets;
  refused(() => mechanism.draw("nobody"), /none of those/);
  refused(() => mechanism.draw(undefined), /label/);
  refused(() => mechanism.draw(secret, { random: 7 }), /function/);
  refused(() => mechanism.draw(secret, { random: () => {} }), /left the bytes/);
  refused(() => mechanism.drawKeyed(secret, ID, KEY), /secretNeverChanges/);
  refused(() => mechanism.drawKeyed(secret, [1], KEY, { secretNeverChanges: true }), /16 bytes/);
  refused(() => mechanism.drawKeyed(secret, ID, ID, { secretNeverChanges: true }), /32 bytes/);
  refused(() => mechanism.remember({}), /store/);
  refused(() => mechanism.posterior(99), /number/);
  refused(() => mechanism.posterior(0, { prior: [1] }), /prior/);
  refused(() => verify(vector("rows-epsilon")), /load/);
  assert.throws(() => load("text"), { name: "Unreadable" });
  const box = proved("ground");
  refused(() => box.draw({ latitude: 0, longitude: 0 }), /nothing is promised/);
  refused(() => box.draw({ latitude: NaN, longitude: 0 }), /latitude/);
  refused(() => box.draw(["52", "13"]), /latitude/);
});

test("a secret that is none is told which there are", () => {
  const scale = load(rewritten("rows-epsilon", (header) => (header.secrets = [{ fraction: "1/2" }, "often"])));
  assert.equal(verify(scale).outcome, "proved");
  refused(() => scale.draw("oftn"), /^"oftn" is none of those that the mechanism is about: "1\/2", "often"$/);
  refused(() => scale.draw({ fraction: "2/6" }), /^"1\/3" is none/);
  const many = load(vector("rows-epsilon"));
  many.file.secrets = Array.from({ length: 12 }, (_, x) => x);
  refused(() => many.draw(12, { withoutProof: true }), /^"12" is none of those .*: "0", .*, "8" and 3 more$/);
});

test("a coordinate outside of the box is named, with the degrees between which it would lie", () => {
  const box = proved("ground"), [[west, east], [south, north]] = box.extent;
  for (const [name, point, low, high] of [["latitude", { latitude: -20.5, longitude: east }, south, north],
    ["longitude", { latitude: north, longitude: 100 }, west, east]]) {
    refused(() => box.draw(point), new RegExp(`^the ${name} ${point[name]} is not between `));
    try {
      box.draw(point);
    } catch ({ message }) {
      const [, from, to] = message.match(/between ([\d.]+) and ([\d.]+): nothing is promised there$/);
      assert.ok(from <= low && high <= to && [from, to].every((end) => end.length <= 9), message);
    }
  }
});

test("a platform without random numbers is told to pass a source", () => {
  const mechanism = proved("rows-epsilon"), [secret] = mechanism.secrets, { crypto } = globalThis;
  Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
  try {
    refused(() => mechanism.draw(secret), /pass a secure source/);
    const random = (bytes) => crypto.getRandomValues(bytes);
    assert.ok(mechanism.draw(secret, { random }).number >= 0);
  } finally {
    Object.defineProperty(globalThis, "crypto", { value: crypto, configurable: true });
  }
});

test("the first answer stands until the period ends", () => {
  const mechanism = proved("rows-epsilon"), store = new Map(), memory = mechanism.remember(store);
  const [first, second] = mechanism.secrets;
  const told = memory.draw(first);
  for (let k = 0; k < 50; k++) assert.deepEqual(mechanism.remember(store).draw(second), told);
  memory.endPeriod();
  assert.equal(store.size, 0);
  const answers = new Set();
  for (let k = 0; k < 200; k++) {
    answers.add(memory.draw(first).number);
    memory.endPeriod();
  }
  assert.ok(answers.size > 1);
  refused(() => mechanism.remember({ get: () => null, set() {}, delete() {} }).draw(first), /did not keep/);
  refused(() => mechanism.remember({ get: () => "999", set() {}, delete() {} }).draw(first), /unknown/);
  refused(() => mechanism.remember({ get: () => Promise.resolve(), set() {}, delete() {} }).draw(first), /at once/);
  const other = new Map();
  const storage = { getItem: (k) => other.get(k) ?? null, setItem: (k, v) => other.set(k, v), removeItem: (k) => other.delete(k) };
  assert.deepEqual(mechanism.remember(storage).draw(first), mechanism.remember(storage).draw(second));
});

test("remap, posterior, promise and places", () => {
  const mechanism = proved("loss");
  assert.ok(mechanism.remap(0) !== undefined);
  const posterior = mechanism.posterior(0);
  assert.ok(Math.abs(posterior.reduce((a, b) => a + b) - 1) < 1e-12);
  assert.match(mechanism.promise, /at most .* times as likely/);
  assert.match(proved("rows-nothing-promised").promise, /Nothing is promised/);
  assert.match(proved("rows-one-secret").promise, /one secret/);
  const ground = proved("ground"), drawn = ground.draw({ latitude: 52.05, longitude: 13.05 });
  assert.ok(Math.abs(drawn.latitude - 52) < 1 && Math.abs(drawn.longitude - 13) < 1);
  const box = proved("coordinates");
  assert.equal(box.posterior(0, { points: [0, 1] }).length, 2);
});

test("distances are told, and pairs about which next to nothing is promised", () => {
  const told = (name) => {
    const mechanism = load(vector(name));
    return [verify(mechanism).report.slice(1, 3).join("\n"), mechanism.promise];
  };
  for (const words of told("rows-loose")) {
    assert.match(words, /Distances are 1 to 2305843009213693951\./);
    assert.match(words, /Of 3 checked pairs 2 are so far apart that only zeros are ruled out\./);
  }
  for (const words of told("edges")) assert.match(words, /Distances along edges are 1 to 1\./);
  for (const words of told("rows-root")) assert.match(words, /Distances are 1.414213562373095\d to/);
});

test("numbers in reports are rounded so that what is said stays true", () => {
  const third = (claims) => Object.assign(claims, { loss: "2000002/3", bound: "1000001/3000000" });
  const { claims } = load(rewritten("bound", (header) => third(header.claims))).file;
  const nothing = { secrets: [], outputs: [], events: [], promise: {}, metric: {}, span: null };
  const lines = reportLines({ ...nothing, claims }, { pairs: 1, implied: 0, open: 0 }).join("\n");
  assert.match(lines, /at most 666667.4$/m);
  assert.match(lines, /no mechanism of this promise goes below 0.3333336$/m);
  for (const [n, d, low, high] of [[1n, 3n, "0.3333333", "0.3333334"], [-2n, 3n, "-0.666667", "-0.666666"], [5n, 4n, "1.25", "1.25"],
    [0n, 1n, "0", "0"], [10n ** 400n + 1n, 1n, "10000000e393", "10000001e393"], [1n, 10n ** 400n, "1000000e-406", "1000000e-406"],
    [10n ** 9n - 1n, 1n, "999999900", "1000000000"]]) {
    const told = [false, true].map((up) => rounded(Rational.of(n, d), up));
    assert.deepEqual(told, [low, high]);
  }
});

test("the nearest place is the nearest on the ground, across the antimeridian and around a pole", () => {
  const among = (first, second, ground = { earth: "sphere", cells: null }) => load(rewritten("space-ground", ({ space }) => {
    Object.assign(space, { coordinates: [first, second], ground });
  }));
  for (const [first, second, point, owed] of [
    [[-179.9, -17], [170, -17], [179.9, -17], 0], [[169, -17], [179.9, -17], [-179.9, -17], 1],
    [[180, 89.9], [0, 89], [0, 89.8], 0], [[13, 52], [13.1, 52], [13.04, 52], 0],
  ]) {
    const mechanism = among(first, second);
    assert.equal(mechanism.nearest({ longitude: point[0], latitude: point[1] }), mechanism.secrets[owed]);
  }
  const plane = among([-179, 0], [0, 0], null);
  assert.equal(plane.nearest([179, 0]), plane.secrets[1]);
});

/** χ² of counts against chances; a complaint without reason has a chance of some 10^-9. */
function checkFit(counts, chances, draws) {
  let statistic = 0, degrees = -1;
  counts.forEach((count, y) => {
    const owed = draws * chances[y];
    if (owed === 0) assert.equal(count, 0);
    else {
      statistic += (count - owed) ** 2 / owed;
      degrees++;
    }
  });
  // Wilson and Hilferty: the cube root of a χ² variable is almost normal.
  if (degrees) {
    const spread = 2 / (9 * degrees);
    const normal = (Math.cbrt(statistic / degrees) - (1 - spread)) / Math.sqrt(spread);
    assert.ok(normal < 6, `χ² is ${statistic} with ${degrees} degrees of freedom`);
  }
}

test("draws have the proved distribution", { timeout: 1200000 }, () => {
  const draws = Number(process.env.SFUMATO_DRAWS ?? 200000);
  for (const name of ["rows-epsilon", "rows-alpha-step", "rows-wide", "rows-zero-column", "runs"]) {
    const mechanism = proved(name), { secrets } = mechanism, { total } = mechanism.file;
    const secret = secrets.at(-1), row = mechanism.weights.row(secrets.length - 1);
    const counts = new Array(row.length).fill(0);
    for (let k = 0; k < draws; k++) counts[mechanism.draw(secret).number]++;
    checkFit(counts, row.map((weight) => Number(weight) / Number(total)), draws);
  }
  for (const [name, point] of [["coordinates", 0.3], ["coordinates-euclidean", [0.3, 0.8]], ["coordinates-degree-1", 0.55]]) {
    const mechanism = proved(name), counts = mechanism.outputs.map(() => 0);
    for (let k = 0; k < draws / 10; k++) counts[mechanism.draw(point).number]++;
    checkFit(counts, counts.map((_, y) => mechanism.chance(point, y).about), draws / 10);
  }
});
