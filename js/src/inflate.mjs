// Streams of zlib (RFC 1950, 1951), unpacked whole and no further than a size that is known beforehand.

import { Unreadable, demand } from "./errors.mjs";

const LENGTH_BASE = [], LENGTH_BITS = [], DISTANCE_BASE = [], DISTANCE_BITS = [];
for (let k = 0, base = 3; k < 28; k++) {
  LENGTH_BITS.push(k < 8 ? 0 : (k >> 2) - 1);
  LENGTH_BASE.push(base);
  base += 1 << LENGTH_BITS[k];
}
LENGTH_BITS.push(0);
LENGTH_BASE.push(258);
for (let k = 0, base = 1; k < 30; k++) {
  DISTANCE_BITS.push(k < 4 ? 0 : (k >> 1) - 1);
  DISTANCE_BASE.push(base);
  base += 1 << DISTANCE_BITS[k];
}
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** The content of a zlib stream that must have exactly this size and end where its bytes end. */
export function inflate(data, size) {
  const result = new Uint8Array(size);
  demand(data.length >= 2 && (data[0] & 15) === 8 && data[0] >> 4 <= 7, "a section is no zlib stream");
  demand(((data[0] << 8) | data[1]) % 31 === 0 && !(data[1] & 32), "a section is no zlib stream");
  let at = 2, hold = 0, held = 0, filled = 0;

  const bits = (count) => {
    while (held < count) {
      demand(at < data.length, "a section ends too early");
      hold |= data[at++] << held;
      held += 8;
    }
    const found = hold & ((1 << count) - 1);
    hold >>>= count;
    held -= count;
    return found;
  };
  const symbol = (code) => {
    // Near the end of the data fewer bits than the longest code are left; what is missing counts as zero.
    while (held < code.most && at < data.length) {
      hold |= data[at++] << held;
      held += 8;
    }
    const entry = code.table[hold & ((1 << code.most) - 1)];
    const length = entry & 15;
    demand(length && length <= held, "a section is damaged");
    hold >>>= length;
    held -= length;
    return entry >> 4;
  };

  let last = 0;
  while (!last) {
    last = bits(1);
    const kind = bits(2);
    demand(kind < 3, "a section is damaged");
    if (kind === 0) {
      // Whole bytes that were taken in advance are given back, and what is left of a byte is passed over.
      at -= held >> 3;
      hold = held = 0;
      demand(at + 4 <= data.length, "a section ends too early");
      const length = data[at] | (data[at + 1] << 8);
      demand((length ^ (data[at + 2] | (data[at + 3] << 8))) === 0xffff, "a section is damaged");
      at += 4;
      demand(at + length <= data.length, "a section ends too early");
      demand(filled + length <= size, "a section is longer than it says");
      result.set(data.subarray(at, at + length), filled);
      at += length;
      filled += length;
      continue;
    }
    const [literals, distances] = kind === 1 ? fixedCodes() : dynamicCodes(bits, symbol);
    for (;;) {
      const found = symbol(literals);
      if (found < 256) {
        demand(filled < size, "a section is longer than it says");
        result[filled++] = found;
        continue;
      }
      if (found === 256) break;
      demand(found < 286, "a section is damaged");
      const length = LENGTH_BASE[found - 257] + bits(LENGTH_BITS[found - 257]);
      const back = symbol(distances);
      demand(back < 30, "a section is damaged");
      const distance = DISTANCE_BASE[back] + bits(DISTANCE_BITS[back]);
      demand(distance <= filled, "a section is damaged");
      demand(filled + length <= size, "a section is longer than it says");
      for (let k = 0; k < length; k++, filled++) result[filled] = result[filled - distance];
    }
  }
  at -= held >> 3;
  demand(filled === size, "a section is shorter than it says");
  demand(at + 4 === data.length, "a section is damaged");
  const sum = ((data[at] << 24) | (data[at + 1] << 16) | (data[at + 2] << 8) | data[at + 3]) >>> 0;
  demand(sum === adler32(result), "a section is damaged");
  return result;
}

let fixed = null;
function fixedCodes() {
  if (!fixed) {
    const lengths = new Uint8Array(288).fill(8);
    lengths.fill(9, 144, 256).fill(7, 256, 280);
    fixed = [codeOf(lengths, true), codeOf(new Uint8Array(32).fill(5), true)];
  }
  return fixed;
}

function dynamicCodes(bits, symbol) {
  const literals = bits(5) + 257, distances = bits(5) + 1, count = bits(4) + 4;
  demand(literals <= 286 && distances <= 30, "a section is damaged");
  const first = new Uint8Array(19);
  for (let k = 0; k < count; k++) first[CODE_ORDER[k]] = bits(3);
  const code = codeOf(first, false);
  const lengths = new Uint8Array(literals + distances);
  for (let k = 0; k < lengths.length; ) {
    const found = symbol(code);
    if (found < 16) {
      lengths[k++] = found;
      continue;
    }
    demand(found > 16 || k, "a section is damaged");
    const value = found === 16 ? lengths[k - 1] : 0;
    const repeat = found === 16 ? 3 + bits(2) : found === 17 ? 3 + bits(3) : 11 + bits(7);
    demand(k + repeat <= lengths.length, "a section is damaged");
    lengths.fill(value, k, (k += repeat));
  }
  demand(lengths[256], "a section is damaged");
  return [codeOf(lengths.subarray(0, literals), true), codeOf(lengths.subarray(literals), true)];
}

/** A Huffman code by its lengths, as a table over as many bits as the longest has: symbol and length. */
function codeOf(lengths, mayBeShort) {
  const counts = new Uint16Array(16), next = new Uint16Array(17);
  for (const length of lengths) counts[length]++;
  let most = 15;
  while (most && !counts[most]) most--;
  // What has no codes at all is refused when it is used: a table of one entry that stands for nothing.
  if (!most) {
    demand(mayBeShort, "a section is damaged");
    return { most: 1, table: new Uint16Array(2) };
  }
  let left = 1, code = 0;
  for (let length = 1; length <= 15; length++) {
    left = 2 * left - counts[length];
    demand(left >= 0, "a section is damaged");
    next[length] = code;
    code = (code + counts[length]) << 1;
  }
  if (left > 0 && !(mayBeShort && most === 1)) throw new Unreadable("a section is damaged");
  const table = new Uint16Array(1 << most);
  lengths.forEach((length, value) => {
    if (!length) return;
    let turned = 0;
    for (let k = 0, word = next[length]++; k < length; k++, word >>= 1) turned = (turned << 1) | (word & 1);
    for (let place = turned; place < table.length; place += 1 << length) table[place] = (value << 4) | length;
  });
  return { most, table };
}

function adler32(data) {
  let a = 1, b = 0;
  for (let at = 0; at < data.length; ) {
    for (const end = Math.min(at + 3800, data.length); at < end; at++) b += a += data[at];
    a %= 65521;
    b %= 65521;
  }
  return ((b << 16) | a) >>> 0;
}
