// Where the secrets of a space lie on a canvas. The server says where they are; here they only get pixels.

const AROUND = 14; // pixels of margin

/** Pixels of every secret, and the size of a cell or of the largest disc. */
export function laidOut(ground, width, tallest) {
  if (ground.kind === "row") return inARow(ground, width, Math.min(tallest, 300));
  const [stepX, stepY] = ground.kind === "cells" ? ground.steps : [0, 0];
  const left = Math.min(...ground.x), right = Math.max(...ground.x);
  const low = Math.min(...ground.y), high = Math.max(...ground.y);
  const spanX = right - left + stepX, spanY = high - low + stepY;
  const disc = ground.kind === "cells" ? 0 : Math.min(Math.max(0.4 * Math.sqrt((width * 380) / ground.x.length), 5), 26);
  const around = ground.kind === "cells" ? 3 : AROUND + disc + 12;
  const room = width - 2 * around;
  const scale = Math.min(room / (spanX || 1), (tallest - 2 * around) / (spanY || 1));
  const shiftX = (width - scale * spanX) / 2;
  const height = Math.max(scale * spanY + 2 * around, ground.kind === "cells" ? 40 : 160);
  const shiftY = (height - scale * spanY) / 2;
  return {
    kind: ground.kind,
    width,
    height,
    scale,
    disc,
    cell: [scale * stepX, scale * stepY],
    x: ground.x.map((x) => shiftX + scale * (x - left + stepX / 2)),
    y: ground.y.map((y) => shiftY + scale * (high - y + stepY / 2)),
  };
}

function inARow(ground, width, tall) {
  const left = Math.min(...ground.x), right = Math.max(...ground.x);
  const places = [...ground.x].sort((a, b) => a - b);
  const gaps = places.slice(1).map((x, k) => x - places[k]).filter((gap) => gap > 0);
  const step = gaps.length ? Math.min(...gaps) : 1;
  const scale = (width - 2 * AROUND) / (right - left + step);
  return {
    kind: "row",
    width,
    height: Math.min(tall, 120 + width / 3),
    scale,
    disc: 0,
    cell: [scale * step, 0],
    x: ground.x.map((x) => AROUND + scale * (x - left + step / 2)),
    y: ground.x.map(() => 0),
  };
}

/** The secret at a point of the canvas: the nearest, or the column in a row. */
export function nearest(layout, x, y) {
  let best = -1, least = Infinity;
  for (let k = 0; k < layout.x.length; k++) {
    const across = layout.x[k] - x, up = layout.kind === "row" ? 0 : layout.y[k] - y;
    const far = across * across + up * up;
    if (far < least) [best, least] = [k, far];
  }
  return best;
}

/** The secret in a direction, for arrow keys: near, and not too far off the way. */
export function towards(layout, from, right, up) {
  let best = from, least = Infinity;
  for (let k = 0; k < layout.x.length; k++) {
    const across = layout.x[k] - layout.x[from], below = layout.y[k] - layout.y[from];
    const along = across * right - below * up, aside = Math.abs(across * up + below * right);
    if (along <= 0.5) continue;
    const cost = along + 2.5 * aside;
    if (cost < least) [best, least] = [k, cost];
  }
  return best;
}

/** A round length that takes about a quarter of the width. */
export function niceLength(most) {
  const size = 10 ** Math.floor(Math.log10(most));
  return [5, 2, 1].map((factor) => factor * size).find((length) => length <= most) ?? size;
}
