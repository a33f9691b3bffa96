// Hashes, AES and inflate against published vectors, and against Node's own; roots against what they are.

import assert from "node:assert/strict";
import { createCipheriv, createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { deflateRawSync, deflateSync } from "node:zlib";

import { Aes256 } from "../src/aes.mjs";
import { rootAbove } from "../src/boxes.mjs";
import { Blake2b, blake2b, sha256 } from "../src/hashes.mjs";
import { inflate } from "../src/inflate.mjs";
import { parseJson, pythonJson } from "../src/json.mjs";
import { rootBelow } from "../src/numbers.mjs";
import { decodeUtf8 } from "../src/text.mjs";

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const bytes = (text) => new Uint8Array(Buffer.from(text));
const unhex = (text) => new Uint8Array(Buffer.from(text, "hex"));

test("SHA-256, FIPS 180-4", () => {
  assert.equal(hex(sha256(bytes("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert.equal(hex(sha256(bytes(""))), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
});

test("BLAKE2b, RFC 7693, and the keyed vector of its authors", () => {
  assert.equal(hex(blake2b(bytes("abc"), 64)), "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
    + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
  const key = Uint8Array.from({ length: 64 }, (_, k) => k);
  assert.equal(hex(blake2b(bytes(""), 64, { key })), "10ebb67700b1868efb4417987acf4690ae9d972fb7a590c2f02871799aaa4786"
    + "b5e996e8f0f4eb981fc214b005f42d2ff4233499391653df7aefcbc13fc51568");
});

test("AES-256, FIPS 197, appendix C.3", () => {
  const key = Uint8Array.from({ length: 32 }, (_, k) => k);
  const found = new Aes256(key).encrypt(unhex("00112233445566778899aabbccddeeff"));
  assert.equal(hex(found), "8ea2b7ca516745bfeafc49904b496089");
});

test("all of them as Node's, for every length around a block", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 127, 128, 129, 255, 256, 257, 5000]) {
    const data = new Uint8Array(randomBytes(length));
    assert.equal(hex(sha256(data)), createHash("sha256").update(data).digest("hex"));
    assert.equal(hex(blake2b(data, 64)), createHash("blake2b512").update(data).digest("hex"));
    const state = new Blake2b(64);
    for (let at = 0; at < length; at += 37) state.update(data.subarray(at, at + 37));
    assert.equal(hex(state.digest()), createHash("blake2b512").update(data).digest("hex"));
  }
  for (let k = 0; k < 100; k++) {
    const key = new Uint8Array(randomBytes(32)), block = new Uint8Array(randomBytes(16));
    const cipher = createCipheriv("aes-256-ecb", key, null).setAutoPadding(false);
    assert.equal(hex(new Aes256(key).encrypt(block)), cipher.update(block).toString("hex"));
  }
});

test("inflate: stored, fixed and dynamic blocks of every level and strategy", () => {
  for (const length of [0, 1, 300, 70000]) {
    const data = Uint8Array.from({ length }, (_, k) => ((k * k) % 251) * (k % 7 === 0 ? 1 : 0));
    for (const level of [0, 1, 6, 9]) {
      for (const strategy of [0, 1, 2, 3, 4]) {
        assert.deepEqual(inflate(new Uint8Array(deflateSync(data, { level, strategy })), length), data);
      }
    }
  }
});

test("inflate refuses what is cut, has more behind it, unpacks to another size or has another checksum", () => {
  const data = bytes("twice twice twice"), stream = new Uint8Array(deflateSync(data));
  const wrong = [
    [stream.subarray(0, -1), data.length], [Uint8Array.of(...stream, 0), data.length], [stream, data.length - 1],
    [stream, data.length + 1], [stream.map((byte, k) => (k === stream.length - 1 ? byte ^ 1 : byte)), data.length],
    [new Uint8Array(deflateRawSync(data)), data.length], [new Uint8Array(0), 0],
    [Uint8Array.of(0x78, 0x20 + 0x1a, ...stream.subarray(2)), data.length],
  ];
  for (const [given, size] of wrong) assert.throws(() => inflate(given, size), { name: "Unreadable" });
  for (let k = 0; k < 2000; k++) {
    const changed = Uint8Array.from(stream);
    changed[Math.floor((k / 2000) * stream.length)] = k & 255;
    try {
      inflate(changed, data.length);
    } catch (error) {
      assert.equal(error.name, "Unreadable");
    }
  }
});

test("JSON: integers of any length, no key twice, nothing that is not JSON", () => {
  assert.deepEqual(parseJson(' [1, -0, 1.5, 1e2, "\\u00e9\\n", true, null] '), [1n, 0n, 1.5, 100, "é\n", true, null]);
  assert.equal(parseJson("1" + "0".repeat(4299)), 10n ** 4299n);
  for (const text of ['{"a": 1, "a": 1}', "NaN", "[1,]", "01", "1.", ".5", "+1", '"\t"', '"\\x"', "[1] 2", "", "{1: 2}",
    "nul", "-", "-Infinity", '"\\u12"', "\ufeff1", "1" + "0".repeat(4300), "[".repeat(2000), "'a'"]) {
    assert.throws(() => parseJson(text), { name: "Unreadable" }, text.slice(0, 20));
  }
  for (const wrong of [[0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x80], [0xe2, 0x82], [0xff]]) {
    assert.throws(() => decodeUtf8(Uint8Array.from(wrong)), { name: "Unreadable" });
  }
  assert.equal(decodeUtf8(bytes("aé€😀")), "aé€😀");
});

test("labels are written as Python writes them", () => {
  const value = ["é\u007f\u001f😀/", 1, -0, 1e16, 1e-5, 0.0001, 123456789.125, 1.7976931348623157e308, 5e-324, 12345678901234567890n];
  assert.equal(pythonJson(value), '["\\u00e9\\u007f\\u001f\\ud83d\\ude00/", 1.0, -0.0, 1e+16, 1e-05, 0.0001, 123456789.125, '
    + "1.7976931348623157e+308, 5e-324, 12345678901234567890]");
});

test("roots are rounded as they should be, beside squares and where doubles end", () => {
  const sizes = Array.from({ length: 700 }, (_, k) => 1n << BigInt(k)).concat(123456789n, 8388607n, 3n ** 400n);
  for (const size of sizes) {
    for (const a of [size, size * size].flatMap((n) => [-2n, -1n, 0n, 1n, 2n].map((more) => n + more))) {
      if (a < 0n) continue;
      const found = rootBelow(a), above = rootAbove(a);
      assert.ok(found * found <= a && (found + 1n) ** 2n > a, `${a}`);
      assert.ok(above ** 2n >= a << 96n && (!a || (above - 1n) ** 2n < a << 96n), `${a}`);
    }
  }
});
