// ε: a slider for the hand, a text for the head, a sentence for both. Equal steps of the slider are equal factors.

import { $, above, near, toast } from "./dom.js";
import { Question } from "./question.js";
import { change, state } from "./state.js";
import { hold } from "./work.js";

const STEPS = 1000;
const FAR = 3; // ε times the side of a cell, beyond which factors are told for the distances at which odds double
const FEW = 100; // secrets, of which the farthest two are told as well
let least = 1, largest = 10; // distances of the space
let reached = ""; // the ε of the design, for who said at which distance odds double
let editing = false; // what somebody is typing is not overwritten

/** Between which ε something happens: the far ends are told apart a little, the nearest ones almost surely. */
export const range = () => [Number((0.5 / largest).toPrecision(2)), Number((6 / least).toPrecision(2))];

export function build() {
  const slider = $("epsilon"), text = $("epsilon-text");
  slider.addEventListener("input", () => moved(false));
  slider.addEventListener("change", () => moved(true));
  text.addEventListener("input", () => { editing = true; });
  text.addEventListener("blur", () => { editing = false; });
  text.addEventListener("change", () => typed());
  text.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); typed(); } });
  $("seek").addEventListener("click", sought);
  $("target").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); sought(); } });
}

/** The smallest ε that is enough for a loss; the design there follows. */
export const search = new Question("calibrate", ({ epsilon, low, loss, lost }) => {
  set(String(epsilon), "epsilon");
  toast(`ε = ${epsilon} is enough: ${lost.toLowerCase()} ${above(loss)}.${Number(low) > 0 ? ` ε = ${low} is too small for any mechanism.` : ""}`);
});

function sought() {
  const target = $("target").value.trim().replace(",", ".");
  if (target) search.ask({ spec: state().spec, target });
}

function moved(done) {
  const [low, high] = range();
  const epsilon = String(Number((low * (high / low) ** (Number($("epsilon").value) / STEPS)).toPrecision(3)));
  set(epsilon, done ? "epsilon" : "drag");
}

function typed() {
  editing = false;
  const value = $("epsilon-text").value.trim().replace(",", ".");
  const fine = number(value) > 0;
  $("epsilon-text").setAttribute("aria-invalid", String(!fine));
  if (fine) set(value, "epsilon");
  else hold(`ε must be a positive number, such as 0.7, 1/2 or ln 2; ${value ? `“${value.slice(0, 40)}” is none` : "nothing was given"}.`);
}

function set(epsilon, why) {
  const { alpha, double_at: apart, ...rest } = state().spec.privacy;
  change({ spec: { ...state().spec, privacy: { ...rest, epsilon } } }, { why, lasting: false });
}

/** What a text such as 0.7, 1/2 or ln 2 is worth; only to place the slider. */
export function number(text) {
  const logarithm = /^ln\s*\(?\s*([\d./]+)\s*\)?$/.exec(text);
  if (logarithm) return Math.log(number(logarithm[1]));
  const parts = /^(\d+\.?\d*|\.\d+)(?:\/(\d+\.?\d*))?(?:[eE]([+-]?\d{1,2}))?$/.exec(text);
  return parts ? (Number(parts[1]) / Number(parts[2] ?? 1)) * 10 ** Number(parts[3] ?? 0) : NaN;
}

/** Show the promise of the state. */
export function show() {
  const { epsilon, alpha, double_at: apart } = state().spec.privacy;
  const shown = alpha !== undefined ? `ln ${1 / number(String(alpha))}` : String(epsilon ?? (apart === undefined ? "" : reached));
  if (!editing) {
    $("epsilon-text").value = shown;
    $("epsilon-text").setAttribute("aria-invalid", "false");
  }
  const [low, high] = range();
  const value = alpha === undefined ? number(shown) : -Math.log(number(String(alpha)));
  const place = (STEPS * Math.log(value / low)) / Math.log(high / low);
  if (Number.isFinite(place)) $("epsilon").value = String(Math.round(Math.min(Math.max(place, 0), STEPS)));
  const unit = $("epsilon-unit").textContent;
  $("epsilon").setAttribute("aria-valuetext", `ε = ${near(value)} ${unit}`);
}

/** Of few secrets, what the promise means for the farthest two. */
function farthest(answer, steps, times) {
  if (answer.place.labels.length > FEW || largest <= Math.max(...steps) + 1e-9) return "";
  return `, and ${times(largest)}× between the farthest two, at ${near(largest, 3)}${answer.unit ? ` ${answer.unit}` : ""}`;
}

/** What a design says of its promise. */
export function showReach(answer) {
  [least, largest] = answer.place.distances;
  reached = near(answer.rate, 4);
  const unit = answer.unit;
  $("epsilon-unit").textContent = unit ? `per ${unit}` : "per unit";
  // the last bits belong to the double: a factor of 3 is not told as 3.01
  const times = (distance) => above(Math.exp(Math.min(answer.rate * distance, 700)) * (1 - 2 ** -48), 3);
  const short = answer.about === "coordinates" && answer.rate * least > FAR ? Math.log(2) / answer.rate : least;
  const steps = [short, 2 * short, 4 * short].filter((distance) => distance <= largest + 1e-9);
  const words = steps.map((distance) => `${times(distance)}× at ${near(distance, 3)}${unit ? ` ${unit}` : ""}`);
  $("promise").textContent = answer.about === "coordinates"
    ? `The promise is about all points, not about cells. No output is much likelier at one point than at another near it: at most ${words.join(", ")}, and at smaller distances in proportion.`
    : `No output is much likelier for one secret than for another near it: at most ${words.join(", ")}${farthest(answer, steps, times)}.`;
  show();
}
