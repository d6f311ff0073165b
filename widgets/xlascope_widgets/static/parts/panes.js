// @ts-check
/**
 * Panes register themselves, and the panel shows those of each place: a tab beside the graph or below it, or a card.
 * Every file whose name ends in `_pane.js` is loaded, so a new pane is one file.
 */

/** @typedef {import("../ground/element.js").Child} Child */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("./panel_interface.js").Panel} Panel */

/** `side` and `below` are tabs beside the graph and below it, `top` and `notes` cards above and below the tools.
 * @typedef {"side"|"below"|"top"|"notes"} Place */

/**
 * The element of the tabs below the graph, for what they draw and do in it.
 * @typedef {object} Space
 * @property {HTMLElement} pane
 * @property {Store} store
 * @property {number} width in pixels
 * @property {() => void} draw
 * @property {() => void} redraw draw before the next frame is shown
 */

/**
 * What a pane is. All but the first five have a default: `offered` is true, the others do nothing.
 * @typedef {object} Pane
 * @property {string} id the tab's name in the page; the class of a card is `xs-` and this
 * @property {Place} place
 * @property {number} order among the panes of its place
 * @property {string} title what the tab says, or a screen reader of a card
 * @property {(store: Store, space?: Space) => Child} draw a card that draws nothing is hidden
 * @property {string} [tip] what the tab says when one points at it
 * @property {(store: Store) => boolean} [offered] whether there is a tab for it
 * @property {(store: Store) => boolean} [wanted] whether it is shown where nothing was chosen and nothing was compiled
 * @property {(program: Program) => Child} [words] a line beside the tabs below the graph
 * @property {(store: Store, space: Space) => Child} [tools] buttons beside that line
 * @property {(space: Space) => void} [attach] listen to its part of the element of the tabs below the graph
 * @property {(space: Space, what: string, value: string) => void} [command] what an element with `data-time="what
 * value"` does
 * @property {boolean} [follows] whether it is drawn anew when the selection changes
 * @property {(element: Element) => void} [mark] show in the pane's element what is selected
 * @property {(panel: Panel, target: Element, add: boolean) => boolean} [press] a click, `add` with shift; whether it
 * was used
 * @property {(panel: Panel, event: KeyboardEvent, target: Element) => boolean} [key] a key; whether it was used
 */

/** @type {Map<string, Pane>} */
const panes = new Map();

/** @param {Pane} pane */
export function registerPane(pane) {
  if (panes.has(pane.id)) throw new Error(`there are two panes with the id ${pane.id}`);
  panes.set(pane.id, pane);
}

/** Return the panes of a place, in their order. @param {Place} place @returns {Pane[]} */
export function listPanes(place) {
  return [...panes.values()].filter((pane) => pane.place === place).sort((a, b) => a.order - b.order);
}

/**
 * Return the pane beside the graph: the chosen one, or else the first that has something to show.
 * @param {Store} store
 * @returns {Pane}
 */
export function selectSidePane(store) {
  const beside = listPanes("side");
  const chosen = beside.find((pane) => pane.id === (store.list.tab || store.live.tab));
  if (chosen || store.program?.heavy.kernels) return chosen ?? beside[0];
  return beside.find((pane) => pane.wanted?.(store)) ?? beside[0];
}
