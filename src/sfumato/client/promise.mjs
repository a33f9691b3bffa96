// What a visitor is promised, without exponents: how much likelier at distances that people know.

/** Factors below say little to anybody; those above, that little is left of the promise. */
const LEAST_TOLD = 1.1, MOST_TOLD = 20, BEYOND_WORDS = 1e12;

/** Three digits, rounded up so that what is said stays true; powers in doubles are off by their last digits. */
function atMostText(number) {
  const near = Number(number.toPrecision(3)), step = 10 ** (Math.floor(Math.log10(number)) - 2);
  const found = near >= number * (1 - 1e-9) ? near : Number((near + step).toPrecision(3));
  return found.toLocaleString("en", { maximumSignificantDigits: 3 });
}

/** A distance with its unit: metres and kilometres as people say them. */
function distanceText(distance, unit) {
  const [number, name] = unit === "km" && distance < 1 ? [distance * 1000, "m"]
    : unit === "m" && distance >= 1000 ? [distance / 1000, "km"] : [distance, unit];
  return `${atMostText(number)} ${name}`.trim();
}

/** The least and the largest distance that the promise is about. */
function endsOf({ box, metric, span }) {
  if (box) return [0, Math.max(...box.sides.map((side) => side.about))];
  const { form, unit } = metric;
  return span.map((v) => (form === "rational" ? Number(v) * unit.about
    : form === "root" ? Math.sqrt(Number(v)) * unit.about : v));
}

/** Up to three round distances at which the factors say something. */
function tellingDistances([low, high], factor) {
  const top = Math.floor(Math.log10(high)), powers = Array.from({ length: 12 }, (_, k) => top - 11 + k);
  const round = powers.flatMap((power) => [1, 2, 5].map((digit) => Number(`${digit}e${power}`)));
  const within = round.filter((distance) => distance >= low && distance <= high);
  const telling = within.filter((distance) => factor(distance) >= LEAST_TOLD && factor(distance) <= MOST_TOLD);
  if (telling.length) return [...new Set([telling[0], telling[telling.length >> 1], telling.at(-1)])];
  const small = within.filter((distance) => factor(distance) < LEAST_TOLD);
  return [small.at(-1) ?? (low || within[0])];
}

/** The promise of a mechanism that was proved; promises about events are told as the module tells them. */
export function promiseForVisitors(mechanism) {
  const { file, promise, onEarth, coordinates } = mechanism;
  const { proof, unit, metric, promise: { alpha, epsilon } } = file;
  const plain = /^\p{L}{0,20}$/u.test(unit ?? "") && (alpha || epsilon) && !file.events?.length;
  if (!proof || !plain || !(file.box || file.span)) return promise;
  const rate = epsilon ? epsilon.about : -Math.log(alpha.about), factor = (distance) => Math.exp(rate * distance);
  const ends = endsOf(file), one = !file.box && ends[0] === ends[1], told = tellingDistances(ends, factor);
  if (factor(told[0]) > BEYOND_WORDS) return promise;
  const points = coordinates?.[0].length > 1, who = onEarth || points ? "places" : file.box ? "points" : "choices";
  const parts = told.map((distance, k) => {
    const times = `${atMostText(factor(distance))} times`, reach = one ? "" : "up to ";
    const apart = reach + distanceText(distance, unit);
    return k ? `${times} ${apart}`
      : `${times} as likely from one as from the other of two ${who} that are ${apart} apart`;
  });
  const last = parts.length > 1 ? ` and ${parts.pop()}` : "";
  const sentences = [`Whatever is sent is at most ${parts.join(", ")}${last}.`];
  if (one && metric.source === "edges") {
    sentences.push("For those farther apart it is so many times more for each further step.");
  }
  if (proof.open) sentences.push(`Nothing is promised about ${proof.open} pairs of ${who} that no distances join.`);
  if (!file.box && points) sentences.push("The promise is about these places, not about points between them.");
  return sentences.join(" ");
}
