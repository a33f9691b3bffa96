// The privacy–utility curve, point by point, with the place where we are; a click on it goes there.

import { Question } from "./question.js";
import { Chart } from "./charts.js";
import { above, below, colour, fill, make, near } from "./dom.js";
import { range } from "./promise.js";
import { change, state } from "./state.js";

const POINTS = { list: 11, box: 7 }; // a design on a box takes seconds, and starts anew at each ε
let chart = null, listed = null, last = null, here = null;

export const question = new Question("curve", (answer) => { last = answer; draw(); });

export function build(panel) {
  const host = make("div");
  listed = make("details");
  fill(panel, host, listed);
  chart = new Chart(host);
}

/** The design that is shown elsewhere is a point of the curve. */
export function at(answer) {
  here = { epsilon: answer.rate, loss: answer.loss };
  if (last) draw();
}

export function look({ table }) {
  const { privacy, ...rest } = state().spec;
  const [low, high] = range();
  const points = table.onBox ? POINTS.box : POINTS.list;
  const epsilons = Array.from({ length: points }, (_, k) => String(Number((low * (high / low) ** (k / (points - 1))).toPrecision(3))));
  return question.ask({ spec: { ...rest, privacy: { epsilon: "1" } }, epsilons }, {
    progress: (content) => { if (content.figure) { last = content; draw(); } },
  });
}

async function draw() {
  const point = here && {
    type: "scatter", mode: "markers", x: [here.epsilon], y: [here.loss], name: "here", hoverinfo: "text",
    hovertext: [`here: ε = ${near(here.epsilon)}, loss ${near(here.loss)}`],
    marker: { size: 16, color: colour("orange"), line: { width: 2, color: colour("card") } },
  };
  const plot = await chart.show(last.figure, point ? [point] : []);
  if (!plot.listening) {
    plot.listening = true;
    plot.on("plotly_click", ({ points }) => change({ spec: { ...state().spec, privacy: { epsilon: String(Number(points[0].x.toPrecision(3))) } } }, { why: "epsilon", lasting: true }));
  }
  fill(listed, make("summary", {}, "The points as a table"), make("table", {},
    make("thead", {}, make("tr", {}, ...["ε", "loss", "no mechanism below", "gap"].map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...last.points.map((point) => make("tr", {}, make("th", { scope: "row" }, near(point.epsilon)),
      make("td", {}, above(point.loss, 5)), make("td", {}, below(point.bound, 5)), make("td", {}, above(point.gap, 2)))))));
}
