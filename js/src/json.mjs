// JSON as headers have it: integers of any length, no key twice, no NaN; and as the digest of a mechanism writes it.
//
// An integer becomes a BigInt, a number with a point or an exponent a double, an object a Map.

import { demand } from "./errors.mjs";
import { quoted } from "./text.mjs";

const DEEPEST_JSON = 1000;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const LITERALS = new Map([["true", true], ["false", false], ["null", null]]);
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const MOST_DIGITS_READ = 4300;

/** The value that a text stands for. */
export function parseJson(text) {
  let at = 0;
  const wrong = () => `the header is no JSON: see character ${at}`;

  const space = () => {
    while (at < text.length && " \t\n\r".includes(text[at])) at++;
  };
  const string = () => {
    let found = "";
    at++;
    for (;;) {
      const start = at;
      while (at < text.length && text[at] !== '"' && text[at] !== "\\" && text[at] >= " ") at++;
      found += text.slice(start, at);
      demand(at < text.length && text[at] >= " ", wrong());
      if (text[at++] === '"') return found;
      const letter = text[at++];
      if (letter === "u") {
        const digits = text.slice(at, at + 4);
        demand(/^[0-9a-fA-F]{4}$/.test(digits), wrong());
        found += String.fromCharCode(parseInt(digits, 16));
        at += 4;
      } else {
        demand(Object.hasOwn(ESCAPES, letter ?? " "), wrong());
        found += ESCAPES[letter];
      }
    }
  };
  const value = (depth) => {
    demand(depth < DEEPEST_JSON, "the header is nested too deeply");
    space();
    const first = text[at];
    if (first === '"') return string();
    if (first === "[") {
      const found = [];
      at++;
      space();
      if (text[at] === "]") return at++, found;
      for (;;) {
        found.push(value(depth + 1));
        space();
        if (text[at] === "]") return at++, found;
        demand(text[at++] === ",", wrong());
      }
    }
    if (first === "{") {
      const found = new Map();
      at++;
      space();
      if (text[at] === "}") return at++, found;
      for (;;) {
        space();
        demand(text[at] === '"', wrong());
        const key = string();
        demand(!found.has(key), `the header has the key ${quoted(key)} twice`);
        space();
        demand(text[at++] === ":", wrong());
        found.set(key, value(depth + 1));
        space();
        if (text[at] === "}") return at++, found;
        demand(text[at++] === ",", wrong());
      }
    }
    for (const [word, meaning] of LITERALS) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return meaning;
      }
    }
    NUMBER.lastIndex = at;
    const match = NUMBER.exec(text);
    demand(match, wrong());
    at += match[0].length;
    if (match[1] !== undefined || match[2] !== undefined) return Number(match[0]);
    demand(match[0].length <= MOST_DIGITS_READ + (first === "-" ? 1 : 0), "the header has too long a number");
    return BigInt(match[0]);
  };

  const found = value(0);
  space();
  demand(at === text.length, wrong());
  return found;
}

/** A value as Python's `json.dumps` writes it, to the letter: digests depend on it. */
export function pythonJson(value) {
  if (value === null) return "null";
  if (typeof value === "boolean") return value ? "true" : "false";
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return pythonFloat(value);
  if (typeof value === "string") return pythonText(value);
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
  const parts = [...value].map(([key, each]) => `${pythonText(key)}: ${pythonJson(each)}`);
  return `{${parts.join(", ")}}`;
}

function pythonText(text) {
  return JSON.stringify(text).replace(/\\u[0-9a-f]{4}|[\x7f-\uffff]/g, (found) =>
    found.length > 1 ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The shortest digits that name a double, as Python spells them. */
export function pythonFloat(value) {
  if (Object.is(value, -0)) return "-0.0";
  const [digits, power] = value.toExponential().split("e");
  const exponent = Number(power);
  if (value !== 0 && (exponent < -4 || exponent >= 16)) {
    return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const plain = exponent < 0 ? value.toFixed(digits.replace(/[-.]/g, "").length - 1 - exponent) : String(value);
  return plain.includes(".") ? plain : `${plain}.0`;
}
