// A small board on which a graph is drawn: nodes by a click, edges by two, places by dragging.
// A node without an edge is no part of the graph: it is drawn hollow, and the board says so.

import { colour, make, penOf } from "./dom.js";
import { state } from "./state.js";

const NEAR = 14; // pixels
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

let chosen = null; // the marked node; it stays marked when the board is drawn anew

/** `changed(space, drawn)` gets the graph and where its nodes were put, also those that have no edge yet. */
export function board(space, changed) {
  const canvas = make("canvas", { className: "board", role: "img", tabIndex: 0, "aria-label": "A board to draw the graph on; Delete takes the marked node away. The list of edges below does the same with the keyboard." });
  canvas.dataset.field = "board";
  let edges = (space.edges ?? []).map(([a, b, ...length]) => [String(a), String(b), ...length]);
  const drawn = Object.keys(state().drawn).filter((name) => isPlace(state().drawn[name]));
  let names = [...new Set([...edges.flatMap(([a, b]) => [a, b]), ...(space.nodes ?? []).map(String), ...drawn])];
  const places = placed(names, state().drawn);
  let held = null, dragged = false;
  if (!names.includes(chosen)) chosen = null;
  const words = make("p", { className: "hint", role: "status" });
  const away = make("button", { type: "button", id: "delete-node", onclick: () => remove() }, "Delete the marked node");

  const pixels = ([x, y]) => [x * canvas.clientWidth, y * canvas.clientHeight];
  const under = (event) => {
    const box = canvas.getBoundingClientRect();
    return names.find((name) => {
      const [x, y] = pixels(places[name]);
      return Math.hypot(x - event.clientX + box.left, y - event.clientY + box.top) < NEAR;
    });
  };
  const point = (event) => {
    const box = canvas.getBoundingClientRect();
    const inside = (value) => Math.min(Math.max(value, 0.04), 0.96);
    return [inside((event.clientX - box.left) / box.width), inside((event.clientY - box.top) / box.height)].map((v) => Number(v.toFixed(3)));
  };
  const isAlone = (name) => !edges.some(([a, b]) => a === name || b === name);
  const tell = () => {
    const { nodes, ...rest } = space; // nodes are what has an edge
    changed({ ...rest, edges }, Object.fromEntries(names.map((name) => [name, places[name]])));
  };
  const remove = () => {
    if (chosen === null) return;
    names = names.filter((name) => name !== chosen);
    edges = edges.filter(([a, b]) => a !== chosen && b !== chosen);
    chosen = null;
    tell();
    draw();
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.key !== "Delete" && event.key !== "Backspace") return;
    event.preventDefault();
    remove();
  });

  canvas.addEventListener("pointerdown", (event) => {
    held = under(event) ?? null;
    dragged = false;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held === null || !event.buttons) return;
    dragged = true;
    places[held] = point(event);
    draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    const name = under(event);
    if (dragged) tell();
    else if (name === undefined) {
      const fresh = LETTERS.split("").find((letter) => !names.includes(letter)) ?? `n${names.length + 1}`;
      names.push(fresh);
      places[fresh] = point(event);
      if (chosen !== null) edges.push([chosen, fresh]); // a new node is joined to the chosen one
      chosen = fresh;
      tell();
    } else if (chosen !== null && chosen !== name) {
      const others = edges.filter((edge) => !(edge.slice(0, 2).includes(chosen) && edge.slice(0, 2).includes(name)));
      edges = others.length < edges.length ? others : [...edges, [chosen, name]];
      chosen = null;
      tell();
    } else chosen = chosen === name ? null : name;
    held = null;
    draw();
  });

  function draw() {
    const pen = penOf(canvas, canvas.clientWidth, canvas.clientHeight);
    pen.strokeStyle = colour("soft");
    pen.lineWidth = 1.5;
    for (const [a, b] of edges) {
      pen.beginPath();
      pen.moveTo(...pixels(places[a]));
      pen.lineTo(...pixels(places[b]));
      pen.stroke();
    }
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.font = "12px Helvetica, Arial, sans-serif";
    for (const name of names) {
      const [x, y] = pixels(places[name]);
      pen.beginPath();
      pen.arc(x, y, 10, 0, 7);
      const alone = isAlone(name), paint = colour(name === chosen ? "orange" : "blue");
      pen.fillStyle = alone ? colour("paper") : paint;
      pen.fill();
      pen.setLineDash(alone ? [3, 3] : []);
      pen.strokeStyle = paint;
      pen.stroke();
      pen.fillStyle = alone ? colour("ink") : colour("blue-ink");
      pen.fillText(name.slice(0, 3), x, y);
    }
    words.textContent = inWords(names.filter(isAlone));
    away.disabled = chosen === null;
  }
  new ResizeObserver(draw).observe(canvas);
  return make("div", { className: "wide" }, canvas, words, away);
}

function inWords(alone) {
  if (!alone.length) return "";
  const one = alone.length === 1;
  return `${alone.slice(0, 6).join(", ")}${alone.length > 6 ? " and others" : ""} ${one ? "has" : "have"} no edge and ${one ? "is" : "are"} not part of the graph: join ${one ? "it" : "them"} to another node.`;
}

const isPlace = (known) => Array.isArray(known) && known.length === 2 && known.every(Number.isFinite);

/** Nodes that were not drawn stand on a circle. */
function placed(names, drawn) {
  return Object.fromEntries(names.map((name, k) => {
    const turn = (2 * Math.PI * k) / names.length;
    const known = drawn[name];
    return [name, isPlace(known) ? known : [0.5 + 0.36 * Math.sin(turn), 0.5 - 0.36 * Math.cos(turn)]];
  }));
}
