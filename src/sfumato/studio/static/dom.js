// Small tools for the page. Text goes in as text, never as markup: no label can become a tag.

const LARGEST = 4_000_000; // bytes of a file, as the server

export const $ = (id) => document.getElementById(id);

/** An element with properties and children; children that are no nodes become text. */
export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && name !== "list") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter(isThere));
  return node;
}

const isThere = (child) => child !== null && child !== undefined && child !== false;

/** Put children into a node instead of what it holds. */
export function fill(node, ...children) {
  node.replaceChildren(...children.filter(isThere));
  return node;
}

const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** A number as people write it: few digits, powers of ten only where they help. */
export function near(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -4 || size > 9) {
    const factor = Number((value / 10 ** size).toPrecision(digits));
    const power = "10" + [...String(size)].map((c) => SUPERSCRIPTS[c]).join("");
    return factor === 1 ? power : `${factor} × ${power}`;
  }
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

/** The decimal of so many digits beside a number: up to `side` 1, down to `side` −1. */
function towards(value, digits, side) {
  const nearest = Number(value.toPrecision(digits));
  if (!Number.isFinite(value) || value === 0 || (nearest - value) * side >= 0) return nearest;
  const unit = Math.floor(Math.log10(Math.abs(nearest))) - digits + 1;
  return Number((nearest + side * Number(`1e${unit}`)).toPrecision(digits));
}

/** A bound from above, rounded up: what is said to be at most this much is. */
export const above = (value, digits = 4) => (typeof value === "number" ? near(towards(value, digits, 1), digits) : near(value));

/** A bound from below, rounded down: what is said to be at least this much is. */
export const below = (value, digits = 4) => (typeof value === "number" ? near(towards(value, digits, -1), digits) : near(value));

/** A share as a percentage; what is too small to matter is said to be. */
export const percent = (share, digits = 3) => (share > 0 && share < 1e-5 ? "< 0.001 %" : `${near(100 * share, digits)} %`);

/** Say something to who cannot see the page; the same words twice are said twice. */
export function say(words) {
  const place = $("said");
  place.textContent = "";
  requestAnimationFrame(() => { place.textContent = words; });
}

/** What is wrong, where everybody looks for it. */
export function complain(words) {
  $("problem").textContent = words;
  $("problem").hidden = false;
}

/** A verdict in one word. */
export const outcome = ({ outcome: found }, words = { holds: "Yes", fails: "No", undecided: "Undecided" }[found]) =>
  make("p", {}, make("span", { className: `outcome ${found}` }, words));

/** The text of a chosen file, with the first letters of its name; none of a file that is too large for the server. */
export async function chosenText(input, refuse) {
  const [file] = input.files;
  if (!file) return null;
  if (file.size <= LARGEST) return { name: file.name.slice(0, 200), text: await file.text() };
  refuse(`${file.name} is larger than 4 MB, the most that the studio takes.`);
  return null;
}

/** A pen for a canvas of so many pixels of the page, as sharp as the screen. */
export function penOf(canvas, width, height) {
  const dots = devicePixelRatio || 1;
  canvas.width = Math.round(width * dots);
  canvas.height = Math.round(height * dots);
  const pen = canvas.getContext("2d");
  pen.scale(dots, dots);
  return pen;
}

/** Words at a point of a picture. */
export function point(tip, words, x, y) {
  tip.textContent = words;
  tip.style.left = `${x}px`;
  tip.style.top = `${y}px`;
  tip.hidden = false;
}

/** A short note that goes away by itself. */
export function toast(words) {
  const note = make("div", { className: "toast", role: "status" }, words);
  document.body.append(note);
  setTimeout(() => note.remove(), 3500);
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;

/** The value of a colour by its name in the style sheet. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Call later, once, after the last of several calls. */
export function settled(work, wait) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), wait);
  };
}
