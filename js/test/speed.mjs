// How long a file takes to read, to verify and to draw from, one line of JSON a file: node speed.mjs mechanism.sfm …

import { readFileSync } from "node:fs";

import { load, verify } from "../src/sfumato.mjs";

for (const path of process.argv.slice(2)) {
  const start = performance.now(), mechanism = load(new Uint8Array(readFileSync(path))), read = performance.now();
  const { outcome } = verify(mechanism), done = performance.now();
  const secret = mechanism.secrets ? mechanism.secrets[0] : mechanism.extent.map(([low, high]) => (2 * low + high) / 3);
  mechanism.draw(secret, { withoutProof: true });
  const first = performance.now(), draws = 100000;
  for (let k = 0; k < draws; k++) mechanism.draw(secret, { withoutProof: true });
  const each = ((performance.now() - first) / draws) * 1000;
  const seconds = { read: (read - start) / 1000, verify: (done - read) / 1000, first: (first - done) / 1000 };
  console.log(JSON.stringify({ path, outcome, ...seconds, microseconds: each }));
}
