// One design at a time, always of the newest state. While somebody drags, quick ones; then one that is close to the optimum.

import { $, above, below, complain, say } from "./dom.js";
import { allow } from "./keep.js";
import { ask, Errand, Refusal } from "./server.js";
import { state } from "./state.js";

const PATIENCE = 0.7; // seconds before the page says that it is working
const SLOW = 0.9; // seconds of a design above which dragging waits for the end of the drag

let running = null; // the errand
let wanted = null;
let took = 0;
let held = ""; // why there is no design of what the form says
let listener = () => {};
let looked = () => {};

/** Who is told: of a design, and of a space whose design takes its time. */
export function onDesign(design, place) {
  [listener, looked] = [design, place];
}

export const holding = () => held !== "";

/** What the form says has no design: what is shown is of an earlier question and cannot be taken away. */
export function hold(words) {
  held = words;
  wanted = null;
  running?.leaveSoon();
  $("stage").classList.add("stale", "held");
  allow(false);
  complain(words);
}

/** Ask for the design of the state; `quick` while it is still changing. */
export function design(quick = false) {
  held = "";
  $("stage").classList.remove("held");
  allow(true);
  if (quick && took > SLOW) return;
  wanted = { quick };
  $("stage").classList.add("stale"); // what is shown is of an earlier state, until the answer comes
  if (running === null) loop();
  else running.leaveSoon(); // its question is out of date
}

async function loop() {
  while (wanted !== null) {
    const { quick } = wanted;
    const question = state();
    wanted = null;
    running = new Errand();
    const hint = setTimeout(() => {
      working("designing", true);
      if (!quick) look(question);
    }, 1000 * PATIENCE);
    try {
      const answer = await running.ask("design", { spec: question.spec, quick }, showProgress);
      took = running.seconds;
      if (held) continue; // meanwhile the form asks for something else
      if (wanted === null && !quick) $("stage").classList.remove("stale");
      listener(answer, question, quick);
    } catch (error) {
      if (error.name === "AbortError") {
        if (running.cancelled) hold("Cancelled; nothing is running any more.");
      } else if (error instanceof Refusal) {
        if (wanted === null && !held) hold(error.message);
      } else throw error;
    } finally {
      clearTimeout(hint);
      running = null;
      if (wanted === null) working("", false);
    }
  }
}

/** The space and the prior, while the design is not there yet. */
async function look(question) {
  try {
    const { place } = await ask("look", { spec: question.spec });
    if ((running !== null || held) && question === state()) looked(place, question); // also when it was cancelled
  } catch (error) {
    if (!(error instanceof Refusal)) throw error; // the design will say the same
  }
}

function showProgress(content) {
  if (running.stopping || running.seconds <= PATIENCE) return;
  const numbers = content.gap !== undefined
    ? `  ·  loss ${above(content.loss)}  ·  bound ${below(content.bound)}  ·  gap ${content.gap < 1 ? `${above(100 * content.gap, 2)} %` : "above 100 %"}`
    : "";
  working(`${content.doing || "designing"}  ·  ${running.seconds.toFixed(1)} s${numbers}`, true);
}

export function working(words, on) {
  $("doing").hidden = !on;
  if (on) $("doing-words").textContent = words;
}

export const STOPPING = "stopping…";

/** End the design with the best it has: proved like any other. */
export function stopDesign() {
  if (running === null) return;
  working(STOPPING, true);
  say(STOPPING);
  running.stop();
}

/** Leave the design: its worker is ended. */
export function cancelDesign() {
  if (running === null) return;
  running.cancelled = true;
  wanted = null;
  running.leave();
  say("Cancelled");
}
