// @ts-check
/** Comparison of a cell's program with that of its previous run, under the strip. */

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

/** @param {View} view */
function buildQuestion({ store }) {
  return { question: "diff", program: store.measured?.number ?? 0, from: store.measured?.function ?? "" };
}

/** Open the comparison, or close it. @param {View} view */
export function toggleDiff(view) {
  const { store } = view;
  store.comparing = !store.comparing;
  if (store.comparing && store.queries.getState(buildQuestion(view))?.state !== "done")
    store.queries.ask(store, buildQuestion(view));
  view.drawStrip();
  drawEditDiff(view);
}

/** Draw the comparison; while it is not ready, its progress. @param {View} view */
export function drawEditDiff(view) {
  const { store } = view;
  const part = view.getPart("xs-edited");
  const state = store.queries.getState(buildQuestion(view));
  const comparison = store.queries.findings[state?.id ?? ""]?.compared;
  const current = shownIn.get(part);
  part.hidden = !store.comparing;
  if (comparison && current?.state === comparison && store.comparing) return;
  current?.remove();
  shownIn.delete(part);
  if (!store.comparing) return fill(part);
  fill(
    part,
    comparison ? [] : el("div", { class: "xs-note" }, drawQuery(store, buildQuestion(view), "Compare") ?? "comparing"),
  );
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
