// AES-256 (FIPS 197), one block at a time and synchronous, which Web Crypto is not; tested against the published
// vectors. Where it reads its table depends on the key, as in most software without special instructions: who shares
// the processor's cache with this program could learn about it.

const SBOX = new Uint8Array(256);
const ROUND = new Uint32Array(256);

(() => {
  // Powers of the generator 3 of the field and their inverses, then the affine map of the standard.
  const double = (x) => ((x << 1) ^ (x & 0x80 ? 0x11b : 0)) & 0xff;
  let power = 1, inverse = 1;
  do {
    power ^= double(power);
    inverse ^= inverse << 1;
    inverse ^= inverse << 2;
    inverse ^= inverse << 4;
    inverse &= 0xff;
    if (inverse & 0x80) inverse ^= 9;
    const turned = [1, 2, 3, 4].map((by) => ((inverse << by) | (inverse >> (8 - by))) & 0xff);
    SBOX[power] = turned.reduce((x, y) => x ^ y, inverse) ^ 0x63;
  } while (power !== 1);
  SBOX[0] = 0x63;
  for (let x = 0; x < 256; x++) {
    const s = SBOX[x];
    ROUND[x] = (double(s) << 24) | (s << 16) | (s << 8) | (double(s) ^ s);
  }
})();

/** AES under a key of 32 bytes. */
export class Aes256 {
  constructor(key) {
    const w = new Uint32Array(60);
    const view = new DataView(key.buffer, key.byteOffset, 32);
    for (let i = 0; i < 8; i++) w[i] = view.getUint32(4 * i);
    const substituted = (x) =>
      (SBOX[x >>> 24] << 24) | (SBOX[(x >>> 16) & 255] << 16) | (SBOX[(x >>> 8) & 255] << 8) | SBOX[x & 255];
    for (let i = 8; i < 60; i++) {
      let t = w[i - 1];
      if (i % 8 === 0) t = substituted((t << 8) | (t >>> 24)) ^ (1 << (24 + i / 8 - 1));
      else if (i % 8 === 4) t = substituted(t);
      w[i] = w[i - 8] ^ t;
    }
    this.keys = w;
  }

  /** The block of 16 bytes, encrypted. */
  encrypt(block) {
    const k = this.keys;
    const s = new Uint32Array(4), t = new Uint32Array(4);
    for (let i = 0; i < 4; i++) {
      const at = 4 * i;
      s[i] = ((block[at] << 24) | (block[at + 1] << 16) | (block[at + 2] << 8) | block[at + 3]) ^ k[i];
    }
    const turn = (x, by) => (x >>> by) | (x << (32 - by));
    for (let round = 1; round < 14; round++) {
      for (let i = 0; i < 4; i++) {
        t[i] = ROUND[s[i] >>> 24]
          ^ turn(ROUND[(s[(i + 1) & 3] >>> 16) & 255], 8)
          ^ turn(ROUND[(s[(i + 2) & 3] >>> 8) & 255], 16)
          ^ turn(ROUND[s[(i + 3) & 3] & 255], 24)
          ^ k[4 * round + i];
      }
      s.set(t);
    }
    const result = new Uint8Array(16);
    const view = new DataView(result.buffer);
    for (let i = 0; i < 4; i++) {
      const x = (SBOX[s[i] >>> 24] << 24) | (SBOX[(s[(i + 1) & 3] >>> 16) & 255] << 16)
        | (SBOX[(s[(i + 2) & 3] >>> 8) & 255] << 8) | SBOX[s[(i + 3) & 3] & 255];
      view.setUint32(4 * i, x ^ k[56 + i]);
    }
    return result;
  }
}
