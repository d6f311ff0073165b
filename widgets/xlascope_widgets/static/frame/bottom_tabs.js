// @ts-check
/** Tabs below the graph, and the content of the chosen one. */

import { el, fill } from "../ground/element.js";
import { listPanes } from "../parts/panes.js";
/** @typedef {import("../parts/panes.js").Pane} Pane */
/** @typedef {import("../store/store.js").Store} Store */

/**
 * Which tab was chosen: kept beside the store, so that a view that is drawn again finds it.
 * @type {WeakMap<Store, string>}
 */
const chosenTabs = new WeakMap();

/** What tells an element that is drawn again from others. */
const KEYS = ["data-bar", "data-time", "data-kernel", "data-row"];
const LEAST_WIDTH = 320,
  MARGINS = 24;

/** Tabs below the graph; panes receive it as their space. */
export class BottomTabs {
  /** @param {HTMLElement} pane @param {Store} store */
  constructor(pane, store) {
    this.pane = pane;
    this.store = store;
    this.width = 0;
    this.frame = 0;
    for (const entry of listPanes("below")) entry.attach?.(this);
    pane.addEventListener("click", (event) => this.handleClick(event), true);
    pane.addEventListener("keydown", (event) => this.handleKey(event));
  }

  /** Return the pane that is shown: the chosen one, or the one that the magic asked for. @returns {Pane} */
  get shown() {
    const panes = listPanes("below");
    const id = chosenTabs.get(this.store) ?? this.store.live.tab;
    return panes.find((pane) => pane.id === id) ?? panes[0];
  }

  draw() {
    const { pane, store, shown } = this;
    this.width = Math.max(LEAST_WIDTH, pane.clientWidth - MARGINS);
    if (pane.clientWidth <= MARGINS) return;
    const focus = pane.contains(pane.ownerDocument.activeElement) ? pane.ownerDocument.activeElement : null;
    const key = KEYS.map((name) => [name, focus?.getAttribute(name)]).find(([, value]) => value);
    const list = pane.querySelector(".xs-time-list");
    const top = list?.scrollTop ?? 0;
    fill(pane, this.drawHead(shown), store.program && shown.draw(store, this));
    const newList = pane.querySelector(".xs-time-list");
    if (newList) newList.scrollTop = top;
    if (focus)
      /** @type {HTMLElement|null} */ (
        key
          ? pane.querySelector(`[${key[0]}="${CSS.escape(String(key[1]))}"]`)
          : pane.querySelector(focus === list ? ".xs-time-list" : "svg")
      )?.focus({ preventScroll: true });
    this.mark();
  }

  /** @param {Pane} shown */
  drawHead(shown) {
    const { program } = this.store;
    const tabs = listPanes("below").filter((pane) => pane === shown || pane.offered?.(this.store) !== false);
    return el(
      "div",
      { class: "xs-time-head" },
      el(
        "span",
        { class: "xs-time-tabs", role: "tablist" },
        tabs.map((pane) => drawTab(pane, pane === shown)),
      ),
      el("span", { class: "xs-muted xs-time-words" }, program && shown.words?.(program)),
      program && shown.tools?.(this.store, this),
    );
  }

  /** Highlight the selection in what is drawn. */
  mark() {
    const { kernels, paths, lines } = this.store.selection;
    for (const part of this.pane.querySelectorAll("[data-kernel]"))
      part.classList.toggle("selected", kernels.has(part.getAttribute("data-kernel") ?? ""));
    for (const row of this.pane.querySelectorAll("[data-row]")) {
      const [kind, ...id] = (row.getAttribute("data-row") ?? "").split(" ");
      row.classList.toggle("selected", (kind === "line" ? lines : paths).has(id.join(" ")));
    }
  }

  /** Update after a change of the selection. */
  markOrDraw() {
    if (this.shown.follows) this.draw();
    else this.mark();
  }

  redraw() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** @param {MouseEvent} event */
  handleClick(event) {
    const target = /** @type {Element} */ (event.target);
    const find = (/** @type {string} */ name) => target.closest(`[${name}]`)?.getAttribute(name);
    const [command, program, row] = ["data-time", "data-program", "data-row"].map(find);
    if (command) this.runCommand(command);
    else if (program) this.store.pickProgram(Number(program));
    else if (row) {
      const [kind, ...id] = row.split(" ");
      this.store.select(/** @type {"equation"|"line"} */ (kind), id.join(" "));
    }
  }

  /** @param {string} command what to do, and after a space with what */
  runCommand(command) {
    const [name, value] = [command.split(" ")[0], command.slice(command.indexOf(" ") + 1)];
    if (name === "tab") chosenTabs.set(this.store, value);
    else for (const pane of listPanes("below")) pane.command?.(this, name, value);
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isPress = event.key === "Enter" || event.key === " ";
    const isStep = event.key === "ArrowDown" || event.key === "ArrowUp";
    if (isPress && target.matches("[data-bar], [data-row], tr[data-kernel]"))
      target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    else if (target.matches(".xs-time-list") && event.key === "ArrowDown")
      /** @type {HTMLElement|null} */ (target.querySelector("tbody tr"))?.focus();
    else if (target.matches("tr") && isStep)
      /** @type {HTMLElement|null} */ (
        event.key === "ArrowDown" ? target.nextElementSibling : target.previousElementSibling
      )?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** @param {Pane} pane @param {boolean} on */
function drawTab({ id, title, tip }, on) {
  return el(
    "button",
    {
      class: `xs-tab${on ? " on" : ""}`,
      type: "button",
      role: "tab",
      "aria-selected": String(on),
      title: tip,
      "data-time": `tab ${id}`,
    },
    title,
  );
}
