// Yes, no or undecided, each with its reason; a counter-example is shown as a prior one can look at.

import { Question } from "./question.js";
import { fill, make, outcome } from "./dom.js";
import { Picture } from "./picture.js";
import { floats } from "./server.js";
import { change, state } from "./state.js";

let cards = null, choice = null, place = null;

export const question = new Question("verdicts", (answer) => draw(answer));

export function build(panel) {
  choice = make("select", { id: "judged", onchange: () => change({ judged: choice.value }, { why: "judged" }) });
  cards = make("div", { className: "cards", "aria-live": "polite" });
  fill(panel, make("div", { className: "row" }, make("label", {}, "About which mechanism", choice)), cards);
}

export function look(design) {
  place = design.place;
  return question.ask({ spec: state().spec, mechanism: state().judged });
}

function draw(answer) {
  fill(choice, make("option", { value: "" }, "the optimum"), ...answer.names.map((name) => make("option", { value: name }, name.replaceAll("_", " "))));
  choice.value = answer.mechanism;
  fill(cards, ...answer.verdicts.map((verdict) => make("article", {},
    make("h3", {}, verdict.question),
    outcome(verdict),
    make("p", {}, shortened(verdict)),
    verdict.more && make("p", { className: "soft" }, verdict.more),
    verdict.witness && witness(verdict.witness))));
}

const shortened = (verdict) => verdict.witness
  ? `There is a prior for which another mechanism of the same promise loses ${verdict.witness.better} instead of ${verdict.witness.loss}.`
  : verdict.reason;

function witness(example) {
  const host = make("div");
  const shares = floats(example.prior);
  if (shares.every((share) => Math.abs(share - shares[0]) < 1e-6 * shares[0])) {
    return make("p", { className: "soft" }, `All secrets are equally likely there; the difference is ${example.gap}.`);
  }
  const box = make("div", {}, make("p", { className: "soft" }, `That prior${example.weights.length <= 12 ? ` (${example.weights.join(", ")})` : ""}; the difference is ${example.gap}:`), host);
  box.style.maxWidth = "24rem";
  const picture = new Picture(host, { named: "The prior of the counter-example", tallest: 260 });
  requestAnimationFrame(() => picture.show({ ...place, prior: [...shares] }, shares, -1));
  return box;
}

