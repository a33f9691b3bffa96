// The bytes of mechanism.sfm: magic, version, header, sections, digest (docs/format.md).

import { Unreadable, demand } from "./errors.mjs";
import { sha256 } from "./hashes.mjs";
import { VERSION, readHeader } from "./header.mjs";
import { inflate } from "./inflate.mjs";
import { parseJson } from "./json.mjs";
import { bitLength } from "./numbers.mjs";
import { expectedSections } from "./sections.mjs";
import { decodeUtf8, hexDigits } from "./text.mjs";

const MAGIC = [0x73, 0x66, 0x75, 0x6d, 0x61, 0x74, 0x6f, 0x0a];
const LARGEST_HEADER = 2 ** 27;
const LARGEST_UNPACKED = 2 ** 32;
const INTEGERS = ["weights", "prior", "mixture", "dual", "ceiling_prices", "event_dual", "layer_counts"];
const DOUBLES = ["loss", "ceilings", "workload", "share_dual", "share_prices"];

/** What a file says, read and not yet proved. */
export function readFile(bytes) {
  if (!(bytes instanceof Uint8Array)) throw new Unreadable("a mechanism file is given by its bytes, a Uint8Array");
  demand(bytes.length >= 56 && MAGIC.every((byte, k) => bytes[k] === byte), "this is no sfumato mechanism file");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const version = view.getBigUint64(8, true);
  demand(version === VERSION, `the file has version ${version} of the format, this reader knows version ${VERSION}`);
  const end = bytes.length - 32;
  const digest = sha256(bytes.subarray(0, end));
  demand(digest.every((byte, k) => byte === bytes[end + k]),
    "the file is damaged or truncated: its checksum does not match");
  const length = Number(view.getBigUint64(16, true));
  demand(length <= LARGEST_HEADER && 24 + length <= end, "the header is longer than the file");
  const json = parseJson(decodeUtf8(bytes.subarray(24, 24 + length)));
  const file = readHeader(json);
  file.digest = hexDigits(digest);
  file.sections = unpacked(file, bytes.subarray(24 + length, end), bytes.length);
  return file;
}

/** All sections, unpacked: integers of indices and doubles as typed arrays, others as Integers. */
function unpacked(file, data, size) {
  const declared = new Map(file.listed.map((section) => [section.name, section]));
  demand(declared.size === file.listed.length, "a section occurs twice");
  const sum = file.listed.reduce((bytes, section) => bytes + section.width * section.count, 0);
  demand(sum <= LARGEST_UNPACKED, "the sections are too large");
  const count = (name) => declared.get(name)?.count ?? -1;
  const width = (name) => declared.get(name)?.width ?? 0;
  const { expected, effort, unfolded } = expectedSections(file, count, width);
  for (const [name, many] of Object.entries(expected)) {
    demand(declared.has(name), `the section ${name} is missing`);
    demand(count(name) === many, `the section ${name} has ${count(name)} numbers, ${many} are needed`);
  }
  for (const name of declared.keys()) demand(Object.hasOwn(expected, name), "a section is not needed");
  demand(sum + unfolded <= LARGEST_UNPACKED, "the sections are too large");
  demand(effort <= 2 ** 23 + 2 ** 10 * size, "the file asks for more than its size allows");
  const found = {};
  let at = 0;
  for (const section of file.listed) {
    checkWidth(section, file);
    demand(at + section.size <= data.length, "a section is longer than the file");
    const raw = inflate(data.subarray(at, at + section.size), section.width * section.count);
    at += section.size;
    found[section.name] = numbersOf(section, together(raw, section.width), file);
  }
  demand(at === data.length, "there are bytes behind the sections");
  return found;
}

function checkWidth({ name, width, count }, file) {
  if (!INTEGERS.includes(name)) {
    const owed = name === "splits" ? 1 : name === "distances" || DOUBLES.includes(name) ? 8 : 4;
    demand(width === owed, `the numbers of ${name} have ${width} bytes, ${owed} are needed`);
    return;
  }
  demand([1, 2, 4, 8].includes(width) || (width % 8 === 0 && width >= 16 && width <= 2048),
    `the numbers of ${name} have ${width} bytes`);
  demand(count || width <= 8, `the numbers of ${name} have ${width} bytes`);
  const widest = 8 * Math.ceil(bitLength(file.total) / 64);
  demand(name !== "weights" || width <= widest, `the numbers of ${name} have ${width} bytes`);
}

/** Bytes that were grouped by significance, put together again. */
function together(raw, width) {
  if (width === 1) return raw;
  const count = raw.length / width, found = new Uint8Array(raw.length);
  for (let k = 0, from = 0; k < width; k++) {
    for (let at = k; from < (k + 1) * count; from++, at += width) found[at] = raw[from];
  }
  return found;
}

function numbersOf({ name, width, count }, data, file) {
  if (!INTEGERS.includes(name)) {
    if (name === "splits") return data;
    if (DOUBLES.includes(name)) return new Float64Array(data.buffer);
    if (name === "distances") {
      return file.metric.form === "float" ? new Float64Array(data.buffer) : new BigUint64Array(data.buffer);
    }
    return new Uint32Array(data.buffer);
  }
  const numbers = new Integers(data, width, count);
  if (width > 8) {
    let used = false;
    for (let at = width - 8; at < data.length && !used; at += width) {
      for (let k = 0; k < 8; k++) used ||= data[at + k] !== 0;
    }
    demand(used, `the numbers of ${name} have ${width} bytes`);
  }
  return numbers;
}

/** Unsigned integers of any width, read where they lie. */
export class Integers {
  constructor(data, width, count) {
    this.width = width;
    this.length = count;
    if (width <= 4) this.small = new { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[width](data.buffer);
    else this.words = new BigUint64Array(data.buffer);
  }

  at(i) {
    if (this.small) return BigInt(this.small[i]);
    const many = this.width / 8;
    let found = 0n;
    for (let k = many - 1; k >= 0; k--) found = (found << 64n) | this.words[many * i + k];
    return found;
  }

  slice(start, end) {
    const found = [];
    for (let i = start; i < end; i++) found.push(this.at(i));
    return found;
  }

  all() {
    return this.slice(0, this.length);
  }
}
