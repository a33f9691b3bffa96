// One file in base64 a line on the way in, one answer a line on the way out: for tests that compare verifiers.

import { createInterface } from "node:readline";

import { load, verify } from "../src/sfumato.mjs";

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(answer(new Uint8Array(Buffer.from(line, "base64")))));
}

function answer(bytes) {
  try {
    const { outcome, reason } = verify(load(bytes));
    return { answer: outcome, reason };
  } catch (error) {
    return { answer: error.name === "Unreadable" ? "unreadable" : "crash", reason: String(error.stack) };
  }
}
