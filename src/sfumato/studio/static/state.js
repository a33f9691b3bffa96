// The state of the page is a spec and how it is looked at; both are in the address, so that every state is a link.

const LARGEST = 4_000_000; // letters of a state: a link may come from anywhere
export const VIEWS = ["map", "matrix", "curve", "known", "simplex", "verdicts", "audit"];

let current = null;
let begin = null;
const listeners = [];

export const state = () => current;
export const hear = (listener) => listeners.push(listener);

/** Read the address; without a state in it, the page starts with a town. */
export async function arrive() {
  begin = await (await fetch("/static/start.json")).json();
  current = sensible((await decoded(location.hash)) ?? begin);
  addEventListener("hashchange", async () => {
    const next = await decoded(location.hash);
    if (!next || same(sensible(next), current)) return;
    current = sensible(next);
    for (const listener of listeners) listener(current, "address");
  });
  return current;
}

export const start = () => structuredClone(begin);

/** Change the state. `lasting` puts a new entry into the history, so that Back returns here. */
export function change(difference, { why = "page", lasting = false } = {}) {
  current = sensible({ ...current, ...difference });
  remember(lasting);
  for (const listener of listeners) listener(current, why);
}

let writing = Promise.resolve();
function remember(lasting) {
  const wanted = current;
  writing = writing.then(async () => {
    if (wanted !== current && !lasting) return;
    const address = `${location.pathname}#${await encoded(wanted)}`;
    if (lasting) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  });
}

/** The link to this state; the key of this studio stays out of it. */
export async function link() {
  return `${location.origin}${location.pathname}#${await encoded(current)}`;
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** A state with everything that the page relies on; the server judges the spec itself. */
function sensible(given) {
  const spec = typeof given.spec === "object" && given.spec !== null ? given.spec : begin.spec;
  const table = (name, fallback) => (typeof spec[name] === "object" && spec[name] !== null ? spec[name] : fallback);
  return {
    view: VIEWS.includes(given.view) ? given.view : "map",
    shows: ["cloud", "released", "prior"].includes(given.shows) ? given.shows : "cloud",
    secret: Number.isInteger(given.secret) && given.secret >= 0 ? given.secret : 0,
    kernel: Number.isInteger(given.kernel) && given.kernel >= 0 ? given.kernel : 0,
    beside: typeof given.beside === "string" ? given.beside : "",
    judged: typeof given.judged === "string" ? given.judged : "",
    drawn: typeof given.drawn === "object" && given.drawn !== null ? given.drawn : {},
    from: typeof given.from === "string" ? given.from : "",
    lacks: ["file", "country"].includes(given.lacks) ? given.lacks : "",
    about: typeof given.about === "object" && given.about !== null ? given.about : {},
    spec: {
      ...spec,
      space: table("space", begin.spec.space),
      privacy: table("privacy", { epsilon: "1" }),
      prior: table("prior", { uniform: true }),
      loss: spec.objective === "shares" ? {} : { kind: "default", ...table("loss", {}) },
      solve: table("solve", { tolerance: "0.001" }),
    },
  };
}

// A state is JSON, deflated, in the letters of base64 that an address may hold.

async function encoded(value) {
  const stream = new Blob([JSON.stringify(value)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  let letters = "";
  for (const byte of packed) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function decoded(hash) {
  const text = hash.replace(/^#/, "").replaceAll("-", "+").replaceAll("_", "/");
  if (!text) return null;
  try {
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const value = JSON.parse(await bounded(stream.pipeThrough(new TextDecoderStream())));
    return typeof value === "object" ? value : null;
  } catch {
    return null; // no state of ours: begin anew
  }
}

async function bounded(stream) {
  let text = "";
  for (const reader = stream.getReader(); ;) {
    const { value, done } = await reader.read();
    if (done) return text;
    text += value;
    if (text.length > LARGEST) {
      await reader.cancel();
      throw new Error("too large");
    }
  }
}
