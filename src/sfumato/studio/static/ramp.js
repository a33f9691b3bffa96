// From nothing to much: smoke on paper, light in the dark. Lightness changes evenly, so that no step looks like an edge.

import { dark } from "./dom.js";

const ON_PAPER = [[243, 240, 233], [205, 218, 221], [146, 183, 199], [78, 132, 164], [34, 83, 124], [14, 42, 80]];
const IN_THE_DARK = [[33, 39, 45], [42, 62, 79], [58, 96, 118], [104, 143, 150], [183, 194, 172], [252, 238, 203]];

/** The colour of a share between 0 and 1 of the largest. */
export const shade = (share) => `rgb(${parts(share).join(" ")})`;

function parts(share) {
  const stops = dark() ? IN_THE_DARK : ON_PAPER;
  const place = Math.min(Math.max(Math.sqrt(share), 0), 1) * (stops.length - 1); // roots: areas are compared, not heights
  const k = Math.min(Math.floor(place), stops.length - 2);
  return [0, 1, 2].map((i) => Math.round(stops[k][i] + (place - k) * (stops[k + 1][i] - stops[k][i])));
}

const LEVELS = 256; // shades of a raster: more than an eye tells apart

/** A table of shares as a picture with a dot for each: thousands of squares one by one would take seconds. */
export function raster(rows, columns, row, most) {
  const inks = Array.from({ length: LEVELS }, (_, level) => parts((level / (LEVELS - 1)) ** 2));
  const canvas = Object.assign(document.createElement("canvas"), { width: columns, height: rows });
  const pen = canvas.getContext("2d");
  const picture = pen.createImageData(columns, rows);
  for (let x = 0; x < rows; x++) {
    row(x).forEach((share, y) => {
      const level = Math.round((LEVELS - 1) * Math.min(Math.sqrt(Math.max(share, 0) / most), 1));
      picture.data.set([...inks[level], 255], 4 * (x * columns + y));
    });
  }
  pen.putImageData(picture, 0, 0);
  return canvas;
}

/** A strip that shows all shades. */
export function strip(canvas) {
  canvas.width = 128;
  canvas.height = 1;
  const pen = canvas.getContext("2d");
  for (let x = 0; x < 128; x++) {
    pen.fillStyle = shade(x / 127);
    pen.fillRect(x, 0, 1, 1);
  }
  return canvas;
}
