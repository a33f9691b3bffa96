// Known mechanisms beside the optimum: a table, and two clouds of one secret next to each other.

import { Question } from "./question.js";
import { fill, make, near } from "./dom.js";
import { bar } from "./map.js";
import { Picture } from "./picture.js";
import { change, state } from "./state.js";
import { Table } from "./table.js";

const SAME = 1e-8;
let left = null, right = null, pair = null, title = null, rows = null, comparison = null, place = null;

export const question = new Question("compare", (answer) => { comparison = answer; draw(); });

export function build(panel) {
  const hosts = [make("div"), make("div")];
  title = make("h2");
  rows = make("div");
  pair = make("div", { className: "pair" }, make("div", {}, make("h2", {}, "The optimum"), hosts[0]), make("div", {}, title, hosts[1]));
  fill(panel, pair, rows);
  const pick = (secret) => change({ secret }, { why: "secret" });
  left = new Picture(hosts[0], { pick, named: "One secret under the optimal mechanism. Arrow keys choose it.", tallest: 330 });
  right = new Picture(hosts[1], { pick, named: "The same secret under the other mechanism. Arrow keys choose it.", tallest: 330 });
}

export function look(design) {
  place = design.place;
  return question.ask({ spec: state().spec });
}

export function draw() {
  if (!comparison || !place) return;
  pair.hidden = !comparison.rows.some((row) => row.matrix);
  const others = comparison.rows.filter((row) => row.mechanism !== "optimal");
  const chosen = others.find((row) => row.mechanism === state().beside) ?? others[0];
  const best = comparison.rows.find((row) => row.mechanism === "optimal");
  const secret = Math.min(state().secret, place.labels.length - 1);
  title.textContent = chosen ? spoken(chosen.mechanism) : "Nothing else is known";
  const clouds = [[left, best], [right, chosen]].filter(([, row]) => row?.matrix);
  const shares = clouds.map(([, row]) => new Table(row, place.labels.length).cloud(secret));
  const most = Math.max(...shares.map((cloud) => Math.max(...cloud)), 1e-12); // one scale for both
  clouds.forEach(([picture], k) => picture.show(place, shares[k], secret, { outOf: most }));
  fill(rows, table(best, chosen), leftOut());
}

const spoken = (name) => name.replaceAll("_", " ");

function table(best, chosen) {
  const most = Math.max(...comparison.rows.map((row) => row.value ?? 0));
  const more = (row) => {
    if (row === best || row.value === null || !(best?.value > 0)) return "–";
    const part = row.value / best.value - 1; // what floats have rounded is no difference
    return Math.abs(part) < SAME ? "0 %" : `${part > 0 ? "+" : "−"} ${near(100 * Math.abs(part), 3)} %`;
  };
  return make("div", { className: "scroll" }, make("table", {},
    make("caption", {}, comparison.by),
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "mechanism"), make("th", { scope: "col", className: "slim" }, ""),
      ...[`beside ${comparison.best}`, ...comparison.heads].map((name, k) => make("th", { scope: "col", className: k > 1 ? "n slim" : "n" }, name)))),
    make("tbody", {}, ...comparison.rows.map((row) => make("tr", { className: row === best ? "best" : "" },
      make("th", { scope: "row" }, named(row, best, chosen)),
      make("td", { className: "slim" }, bar(row.value === null ? 1 : row.value / most)),
      make("td", { className: "n" }, more(row)),
      ...row.cells.map((cell, k) => make("td", { className: k > 0 ? "n slim" : "n" }, cell)))))));
}

/** The name of a row; one whose mechanism can be drawn draws it. */
function named(row, best, chosen) {
  if (row === best) return comparison.best;
  if (!row.matrix) return spoken(row.mechanism);
  return make("button", { type: "button", className: "link", "aria-pressed": String(row === chosen), onclick: () => change({ beside: row.mechanism }, { why: "beside" }) }, spoken(row.mechanism));
}

function leftOut() {
  const names = Object.entries(comparison.left_out);
  return names.length > 0 && make("details", {}, make("summary", {}, `${names.length} others do not exist here`),
    make("ul", {}, ...names.map(([name, why]) => make("li", {}, `${spoken(name)}: ${why}`))));
}
