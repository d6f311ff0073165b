// @ts-check
/** What the colours of the graph mean. */

import { el } from "../ground/element.js";
import { HEAT_WORDS } from "../program/heat.js";
import { KEPT } from "../program/labels.js";
import { hasNestings } from "./toolbar.js";
/** @typedef {import("../store/store.js").Store} Store */

/** @param {Store} store */
export function drawLegend(store) {
  const { program, heat } = store;
  const key = (/** @type {string} */ kind, /** @type {string} */ text) =>
    el("span", { class: "xs-key" }, el("i", { class: `xs-chip ${kind}` }), text);
  const opens = hasNestings(program) ? [el("span", {}, "⊞ opens in place")] : [];
  if (heat !== "pass") {
    const steps = [0, 1, 2, 3, 4].map((step) => el("i", { class: `xs-chip heat-${step}` }));
    return [el("span", { class: "xs-key" }, steps, HEAT_WORDS[heat]), opens];
  }
  const passes = new Set(program?.passes.values());
  return [
    passes.has("forward") && key("pass-forward", "forward ↓"),
    passes.has("backward") && key("pass-backward", program?.secondPass ?? ""),
    passes.has("update") && key("pass-update", "update ↓"),
    passes.has("recomputed") && key("pass-recomputed", "computed again ↓"),
    program?.heavy.kernels && key("xs-hull-chip", "one kernel"),
    (program?.kept.size ?? 0) > 0 && el("span", {}, `${KEPT}kept in memory`),
    opens,
  ];
}
