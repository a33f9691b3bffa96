// The first view: where one secret is sent, as a map; beside it the likeliest outputs as a table.

import { fill, make, percent } from "./dom.js";
import { Picture, scaleOf } from "./picture.js";
import { strip } from "./ramp.js";
import { change, state } from "./state.js";

const MOST_LISTED = 8;

let picture = null;
let parts = null;
let hovered = -1;

export function build(panel, { paint }) {
  const host = make("div", { id: "map" });
  const where = make("div", { className: "where" });
  const legend = make("div", { className: "legend" });
  const options = [["cloud", "one secret"], ["released", "everybody’s outputs"], ["prior", "the prior"]];
  const choices = make("fieldset", { className: "choices" }, make("legend", {}, "What is shown"),
    ...options.map(([value, words]) => make("label", {},
      make("input", { type: "radio", name: "shows", value, onchange: () => change({ shows: value }) }), words)));
  fill(panel, choices, make("div", { className: "scene" }, make("div", {}, host, legend), where), make("div", { id: "density" }));
  picture = new Picture(host, {
    named: "Where a secret is sent. Arrow keys choose the secret.",
    pick: (secret) => change({ secret, shows: "cloud" }, { why: "secret" }),
    hover: (secret) => { if (secret !== hovered) { hovered = secret; draw(); } },
    paint,
  });
  parts = { where, legend, choices };
}

let shown = null;

/** Draw the mechanism `table` on its place; the prior where there is none yet. */
export function show(place, table) {
  shown = { place, table };
  draw();
}

export const painting = (on) => {
  picture.painting = on;
  picture.host.classList.toggle("painting", on);
};

export function draw() {
  if (!shown) return;
  const { place, table } = shown;
  const { secret, shows } = state();
  const drawn = table === null ? "prior" : shows; // without a mechanism there is nothing else to show
  for (const input of parts.choices.querySelectorAll("input")) {
    input.checked = input.value === drawn;
    input.disabled = table === null && input.value !== "prior";
  }
  if (drawn === "prior") return plain(place, place.prior, "The prior", "How likely each secret is, before anything is released.");
  if (shows === "released") {
    return plain(place, table.released(place.prior), "Everybody’s outputs", "What is released over all, if secrets are as likely as the prior says.");
  }
  const at = Math.min(hovered >= 0 ? hovered : secret, place.labels.length - 1);
  const cloud = table.cloud(at);
  picture.show(place, cloud, at);
  const rows = table.likeliest(at, MOST_LISTED);
  const stays = table.at.reduce((sum, place, k) => sum + (place === at ? table.row(at)[k] : 0), 0);
  fill(parts.where,
    make("h2", {}, `${table.onBox ? "At" : "From"} ${place.labels[at]}`),
    make("p", { className: "soft" }, table.onBox
      ? `What is told at this point, summed up on cells. It lies in the same cell with ${percent(stays)}, which has ${percent(place.prior[at])} of the prior.`
      : `The secret itself comes out with ${percent(stays)}; it is ${percent(place.prior[at])} of the prior.`),
    listed(rows, "Likeliest outputs"));
  finish(Math.max(...cloud));
}

function plain(place, shares, title, words) {
  picture.show(place, Float32Array.from(shares), -1);
  const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, MOST_LISTED);
  fill(parts.where, make("h2", {}, title), make("p", { className: "soft" }, words),
    listed(order.map((k) => [place.labels[k], shares[k]]), "Likeliest"));
  finish(Math.max(...shares));
}

export function listed(rows, caption) {
  const most = Math.max(...rows.map(([, share]) => share), 1e-12);
  return make("table", {}, make("caption", {}, caption), make("tbody", {}, ...rows.map(([name, share]) =>
    make("tr", {}, make("th", { scope: "row" }, name),
      make("td", {}, bar(share / most)), make("td", { className: "n" }, percent(share))))));
}

export function bar(part) {
  const inner = make("i");
  inner.style.width = `${100 * Math.min(Math.max(part, 0), 1)}%`;
  return make("span", { className: "track", "aria-hidden": "true" }, inner);
}

function finish(most) {
  const scale = scaleOf(picture);
  const rule = scale && make("span", { "aria-hidden": "true" }, scale.words);
  if (rule) Object.assign(rule.style, { display: "inline-block", width: `${scale.pixels}px`, textAlign: "center", borderBottom: "2px solid currentColor", whiteSpace: "nowrap" });
  const kind = shown.place.ground.kind;
  fill(parts.legend, ...(kind === "row" ? [] : ["0", strip(make("canvas", { "aria-hidden": "true" })), percent(most)]), rule,
    kind === "cells" && make("span", {}, "● how many live there"));
}

/** What the picture says, for who cannot see it. */
export function inWords() {
  const { place, table } = shown;
  const at = Math.min(state().secret, place.labels.length - 1);
  const [first, second] = table.likeliest(at, 2);
  return `Secret ${place.labels[at]}: ${first[0]} comes out with ${percent(first[1])}${second ? `, ${second[0]} with ${percent(second[1])}` : ""}.`;
}

