// SHA-256 (FIPS 180-4) and BLAKE2b (RFC 7693), written for this module and tested against published vectors. Both are
// synchronous, which the hashes of Web Crypto are not.

const SHA_FIRST = new Uint32Array([
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
]);

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes, worked out in integers. */
const SHA_ROUNDS = (() => {
  const found = [];
  for (let n = 2; found.length < 64; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) prime &&= n % d !== 0;
    if (!prime) continue;
    let low = 0n;
    for (let bit = 1n << 35n; bit; bit >>= 1n) if ((low + bit) ** 3n <= BigInt(n) << 96n) low += bit;
    found.push(Number(low & 0xffffffffn));
  }
  return new Uint32Array(found);
})();

/** The SHA-256 of some bytes. */
export function sha256(data) {
  const state = new Uint32Array(SHA_FIRST);
  const words = new Uint32Array(64);
  const whole = data.length >> 6;
  const tail = new Uint8Array(((data.length & 63) < 56 ? 1 : 2) << 6);
  tail.set(data.subarray(whole << 6));
  tail[data.length & 63] = 0x80;
  new DataView(tail.buffer).setBigUint64(tail.length - 8, BigInt(data.length) << 3n);
  for (let block = 0; block < whole; block++) shaBlock(state, words, data, block << 6);
  for (let at = 0; at < tail.length; at += 64) shaBlock(state, words, tail, at);
  const result = new Uint8Array(32);
  const view = new DataView(result.buffer);
  state.forEach((word, k) => view.setUint32(4 * k, word));
  return result;
}

function shaBlock(state, w, data, at) {
  for (let i = 0; i < 16; i++, at += 4) {
    w[i] = (data[at] << 24) | (data[at + 1] << 16) | (data[at + 2] << 8) | data[at + 3];
  }
  for (let i = 16; i < 64; i++) {
    const a = w[i - 15], b = w[i - 2];
    const first = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3);
    const second = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10);
    w[i] = (w[i - 16] + first + w[i - 7] + second) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const high = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const one = (h + high + ((e & f) ^ (~e & g)) + SHA_ROUNDS[i] + w[i]) | 0;
    const low = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const two = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g; g = f; f = e; e = (d + one) | 0;
    d = c; c = b; b = a; a = (one + two) | 0;
  }
  state[0] += a; state[1] += b; state[2] += c; state[3] += d;
  state[4] += e; state[5] += f; state[6] += g; state[7] += h;
}

// Words of 64 bits are pairs of 32, the lower half first.
const BLAKE_FIRST = new Uint32Array([
  0xf3bcc908, 0x6a09e667, 0x84caa73b, 0xbb67ae85, 0xfe94f82b, 0x3c6ef372, 0x5f1d36f1, 0xa54ff53a,
  0xade682d1, 0x510e527f, 0x2b3e6c1f, 0x9b05688c, 0xfb41bd6b, 0x1f83d9ab, 0x137e2179, 0x5be0cd19,
]);
const BLAKE_ORDER = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map((line) => Array.from(line, (digit) => 2 * parseInt(digit, 16)));

/** BLAKE2b with a key, a salt and a personalisation, all optional; pieces can be hashed one after another. */
export class Blake2b {
  constructor(size, { key = new Uint8Array(0), salt = new Uint8Array(0), person = new Uint8Array(0) } = {}) {
    const parameters = new Uint8Array(64);
    parameters.set([size, key.length, 1, 1]);
    parameters.set(salt, 32);
    parameters.set(person, 48);
    this.size = size;
    this.state = new Uint32Array(parameters.buffer).map((word, k) => word ^ BLAKE_FIRST[k]);
    this.buffer = new Uint8Array(128);
    this.filled = 0;
    this.count = 0;
    if (key.length) {
      this.buffer.set(key);
      this.filled = 128;
    }
  }

  update(data) {
    let at = 0;
    while (at < data.length) {
      if (this.filled === 128) this.compress(false);
      const take = Math.min(128 - this.filled, data.length - at);
      this.buffer.set(data.subarray(at, at + take), this.filled);
      this.filled += take;
      at += take;
    }
    return this;
  }

  digest() {
    this.buffer.fill(0, this.filled);
    this.compress(true);
    return new Uint8Array(this.state.buffer).slice(0, this.size);
  }

  compress(last) {
    const { state } = this;
    const m = new Uint32Array(this.buffer.buffer);
    const v = new Uint32Array(32);
    this.count += this.filled;
    this.filled = 0;
    v.set(state);
    v.set(BLAKE_FIRST, 16);
    v[24] ^= this.count;
    v[25] ^= Math.floor(this.count / 2 ** 32);
    if (last) {
      v[28] = ~v[28];
      v[29] = ~v[29];
    }
    for (let round = 0; round < 12; round++) {
      const order = BLAKE_ORDER[round % 10];
      for (let k = 0; k < 8; k++) {
        const shift = k < 4 ? 0 : 1;
        const column = k & 3;
        const a = 2 * column, b = 8 + 2 * ((column + shift) & 3);
        const c = 16 + 2 * ((column + 2 * shift) & 3), d = 24 + 2 * ((column + 3 * shift) & 3);
        blakeHalf(v, a, b, c, d, m, order[2 * k], 0, 24);
        blakeHalf(v, a, b, c, d, m, order[2 * k + 1], 16, 63);
      }
    }
    for (let k = 0; k < 16; k++) state[k] ^= v[k] ^ v[k + 16];
  }
}

/** Half of the mixing function of RFC 7693; a rotation by 32 is written as one by 0 with the halves swapped. */
function blakeHalf(v, a, b, c, d, m, word, first, second) {
  let low = v[a] + v[b] + m[word];
  const high = v[a + 1] + v[b + 1] + m[word + 1] + Math.floor(low / 2 ** 32);
  v[a] = low;
  v[a + 1] = high;
  let x = v[d] ^ v[a], y = v[d + 1] ^ v[a + 1];
  if (first === 0) {
    v[d] = y;
    v[d + 1] = x;
  } else {
    v[d] = (x >>> 16) | (y << 16);
    v[d + 1] = (y >>> 16) | (x << 16);
  }
  low = v[c] + v[d];
  v[c + 1] = v[c + 1] + v[d + 1] + (low >= 2 ** 32 ? 1 : 0);
  v[c] = low;
  x = v[b] ^ v[c];
  y = v[b + 1] ^ v[c + 1];
  if (second === 24) {
    v[b] = (x >>> 24) | (y << 8);
    v[b + 1] = (y >>> 24) | (x << 8);
  } else {
    v[b] = (y >>> 31) | (x << 1);
    v[b + 1] = (x >>> 31) | (y << 1);
  }
}

/** BLAKE2b of some bytes. */
export function blake2b(data, size, options) {
  return new Blake2b(size, options).update(data).digest();
}
