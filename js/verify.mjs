#!/usr/bin/env node
// Prove mechanism files: exit status 0 proved, 3 refuted, 2 unreadable, the largest of several files.

import { existsSync, readFileSync, statSync } from "node:fs";

// A checkout has the sources, and maybe an older module that was made of them; a package has the module alone.
const sources = new URL("./src/sfumato.mjs", import.meta.url);
const { Unreadable, load, verify } = await import(existsSync(sources) ? sources : "./sfumato.mjs");

const files = process.argv.slice(2);
// No name of a file writes a line of the report.
const plain = (text) => text.replace(/(?! )[\p{C}\p{Z}]/gu, (found) => `\\u{${found.codePointAt().toString(16)}}`);
let worst = files.length ? 0 : 2;
if (!files.length) console.error("usage: verify.mjs FILE.sfm …");
for (const file of files) {
  let status;
  try {
    // A device or a pipe may have no end.
    if (!statSync(file).isFile()) throw new Unreadable("a mechanism file is a regular file");
    const { outcome, report } = verify(load(new Uint8Array(readFileSync(file))));
    status = outcome === "proved" ? 0 : 3;
    console.log(`${plain(file)}: ${report.join("\n")}`);
  } catch (error) {
    // What cannot be held or finished is not proved, whatever the reason.
    const known = error instanceof Unreadable || typeof error.code === "string" || error instanceof RangeError;
    if (!known) throw error;
    console.error(plain(`sfumato: ${file}: ${error.message}`));
    status = 2;
  }
  worst = Math.max(worst, status);
}
process.exitCode = worst;
