// A small board on which a graph is drawn: nodes by a click, edges by two, places by dragging.

import { colour, make } from "./dom.js";
import { state } from "./state.js";

const NEAR = 14; // pixels
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

/** `changed(space, drawn)` gets the graph and where its nodes were put. */
export function board(space, changed) {
  const canvas = make("canvas", { className: "board", role: "img", "aria-label": "A board to draw the graph on; the list of edges below does the same with the keyboard." });
  const names = [...new Set([...(space.nodes ?? []), ...(space.edges ?? []).flatMap(([a, b]) => [String(a), String(b)])])];
  const places = placed(names, state().drawn);
  let edges = (space.edges ?? []).map((edge) => [...edge]);
  let held = null, chosen = null, dragged = false;

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
  const tell = () => {
    const alone = names.filter((name) => !edges.some(([a, b]) => a === name || b === name));
    if (!alone.length && names.length > 1) changed({ ...space, edges }, { ...places });
  };

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
      const [one, other] = [chosen, name];
      const has = edges.some(([a, b]) => (a === one && b === other) || (a === other && b === one));
      edges = has ? edges.filter(([a, b]) => !((a === one && b === other) || (a === other && b === one))) : [...edges, [one, other]];
      chosen = null;
      tell();
    } else chosen = chosen === name ? null : name;
    held = null;
    draw();
  });

  function draw() {
    const dots = devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * dots;
    canvas.height = canvas.clientHeight * dots;
    const pen = canvas.getContext("2d");
    pen.scale(dots, dots);
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
      pen.fillStyle = colour(name === chosen ? "orange" : "blue");
      pen.fill();
      pen.fillStyle = colour("blue-ink");
      pen.fillText(name.slice(0, 3), x, y);
    }
  }
  new ResizeObserver(draw).observe(canvas);
  return canvas;
}

/** Nodes that were not drawn stand on a circle. */
function placed(names, drawn) {
  return Object.fromEntries(names.map((name, k) => {
    const turn = (2 * Math.PI * k) / names.length;
    const known = drawn[name];
    const fine = Array.isArray(known) && known.length === 2 && known.every(Number.isFinite);
    return [name, fine ? known : [0.5 + 0.36 * Math.sin(turn), 0.5 - 0.36 * Math.cos(turn)]];
  }));
}
