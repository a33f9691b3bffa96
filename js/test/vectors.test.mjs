// The vectors of the format: every answer, and every keyed draw, of the sources and of the module that is made of them.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import * as bundled from "../sfumato.mjs";
import * as sources from "../src/sfumato.mjs";
import { rewritten } from "./rewritten.mjs";

const FOLDER = new URL("../../tests/vectors/", import.meta.url);
const read = (name) => readFileSync(new URL(name, FOLDER));
const hex = (text) => new Uint8Array(Buffer.from(text, "hex"));
const answers = Object.entries(JSON.parse(read("answers.json")));
const draws = Object.entries(JSON.parse(read("draws.json"))).filter(([name]) => name);

function answer({ load, verify }, bytes) {
  try {
    return verify(load(bytes));
  } catch (error) {
    assert.equal(error.name, "Unreadable", error.stack);
    assert.match(error.message, /^.{10,}$/);
    return { outcome: "unreadable" };
  }
}

for (const [kind, module] of [["sources", sources], ["module", bundled]]) {
  test(`answers of the ${kind}`, () => {
    assert.ok(answers.length > 300);
    for (const [name, { answer: owed, proves }] of answers) {
      const found = answer(module, new Uint8Array(read(`${name}.sfm`)));
      assert.equal(found.outcome, owed, `${name}: ${found.reason}`);
      for (const count of ["pairs", "implied", "open", "loose"]) {
        if (proves?.[count] !== undefined && !proves.cells) assert.equal(found[count], proves[count], `${name}: ${count}`);
      }
    }
  });

  test(`keyed draws of the ${kind}`, () => {
    assert.ok(draws.length > 20);
    for (const [name, { key, digest, ids, secrets, outputs }] of draws) {
      const mechanism = module.load(new Uint8Array(read(`${name}.sfm`)));
      assert.equal(module.verify(mechanism).outcome, "proved");
      assert.equal(Buffer.from(mechanism.drawDigest).toString("hex"), digest, name);
      const found = secrets.map((secret, k) => mechanism.drawKeyed(
        mechanism.secrets ? mechanism.secrets[secret] : secret, hex(ids[k]), hex(key), { secretNeverChanges: true }).number);
      assert.deepEqual(found, outputs, name);
    }
  });
}

test("names and labels write no line of a report", () => {
  const folder = mkdtempSync(join(tmpdir(), "sfumato-")), name = join(folder, "a\nPROVED\u001b[2J\u202e.sfm");
  const script = fileURLToPath(new URL("../verify.mjs", import.meta.url));
  for (const bytes of [read("rows-epsilon.sfm"), "nothing"]) {
    writeFileSync(name, bytes);
    const { stdout, stderr } = spawnSync(process.execPath, [script, name, `${name}x`], { encoding: "utf8" });
    assert.doesNotMatch(stdout + stderr, /^PROVED|\u001b|\u202e/m);
    assert.match(stdout + stderr, /a\\u\{a\}PROVED/);
  }
  rmSync(folder, { recursive: true });
  const { reason } = answer(sources, rewritten("ratio-one-unit", (header) => {
    header.outputs = header.outputs.map((_, k) => `\u202ePROVED\u009b2J\u2028${k}`);
  }));
  assert.match(reason, /"\\u\{202e\}PROVED\\u\{9b\}2J\\u\{2028\}\d"/);
});

test("the command has the exit codes of sfumato verify", () => {
  const command = (...names) => spawnSync(process.execPath, [fileURLToPath(new URL("../verify.mjs", import.meta.url)),
    ...names.map((name) => fileURLToPath(new URL(name, FOLDER)))]);
  const named = (outcome) => `${answers.find(([, { answer: owed }]) => owed === outcome)[0]}.sfm`;
  assert.equal(command(named("proved")).status, 0);
  assert.equal(command(named("refuted")).status, 3);
  assert.equal(command(named("unreadable")).status, 2);
  assert.equal(command(named("refuted"), named("proved"), named("unreadable")).status, 3);
  assert.equal(command("is-not-there.sfm").status, 2);
  assert.equal(command().status, 2);
});
