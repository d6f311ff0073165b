// @ts-check
/** The timeline's pane: as wide as there is room. */

import { el } from "./element.js";
import { drawTimeline, timelineWords } from "./draw_timeline.js";
/** @typedef {import("./store.js").Store} Store */

/** @param {Store} store @param {number} width */
export function drawTimelinePane(store, width) {
  const { program } = store;
  if (!program) return [];
  const { tree, height } = drawTimeline(program, Math.max(320, width));
  return [
    el("h4", {}, "timeline", el("span", {}, timelineWords(program))),
    el("svg", { class: "xs-timeline-svg", width, height, role: "group", "aria-label": "timeline" }, tree),
  ];
}

/** @param {Element} pane @param {Store} store */
export function markTimeline(pane, store) {
  for (const bar of pane.querySelectorAll("rect[data-kernel]"))
    bar.classList.toggle("selected", store.selection.kernels.has(bar.getAttribute("data-kernel") ?? ""));
}
