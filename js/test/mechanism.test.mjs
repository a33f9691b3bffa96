// What callers may and may not do, and that draws have the proved distribution.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { InvalidInput, load, verify } from "../sfumato.mjs";

const vector = (name) => new Uint8Array(readFileSync(new URL(`../../tests/vectors/${name}.sfm`, import.meta.url)));
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
