// What is told at one point of a box, on a fine raster: figures of the report, below the map.

import { $, fill, make } from "./dom.js";
import { Question } from "./question.js";
import { state } from "./state.js";

let addresses = [];

export const question = new Question("density", (answer) => draw(answer.figures), { refused: (words) => fill($("density"), make("p", { className: "hint" }, words)) });

/** Ask for the figures at the centre of the chosen cell, once for each. */
export const look = (cells) => question.ask({ spec: state().spec, cell: Math.min(state().secret, cells - 1) });

/** There is no box, or its design is not there yet. */
export function clear() {
  question.leave();
  draw([]);
}

function draw(figures) {
  addresses.forEach((address) => URL.revokeObjectURL(address));
  // a drawing is shown as a picture, so that nothing in it can act
  addresses = figures.map(({ svg }) => URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" })));
  fill($("density"), ...figures.map(({ caption }, k) => make("figure", {},
    make("img", { src: addresses[k], alt: caption }), make("figcaption", {}, caption))));
}
