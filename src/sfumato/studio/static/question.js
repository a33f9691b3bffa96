// A view that asks the server for something of its own: once for each state, left when the state changes.

import { $ } from "./dom.js";
import { ask, leaveSoon, Refusal, stop } from "./server.js";
import { STOPPING, working } from "./work.js";

const PATIENCE = 400;

export class Question {
  constructor(task, answered, { refused = null } = {}) {
    Object.assign(this, { task, answered, refused, key: "", controller: null });
  }

  /** Ask, unless the same was asked before; progress goes to the page. */
  async ask(values, { progress = () => {} } = {}) {
    const key = JSON.stringify(values);
    if (key === this.key) return;
    this.key = key;
    if (this.controller) leaveSoon(this.controller);
    const controller = new AbortController();
    this.controller = controller;
    this.job = "";
    const began = performance.now();
    const hint = setTimeout(() => { if (this.controller === controller) working("working", true); }, PATIENCE);
    try {
      const answer = await ask(this.task, values, {
        signal: controller.signal,
        progress: (content, job) => {
          this.job = job;
          if (controller.stopping && !controller.askedToStop) this.stop();
          if (this.controller !== controller) return;
          if (!controller.stopping && content.doing && performance.now() - began > PATIENCE) {
            working(`${content.doing}  ·  ${((performance.now() - began) / 1000).toFixed(1)} s`, true);
          }
          progress(content);
        },
      });
      if (this.controller === controller) this.answered(answer);
    } catch (error) {
      if (this.controller !== controller) return;
      this.key = ""; // asked again when somebody looks again
      if (error.name === "AbortError") return;
      if (!(error instanceof Refusal)) throw error;
      if (this.refused) this.refused(error.message);
      else {
        $("problem").textContent = error.message;
        $("problem").hidden = false;
      }
    } finally {
      clearTimeout(hint);
      if (this.controller === controller) {
        this.controller = null;
        working("", false);
      }
    }
  }

  /** End with what is known so far: a curve keeps its points. */
  stop() {
    if (this.controller === null) return;
    this.controller.stopping = true;
    working(STOPPING, true);
    if (!this.job) return; // it is asked as soon as it has a name
    this.controller.askedToStop = true;
    stop(this.job);
  }

  /** The view is closed, or its answer is not wanted any more; at once where somebody says so. */
  leave(atOnce = false) {
    if (this.controller === null) return;
    if (atOnce) this.controller.abort();
    else leaveSoon(this.controller);
    this.controller = null;
    this.key = "";
    working("", false);
  }
}
