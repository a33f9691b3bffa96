// The page of a mechanism: it verifies, asks, hides and shows. It stands behind the module, in one script.

const part = (id) => document.getElementById(id);
const bytes = Uint8Array.from(atob(part("file").textContent.trim()), (letter) => letter.charCodeAt(0));

function say(text, wrong = false) {
  part("state").textContent = text;
  part("state").className = wrong ? "wrong" : "";
}

/** The text of a label. */
const spelled = (label) => (Array.isArray(label) ? label.map(spelled).join(", ") : label?.fraction ?? String(label));

// What people see is painted before the proof is checked, which may take seconds.
setTimeout(() => {
  try {
    const mechanism = load(bytes), verdict = verify(mechanism);
    part("report").textContent = verdict.report.join("\n");
    if (verdict.outcome !== "proved") {
      say(`This mechanism does not keep its promise, and nothing is drawn from it: ${verdict.reason}`, true);
      return;
    }
    say("Your browser has checked the proof. It holds.");
    part("words").textContent = promiseForVisitors(mechanism);
    part("report").textContent += `\n${mechanism.promise}`; // to the letter
    part("promise").hidden = part("choice").hidden = false;
    begin(mechanism);
  } catch (error) {
    say(`This page cannot be used: ${error.message}`, true);
  }
}, 50);

/** The middle of an axis, in as many digits as tell a ten-thousandth of it: somewhere to begin. */
function middleOf([low, high]) {
  const digits = Math.max(0, Math.ceil(4 - Math.log10(high - low)));
  return Number(((low + high) / 2).toFixed(Math.min(digits, 20)));
}

/** Cells of a grid, whose names are where they lie: two numbers, row and column. */
function cellsOf(secrets) {
  const pairs = secrets.every((secret) => Array.isArray(secret) && secret.length === 2 && secret.every(Number.isFinite));
  return pairs ? secrets : null;
}

/** What is sent stays the same when the page is opened again, where the browser keeps anything for it. */
function storeOfDevice() {
  try {
    return localStorage ?? new Map();
  } catch {
    return new Map();
  }
}

/** Send what is shown, and nothing else; whether it has arrived is said either way. */
async function send(target) {
  part("send").disabled = true;
  part("arrived").textContent = "";
  const [method, headers, body] = ["POST", { "Content-Type": "application/json" }, part("sent").textContent];
  try {
    const { ok, status } = await fetch(target, {
      method, headers, body, credentials: "omit", redirect: "error", referrerPolicy: "no-referrer",
    });
    if (!ok) throw new Error(`the server answered ${status}`);
    part("sending").hidden = true;
    part("arrived").textContent = `It was sent to ${target}.`;
  } catch (error) {
    part("send").disabled = false;
    part("arrived").textContent = `Sending it to ${target} failed: ${error.message}. The answer stays the same; try again.`;
  }
}

function begin(mechanism) {
  const target = document.querySelector("meta[name=send-to]").content;
  const memory = mechanism.remember(target ? storeOfDevice() : new Map());
  const { secrets, extent, onEarth } = mechanism;
  const fields = part("fields");
  const add = (name, element) => {
    const label = document.createElement("label");
    label.append(`${name} `, element);
    fields.append(label);
    return element;
  };
  let choose, chosen;
  if (secrets) {
    const select = add("Your secret", document.createElement("select"));
    secrets.forEach((secret) => select.append(new Option(spelled(secret))));
    choose = (place) => (select.selectedIndex = place);
    chosen = () => secrets[select.selectedIndex];
    select.addEventListener("change", () => draw());
  } else {
    const names = onEarth ? ["Longitude", "Latitude"] : ["x", "y", "z"].slice(0, extent.length);
    const inputs = names.map(() => document.createElement("input"));
    const order = onEarth ? [1, 0] : names.map((_, axis) => axis); // people say the latitude first
    // A position is taken as it is: rounded ones could be farther apart than those they stand for.
    choose = (point) => inputs.forEach((input, axis) => (input.value = String(point[axis])));
    for (const axis of order) {
      Object.assign(add(names[axis], inputs[axis]), { type: "number", step: "any", required: true, inputMode: "decimal" });
      inputs[axis].addEventListener("input", () => draw());
    }
    choose(extent.map(middleOf));
    chosen = () => inputs.map((input) => input.valueAsNumber);
  }
  const places = secrets ? mechanism.coordinates ?? cellsOf(secrets) : null;
  const flat = places ? places[0].length === 2 : extent?.length === 2;
  let told = null;

  function draw() {
    if (!flat) return;
    const ends = extent ?? [0, 1].map((axis) => {
      const along = places.map((place) => place[axis]);
      return [Math.min(...along), Math.max(...along)];
    });
    const middle = (ends[1][0] + ends[1][1]) / 2, east = onEarth ? Math.cos((middle * Math.PI) / 180) : 1;
    const wide = (ends[0][1] - ends[0][0]) * east || 1, high = ends[1][1] - ends[1][0] || 1;
    const size = Math.max(wide, high), border = size / 12, dot = size / 60;
    const at = ([x, y]) => [(x - ends[0][0]) * east + border, high - (y - ends[1][0]) + border];
    const map = part("map");
    map.removeAttribute("hidden"); // which has no property in SVG
    part("legend").hidden = false;
    map.setAttribute("viewBox", `0 0 ${wide + 2 * border} ${high + 2 * border}`);
    map.replaceChildren();
    const shape = (name, attributes) => {
      const found = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
      map.append(found);
      return found;
    };
    const circle = (point, r, kind) => {
      const [cx, cy] = at(point);
      return shape("circle", { cx, cy, r, class: kind, "stroke-width": dot / 2 });
    };
    if (extent) {
      shape("rect", { x: border, y: border, width: wide, height: high, class: "place" });
      map.onclick = (event) => {
        const where = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
        choose([ends[0][0] + (where.x - border) / east, ends[1][0] + high - (where.y - border)]);
        draw();
      };
    } else {
      places.forEach((place, x) => circle(place, dot, "place").addEventListener("click", () => {
        choose(x);
        draw();
      }));
    }
    const mine = extent ? chosen() : places[secrets.indexOf(chosen())];
    if (mine.every(Number.isFinite)) circle(mine, 1.5 * dot, "mine");
    const earth = told?.longitude !== undefined;
    const place = told && (earth ? [told.longitude, told.latitude] : told.point ?? placeOf(told.label));
    if (place) circle(place, 2.5 * dot, "told");
  }

  /** Where an output lies that has the name of a secret. */
  function placeOf(label) {
    const index = secrets.findIndex((secret) => spelled(secret) === spelled(label));
    return index < 0 ? null : places[index];
  }

  part("form").addEventListener("submit", (event) => {
    event.preventDefault();
    try {
      told = memory.draw(chosen());
    } catch (error) {
      say(error.message, true);
      return;
    }
    say("Your browser has checked the proof. It holds.");
    const sent = told.latitude !== undefined ? { latitude: told.latitude, longitude: told.longitude }
      : told.label !== undefined ? { answer: spelled(told.label) } : { point: told.point };
    part("told").textContent = Object.values(sent).flat().join(", ");
    // The digest says which mechanism the answer came from: without it nobody can estimate from what has arrived.
    part("sent").textContent = JSON.stringify({ ...sent, mechanism: mechanism.digest }, null, 2);
    if (part("answer").hidden) {
      part("sending").hidden = !target;
      part("send").disabled = false;
      part("send").textContent = `Send it to ${target}`;
      part("arrived").textContent = "";
    }
    part("answer").hidden = false;
    draw();
  });
  part("send").addEventListener("click", () => send(target));
  part("again").addEventListener("click", () => {
    memory.endPeriod();
    told = null;
    part("answer").hidden = true;
    draw();
    part("hide").focus();
  });
  if (onEarth && navigator.geolocation && (extent || places)) {
    part("locate").hidden = false;
    part("locate").addEventListener("click", () => navigator.geolocation.getCurrentPosition(({ coords }) => {
      const point = [coords.longitude, coords.latitude];
      const near = () => secrets.findIndex((secret) => spelled(secret) === spelled(mechanism.nearest(point)));
      choose(extent ? point : near());
      draw();
    }, (error) => say(`The device did not tell its position: ${error.message}`, true)));
  }
  draw();
}
