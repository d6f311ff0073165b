// @ts-check
/** Legend of the graph's colours. */

import { el } from "../ground/element.js";
import { HEAT_WORDS } from "../program/heat.js";
import { MATERIALIZED_MARK } from "../program/labels.js";
import { explainTerms, TERMS } from "../program/terms.js";
import { hasNestings } from "./toolbar.js";
/** @typedef {import("../store/store.js").Store} Store */

/** @param {Store} store */
export function drawLegend(store) {
  const { program, heat } = store;
  const drawKey = (/** @type {string} */ kind, /** @type {string} */ text, /** @type {string} */ term) =>
    el("span", { class: "xs-key", title: TERMS[term] }, el("i", { class: `xs-chip ${kind}` }), text);
  const opens = hasNestings(program) ? [el("span", {}, "⊞ opens in place")] : [];
  if (heat !== "pass") {
    const steps = [0, 1, 2, 3, 4].map((step) => el("i", { class: `xs-chip heat-${step}` }));
    return [el("span", { class: "xs-key" }, steps, explainTerms(HEAT_WORDS[heat])), opens];
  }
  const passes = new Set(program?.passes.values());
  const secondPass = program?.secondPass ?? "";
  return [
    passes.has("forward") && drawKey("pass-forward", "forward ↓", "forward"),
    passes.has("backward") && drawKey("pass-backward", secondPass, secondPass.split(" ")[0]),
    passes.has("update") && drawKey("pass-update", "update ↓", "update"),
    passes.has("recomputed") && drawKey("pass-recomputed", "computed again ↓", "recomputed"),
    program?.heavy.kernels && drawKey("xs-hull-chip", "one kernel", "kernel"),
    (program?.materialized.size ?? 0) > 0 &&
      el("span", { title: TERMS.materialized }, `${MATERIALIZED_MARK}kept in memory`),
    opens,
  ];
}
