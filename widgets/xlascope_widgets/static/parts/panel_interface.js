// @ts-check
/** Interface of the panel and of the graph, as panes see them. */

/** @typedef {import("../store/store.js").Store} Store */

/** The panel, as panes see it.
 * @typedef {object} Panel
 * @property {Store} store
 * @property {HTMLElement} root
 * @property {HTMLElement} help where the keys are shown
 * @property {string} cameFrom where the last jump came from
 * @property {Graph} graph
 * @property {(open: boolean) => void} showWhy open or close what was traced again
 */

/** The graph's pane, as other panes see it.
 * @typedef {object} Graph
 * @property {HTMLElement|SVGElement} svg what takes the focus first
 * @property {boolean} hasFocus whether the graph or its list has the focus
 * @property {string} current the path of the node that has the focus, or is selected
 * @property {(path: string) => void} show
 * @property {(path: string) => void} focusOn
 * @property {() => void} showSelection */

/** Go to an equation: open what holds it, select it, show it. @param {Panel} view @param {string|undefined} path */
export function goTo(view, path) {
  const { store, graph } = view;
  if (!path) return;
  store.reveal(path);
  if (store.selection.id !== path || store.selection.kind !== "equation") store.select("equation", path);
  graph.show(path);
}
