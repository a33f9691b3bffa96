// What can go wrong, by name. Each error carries one sentence for people.

/** The file cannot be read: damaged, of an unknown version, or saying what no reader knows. */
export class Unreadable extends Error {
  constructor(message) {
    super(message);
    this.name = "Unreadable";
  }
}

/** The file can be read, and what it says is not true. */
export class Refuted extends Error {
  constructor(message, witness = null) {
    super(message);
    this.name = "Refuted";
    this.witness = witness;
  }
}

/** What the caller gave is not what a function takes. */
export class InvalidInput extends Error {
  constructor(message) {
    super(message);
    this.name = "InvalidInput";
  }
}

/** Say that a file cannot be read unless something holds. */
export function demand(holds, message) {
  if (!holds) throw new Unreadable(message);
}
