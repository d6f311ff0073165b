// @ts-check
/** Tabs beside the graph with the compiled program, pane by pane. */

import { el, toNode } from "../ground/element.js";
import { listPanes, selectSidePane } from "../parts/panes.js";
import { scrollInside } from "../parts/scrolling.js";
/** @typedef {import("../ground/element.js").Child} Child */
/** @typedef {import("../parts/panel_interface.js").Panel} Panel */
/** @typedef {import("../store/store.js").Store} Store */

/** Draw the chosen pane; keep its scroll position and its focus. @param {Element} element @param {Store} store */
export function updateSide(element, store) {
  const top = element.scrollTop;
  const active = element.contains(element.ownerDocument.activeElement) ? element.ownerDocument.activeElement : null;
  const focus = active?.getAttribute("data-focus") ?? active?.getAttribute("data-kernel");
  const cursor = active instanceof HTMLInputElement ? active.selectionStart : null;
  updateChildren(element, drawSide(store));
  element.scrollTop = top;
  if (!active || active.isConnected) return;
  const target = focus
    ? element.querySelector(`[data-focus="${CSS.escape(focus)}"], [data-kernel="${CSS.escape(focus)}"]`)
    : null;
  /** @type {HTMLElement} */ (target ?? element).focus({ preventScroll: true });
  if (target instanceof HTMLInputElement && cursor != null) target.setSelectionRange(cursor, cursor);
}

/** What was drawn as which element's children. @type {WeakMap<Element, string[]>} */
const drawnChildren = new WeakMap();

/**
 * Replace the children that have changed; the others keep their open lists, focus and hover.
 * @param {Element} parent
 * @param {Child[]} trees
 */
function updateChildren(parent, trees) {
  const children = trees.flat(Infinity).filter(Boolean);
  const [texts, before] = [children.map((tree) => JSON.stringify(tree)), drawnChildren.get(parent) ?? []];
  children.forEach((tree, i) => {
    if (!parent.children[i]) parent.append(toNode(tree));
    else if (texts[i] !== before[i]) parent.children[i].replaceWith(toNode(tree));
  });
  while (parent.children.length > children.length) parent.lastElementChild?.remove();
  drawnChildren.set(parent, texts);
}

/** @param {Store} store @returns {Child[]} */
export function drawSide(store) {
  if (!store.program) return [];
  const shown = selectSidePane(store);
  const tabs = listPanes("side").filter((pane) => pane === shown || pane.offered?.(store) !== false);
  return [
    el(
      "div",
      { class: "xs-tabs", role: "tablist", "aria-label": "what XLA made" },
      tabs.map(({ id, title, tip }) => drawTab(id, title, tip, id === shown.id)),
    ),
    shown.draw(store),
  ];
}

/** @param {string} id @param {string} title @param {string|undefined} tip @param {boolean} on */
function drawTab(id, title, tip, on) {
  return el(
    "button",
    {
      class: `xs-tab${on ? " on" : ""}`,
      type: "button",
      role: "tab",
      "aria-selected": String(on),
      "data-tab": id,
      "data-focus": `tab ${id}`,
      title: tip,
    },
    title,
  );
}

/** Highlight the selection. @param {Element} element @param {Store} store */
export function highlight(element, store) {
  updateSide(element, store);
  const { mark } = selectSidePane(store);
  if (mark) return mark(element);
  const first = element.querySelector(".xs-whynot, .xs-kernel.selected");
  if (first) scrollInside(element, first);
}

/**
 * Handle a click in the tabs or in a pane; return whether it was used.
 * @param {Panel} panel
 * @param {Element} target
 * @param {boolean} add
 */
export function handleSideClick(panel, target, add) {
  const tab = target.closest("[data-tab]")?.getAttribute("data-tab");
  if (tab) panel.store.updateList({ tab });
  return (
    Boolean(tab) ||
    listPanes("side")
      .toReversed()
      .some((pane) => pane.press?.(panel, target, add))
  );
}

/**
 * Handle a key in the panel; return whether a pane used it.
 * @param {Panel} panel
 * @param {KeyboardEvent} event
 * @param {Element} target
 */
export function handleSideKey(panel, event, target) {
  return listPanes("side").some((pane) => pane.key?.(panel, event, target));
}
