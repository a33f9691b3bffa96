// Kernels of a small type; for three or four secrets they are drawn on the simplex, which can be turned.

import { Question } from "./question.js";
import { Chart } from "./charts.js";
import { fill, make } from "./dom.js";
import { change, state } from "./state.js";

let panel = null, chart = null, list = null, about = null;

export const question = new Question("kernels", (answer) => draw(answer), { refused: (words) => explain(words) });

export function build(host) {
  panel = host;
}

export function look(design) {
  if (design.place.labels.length > 6) {
    explain("A type on more than six secrets has too many kernels to list. With three or four they can be drawn.");
    return;
  }
  question.ask({ spec: state().spec, kernel: state().kernel });
}

function explain(words) {
  chart = null;
  fill(panel, make("div", { className: "empty" }, make("p", {}, words),
    make("button", { type: "button", onclick: () => change({ kernel: 0, secret: 0, from: "line", spec: { ...state().spec, space: { kind: "line", n: 4 }, prior: { uniform: true }, privacy: { epsilon: "ln 2" }, loss: { kind: "absolute" } } }, { why: "spec", lasting: true }) }, "Show four secrets in a row")));
}

function draw(answer) {
  if (!chart || !panel.contains(list)) {
    const host = make("div");
    list = make("select", { size: 9, id: "kernel", onchange: () => change({ kernel: Number(list.value) }, { why: "kernel" }) });
    about = make("p", { className: "soft" });
    fill(panel, make("div", { className: "scene" }, host, make("div", { className: "where" }, make("h2", {}, "Kernels"), about, make("label", {}, "Drawn beside the optimum", list))));
    chart = new Chart(host);
  }
  const sizes = Object.entries(answer.sizes).map(([outputs, count]) => `${count} with ${outputs} outputs`).join(", ");
  about.textContent = `${answer.count} kernels on ${answer.vertices} vertices: ${sizes}. Every optimum is a mix of them.`;
  fill(list, ...answer.kernels.map((kernel, k) => make("option", { value: k, selected: k === state().kernel }, `${k + 1}: ${kernel.outputs} outputs, weights ${kernel.weights.join(", ")}`)));
  if (answer.figure) chart.show({ ...answer.figure, caption: "Posteriors that private mechanisms can reach, inside the simplex of all. Discs are the posteriors of a mechanism, as large as they are likely. Drag to turn." });
  else fill(chart.plot, make("p", { className: "empty" }, "A simplex is drawn for three or four secrets."));
}
