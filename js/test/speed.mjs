// How long a file takes to verify and to draw from: node speed.mjs mechanism.sfm …

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
  console.log(`${path}: ${outcome}, read in ${(read - start).toFixed(0)} ms, verified in ${(done - read).toFixed(0)} ms, `
    + `first draw ${(first - done).toFixed(1)} ms, then ${each.toFixed(1)} µs`);
}
