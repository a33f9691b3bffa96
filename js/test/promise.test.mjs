// What a page promises its visitors: true, at round distances, and without exponents.

import assert from "node:assert/strict";
import { test } from "node:test";

import { promiseForVisitors } from "../../src/sfumato/client/promise.mjs";
import { load, verify } from "../sfumato.mjs";
import { Rational } from "../src/numbers.mjs";
import { vector } from "./rewritten.mjs";

const of = (name, change = () => {}) => {
  const mechanism = load(vector(name));
  assert.equal(verify(mechanism).outcome, "proved");
  change(mechanism.file);
  return mechanism;
};
const whole = (number) => Rational.of(BigInt(number), 1n);
/** What is promised in a square of 10 km with this alpha per km. */
const square = (alpha) => promiseForVisitors(of("ground", (file) => {
  file.promise = { ...file.promise, alpha: Rational.of(...alpha), epsilon: null };
  file.box.sides = [whole(10), whole(10)];
  file.unit = "km";
}));

test("on the Earth it is told in metres and kilometres, with factors rounded up", () => {
  assert.equal(square([1n, 4n]), "Whatever is sent is at most 1.15 times as likely from one as from the other of two "
    + "places that are up to 100 m apart, 2 times up to 500 m and 16 times up to 2 km.");
  // 9.0248… is not 9.02
  assert.match(square([332871n, 1000000n]), / 9\.03 times up to 2 km\.$/);
  // where hardly anything differs the farthest is told, and where hardly anything is left the module's own words
  assert.match(square([999n, 1000n]), /^Whatever is sent is at most 1\.02 times as likely .* up to 10 km apart\.$/);
});

test("choices are told at the distances that they have", () => {
  const scale = of("rows-alpha-step", (file) => (file.unit = "answer"));
  const words = promiseForVisitors(scale);
  assert.match(words, /^Whatever is sent is at most [\d.]+ times as likely from one as from the other of two choices/);
  assert.doesNotMatch(words, /\^|points between/);
  assert.match(promiseForVisitors(of("edges")), /that are 1 apart\. For those farther apart it is so many times more/);
});

test("no factor that is told is smaller than the one that was proved", () => {
  for (const [n, d] of [[1n, 2n], [2n, 3n], [1n, 7n], [99n, 100n], [1n, 1000n]]) {
    const told = [...square([n, d]).matchAll(/([\d.,]+) times.*?up to ([\d.]+) (k?m)/g)];
    assert.ok(told.length);
    for (const [, times, distance, unit] of told) {
      const owed = (Number(d) / Number(n)) ** (distance / (unit === "km" ? 1 : 1000));
      const said = Number(times.replaceAll(",", ""));
      assert.ok(said >= owed * (1 - 1e-9) && said <= owed * 1.01, `${said} is told of ${owed}`);
    }
  }
});

test("what is no promise by distance, or not verified, is told in the module's own words", () => {
  for (const name of ["rows-nothing-promised", "rows-one-secret"]) {
    const mechanism = of(name);
    assert.equal(promiseForVisitors(mechanism), mechanism.promise);
  }
  const unseen = load(vector("ground"));
  assert.match(promiseForVisitors(unseen), /^Not verified/);
  const strange = of("ground", (file) => (file.unit = "km. Nobody"));
  assert.match(promiseForVisitors(strange), /"km\. Nobody"/);
});
