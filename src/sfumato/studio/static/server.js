// How the page asks: a POST with its key, answered by a stream of events. Leaving the stream ends the work.

const KEY = "sfumato-key";

/** The key comes with the address that the terminal printed; it is kept for links, which do not carry it. */
export function takeKey() {
  const address = new URL(location.href);
  const given = address.searchParams.get("key");
  if (given) {
    try { localStorage.setItem(KEY, given); } catch { /* a browser without storage asks again next time */ }
    address.searchParams.delete("key");
    history.replaceState(null, "", address);
    key = given;
  } else {
    try { key = localStorage.getItem(KEY) ?? ""; } catch { key = ""; }
  }
}

let key = "";

/** What went wrong, as one sentence for people. */
export class Refusal extends Error {}

async function post(path, values, signal) {
  try {
    return await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-sfumato-key": key },
      body: JSON.stringify(values),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("The studio does not answer: is `sfumato studio` still running in the terminal?");
  }
}

/** A task that is asked for: it can be left, which ends the worker, and asked to end with the best it has. */
export class Errand {
  #controller = new AbortController();
  #job = "";
  began = performance.now();
  stopping = false;

  /** Wait for the result; progress(content) is called with each event before. */
  async ask(task, values, progress = () => {}) {
    const answer = await post(`/api/${task}`, values, this.#controller.signal);
    if (!answer.ok) throw new Refusal(await sentence(answer));
    for await (const [kind, content] of events(answer.body)) {
      if (kind === "started") this.#job = content.job;
      else if (kind === "failure") throw new Refusal(content.error);
      else if (kind === "progress") progress(content);
      else return content;
      if (kind === "started" && this.stopping) this.stop();
    }
    throw new Refusal("The answer ended too early: ask again.");
  }

  get seconds() {
    return (performance.now() - this.began) / 1000;
  }

  /** Once, as soon as it is known whom to ask. */
  stop() {
    this.stopping = true;
    if (this.#job) post(`/api/stop/${encodeURIComponent(this.#job)}`, {});
    this.#job = "";
  }

  leave() {
    this.#controller.abort();
  }

  /** What is nearly done may finish, since ending a worker costs its warmth; what takes longer is left. */
  leaveSoon() {
    setTimeout(() => this.leave(), 1500);
  }
}

/** Ask for a task and wait for its result. */
export const ask = (task, values) => new Errand().ask(task, values);

async function sentence(answer) {
  try {
    return (await answer.json()).error;
  } catch {
    return `The studio answered with status ${answer.status}.`;
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const lines = text.slice(0, end).split("\n");
        text = text.slice(end + 2);
        yield [lines[0].slice("event: ".length), JSON.parse(lines[1].slice("data: ".length))];
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** 32-bit floats that came as base64. */
export function floats(text) {
  return new Float32Array(bytes(text).buffer);
}

export function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
