// @ts-check
/** Empty elements of a panel. */

import { el } from "../ground/element.js";
import { drawCards } from "./cards.js";

/** Draw the elements that a view fills. */
export function drawSkeleton() {
  return el(
    "div",
    { class: "xs-frame" },
    el("div", { class: "xs-script", role: "region", "aria-label": "the script that was watched", hidden: "" }),
    el("div", { class: "xs-strip", role: "group", "aria-label": "what this cell does" }),
    el("div", { class: "xs-account", role: "region", "aria-label": "time of this cell", hidden: "" }),
    el("div", { class: "xs-said", role: "status" }),
    el("div", { class: "xs-failures", role: "status" }),
    el(
      "div",
      { class: "xs-panel", hidden: "" },
      el("div", { class: "xs-compare", hidden: "" }),
      drawCards("top"),
      el(
        "div",
        { class: "xs-head" },
        el("div", { class: "xs-tools" }),
        el("input", {
          class: "xs-search",
          type: "search",
          placeholder: "search: tanh, line:9, op:dot …  /",
          "aria-label": "search equations",
          title: "operations first, then names, types and source lines; op:tanh, line:9 or line:3-7, shape:128,512",
          spellcheck: "false",
        }),
        el("span", { class: "xs-count xs-muted xs-small", role: "status" }),
      ),
      el("div", { class: "xs-notes" }),
      drawCards("notes"),
      el("div", { class: "xs-asks", "aria-live": "polite" }),
      el(
        "div",
        { class: "xs-panes" },
        el("div", { class: "xs-pane xs-source", tabindex: 0, role: "region", "aria-label": "source" }),
        el("div", { class: "xs-pane xs-middle" }, el("div", { class: "xs-graph" }), el("div", { class: "xs-legend" })),
        el("div", { class: "xs-pane xs-kernels", tabindex: 0, role: "region", "aria-label": "kernels" }),
        drawSplitter("left", "width of the source"),
        drawSplitter("right", "width of the kernels"),
      ),
      el("div", { class: "xs-detail", "aria-live": "polite" }),
      el("div", { class: "xs-array", role: "region", "aria-label": "values of an array", hidden: "" }),
      el("div", { class: "xs-help", role: "dialog", "aria-label": "keys", hidden: "" }),
      el("div", { class: "xs-pane xs-timeline" }),
    ),
    // This is the last part because it contains parts of the same names; styles place it under the strip.
    el("div", { class: "xs-edited", hidden: "" }),
  );
}

/** Draw the handle that changes the width of a pane. @param {string} side @param {string} label */
function drawSplitter(side, label) {
  return el("div", {
    class: `xs-split ${side}`,
    role: "separator",
    tabindex: 0,
    "aria-orientation": "vertical",
    "aria-label": label,
    "aria-valuemin": 10,
    "aria-valuemax": 75,
    "aria-valuenow": 25,
    title: "drag, or arrow keys",
  });
}
