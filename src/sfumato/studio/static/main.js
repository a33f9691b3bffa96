// The page: it begins with a state, designs its mechanism, and shows it in the view that is open.

import * as audit from "./audit.js";
import * as curve from "./curve.js";
import * as density from "./density.js";
import { $, above, below, fill, make, near, say } from "./dom.js";
import * as form from "./form.js";
import * as keep from "./keep.js";
import * as known from "./known.js";
import * as map from "./map.js";
import * as matrix from "./matrix.js";
import * as promise from "./promise.js";
import { takeKey } from "./server.js";
import * as simplex from "./simplex.js";
import { arrive, change, hear, state, VIEWS } from "./state.js";
import { Table } from "./table.js";
import * as verdicts from "./verdicts.js";
import { cancelDesign, design, hold, holding, onDesign, stopDesign } from "./work.js";

/** Views that ask the server for something of their own. */
const ASKING = { curve, known, simplex, verdicts };

let current = null; // the design that is shown: { place, table, answer, question }

async function begin() {
  takeKey();
  await arrive();
  map.build($("view-map"), { paint: form.painted });
  for (const [name, view] of Object.entries({ matrix, ...ASKING, audit })) view.build($(`view-${name}`));
  promise.build();
  keep.build();
  await form.build({ painting: map.painting });
  tabs();
  $("stop").addEventListener("click", () => { stopDesign(); for (const view of Object.values(ASKING)) view.question.stop(); promise.search.stop(); });
  $("cancel").addEventListener("click", () => { cancelDesign(); for (const view of [...Object.values(ASKING), audit, density]) view.question.leave(true); promise.search.leave(true); });
  if (innerWidth < 992) $("question").open = false; // on a narrow screen the mechanism comes first
  onDesign(showDesign, showPlace);
  hear(changed);
  form.show();
  promise.show();
  openView();
  follow(false);
}

/** Design what the form says, where it says enough. */
function follow(quick) {
  const words = form.lacking();
  if (words) hold(words);
  else design(quick);
}

/** The state has changed; `why` says what must follow. */
function changed(now, why) {
  const looks = ["secret", "matrix", "beside", "page", "kernel", "judged", "view"].includes(why);
  if (!looks || !holding()) $("problem").hidden = true;
  if (looks) {
    redraw(why);
    if (why === "secret" && current?.table) say(map.inWords());
    return;
  }
  promise.show();
  if (["spec", "address", "form"].includes(why) || holding()) form.show(); // what was refused goes from the fields
  if (why === "drag") {
    if (current?.table && now.shows === "prior" && now.spec.prior.counts) paintedNow(now.spec.prior.counts);
    follow(true);
    if (form.painting()) form.paintedEnd(follow);
  } else follow(false);
  if (why === "address") openView();
}

/** Paint shows at once, before the server has answered. */
function paintedNow(counts) {
  const sum = counts.reduce((a, b) => a + Number(b), 0);
  current.place = { ...current.place, prior: counts.map((count) => Number(count) / sum) };
  map.show(current.place, current.table);
}

function showDesign(answer, question, quick) {
  const place = drawnPlaces(answer.place, question);
  current = { place, table: new Table(answer, place.labels.length), answer, question };
  form.known(place.labels);
  promise.showReach(answer);
  numbers(answer);
  $("problem").hidden = true;
  curve.at(answer);
  redraw(quick ? "quick" : "design");
  if (!quick) say(`${answer.lost} ${above(answer.loss)}${unit(answer)}. ${$("promise").textContent}`);
}

/** A space whose design takes its time: its prior can be looked at meanwhile. */
function showPlace(answer, question) {
  if (current && JSON.stringify(current.question.spec.space) === JSON.stringify(question.spec.space)) return;
  current = { place: drawnPlaces(answer, question), table: null, question };
  if (state().view === "map") map.show(current.place, null);
}

/** A graph that was drawn stays where it was drawn. */
function drawnPlaces(place, { drawn, spec }) {
  if (spec.space.kind !== "graph" || !place.labels.every((label) => Array.isArray(drawn[label]))) return place;
  const ground = { ...place.ground, x: place.labels.map((label) => drawn[label][0]), y: place.labels.map((label) => -drawn[label][1]) };
  return { ...place, ground };
}

/** The task that a view asks for; those without one show the design itself. The server says which a question takes. */
const TASK_OF = { curve: "curve", known: "compare", simplex: "kernels", verdicts: "verdicts", audit: "audit" };

function redraw(why) {
  const view = state().view;
  const onBox = current?.table?.onBox ?? false;
  const absent = Boolean(current?.table && TASK_OF[view] && !current.answer.tasks.includes(TASK_OF[view]));
  $("not-here").hidden = !absent;
  $(`view-${view}`).hidden = absent;
  if (!onBox || why === "quick") density.clear();
  if (!current?.table || absent) return;
  if (onBox && view === "map" && why !== "quick" && !$("stage").classList.contains("stale")) density.look(current.place.labels.length);
  if (view === "map") map.show(current.place, current.table);
  if (view === "matrix") matrix.show(current.place, current.table);
  if (view === "audit") audit.look(current);
  if (view === "known" && (why === "secret" || why === "beside")) known.draw();
  if (ASKING[view] && !holding() && why !== "quick" && why !== "secret" && why !== "beside") ASKING[view].look(current);
}

const unit = (answer) => (answer.unit && answer.loss_name === "distance" ? ` ${answer.unit}` : "");

function numbers(answer) {
  const items = [
    [answer.lost, above(answer.loss) + unit(answer), answer.exact && `= ${answer.exact}`],
    ["No mechanism has less than", below(answer.bound) + unit(answer), answer.gap ? `gap ${above(100 * answer.gap, 2)} %` : "the optimum exactly"],
    answer.blind !== null && ["If nothing is disclosed", near(answer.blind) + unit(answer), ""],
    ["Proved in", `${near(answer.seconds, 2)} s`, answer.method],
  ].filter(Boolean);
  fill($("numbers"), ...items.map(([name, value, more]) => make("div", {}, make("dt", {}, name), make("dd", {}, value, more && make("small", {}, ` ${more}`)))));
}

// ---------------------------------------------------------------- tabs

function tabs() {
  const list = VIEWS.map((view) => $(`tab-${view}`));
  list.forEach((tab, k) => {
    tab.addEventListener("click", () => choose(VIEWS[k]));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const next = event.key === "Home" ? 0 : event.key === "End" ? list.length - 1 : step && (k + step + list.length) % list.length;
      if (next === undefined) return;
      event.preventDefault();
      list[next].focus();
      choose(VIEWS[next]);
    });
  });
}

function choose(view) {
  if (view === state().view) return;
  for (const other of Object.values(ASKING)) other.question.leave();
  change({ view }, { why: "view" });
  openView();
}

function openView() {
  for (const view of VIEWS) {
    const open = view === state().view;
    $(`tab-${view}`).setAttribute("aria-selected", String(open));
    $(`tab-${view}`).tabIndex = open ? 0 : -1;
    $(`view-${view}`).hidden = !open;
  }
  $(`tab-${state().view}`).scrollIntoView({ block: "nearest", inline: "nearest" });
  redraw("view");
}

begin();
