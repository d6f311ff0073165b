// @ts-check
/** Card of values, which Python draws: where NaN was born, findings, and charts. */

import { goTo } from "../parts/panel_interface.js";
import { registerPane } from "../parts/panes.js";
import { drawQuery, handleQueryClick } from "../parts/question_form.js";
/** @typedef {import("../store/store.js").Store} Store */

/** @param {Store} store */
export function buildValuesQuestion({ measured }) {
  return { question: "values", program: measured?.number ?? 0 };
}

registerPane({
  id: "values",
  place: "top",
  order: 2,
  title: "values",
  draw(store) {
    const question = buildValuesQuestion(store);
    const form = store.queries.getState(question) && drawQuery(store, question, "");
    return form || store.program?.values.card;
  },
  press(panel, target) {
    const path = target.closest("[data-goto]")?.getAttribute("data-goto");
    goTo(panel, path ?? undefined);
    return handleQueryClick(panel.store, target) || Boolean(path);
  },
});
