// @ts-check
/**
 * The graph as a list: a tree to a screen reader, of which only the rows near the screen (or near the focus) exist. It
 * stands beside a canvas unseen, and in the graph's place when a graph would be too large or the user prefers it.
 */

import { el, fill, toNode } from "../ground/element.js";
import { formatInt, shorten } from "../ground/format.js";
import { formatEquation, formatJaxprLine } from "../program/labels.js";
/** @typedef {import("./graph_pane.js").GraphPane} GraphPane */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("./marks.js").Mark} Mark */
/** @typedef {import("../program/unpack.js").Jaxpr} Jaxpr */
/** @typedef {import("../program/unpack.js").Equation} Equation */
/** @typedef {{path: string, depth: number, place: number, of: number, holds: boolean, open: boolean}} Row */

const OUTLINE_ROW = 20;
const ROUND_FOCUS = 20;
const LONGEST = 240;

export class Outline {
  /** @param {GraphPane} pane the graph's pane */
  constructor(pane) {
    this.pane = pane;
    this.host = /** @type {HTMLElement} */ (
      toNode(
        el(
          "div",
          { class: "xs-outline", hidden: "", role: "group", "aria-label": "the graph as a list" },
          el("div", { class: "xs-muted xs-outline-head" }),
          el("div", { class: "xs-outline-rows", role: "tree", "aria-label": "equations" }),
        ),
      )
    );
    const [head, body] = /** @type {HTMLElement[]} */ ([...this.host.children]);
    this.head = head;
    this.body = body;
    /** @type {Row[]} */ this.rows = [];
    /** @type {Map<string, number>} */ this.places = new Map();
    /** @type {Map<string, Mark>} */ this.marks = new Map();
    this.at = 0;
    this.host.addEventListener("scroll", () => this.draw());
    this.host.addEventListener("click", (event) => this.handleClick(event));
  }

  /**
   * Update the rows from the open boxes.
   * @param {"seen"|"unseen"|"off"} how
   * @param {string} [why] said above the list
   */
  show(how, why = "") {
    this.how = how;
    this.host.hidden = how === "off";
    this.host.tabIndex = how === "seen" ? 0 : -1;
    this.host.classList.toggle("xs-unseen", how === "unseen");
    if (how === "off") return;
    const { program, open } = this.pane.store;
    this.rows = program?.heavy.jaxpr ? buildRows(program, open) : [];
    this.places = new Map(this.rows.map((row, i) => [row.path, i]));
    this.at = Math.min(this.at, Math.max(0, this.rows.length - 1));
    fill(this.head, why || "Arrow keys walk, right opens, left closes, Enter selects.");
    this.draw();
  }

  /** Return the range of rows that are drawn. */
  visibleRange() {
    if (this.how === "unseen") return [Math.max(0, this.at - ROUND_FOCUS), this.at + ROUND_FOCUS];
    const first = Math.max(0, Math.floor(this.host.scrollTop / OUTLINE_ROW) - 5);
    return [first, first + Math.ceil((this.host.clientHeight || 430) / OUTLINE_ROW) + 10];
  }

  draw() {
    if (this.how === "off") return;
    const { program } = this.pane.store;
    if (!program) return;
    const [first, last] = this.visibleRange();
    const focused = this.focused;
    const rows = this.rows.slice(first, last);
    fill(
      this.body,
      el("div", { style: `height:${this.how === "seen" ? first * OUTLINE_ROW : 0}px` }),
      rows.map((row) => drawRow(program, row, this.marks.get(row.path))),
      el("div", {
        style: `height:${this.how === "seen" ? Math.max(0, this.rows.length - first - rows.length) * OUTLINE_ROW : 0}px`,
      }),
    );
    if (focused) this.element(focused)?.focus({ preventScroll: true });
  }

  /** @param {Map<string, Mark>} marks */
  mark(marks) {
    this.marks = marks;
    this.draw();
  }

  get focused() {
    return this.host.ownerDocument.activeElement?.closest?.(".xs-outline-row")?.getAttribute("data-path") ?? "";
  }

  /** @param {string} path @returns {HTMLElement|null} */
  element(path) {
    return this.body.querySelector(`[data-path="${CSS.escape(path)}"]`);
  }

  /** @param {string} path */
  focus(path) {
    const index = this.places.get(path);
    if (index == null) return;
    this.at = index;
    if (this.how === "seen") {
      const [top, bottom] = [index * OUTLINE_ROW, index * OUTLINE_ROW + 2 * OUTLINE_ROW];
      if (top < this.host.scrollTop) this.host.scrollTop = top;
      else if (bottom > this.host.scrollTop + this.host.clientHeight)
        this.host.scrollTop = bottom - this.host.clientHeight;
    }
    this.draw();
    this.element(path)?.focus({ preventScroll: true });
  }

  /** Handle a key in the list. @param {string} key @returns {boolean} whether the key meant something */
  handleKey(key) {
    const row = this.rows[this.places.get(this.focused) ?? this.at];
    const to = {
      ArrowDown: this.at + 1,
      ArrowUp: this.at - 1,
      Home: 0,
      End: this.rows.length - 1,
      PageDown: this.at + 20,
      PageUp: this.at - 20,
    }[/** @type {"Home"} */ (key)];
    if (to != null)
      this.focus(this.rows[Math.max(0, Math.min(this.rows.length - 1, this.focused ? to : this.at))]?.path ?? "");
    else if (key === "ArrowRight" && row?.holds && !row.open) this.pane.toggle(row.path);
    else if (key === "ArrowRight" && row?.holds) this.focus(this.rows[this.at + 1]?.path ?? "");
    else if (key === "ArrowLeft" && row?.open) this.pane.toggle(row.path);
    else if (key === "ArrowLeft" && row?.depth) this.focus(this.findParent(row));
    else return false;
    return true;
  }

  /** @param {Row} row */
  findParent(row) {
    let i = this.places.get(row.path) ?? 0;
    while (i > 0 && this.rows[i].depth >= row.depth) i--;
    return this.rows[i].path;
  }

  /** @param {MouseEvent} event */
  handleClick(event) {
    const row = /** @type {Element} */ (event.target).closest("[data-path]");
    const path = row?.getAttribute("data-path");
    if (!path) return;
    this.at = this.places.get(path) ?? 0;
    if (/** @type {Element} */ (event.target).closest(".xs-toggle")) this.pane.toggle(path);
    else this.pane.selectNode(path, event.shiftKey);
  }
}

/**
 * Return a row for every equation and group that is not inside a closed box.
 * @param {Program} program
 * @param {Set<string>} open
 * @returns {Row[]}
 */
function buildRows(program, open) {
  /** @type {Row[]} */ const rows = [];
  const add = (/** @type {Jaxpr} */ jaxpr, /** @type {number} */ depth) => {
    const { equations } = program.groupedLevel(jaxpr);
    equations.forEach((equation, i) => {
      const holds = Boolean(equation.bodies),
        isOpen = holds && open.has(equation.path);
      rows.push({ path: equation.path, depth, place: i + 1, of: equations.length, holds, open: isOpen });
      if (isOpen) for (const body of equation.bodies ?? []) add(body, depth + 1);
    });
  };
  if (program.heavy.jaxpr) add(program.heavy.jaxpr, 0);
  return rows;
}

/** @param {Program} program @param {Row} row @param {Mark|undefined} mark */
function drawRow(program, row, mark) {
  const equation = /** @type {Equation} */ (program.at(row.path));
  const words = formatEquation(program, equation);
  const text = equation.members
    ? `${words.title} · ${words.sub}`
    : row.holds
      ? `${words.title} · ${words.sub} · ${formatJaxprLine(program, equation)}`
      : formatJaxprLine(program, equation);
  const marks = Object.entries(mark ?? {})
    .filter(([, on]) => on)
    .map(([name]) => name)
    .join(" ");
  return el(
    "div",
    {
      class: `xs-outline-row xs-mono pass-${program.getPass(row.path)} ${marks}`,
      "data-path": row.path,
      "data-kind": "equation",
      role: "treeitem",
      tabindex: -1,
      style: `padding-left:${8 + row.depth * 16}px`,
      "aria-level": row.depth + 1,
      "aria-posinset": row.place,
      "aria-setsize": row.of,
      "aria-expanded": row.holds ? String(row.open) : null,
      "aria-selected": String(Boolean(mark?.selected)),
    },
    row.holds && el("span", { class: "xs-toggle" }, row.open ? "⊟ " : "⊞ "),
    shorten(text, LONGEST),
  );
}

/** Return the text above a list that replaces a graph too large to draw. @param {number} equations */
export function describeTooLarge(equations) {
  return `${formatInt(equations)} equations: too many to draw as a graph, so here is the list. Grouped, they can be drawn.`;
}
