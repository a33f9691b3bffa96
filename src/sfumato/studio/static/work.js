// One design at a time, always of the newest state. While somebody drags, quick ones; then one that is close to the optimum.

import { $, near, say } from "./dom.js";
import { ask, leaveSoon, Refusal, stop } from "./server.js";
import { state } from "./state.js";

const PATIENCE = 700; // milliseconds before the page says that it is working
const SLOW = 900; // milliseconds of a design above which dragging waits for the end of the drag

let running = null; // { controller, job, quick }
let wanted = null;
let took = 0;
let listener = () => {};
let failed = () => {};
let looked = () => {};

/** Who is told: of a design, of a problem, and of a space whose design takes its time. */
export function onDesign(found, problem, place) {
  [listener, failed, looked] = [found, problem, place];
}

/** Ask for the design of the state; `quick` while it is still changing. */
export function design(quick = false) {
  if (quick && took > SLOW) return;
  wanted = { quick };
  $("stage").classList.add("stale"); // what is shown is of an earlier state, until the answer comes
  if (running === null) loop();
  else leaveSoon(running.controller); // its question is out of date
}

async function loop() {
  while (wanted !== null) {
    const { quick } = wanted;
    const asked = state();
    wanted = null;
    const controller = new AbortController();
    running = { controller, quick, job: "" };
    const began = performance.now();
    const hint = setTimeout(() => {
      working("designing", true);
      if (!quick) look(asked);
    }, PATIENCE);
    try {
      const answer = await ask("design", { spec: asked.spec, quick }, {
        signal: controller.signal,
        progress: (content, job) => {
          running.job = job;
          if (performance.now() - began > PATIENCE) told(content, performance.now() - began);
        },
      });
      took = performance.now() - began;
      if (wanted === null && !quick) $("stage").classList.remove("stale");
      listener(answer, asked, quick);
    } catch (error) {
      if (error.name === "AbortError") {
        if (running.cancelled) failed("Cancelled; nothing is running any more.", asked);
      } else if (error instanceof Refusal) failed(error.message, asked);
      else throw error;
    } finally {
      clearTimeout(hint);
      running = null;
      if (wanted === null) working("", false);
    }
  }
}

/** The space and the prior, while the design is not there yet. */
async function look(asked) {
  try {
    const { place } = await ask("look", { spec: asked.spec });
    if (running !== null && asked === state()) looked(place, asked);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error; // the design will say the same
  }
}

function told(content, spent) {
  const numbers = content.gap !== undefined
    ? `  ·  loss ${near(content.loss)}  ·  bound ${near(content.bound)}  ·  gap ${content.gap < 1 ? `${near(100 * content.gap, 2)} %` : "above 100 %"}`
    : "";
  working(`${content.doing || "designing"}  ·  ${(spent / 1000).toFixed(1)} s${numbers}`, true);
}

export function working(words, on) {
  $("doing").hidden = !on;
  if (on) $("doing-words").textContent = words;
}

/** End the design with the best it has: proved like any other. */
export async function stopDesign() {
  if (running?.job) await stop(running.job);
}

/** Leave the design: its worker is ended. */
export function cancelDesign() {
  if (running === null) return;
  running.cancelled = true;
  wanted = null;
  running.controller.abort();
  say("Cancelled");
}
