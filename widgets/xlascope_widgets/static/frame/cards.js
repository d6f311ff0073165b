// @ts-check
/** Cards above and below the panel's tools. */

import { el, fill } from "../ground/element.js";
import { listPanes } from "../parts/panes.js";
/** @typedef {import("../parts/panes.js").Pane} Pane */
/** @typedef {import("../parts/panes.js").Place} Place */
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("./view.js").View} View */

/** Draw the elements of the cards of a place, empty. @param {Place} place */
export function drawCards(place) {
  return listPanes(place).map(({ id, title }) =>
    el("div", { class: `xs-${id}`, role: "region", "aria-label": title, hidden: "" }),
  );
}

/** Return all cards of a panel with their elements. @param {View} view @returns {[Pane, HTMLElement][]} */
export function listCards(view) {
  return [...listPanes("top"), ...listPanes("notes")].map((pane) => [pane, view.getPart(`xs-${pane.id}`)]);
}

/** What was drawn in a card. @type {WeakMap<Element, string>} */
const drawnTrees = new WeakMap();

/** Draw the cards that have changed; hide those that are empty. @param {View} view */
export function showCards(view) {
  for (const [pane, part] of listCards(view)) showCard(pane, part, view.store);
}

/** @param {Pane} pane @param {HTMLElement} part @param {Store} store */
function showCard(pane, part, store) {
  const tree = pane.draw(store);
  const text = JSON.stringify(tree ?? null);
  part.hidden = !tree;
  if (drawnTrees.get(part) === text) return;
  drawnTrees.set(part, text);
  const buttons = () => /** @type {HTMLElement[]} */ ([...part.querySelectorAll("button")]);
  const focus = buttons().indexOf(/** @type {HTMLElement} */ (part.ownerDocument.activeElement));
  fill(part, tree);
  // Move the focus to the button that replaced the pressed one.
  if (focus >= 0)
    buttons()
      .slice(0, focus + 1)
      .pop()
      ?.focus({ preventScroll: true });
}
