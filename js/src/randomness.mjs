// Random words of 64 bits: fresh ones from the platform, or a function of a key and an id.
//
// A stream answers for word number k. A fresh one does not look at the number, every word is new; a keyed one gives the
// words that sfumato in Python gives: AES-256 of the id under BLAKE2b(key; context, j) holds the words 2j and 2j + 1.

import { Aes256 } from "./aes.mjs";
import { InvalidInput } from "./errors.mjs";
import { blake2b } from "./hashes.mjs";
import { Rational, bitLength } from "./numbers.mjs";
import { asciiBytes } from "./text.mjs";

const KEPT_BYTES = 1024;
const DEEP = 2 ** 32;
const PERSON_KEYED = asciiBytes("sfumato keyed 1");

/** Every word is new. */
export class FreshStream {
  /** `fill` puts random bytes into an array; without one the platform's own source is taken, never `Math.random`. */
  constructor(fill = null) {
    const { crypto } = globalThis;
    if (fill === null && typeof crypto?.getRandomValues !== "function") {
      throw new InvalidInput(
        "this platform has no crypto.getRandomValues: pass a secure source, { random: (bytes) => … } that fills them");
    }
    if (fill !== null && typeof fill !== "function") {
      throw new InvalidInput("a random source is a function that fills a Uint8Array with secure random bytes");
    }
    this.fill = fill ?? ((bytes) => crypto.getRandomValues(bytes));
    this.bytes = new Uint8Array(KEPT_BYTES);
    this.view = new DataView(this.bytes.buffer);
    this.left = 0;
  }

  word() {
    if (!this.left) {
      const before = this.bytes.slice();
      this.fill(this.bytes);
      // A source that leaves the bytes as they were is none; a true one does so with a chance of 2^-8192.
      if (this.bytes.every((byte, k) => byte === before[k])) {
        this.bytes.fill(0);
        throw new InvalidInput("the random source left the bytes as they were: it has to fill the array it is given");
      }
      this.left = KEPT_BYTES;
    }
    this.left -= 8;
    const found = this.view.getBigUint64(this.left, true);
    this.view.setBigUint64(this.left, 0n);
    return found;
  }
}

/** Words that are a function of a key, a context and an id. */
export class KeyedStream {
  constructor(ciphers, id) {
    this.ciphers = ciphers;
    this.id = id;
    this.block = -1;
  }

  word(number) {
    const block = Math.floor(number / 2);
    if (block !== this.block) {
      this.words = new DataView(this.ciphers.of(block).encrypt(this.id).buffer);
      this.block = block;
    }
    return this.words.getBigUint64(8 * (number % 2), true);
  }
}

/** The ciphers of the blocks of all ids under one key; the first few are kept. */
export class KeyedCiphers {
  constructor(key, context) {
    this.key = key;
    this.context = context;
    this.kept = new Map();
  }

  of(block) {
    const kept = this.kept.get(block);
    if (kept) return kept;
    const message = new Uint8Array(16 + this.context.length);
    const view = new DataView(message.buffer);
    view.setBigUint64(0, BigInt(this.context.length), true);
    message.set(this.context, 8);
    view.setBigUint64(8 + this.context.length, BigInt(block), true);
    const cipher = new Aes256(blake2b(message, 32, { key: this.key, person: PERSON_KEYED }));
    if (block < 16) this.kept.set(block, cipher);
    return cipher;
  }
}

/** Further words for what word number `after` left open: no two words share what follows them. */
export class Lane {
  constructor(stream, after) {
    this.stream = stream;
    this.number = DEEP * (2 * after + 1);
  }

  word() {
    return this.stream.word(this.number++);
  }

  /** True with the chance part/whole: a uniform number of [0, 1) is continued until it differs from that. */
  happens(part, whole) {
    return this.passes(0n, 0, [new Rational(part, whole)]) === 0;
  }

  /** How many fractions a uniform number of [0, 1) that begins with these binary digits is not below. */
  passes(digits, bits, fractions) {
    for (;;) {
      const unit = 1n << BigInt(bits);
      let certain = 0, possible = 0;
      for (const { n, d } of fractions) {
        if (digits * d >= n * unit) certain++;
        if ((digits + 1n) * d > n * unit) possible++;
      }
      if (certain === possible) return certain;
      digits = (digits << 64n) | this.word();
      bits += 64;
    }
  }
}

/** Alias tables of one row of integers: b bits choose a bucket, the rest is compared with its threshold. */
export class AliasRow {
  constructor(weights, total) {
    const outputs = weights.length;
    this.bucketBits = Math.max(1, bitLength(BigInt(outputs - 1)));
    let shared = 0n, capacity = total;
    while (shared < this.bucketBits && !(capacity & 1n)) {
      capacity >>= 1n;
      shared++;
    }
    const scale = BigInt(this.bucketBits) - shared;
    const power = bitLength(capacity) - 1;
    const dyadic = capacity === 1n << BigInt(power);
    const room = 64 - this.bucketBits;
    this.low = dyadic && power <= room ? power : room;
    this.exact = dyadic && power <= this.low;
    this.capacity = capacity;
    const buckets = 1 << this.bucketBits;
    const places = [], small = [], large = [];
    this.aliases = new Int32Array(buckets);
    for (let i = 0; i < buckets; i++) {
      places.push(i < outputs ? weights[i] << scale : 0n);
      this.aliases[i] = i;
      (places[i] < capacity ? small : large).push(i);
    }
    while (small.length && large.length) {
      const little = small.pop(), much = large[large.length - 1];
      this.aliases[little] = much;
      places[much] -= capacity - places[little];
      if (places[much] < capacity) small.push(large.pop());
    }
    // A bucket that is full belongs to its output alone, and its threshold is written as 0.
    this.thresholds = places.map((place, i) => (this.aliases[i] === i ? 0n : place));
    this.digits = new BigUint64Array(this.thresholds.map((t) => (t << BigInt(this.low)) / capacity));
    this.check(weights, scale);
  }

  /** Every output gets its share to the unit: what belongs to it in all buckets is its weight, scaled. */
  check(weights, scale) {
    const sums = new Array(this.aliases.length).fill(0n);
    this.aliases.forEach((alias, i) => {
      sums[i] += this.thresholds[i];
      sums[alias] += this.capacity - this.thresholds[i];
    });
    if (sums.some((sum, i) => sum !== (i < weights.length ? weights[i] << scale : 0n))) {
      throw new InvalidInput("the weights of a row do not have the sum that they should have");
    }
  }

  /** One output, by word number `first` of a stream. */
  draw(stream, first) {
    const used = stream.word(first) >> BigInt(64 - this.bucketBits - this.low);
    const bucket = Number(used >> BigInt(this.low));
    const digits = used & ((1n << BigInt(this.low)) - 1n);
    const threshold = this.digits[bucket];
    if (digits === threshold && !this.exact) {
      const rest = (this.thresholds[bucket] << BigInt(this.low)) - threshold * this.capacity;
      return new Lane(stream, first).happens(rest, this.capacity) ? bucket : this.aliases[bucket];
    }
    return digits < threshold ? bucket : this.aliases[bucket];
  }
}
