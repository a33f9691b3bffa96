// The whole mechanism as a table of shades: one row a secret, one column an output. Small ones show their numbers.

import { colour, dark, fill, make, near, penOf, percent, point, say } from "./dom.js";
import { raster, shade, strip } from "./ramp.js";
import { change, state } from "./state.js";

const NUMBERS_UP_TO = 12; // rows and columns that are readable as numbers
const NAMES = 92; // pixels for the names of rows
const TOP = 7; // half a letter above the first row

let host = null, canvas = null, tip = null, note = null, parts = null;
let shown = null, cell = { row: 0, column: 0 };

export function build(panel) {
  canvas = make("canvas", { "aria-hidden": "true" });
  tip = make("div", { className: "tip", hidden: true, "aria-hidden": "true" });
  host = make("div", { className: "picture", id: "matrix", tabIndex: 0, role: "application", "aria-roledescription": "matrix", "aria-label": "The matrix of the mechanism. Arrow keys choose an entry." }, canvas, tip);
  note = make("div", { className: "legend" });
  parts = make("div");
  fill(panel, host, parts, note);
  host.addEventListener("pointermove", moved);
  host.addEventListener("pointerleave", () => { tip.hidden = true; });
  host.addEventListener("pointerdown", (event) => { const at = entry(event); if (at) change({ secret: at.row }, { why: "secret" }); });
  host.addEventListener("keydown", pressed);
  new ResizeObserver(() => draw()).observe(host);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
}

export function show(place, table) {
  shown = { place, table, most: table.matrix.reduce((a, b) => Math.max(a, b), 0) };
  const small = place.labels.length <= NUMBERS_UP_TO && table.width <= NUMBERS_UP_TO;
  host.hidden = small;
  fill(parts, small && numbers(place, table, shown.most));
  fill(note, "0", strip(make("canvas", { "aria-hidden": "true" })), percent(shown.most), make("span", {}, "rows are secrets, columns are outputs"));
  draw();
}

/** A real table, which a screen reader can walk through. */
function numbers(place, table, most) {
  const marked = state().secret;
  return make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "The matrix" }, make("table", {},
    make("caption", {}, "Probability of each output (columns) for each secret (rows)"),
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "secret"), ...table.outputs.map((name) => make("th", { scope: "col", className: "n" }, name)))),
    make("tbody", {}, ...place.labels.map((name, x) => make("tr", { className: x === marked ? "best" : "" },
      make("th", { scope: "row" }, name),
      ...[...table.row(x)].map((share) => {
        const part = share / most;
        const entry = make("td", { className: "n" }, near(share, 3));
        entry.style.backgroundColor = shade(part);
        entry.style.color = part <= 0.2 ? colour("ink") : dark() ? "#14171a" : "#ffffff";
        entry.style.padding = ".35rem .55rem";
        return entry;
      }))))));
}

export function draw() {
  const width = host?.clientWidth;
  if (!shown || !width || host.hidden) return;
  const { place, table, most } = shown;
  const rows = place.labels.length, columns = table.width;
  const side = Math.max(Math.min((width - NAMES) / columns, 26), (width - NAMES) / columns < 1 ? (width - NAMES) / columns : 1);
  const high = Math.max(Math.min(side, 640 / rows), 1);
  const height = high * rows + 2 * TOP;
  const pen = penOf(canvas, width, height);
  canvas.style.height = `${height}px`;
  const gap = side > 8 && high > 8 ? 1 : 0;
  for (let x = 0; gap && x < rows; x++) {
    table.row(x).forEach((share, y) => {
      pen.fillStyle = shade(share / most);
      pen.fillRect(NAMES + y * side, TOP + x * high, side - gap, high - gap);
    });
  }
  if (!gap) {
    pen.imageSmoothingEnabled = side < 1 || high < 1; // what has no pixel of its own is averaged
    pen.drawImage(raster(rows, columns, (x) => table.row(x), most), NAMES, TOP, columns * side, rows * high);
  }
  pen.font = "12px Helvetica, Arial, sans-serif";
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  const every = Math.ceil(14 / high);
  for (let x = 0; x < rows; x += every) {
    pen.fillStyle = colour("soft");
    pen.fillText(place.labels[x].slice(0, 13), NAMES - 8, TOP + (x + 0.5) * high);
  }
  const marked = Math.min(state().secret, rows - 1);
  pen.strokeStyle = colour("orange");
  pen.lineWidth = 2;
  pen.strokeRect(NAMES, TOP + marked * high, columns * side, Math.max(high, 2));
  shown.size = { side, high, rows, columns };
}

function entry(event) {
  if (!shown?.size) return null;
  const box = canvas.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left - NAMES) / shown.size.side);
  const row = Math.floor((event.clientY - box.top - TOP) / shown.size.high);
  return row >= 0 && row < shown.size.rows && column >= 0 && column < shown.size.columns ? { row, column } : null;
}

function moved(event) {
  const at = entry(event);
  tip.hidden = !at;
  if (!at) return;
  const box = host.getBoundingClientRect();
  point(tip, words(at), Math.min(Math.max(event.clientX - box.left, 90), box.width - 90), event.clientY - box.top);
}

const words = ({ row, column }) =>
  `${shown.place.labels[row]} → ${shown.table.outputs[column]}: ${percent(shown.table.row(row)[column])}`;

function pressed(event) {
  const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  if (!step || !shown?.size) return;
  event.preventDefault();
  cell = {
    row: Math.min(Math.max(Math.min(state().secret, shown.size.rows - 1) + step[0], 0), shown.size.rows - 1),
    column: Math.min(Math.max(cell.column + step[1], 0), shown.size.columns - 1),
  };
  change({ secret: cell.row }, { why: "matrix" });
  const { side, high } = shown.size;
  point(tip, words(cell), NAMES + (cell.column + 0.5) * side, TOP + (cell.row + 0.5) * high);
  say(words(cell));
}
