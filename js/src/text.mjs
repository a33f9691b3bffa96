// Texts and bytes, for platforms with and without TextDecoder.

import { demand } from "./errors.mjs";

/** The text of UTF-8, strictly: nothing overlong, no surrogates, nothing beyond U+10FFFF. */
export function decodeUtf8(bytes) {
  const parts = [];
  let units = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at++];
    let code = first, more = 0, least = 0;
    if (first >= 0x80) {
      more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
      demand(first >= 0xc2 && first <= 0xf4, "the header is no UTF-8");
      code = first & (0x3f >> more);
      least = [0, 0x80, 0x800, 0x10000][more];
    }
    for (; more; more--, at++) {
      demand(at < bytes.length && bytes[at] >> 6 === 2, "the header is no UTF-8");
      code = (code << 6) | (bytes[at] & 0x3f);
    }
    demand(code >= least && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff), "the header is no UTF-8");
    if (code > 0xffff) units.push(0xd800 + ((code - 0x10000) >> 10), 0xdc00 + (code & 0x3ff));
    else units.push(code);
    if (units.length > 8000) {
      parts.push(String.fromCharCode(...units));
      units = [];
    }
  }
  return parts.join("") + String.fromCharCode(...units);
}

/** Controls, marks that turn or hide a line, spaces but one, private use. */
const HIDDEN = new RegExp("[\\0-\\x1f\\x7f-\\xa0\\xad\\u061c\\u1680\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f"
  + "\\u205f-\\u206f\\u3000\\ud800-\\uf8ff\\ufeff\\ufff0-\\ufffb\\ufffe\\uffff\\u{e0000}-\\u{10ffff}]", "gu");

export const isPlain = (text) => text.search(HIDDEN) < 0;

/** Quoted and cut, so that no text of a file can write a line of a report. */
export const quoted = (text) => JSON.stringify([...text.slice(0, 160)].slice(0, 80).join(""))
  .replace(HIDDEN, (found) => `\\u{${found.codePointAt().toString(16)}}`);

/** The bytes of a text of ASCII characters. */
export const asciiBytes = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

/** Bytes in hexadecimal digits. */
export const hexDigits = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
