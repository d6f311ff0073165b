// @ts-check
/** Toolbar above the panes: program, target, colours, and grouping of equations. */

import { drawTargets } from "../compiler/target_tabs.js";
import { drawGrouping } from "../graph/explorer.js";
import { el } from "../ground/element.js";
import { pluralize, shorten } from "../ground/format.js";
import { HEAT_WORDS, listHeats } from "../program/heat.js";
import { TERMS } from "../program/terms.js";
import { drawShareMenu } from "./sharing.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */

/** @param {Store} store @param {boolean} [isFull] whether the panel has all of the screen */
export function drawToolbar(store, isFull = false) {
  return [
    drawProgramChoice(store),
    drawTargets(store),
    el("span", { class: "xs-muted xs-optional" }, "colour:"),
    listHeats(store.program).map((heat) =>
      el(
        "button",
        {
          class: `xs-pill${store.heat === heat ? " on" : ""}`,
          type: "button",
          "data-command": heat,
          "aria-pressed": String(store.heat === heat),
          title: heat === "pass" ? TERMS.phase : HEAT_WORDS[/** @type {"time"} */ (heat)],
        },
        heat === "pass" ? "phase" : heat,
      ),
    ),
    el("button", { class: "xs-pill", type: "button", "data-command": "fit", title: "all of the graph (0)" }, "fit"),
    el(
      "button",
      { class: "xs-pill xs-more-tools", type: "button", "data-command": "more", "aria-expanded": "false" },
      "more ▾",
    ),
    el("span", { class: "xs-menu", role: "group", "aria-label": "more tools" }, drawMenu(store, isFull)),
  ];
}

/**
 * Draw the tools that stand in a menu where one row has no room for them.
 * @param {Store} store
 * @param {boolean} isFull
 */
function drawMenu(store, isFull) {
  return [
    hasNestings(store.program) &&
      ["expand", "collapse"].map((name) =>
        el("button", { class: "xs-pill", type: "button", "data-command": name }, `${name} all`),
      ),
    drawGrouping(store),
    el(
      "button",
      {
        class: `xs-pill${isFull ? " on" : ""}`,
        type: "button",
        "data-command": "full",
        "aria-pressed": String(isFull),
        title: "all of the screen (f)",
      },
      "full screen",
    ),
    el(
      "button",
      {
        class: "xs-pill",
        type: "button",
        "data-command": "tab",
        title: "a second view in a tab of its own, which follows this one",
      },
      "open in a tab",
    ),
    store.queries.canAsk("share") && drawShareMenu(),
  ];
}

/**
 * Put the tools that have no room in one row into a menu, and take them out where they have.
 * @param {HTMLElement} head
 */
export function fitToolbar(head) {
  const isMenuOpen = head.classList.contains("open");
  head.classList.remove("tight", "open");
  const tools = [...head.querySelectorAll(".xs-tools > *, .xs-menu > *, .xs-search")];
  const tops = tools.map((tool) => tool.getBoundingClientRect()).filter((box) => box.height > 0);
  const isTight = Math.max(...tops.map((box) => box.top)) > Math.min(...tops.map((box) => box.bottom));
  head.classList.toggle("tight", tops.length > 0 && isTight);
  setMenuOpen(head, isMenuOpen && isTight);
}

/** Show the menu of tools, or hide it. @param {HTMLElement} head @param {boolean} open */
export function setMenuOpen(head, open) {
  head.classList.toggle("open", open);
  head.querySelector(".xs-more-tools")?.setAttribute("aria-expanded", String(open));
}

/** @param {Store} store */
function drawProgramChoice(store) {
  const { program } = store;
  if (store.programs.size < 2) return el("span", { class: "xs-mono xs-crumb" }, program?.function ?? "");
  const options = [...store.programs.values()].map((p) =>
    el(
      "option",
      { value: p.number, selected: p === program ? "" : null },
      `${shorten(p.function, 40)} · ${pluralize(p.equations.size, "eqn")}`,
    ),
  );
  return el("select", { class: "xs-choice xs-mono", "aria-label": "program" }, options);
}

/** Return whether a box can be opened: an equation with a body, or a group. @param {Program|undefined} program */
export function hasNestings(program) {
  return Boolean(
    program?.heavy.jaxpr && program.groupedLevel(program.heavy.jaxpr).equations.some((equation) => equation.bodies),
  );
}
