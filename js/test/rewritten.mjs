// Vectors with another header, their digests set right.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

export const vector = (name) => readFileSync(new URL(`../../tests/vectors/${name}.sfm`, import.meta.url));

/** The bytes of a vector whose header has been changed in place. */
export function rewritten(name, change) {
  const bytes = vector(name), end = 24 + Number(bytes.readBigUInt64LE(16));
  const header = JSON.parse(bytes.toString("utf8", 24, end));
  change(header);
  const text = Buffer.from(JSON.stringify(header)), length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const whole = Buffer.concat([bytes.subarray(0, 16), length, text, bytes.subarray(end, -32)]);
  return new Uint8Array(Buffer.concat([whole, createHash("sha256").update(whole).digest()]));
}
