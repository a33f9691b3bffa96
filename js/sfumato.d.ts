/** The file cannot be read: damaged, of an unknown version, or saying what no reader knows. */
export class Unreadable extends Error {}
/** The file can be read, and what it says is not true; `verify` returns it as an outcome. */
export class Refuted extends Error {
  readonly witness: Witness | null;
}
/** What the caller gave is not what a function takes. */
export class InvalidInput extends Error {}

/** A label of a secret, an output or an action. Whole numbers beyond 2^53 come as bigint. */
export type Label = string | number | bigint | boolean | null | { fraction: string } | readonly Label[];
/** A point of a box; on the Earth, degrees. */
export type Point = number | readonly number[] | { latitude: number; longitude: number };
/** The indices of the secrets and the output that break a promise. */
export interface Witness {
  secrets?: [number, number];
  output?: number;
}

export interface Verdict {
  outcome: "proved" | "refuted";
  /** A sentence. */
  reason: string;
  /** What was proved, line by line, for people. */
  report: string[];
  witness?: Witness | null;
  pairs?: number;
  implied?: number;
  /** Pairs of secrets about which nothing is promised. */
  open?: number;
  /** Checked pairs that are so far apart that the promise rules out zeros alone. */
  loose?: number;
  events?: number;
  cells?: number;
  comparisons?: number;
}

/** An output: its number and label; of mechanisms for coordinates the point, and the place on the Earth. */
export interface Output {
  number: number;
  label?: Label;
  point?: number[];
  latitude?: number;
  longitude?: number;
}

export interface DrawOptions {
  /** Fills the array with secure random bytes; needed where there is no `crypto.getRandomValues`, as in React Native. */
  random?: ((bytes: Uint8Array) => unknown) | null;
  /** Draw although the file has not been verified. */
  withoutProof?: boolean;
}

export interface KeyedOptions {
  /** Must be said: under one key, a changed answer tells for certain that the secret has changed. */
  secretNeverChanges: true;
  withoutProof?: boolean;
}

/** A Map of texts, localStorage, or anything else that answers at once. */
export type Store =
  | { get(key: string): string | null | undefined; set(key: string, value: string): unknown; delete(key: string): unknown }
  | { getItem(key: string): string | null; setItem(key: string, value: string): unknown; removeItem(key: string): unknown };

/** Read a mechanism file; throws Unreadable. Nothing is proved yet. */
export function load(bytes: Uint8Array | ArrayBuffer): Mechanism;
/** Prove everything that the file says, in integers. */
export function verify(mechanism: Mechanism): Verdict;

export class Mechanism {
  private constructor();
  /** The SHA-256 of the file. */
  readonly digest: string;
  readonly proved: boolean;
  /** Null where all points of a box are secrets. */
  readonly secrets: Label[] | null;
  /** Null for noise on several axes. */
  readonly outputs: Label[] | null;
  /** Where the secrets of a table lie, for maps. */
  readonly coordinates: number[][] | null;
  /** The box whose points are secrets, low and high end of each axis; on the Earth degrees of longitude and latitude. */
  readonly extent: [number, number][] | null;
  /** Whether coordinates are degrees. */
  readonly onEarth: boolean;
  /** What is promised, in words. */
  readonly promise: string;
  /** One output with fresh random bits, exactly from the proved distribution. */
  draw(secret: Label | Point, options?: DrawOptions): Output;
  /** The output that sfumato in Python draws for this id (16 bytes) under this key (32 bytes). */
  drawKeyed(secret: Label | Point, id: Uint8Array, key: Uint8Array, options: KeyedOptions): Output;
  /** Draws that return their first answer until `endPeriod()`. */
  remember(store: Store, options?: { name?: string }): Remembered;
  /** The secret of a table that is nearest to a point, by the coordinates for maps. */
  nearest(point: Point): Label;
  /** The action for an output, if the file claims a loss. */
  remap(output: number | Output): Label;
  /** The chance of every secret, or of every given point of a box, given an output. */
  posterior(output: number | Output, options?: { prior?: readonly number[] | null; points?: readonly Point[] }): number[];
}

export class Remembered {
  private constructor();
  draw(secret: Label | Point, options?: DrawOptions): Output;
  endPeriod(): void;
}
