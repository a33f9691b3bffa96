// sfumato.js: verify a mechanism for metric differential privacy, and draw from it exactly, where the secret is.

export { InvalidInput, Refuted, Unreadable } from "./errors.mjs";
export { Mechanism, load, verify } from "./mechanism.mjs";
export { Remembered } from "./remember.mjs";
