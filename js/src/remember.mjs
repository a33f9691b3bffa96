// Positions that are asked for again and again: the first answer stands until the period ends.
//
// Every fresh answer about one place tells more about it, and ten of them tell ten times as much. Whoever remembers the
// first one tells it once.

import { InvalidInput } from "./errors.mjs";

/** A mechanism with a memory, made by mechanism.remember(store). */
export class Remembered {
  /** `store` has get, set and delete, as a Map; or getItem, setItem and removeItem, as localStorage. */
  constructor(mechanism, store, { name = "" } = {}) {
    const web = typeof store?.getItem === "function";
    const methods = web ? ["getItem", "setItem", "removeItem"] : ["get", "set", "delete"];
    if (!methods.every((method) => typeof store?.[method] === "function")) {
      throw new InvalidInput("a store has get, set and delete, as a Map, or getItem, setItem and removeItem");
    }
    const [get, set, remove] = methods;
    this.mechanism = mechanism;
    this.name = `sfumato ${mechanism.digest} ${name}`;
    this.read = () => store[get](this.name) ?? null;
    this.write = (text) => store[set](this.name, text);
    this.forget = () => store[remove](this.name);
  }

  /** The answer of this period: drawn once, and the same however often and for whatever secret it is asked for. */
  draw(secret, options = {}) {
    this.mechanism.permitted(options.withoutProof);
    const kept = this.read();
    if (kept === null) {
      const drawn = this.mechanism.draw(secret, options);
      this.write(String(drawn.number));
      // An answer that was not kept must not be told: the next one would be a second answer about the same place.
      if (this.read() !== String(drawn.number)) {
        throw new InvalidInput("the store did not keep the answer, so that it is not told: stores answer at once");
      }
      return drawn;
    }
    if (typeof kept !== "string" || !/^[0-9]{1,15}$/.test(kept)) {
      throw new InvalidInput("the store holds no answer of ours: it answers at once, with the text that was put there");
    }
    return this.mechanism.output(Number(kept));
  }

  /** Forget the answer: the next one is fresh, and is paid for again. */
  endPeriod() {
    this.forget();
  }
}
