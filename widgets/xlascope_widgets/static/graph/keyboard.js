// @ts-check
/** Keyboard control of the graph: move the focus, select, open, zoom. */

import { findNearest } from "../layout/viewport.js";
/** @typedef {import("./graph_pane.js").GraphPane} GraphPane */

/** Handle a key in the graph. @param {GraphPane} pane @param {KeyboardEvent} event */
export function handleGraphKey(pane, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { key } = event;
  const listed = pane.outline.how === "seen";
  const at = listed ? pane.outline.focused : pane.outline.focused || pane.shown.focused;
  const steps = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
  const step = steps[/** @type {"ArrowUp"} */ (key)];
  if (listed && pane.outline.handleKey(key)) event.preventDefault();
  else if (step && !listed) moveFocus(pane, at, step[0], step[1]);
  else if (key === "Enter" || key === " ") selectOrToggle(pane, at, event.shiftKey);
  else if (key === "+" || key === "-")
    pane.zoomAt(pane.getSize().width / 2, pane.getSize().height / 2, key === "+" ? 1.2 : 1 / 1.2);
  else if (key === "0") pane.fit(true);
  else return;
  event.preventDefault();
}

/**
 * Select a node; open or close it when it is selected already.
 * @param {GraphPane} pane
 * @param {string} id
 * @param {boolean} shift
 */
function selectOrToggle(pane, id, shift) {
  const path = pane.byId.get(id)?.path ?? (pane.outline.how === "seen" ? id : "");
  if (!path) return;
  const holds = pane.store.program?.at(path)?.bodies;
  if (holds && pane.store.selection.id === path) pane.toggle(path);
  else pane.selectNode(path, shift);
}

/**
 * Move the focus to the nearest node in a direction.
 * @param {GraphPane} pane
 * @param {string} id
 * @param {number} dx
 * @param {number} dy
 */
function moveFocus(pane, id, dx, dy) {
  if (!pane.scene) return;
  const from = pane.byId.get(id);
  const next = from
    ? findNearest(pane.scene.nodes, from, dx, dy)
    : (pane.byId.get(pane.store.selection.id) ?? pane.scene.nodes.find((node) => node.path));
  if (!next) return;
  pane.show(next.id);
  pane.shown.focus(next.id);
}
