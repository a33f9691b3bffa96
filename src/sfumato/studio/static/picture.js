// A distribution over the secrets of a space, drawn: cells, discs, nodes or columns. One secret is marked.

import { calm, colour, make, near, penOf, percent, point } from "./dom.js";
import { laidOut, nearest, niceLength, towards } from "./geometry.js";
import { shade } from "./ramp.js";

const TWEEN = 220; // milliseconds in which a cloud becomes another one
const MOST_NAMES = 14;
const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

export class Picture {
  /**
   * pick(k): a secret was chosen. hover(k): the pointer is over one; −1 when it leaves.
   * paint(k, more): called instead of pick while the picture is being painted on.
   */
  constructor(host, { pick = () => {}, hover = () => {}, paint = null, named = "", tallest = 560 } = {}) {
    Object.assign(this, { host, pick, hover, paint, tallest, place: null, shares: [], shown: [], marked: -1 });
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.tip = make("div", { className: "tip", hidden: true, "aria-hidden": "true" });
    host.classList.add("picture");
    host.replaceChildren(this.canvas, this.tip);
    host.tabIndex = 0;
    host.setAttribute("role", "application");
    host.setAttribute("aria-roledescription", "map of secrets");
    host.setAttribute("aria-label", named);
    host.addEventListener("pointermove", (event) => this.#moved(event));
    host.addEventListener("pointerleave", () => this.#left());
    host.addEventListener("pointerdown", (event) => this.#pressed(event));
    host.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.draw()).observe(host);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** Show shares of the secrets of a place; they move there from what was shown. */
  show(place, shares, marked = -1, { outOf = null } = {}) {
    const moves = this.place !== null && this.shown.length === shares.length && !calm() && document.visibilityState === "visible";
    this.place = place;
    this.marked = marked;
    this.most = outOf;
    const from = moves ? Float32Array.from(this.shown) : shares;
    this.shares = shares;
    cancelAnimationFrame(this.frame);
    const began = performance.now();
    const step = (now) => {
      const part = moves ? Math.min(Math.max((now - began) / TWEEN, 0), 1) : 1;
      const ease = part * (2 - part);
      this.shown = Float32Array.from(shares, (share, k) => from[k] + ease * (share - from[k]));
      this.draw();
      if (part < 1) this.frame = requestAnimationFrame(step);
    };
    step(began);
  }

  draw() {
    const width = this.host.clientWidth;
    if (!this.place || !width) return;
    const layout = laidOut(this.place.ground, width, this.tallest);
    this.layout = layout;
    const pen = penOf(this.canvas, width, layout.height);
    this.canvas.style.height = `${layout.height}px`;
    pen.font = "13px Helvetica, Arial, sans-serif";
    const most = this.most ?? Math.max(...this.shown, 1e-12);
    ({ cells, row: columns, places: discs, nodes: discs })[layout.kind](pen, this, layout, most);
  }

  #at(event) {
    const box = this.canvas.getBoundingClientRect();
    return this.layout ? nearest(this.layout, event.clientX - box.left, event.clientY - box.top) : -1;
  }

  #moved(event) {
    const k = this.#at(event);
    if (k < 0) return;
    if (this.painting && event.buttons) {
      if (k !== this.last) this.paint(k, event.shiftKey ? -1 : 1);
      this.last = k;
      return;
    }
    if (event.pointerType === "mouse") this.hover(k);
    const box = this.host.getBoundingClientRect();
    const words = `${this.place.labels[k]}: ${percent(this.shares[k])}`;
    point(this.tip, words, Math.min(Math.max(event.clientX - box.left, 70), box.width - 70), event.clientY - box.top);
  }

  #left() {
    this.tip.hidden = true;
    this.hover(-1);
  }

  #pressed(event) {
    const k = this.#at(event);
    if (k < 0) return;
    this.last = k;
    if (this.painting) this.paint(k, event.shiftKey ? -1 : 1);
    else this.pick(k);
  }

  #key(event) {
    if (!this.layout) return;
    const n = this.layout.x.length;
    const now = Math.max(this.marked, 0);
    let next = null;
    if (ARROWS[event.key]) {
      const [right, up] = ARROWS[event.key];
      next = this.layout.kind === "row" ? Math.min(Math.max(now + (right || up), 0), n - 1) : towards(this.layout, now, right, up);
    } else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = n - 1;
    else if (this.painting && (event.key === "+" || event.key === "-")) this.paint(now, event.key === "+" ? 1 : -1);
    else return;
    event.preventDefault();
    if (next !== null) this.pick(next);
  }
}

function cells(pen, picture, layout, most) {
  const [wide, high] = layout.cell;
  const gap = Math.min(3, wide / 8);
  for (let k = 0; k < layout.x.length; k++) {
    pen.fillStyle = shade(picture.shown[k] / most);
    box(pen, layout.x[k] - wide / 2 + gap / 2, layout.y[k] - high / 2 + gap / 2, wide - gap, high - gap);
    pen.fill();
  }
  people(pen, picture, layout, Math.min(wide, high) / 2 - gap);
  if (picture.marked < 0) return;
  pen.strokeStyle = colour("orange");
  pen.lineWidth = 3;
  box(pen, layout.x[picture.marked] - wide / 2, layout.y[picture.marked] - high / 2, wide, high);
  pen.stroke();
}

/** The prior as a dot in each cell: who lives where. */
function people(pen, picture, layout, largest) {
  const prior = picture.place.prior;
  const most = Math.max(...prior);
  pen.globalAlpha = 0.55;
  pen.fillStyle = colour("orange");
  for (let k = 0; k < layout.x.length; k++) {
    const radius = 0.42 * largest * Math.sqrt(prior[k] / most);
    if (radius < 0.6) continue;
    pen.beginPath();
    pen.arc(layout.x[k], layout.y[k], radius, 0, 7);
    pen.fill();
  }
  pen.globalAlpha = 1;
}

function box(pen, x, y, wide, high) {
  pen.beginPath();
  pen.roundRect(x, y, wide, high, Math.min(6, wide / 5));
}

function discs(pen, picture, layout, most) {
  pen.strokeStyle = colour("rule");
  pen.lineWidth = 1.3;
  for (const [a, b] of picture.place.ground.edges) {
    pen.beginPath();
    pen.moveTo(layout.x[a], layout.y[a]);
    pen.lineTo(layout.x[b], layout.y[b]);
    pen.stroke();
  }
  const order = [...layout.x.keys()].sort((a, b) => picture.shown[b] - picture.shown[a]);
  for (const k of order) {
    const radius = Math.max(layout.disc * Math.sqrt(picture.shown[k] / most), 1.6);
    pen.beginPath();
    pen.arc(layout.x[k], layout.y[k], radius, 0, 7);
    pen.fillStyle = shade(Math.max(picture.shown[k] / most, 0.12));
    pen.globalAlpha = 0.9;
    pen.fill();
    pen.globalAlpha = 1;
    pen.strokeStyle = colour("card");
    pen.lineWidth = 1;
    pen.stroke();
  }
  if (picture.marked >= 0) {
    const k = picture.marked;
    pen.beginPath();
    pen.arc(layout.x[k], layout.y[k], Math.max(layout.disc * Math.sqrt(picture.shown[k] / most), 3) + 3, 0, 7);
    pen.strokeStyle = colour("orange");
    pen.lineWidth = 3;
    pen.stroke();
  }
  names(pen, picture, layout, order);
}

/** Names of the marked secret and of the likeliest ones, where they cover no other name. */
function names(pen, picture, layout, order) {
  const few = layout.x.length <= 40 && picture.place.ground.kind === "nodes" ? layout.x.length : MOST_NAMES;
  const first = picture.marked >= 0 ? [picture.marked, ...order.filter((k) => k !== picture.marked)] : order;
  const taken = [];
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const k of first.slice(0, few)) {
    const words = picture.place.labels[k].slice(0, 22);
    const half = pen.measureText(words).width / 2 + 3;
    const x = Math.min(Math.max(layout.x[k], half), layout.width - half);
    const y = layout.y[k] + layout.disc * Math.sqrt(picture.shown[k] / Math.max(...picture.shown, 1e-12)) + 12;
    if (taken.some((other) => Math.abs(other.x - x) < other.half + half && Math.abs(other.y - y) < 15)) continue;
    taken.push({ x, y, half });
    pen.lineJoin = "round";
    pen.lineWidth = 4;
    pen.strokeStyle = colour("card");
    pen.strokeText(words, x, y);
    pen.fillStyle = k === picture.marked ? colour("orange") : colour("ink");
    pen.fillText(words, x, y);
  }
}

function columns(pen, picture, layout, most) {
  const floor = layout.height - 26, top = 20;
  const wide = Math.min(0.78 * layout.cell[0], 64);
  pen.textAlign = "center";
  const every = Math.ceil(layout.x.length / Math.max(Math.floor(layout.width / 46), 1));
  for (let k = 0; k < layout.x.length; k++) {
    const high = (floor - top) * (picture.shown[k] / most);
    pen.fillStyle = k === picture.marked ? colour("orange") : shade(0.25 + 0.6 * (picture.shown[k] / most));
    pen.beginPath();
    pen.roundRect(layout.x[k] - wide / 2, floor - high, wide, high, [Math.min(5, wide / 3), Math.min(5, wide / 3), 0, 0]);
    pen.fill();
    if (k % every === 0 || k === picture.marked) {
      pen.fillStyle = colour(k === picture.marked ? "orange" : "soft");
      pen.fillText(picture.place.labels[k].slice(0, 10), layout.x[k], floor + 16);
    }
    if (layout.x.length <= 16) {
      pen.fillStyle = colour("ink");
      pen.fillText(percent(picture.shares[k], 2), layout.x[k], floor - high - 7);
    }
  }
  pen.strokeStyle = colour("rule");
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(0, floor + 0.5);
  pen.lineTo(layout.width, floor + 0.5);
  pen.stroke();
}

/** How long something is on the map, in words: a bar of a round length. */
export function scaleOf(picture) {
  const { layout, place } = picture;
  if (!layout || layout.kind === "nodes" || layout.kind === "row") return null;
  const length = niceLength(layout.width / 4 / layout.scale);
  return { pixels: length * layout.scale, words: `${near(length)} ${place.ground.unit || "units"}` };
}
