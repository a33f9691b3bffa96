// A view that asks the server for something of its own: once for each state, left when the state changes.

import { complain } from "./dom.js";
import { Errand, Refusal } from "./server.js";
import { STOPPING, working } from "./work.js";

const PATIENCE = 0.4; // seconds before the page says that it is working

export class Question {
  constructor(task, answered, { refused = complain } = {}) {
    Object.assign(this, { task, answered, refused, key: "", errand: null });
  }

  /** Ask, unless the same was asked before; progress goes to the page. */
  async ask(values, { progress = () => {} } = {}) {
    const key = JSON.stringify(values);
    if (key === this.key) return;
    this.key = key;
    this.errand?.leaveSoon();
    const errand = new Errand();
    this.errand = errand;
    const hint = setTimeout(() => { if (this.errand === errand) working("working", true); }, 1000 * PATIENCE);
    try {
      const answer = await errand.ask(this.task, values, (content) => {
        if (this.errand !== errand) return;
        if (!errand.stopping && content.doing && errand.seconds > PATIENCE) working(`${content.doing}  ·  ${errand.seconds.toFixed(1)} s`, true);
        progress(content);
      });
      if (this.errand === errand) this.answered(answer);
    } catch (error) {
      if (this.errand !== errand) return;
      this.key = ""; // asked again when somebody looks again
      if (error.name === "AbortError") return;
      if (!(error instanceof Refusal)) throw error;
      this.refused(error.message);
    } finally {
      clearTimeout(hint);
      if (this.errand === errand) {
        this.errand = null;
        working("", false);
      }
    }
  }

  /** End with what is known so far: a curve keeps its points. */
  stop() {
    if (this.errand === null) return;
    working(STOPPING, true);
    this.errand.stop();
  }

  /** The view is closed, or its answer is not wanted any more; at once where somebody says so. */
  leave(atOnce = false) {
    if (this.errand === null) return;
    if (atOnce) this.errand.leave();
    else this.errand.leaveSoon();
    this.errand = null;
    this.key = "";
    working("", false);
  }
}
