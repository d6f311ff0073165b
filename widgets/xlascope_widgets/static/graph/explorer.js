// @ts-check
/**
 * Tools of the graph: grouping, jumps between backward and forward equations, paths between two equations, and keys.
 */

import { el, fill } from "../ground/element.js";
import { formatInt, pluralize, shorten } from "../ground/format.js";
import { GROUPINGS } from "../program/groups.js";
import { listCounterparts } from "../program/selection.js";
import { goTo } from "../parts/panel_interface.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../parts/panel_interface.js").Panel} Panel */
/** @typedef {import("../program/program.js").Program} Program */

const MOST_LINKS = 3;

const KEYS = [
  ["arrows", "walk to the nearest node"],
  ["Enter", "select; on what is selected, open or close"],
  ["Shift+Enter, Shift+click", "what lies between the selected one and this"],
  ["b", "begin at this node, and at the next: what lies between the two"],
  ["j", "jump from a backward equation to the forward one it transposes, and back"],
  ["g", "choose how equations are grouped"],
  ["l", "show the graph as a list, or as a graph again"],
  [
    "/",
    "search operations, then variables, shapes, source; op:tanh line:9 line:3-7 shape:128,512 ask for one of these; Enter next, Shift+Enter previous",
  ],
  ["+  −  0", "zoom in, zoom out, all of it"],
  ["Ctrl+wheel, drag", "zoom (near, boxes open; from afar, they close), move"],
  ["f", "all of the screen, or back"],
  ["v", "the elements of the selected equation's result, after %values"],
  ["w, click an edge", "why the selected equation and this one are not fused"],
  ["←  →  space", "among the decisions: step back, step on, play"],
  ["Esc", "clear search and selection"],
  ["?", "these keys"],
];

/** @param {Store} store */
export function drawGrouping(store) {
  if (!store.program?.heavy.jaxpr) return null;
  const options = GROUPINGS.map((name) =>
    el("option", { value: name, selected: store.grouping === name ? "" : null }, name),
  );
  return [
    el(
      "label",
      { class: "xs-muted" },
      "group: ",
      el(
        "select",
        {
          class: "xs-grouping",
          "aria-label": "group equations by",
          title: "equations of one scope, function or line as one box; repeated layers fold in all but none",
        },
        options,
      ),
    ),
    el(
      "button",
      {
        class: `xs-pill${store.asList ? " on" : ""}`,
        type: "button",
        "data-command": "list",
        "aria-pressed": String(store.asList),
        title: "the graph as a list (l)",
      },
      "list",
    ),
    el(
      "button",
      { class: "xs-pill", type: "button", "data-command": "help", "aria-label": "keys", title: "keys (?)" },
      "?",
    ),
  ];
}

/** Draw links from a selected equation to those that it transposes, or that transpose it. @param {Store} store */
export function drawJumpLinks(store) {
  const { program, selection } = store;
  if (!program || selection.kind !== "equation") return null;
  const others = listCounterparts(program, selection.id);
  if (!others.length) return null;
  const links = others.slice(0, MOST_LINKS).map((path) => {
    const other = program.equations.get(path);
    const where = program.formatLine(path);
    const words = [shorten(other?.name ?? other?.op ?? path, 20), where].filter(Boolean).join(", ");
    const to = program.getPass(path) === "backward" ? "its backward" : "its forward";
    return el(
      "button",
      { class: "xs-link", type: "button", "data-goto": path, title: "jump there (j)" },
      `→ ${to} ${words}`,
    );
  });
  return el(
    "span",
    { class: "xs-links" },
    links,
    others.length > MOST_LINKS && ` and ${formatInt(others.length - MOST_LINKS)} more`,
  );
}

/** Describe the equations on the paths between two selected ones. @param {Store} store @returns {string[]|null} */
export function describePaths(store) {
  const { program, selection, start } = store;
  if (program && start)
    return [`between ${formatName(program, start)} and … ?`, "choose the second one and press b, or Shift+click it"];
  if (!program || selection.kind !== "between") return null;
  const [from, to] = JSON.parse(selection.id);
  const words = `${formatName(program, from)} → ${formatName(program, to)}`;
  if (!selection.paths.size && !dependsOn(program, from, to))
    return [words, "neither depends on the other: nothing lies between"];
  return [
    words,
    `${pluralize(selection.paths.size, "equation")} on the paths between them`,
    selection.paths.size ? pluralize(selection.kernels.size, "kernel") : "one uses the other directly",
  ];
}

/** @param {Program} program @param {string} from @param {string} to */
function dependsOn(program, from, to) {
  const outputs = new Set(program.at(from)?.out ?? []);
  return (program.at(to)?.in ?? []).some((name) => outputs.has(name));
}

/** @param {Program} program @param {string} path */
function formatName(program, path) {
  const equation = program.at(path);
  const line = program.formatLine(path);
  return shorten(equation?.name ?? equation?.op ?? path, 24) + (line ? ` (${line})` : "");
}

/** Describe the search result: "7 of 182 equations", and the number of the one shown. @param {Store} store */
export function describeSearch(store) {
  const at = [...store.matches].indexOf(store.selection.id) + 1;
  const words = [
    `${formatMatchCount(store)} ${store.matches.size === 1 ? "fits" : "fit"} “${shorten(store.query, 80)}”`,
  ];
  if (at) words.push(`number ${formatInt(at)} is shown`);
  words.push(
    store.matches.size
      ? "Enter next, Shift+Enter previous"
      : "try op:tanh, line:9 (line:3-7), shape:128,512, or any word of a line",
  );
  return words.join(" · ");
}

/** Format the number of matches: "7 of 182 equations". @param {Store} store */
export function formatMatchCount({ matches, program }) {
  return `${formatInt(matches.size)} of ${pluralize(program?.equations.size ?? 0, "equation")}`;
}

/**
 * Handle a key of the explorer.
 * @param {Panel} view
 * @param {KeyboardEvent} event
 * @param {Element} target
 * @returns {boolean} whether it was one
 */
export function handleExplorerKey(view, event, target) {
  const { store, graph } = view;
  if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input, select, textarea")) return false;
  const { current } = graph;
  if (event.key === "?") toggleHelp(view);
  else if (event.key === "j") jumpToCounterpart(view, current);
  else if (event.key === "b") selectPathEnd(store, current);
  else if (event.key === "l") toggleList(view, current);
  else if (event.key === "g") focusGrouping(view);
  else return false;
  event.preventDefault();
  return true;
}

/** Focus the choice of grouping, in the menu of tools where that is in there. @param {Panel} view */
function focusGrouping({ root }) {
  const grouping = /** @type {HTMLElement|null} */ (root.querySelector(".xs-grouping"));
  if (!grouping?.offsetParent) /** @type {HTMLElement|null} */ (root.querySelector(".xs-more-tools"))?.click();
  grouping?.focus();
}

/**
 * Show the list instead of the graph, or the graph again; the focus moves along, to the same node if there is one.
 * @param {Panel} view
 * @param {string} path the node that has the focus or is selected
 */
function toggleList({ store, graph }, path) {
  const { hasFocus } = graph;
  store.toggleList();
  if (!hasFocus) return;
  graph.svg.focus({ preventScroll: true });
  if (path) graph.focusOn(path);
}

/** @param {Panel} view @param {string} path */
function jumpToCounterpart(view, path) {
  const { program } = view.store;
  if (!program || !path) return;
  const others = listCounterparts(program, path);
  // A jump goes from a forward equation to the first that transposes it, and from there back.
  const next = others.includes(view.cameFrom) ? view.cameFrom : others[0];
  if (!next) return;
  view.cameFrom = path;
  goTo(view, next);
  view.graph.focusOn(next);
}

/**
 * Select an end of the paths between two equations: the first call the start, the second the end.
 * @param {Store} store
 * @param {string} path
 */
function selectPathEnd(store, path) {
  if (!path) return;
  if (store.start && store.start !== path) {
    store.selectBetween(store.start, path);
    return;
  }
  const begin = store.start ? "" : path;
  store.select(null);
  store.start = begin;
  store.notify("selection");
}

/** Show the keys, or hide them. @param {Panel} view */
export function toggleHelp(view) {
  const { help } = view;
  help.hidden = !help.hidden;
  if (help.hidden) {
    view.graph.svg.focus({ preventScroll: true });
    return;
  }
  fill(
    help,
    el(
      "div",
      { class: "xs-help-head" },
      el("b", {}, "Keys"),
      el("button", { class: "xs-pill", type: "button", "data-command": "help" }, "close"),
    ),
    el(
      "dl",
      {},
      KEYS.map(([key, words]) => [el("dt", {}, key), el("dd", {}, words)]),
    ),
  );
  /** @type {HTMLElement} */ (help.querySelector("button")).focus({ preventScroll: true });
}
