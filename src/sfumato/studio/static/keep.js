// What one takes away: the mechanism, the report, a page for visitors, the spec, a link.

import { $, chosenText, complain, make, say, toast } from "./dom.js";
import { ask, bytes, Refusal } from "./server.js";
import { link, state } from "./state.js";

const KINDS = { "csv": "text/csv", "sfm": "application/octet-stream", "html": "text/html", "toml": "application/toml" };

let allowed = true;

/** Whether there is something to take away: not while the form says what has no design. */
export function allow(yes) {
  allowed = yes;
  for (const button of document.querySelectorAll("[data-download]")) button.disabled = !yes;
}

/** Ask for a file and hand it to the browser. */
export async function keep(task, values) {
  try {
    const answer = await ask(task, values);
    const kind = KINDS[answer.name.split(".").pop()];
    const file = new Blob([answer.file ? bytes(answer.file) : answer.text], { type: kind });
    const address = URL.createObjectURL(file);
    const anchor = make("a", { href: address, download: answer.name });
    document.body.append(anchor);
    anchor.click();
    anchor.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
    const words = answer.said ?? `${answer.name} is downloaded`;
    if (answer.said) toast(words);
    say(words);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    complain(error.message);
  }
}

export function build() {
  for (const button of document.querySelectorAll("[data-download]")) {
    button.addEventListener("click", async () => {
      button.disabled = true;
      await keep(button.dataset.download, { spec: state().spec });
      button.disabled = !allowed;
      button.focus();
    });
  }
  $("rows").addEventListener("change", async () => {
    const chosen = await chosenText($("rows"), complain);
    if (chosen) await keep("release", { spec: state().spec, ...chosen });
    $("rows").value = ""; // the same file may be chosen again: another release
  });
  $("copy-link").addEventListener("click", async () => {
    const address = await link();
    try {
      await navigator.clipboard.writeText(address);
      toast("The link to this state is copied.");
    } catch {
      prompt("The link to this state:", address); // a browser may keep its clipboard to itself
    }
  });
}
