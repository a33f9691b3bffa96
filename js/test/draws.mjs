// Keyed draws of a file, for the comparison with Python: prints one output number a line.
//
//     node draws.mjs mechanism.sfm rows.json      with { key, ids (hexadecimal, all in one text), secrets }

import { readFileSync } from "node:fs";

import { load, verify } from "../src/sfumato.mjs";

const [file, rows] = process.argv.slice(2);
const { key, ids, secrets } = JSON.parse(readFileSync(rows));
const mechanism = load(new Uint8Array(readFileSync(file)));
if (verify(mechanism).outcome !== "proved") throw new Error("the file is not proved");
const labels = mechanism.secrets;
const [all, secret] = [ids, key].map((text) => new Uint8Array(Buffer.from(text, "hex")));
const found = secrets.map((given, k) => mechanism.drawKeyed(
  labels ? labels[given] : given, all.subarray(16 * k, 16 * k + 16), secret, { secretNeverChanges: true }).number);
console.log(JSON.stringify(found));
