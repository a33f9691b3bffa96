// A matrix from somewhere else: private or not, at which ε, what breaks it, how far from the optimum, and repaired.

import { Question } from "./question.js";
import { above, chosenText, fill, make, near, outcome, percent, say } from "./dom.js";
import { keep } from "./keep.js";
import { state } from "./state.js";
import { holding } from "./work.js";

let result = null, text = null, name = "the matrix", sums = null, current = null;

export const question = new Question("audit", (answer) => draw(answer), { refused: (words) => refuse(words) });

export function build(panel) {
  text = make("textarea", { id: "matrix-text", spellcheck: false, rows: 7, placeholder: "0.7, 0.2, 0.1\n0.3, 0.4, 0.3\n…" });
  sums = make("input", { type: "checkbox", id: "normalise" });
  const file = make("input", { type: "file", id: "matrix-file", accept: ".csv,.tsv,.txt,text/csv,text/plain", onchange: () => chosen(file) });
  result = make("div", { className: "cards", "aria-live": "polite" });
  fill(panel,
    make("p", { className: "soft" }, "One row for each secret of the space on the left, one column for each output. A header may name outputs, a first column secrets."),
    make("div", { className: "row" }, make("label", {}, "A CSV file", file),
      make("button", { type: "button", onclick: example }, "Try this mechanism, rounded to two digits")),
    make("label", {}, "Or paste it here", text),
    make("div", { className: "row" }, make("label", { className: "inline" }, sums, "divide rows by their sums first"),
      make("button", { type: "button", className: "strong", id: "audit-go", onclick: () => go() }, "Audit")),
    result);
}

export function look(design) {
  current = design;
}

async function chosen(input) {
  const file = await chosenText(input, refuse);
  if (!file) return;
  name = file.name;
  text.value = file.text;
  go();
}

function example() {
  const { table, place } = current;
  name = "the rounded mechanism";
  text.value = place.labels.map((_, x) => [...table.row(x)].map((share) => share.toFixed(2)).join(",")).join("\n");
  sums.checked = true;
  go();
}

function go() {
  fill(result);
  if (holding()) return refuse("There is no design of the question on the left yet.");
  if (!text.value.trim()) return refuse("Choose a file or paste a matrix first.");
  question.key = "";
  question.ask(asked());
}

const asked = () => ({ spec: state().spec, matrix: text.value, name, normalise: sums.checked });

function refuse(words) {
  fill(result, make("p", { className: "problem", role: "alert" }, words));
}

function draw(audit) {
  const unit = audit.unit ? ` per ${audit.unit}` : "";
  const { verdict, tightest, nearest } = audit;
  const breaks = verdict.outcome !== "holds" && !nearest;
  fill(result,
    make("article", {}, make("h3", {}, verdict.question),
      outcome(verdict, nearest ? "Up to rounding" : undefined),
      make("p", {}, verdict.reason),
      nearest && make("p", { className: "soft" }, `Nearest: a matrix within ${nearest.distance} of what is written, private at ε = ${nearest.epsilon}${unit}. The repaired mechanism below is that one.`)),
    make("article", {}, make("h3", {}, "At which ε is it?"),
      make("p", {}, audit.epsilon === null ? "At none: some output is impossible for one secret and possible for another." : `ε = ${audit.needed}${unit}${nearest ? ", as it is written" : ""}.`),
      tightest && make("p", { className: "soft" }, `What decides it: output ${tightest.output} is ${tightest.ratio} times as likely for ${tightest.pair[0]} as for ${tightest.pair[1]}, at distance ${near(tightest.distance)}.`)),
    make("article", {}, make("h3", {}, "How far from the optimum?"),
      make("p", {}, `With the best action for each output it loses ${near(audit.loss, 5)}; the optimum for this promise loses ${above(audit.optimum, 5)}.`),
      breaks && make("p", { className: "soft" }, audit.excess === null
        ? "It promises less than was asked for, so that it may well lose less."
        : `It promises less than was asked for, and yet it loses ${percent(audit.excess, 2)} more than the optimum of the promise.`)),
    make("article", {}, make("h3", {}, "Repaired"),
      make("p", {}, `A proved mechanism next to it: no row moves by more than ${above(audit.moved, 3)} of its probability; loss ${near(audit.repaired_loss, 5)}.`),
      make("button", { type: "button", onclick: () => keep("audit", { ...asked(), repaired: true }) }, "Download the repaired mechanism")));
  say(`Audit: ${verdict.outcome}. ${verdict.reason}`);
}
