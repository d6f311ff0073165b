// @ts-check
/** Comparison of a cell's program in two of its runs, under the strip. */

import { el, fill } from "../ground/element.js";
import { drawQuery } from "../parts/question_form.js";
import { Store } from "../store/store.js";
/** @typedef {import("./view.js").View} View */
/** @typedef {import("../ground/wire.js").Model} Model */

/**
 * Views of comparisons, by the part that they are in.
 * @type {WeakMap<HTMLElement, {remove: () => void, state: object}>}
 */
const shownIn = new WeakMap();

/** Open the comparison of two runs, or close it. @param {View} view @param {string} to both titles */
export function toggleDiff(view, to) {
  const { store } = view;
  const { number = 0, function: from = "" } = store.measured ?? {};
  store.comparing = store.comparing?.to === to ? null : { question: "diff", program: number, from, to };
  if (store.comparing && store.queries.getState(store.comparing)?.state !== "done")
    store.queries.ask(store, store.comparing);
  view.drawStrip();
  drawEditDiff(view);
}

/**
 * Compare a run with the latest, the latest with the one before it, or a run with the one that was chosen before.
 * @param {View} view
 * @param {string} title
 * @param {boolean} add
 */
export function compareRun(view, title, add) {
  const { measured, comparing } = view.store;
  const titles = (measured?.light.runs ?? []).map(([name]) => name);
  const [last] = titles.slice(-1);
  const other = add && comparing?.to ? comparing.to.split(" ")[0] : title === last ? titles[titles.length - 2] : last;
  const pair = titles.filter((name) => name === title || name === other);
  if (pair.length === 2) toggleDiff(view, pair.join(" "));
}

/** Draw the comparison; while it is not ready, its progress. @param {View} view */
export function drawEditDiff(view) {
  const { store } = view;
  const part = view.getPart("xs-edited");
  const { comparing } = store;
  const state = comparing && store.queries.getState(comparing);
  const comparison = store.queries.findings[state?.id ?? ""]?.compared;
  const current = shownIn.get(part);
  part.hidden = !comparing;
  if (comparison && current?.state === comparison) return;
  current?.remove();
  shownIn.delete(part);
  if (!comparing) return fill(part);
  fill(part, comparison ? [] : el("div", { class: "xs-note" }, drawQuery(store, comparing, "Compare") ?? "comparing"));
  if (!comparison) return;
  const compared = openComparisonView(view, comparison, part);
  shownIn.set(part, { state: comparison, remove: () => compared.remove() });
}

/**
 * @param {View} view
 * @param {NonNullable<import("../ground/wire.js").Finding["compared"]>} comparison
 * @param {HTMLElement} part
 */
function openComparisonView(view, comparison, part) {
  const store = new Store();
  store.uid = `${view.store.uid} compared`;
  store.takeLive(comparison.live);
  store.takePrograms(comparison.programs);
  return view.openComparison(store, part);
}
