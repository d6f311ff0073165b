// @ts-check
/** View of an array: type, statistics, and a heat map of a slice. Its code is fetched when the first one is opened. */

import { el, fill } from "../ground/element.js";
import { formatInt } from "../ground/format.js";
import { drawControls, drawFacts, drawFrame, drawLegend } from "./array_drawing.js";
import { decodeCells } from "./array_numbers.js";
import { describeCell } from "./cell_words.js";
import { HeatMap } from "./heat_map.js";
/** @typedef {import("./array_numbers.js").Info} Info */
/** @typedef {import("./array_numbers.js").Facts} Facts */
/** @typedef {import("./array_numbers.js").Cells} Cells */
/** Send a question to the kernel and return its answer. @typedef {(question: object) => Promise<any>} Ask */

/** Pixels of a cell for which the kernel makes blocks, and of the height of all. */
const CELL_PIXELS = 5,
  HEIGHT = 400;

/**
 * Show an array in an element, in place of what is there.
 * @param {HTMLElement} host
 * @param {Ask} ask
 * @param {object} question what opens it: a handle, or a place in a program
 * @param {string} style
 * @param {() => void} [close] what the close button does; without it there is none
 */
export async function showArray(host, ask, question, style, close) {
  const info = await ask({ look: "open", ...question });
  return new ArrayView(host, ask, info, style, close);
}

export class ArrayView {
  /**
   * @param {HTMLElement} host
   * @param {Ask} ask
   * @param {Info} info
   * @param {string} style
   * @param {(() => void)|undefined} close
   */
  constructor(host, ask, info, style, close) {
    this.host = host;
    this.ask = ask;
    this.close = close;
    this.info = info;
    this.style = style;
    /** @type {Facts|undefined} */ this.facts = undefined;
    /** @type {Cells|undefined} */ this.cells = undefined;
    this.isBusy = this.isStale = false;
    /** Width for which the cells were drawn, 0 while they are hidden. */ this.drawnWidth = 0;
    /** Element to point at as soon as it is there. @type {number[]|null} */ this.target = null;
    this.shown = "extreme";
    this.scale = "linear";
    this.part = "abs";
    /** The axis of rows and that of columns, null where there is one alone. @type {number|null} */ this.rows =
      info.axes[0];
    /** @type {number|null} */ this.columns = info.axes[1];
    /** The index along each axis. */ this.at = info.shape.map(() => 0);
    /** First row, last row + 1, first column, last column + 1; null for all. @type {number[]|null} */ this.window =
      null;
    /** Row and column of a cell. */ this.cursor = [0, 0];
    fill(host, drawFrame(info, Boolean(close)));
    this.canvas = /** @type {HTMLCanvasElement} */ (this.getPart("xs-heat"));
    this.map = new HeatMap(this.canvas);
    this.build();
    this.requestFacts();
    this.requestCells();
  }

  /** Complete the elements, and listen to them. */
  build() {
    const style = document.createElement("style");
    style.textContent = this.style;
    this.host.prepend(style);
    this.drawControls();
    const head = this.getPart("xs-array-head");
    head.addEventListener("click", (event) => this.handleClick(event));
    this.getPart("xs-array-facts").addEventListener("click", (event) => this.handleClick(event));
    const controls = this.getPart("xs-array-controls");
    controls.addEventListener("click", (event) => this.handleClick(event));
    for (const kind of ["input", "change"])
      controls.addEventListener(kind, (event) =>
        this.handleChange(/** @type {HTMLInputElement} */ (event.target), kind),
      );
    this.canvas.addEventListener("pointermove", (event) => this.point(event.offsetX, event.offsetY));
    this.canvas.addEventListener("click", (event) => this.handleCanvasClick(event));
    this.canvas.addEventListener("focus", () => this.drawCursor());
    this.getPart("xs-array-body").addEventListener("keydown", (event) => this.handleKey(event));
    this.watchSize();
  }

  /** Draw again when the width or the theme changes. */
  watchSize() {
    const body = this.getPart("xs-array-body");
    let width = body.clientWidth;
    const sizes = new ResizeObserver(() => {
      if (!body.isConnected) return sizes.disconnect();
      if (!body.clientWidth) return undefined;
      if (body.clientWidth === width) return this.drawnWidth ? undefined : this.drawCells();
      width = body.clientWidth;
      return this.requestCells();
    });
    sizes.observe(body);
    const root = this.host.closest(".xs-root");
    const themes = new MutationObserver(() => (body.isConnected ? this.drawCells() : themes.disconnect()));
    if (root) themes.observe(root, { attributes: true, attributeFilter: ["class"] });
  }

  /** @param {string} name @returns {HTMLElement} */
  getPart(name) {
    return /** @type {HTMLElement} */ (this.host.querySelector(`.${name}`));
  }

  // Drawing ---------------------------------------------------------------------------------------------------------

  drawControls() {
    fill(this.getPart("xs-array-controls"), drawControls(this));
  }

  drawCells() {
    const { cells, info } = this;
    if (!cells) return;
    const isDark = Boolean(this.host.closest(".xs-root.dark"));
    const body = this.getPart("xs-array-body");
    // While a page changes its theme it may hide what it shows.
    this.drawnWidth = body.clientWidth;
    if (!this.drawnWidth) return;
    this.getPart("xs-heat-frame").hidden = false;
    const width = this.getPart("xs-heat-frame").clientWidth;
    this.map.draw(cells, { shown: this.shown, isLog: this.scale === "log", isDark, isKey: info.kind === "key", width });
    this.getPart("xs-heat-frame").hidden = !cells.minimum.length;
    const [high, wide] = cells.block;
    const [top, bottom, left, right] = cells.window;
    const isPart = bottom - top < cells.size[0] || right - left < cells.size[1];
    const words = [
      isPart &&
        `rows ${formatInt(top)} to ${formatInt(bottom - 1)} of ${formatInt(cells.size[0])}, columns ${formatInt(left)} to ${formatInt(right - 1)} of ${formatInt(cells.size[1])}`,
      cells.maximum &&
        `reduced: a cell is a block of ${formatInt(high)} × ${formatInt(wide)} elements; click it, or Enter, to see them`,
      !cells.minimum.length && "no elements",
    ];
    this.getPart("xs-array-note").textContent = words.filter(Boolean).join(" · ");
    fill(this.getPart("xs-array-legend"), drawLegend(cells, this.map));
    const rows = cells.cells[0] - 1,
      columns = cells.cells[1] - 1;
    this.cursor = [Math.min(this.cursor[0], Math.max(0, rows)), Math.min(this.cursor[1], Math.max(0, columns))];
    if (info.kind === "bool" || !cells.minimum.length) this.getPart("xs-array-legend").replaceChildren();
    this.showTarget();
    // A cell that is pointed at stays so while indices change.
    const hasFocus = this.canvas === this.host.ownerDocument.activeElement;
    if (hasFocus || !this.getPart("xs-heat-cursor").hidden) this.drawCursor();
  }

  // Asking ----------------------------------------------------------------------------------------------------------

  async requestFacts() {
    const { info } = this;
    try {
      const facts = await this.ask({ look: "measure", handle: info.handle });
      if (info !== this.info || this.isClosed()) return;
      this.facts = facts;
      fill(this.getPart("xs-array-facts"), drawFacts(info, facts));
    } catch (error) {
      this.showError(error);
    }
  }

  /** Ask for the slice; one question at a time, and the latest after it. */
  async requestCells() {
    this.isStale = true;
    if (this.isBusy) return;
    this.isBusy = true;
    while (this.isStale) {
      this.isStale = false;
      const width = this.getPart("xs-heat-frame").clientWidth || 600;
      const { info, rows, columns, at, window, part } = this;
      const room = [Math.floor(HEIGHT / CELL_PIXELS), Math.max(8, Math.floor((width - 10) / CELL_PIXELS))];
      const question = { look: "read", handle: info.handle, rows, columns, at, window, part, room };
      try {
        const answer = decodeCells(await this.ask(question));
        if (this.isClosed()) return;
        if (this.isStale || info !== this.info) continue;
        const wasReduced = Boolean(this.cells?.maximum);
        this.cells = answer;
        if (wasReduced !== Boolean(answer.maximum)) this.drawControls();
        this.drawCells();
      } catch (error) {
        this.showError(error);
      }
    }
    this.isBusy = false;
  }

  /** Return whether an answer comes too late. */
  isClosed() {
    return !this.host.contains(this.canvas);
  }

  /** @param {unknown} error */
  showError(error) {
    if (this.isClosed()) return;
    fill(
      this.getPart("xs-array-readout"),
      el("span", { class: "xs-ask-bad", role: "alert" }, String(/** @type {Error} */ (error).message)),
    );
  }

  // Pointing --------------------------------------------------------------------------------------------------------

  /** @param {number} x @param {number} y */
  point(x, y) {
    const cell = this.map.findCell(x, y);
    if (cell) this.moveCursor(cell);
  }

  /** @param {number[]} cell row and column */
  moveCursor(cell) {
    this.cursor = cell;
    this.drawCursor();
  }

  drawCursor() {
    const { cells, cursor, map } = this;
    if (!cells?.minimum.length) return;
    const [left, top, right, bottom] = map.boxOf(cursor[0], cursor[1]);
    const ring = this.getPart("xs-heat-cursor");
    ring.hidden = false;
    ring.style.cssText = `left:${left - 2}px;top:${top - 2}px;width:${right - left + 4}px;height:${bottom - top + 4}px`;
    this.getPart("xs-array-readout").textContent = describeCell(this, cells);
  }

  /** Point at the element that was jumped to, once its cell is there. */
  showTarget() {
    const { cells, target } = this;
    if (!cells || !target) return;
    this.target = null;
    const [top, , left] = cells.window;
    const row = this.rows == null ? 0 : target[this.rows];
    const column = this.columns == null ? 0 : target[this.columns];
    this.cursor = [Math.floor((row - top) / cells.block[0]), Math.floor((column - left) / cells.block[1])];
    this.canvas.focus({ preventScroll: true });
    this.drawCursor();
  }

  /** Show an element, at a size at which each element is a cell. @param {number[]} index */
  jump(index) {
    const [row, column] = [this.rows == null ? 0 : index[this.rows], this.columns == null ? 0 : index[this.columns]];
    this.at = [...index];
    this.window = this.fitWindow(row, column);
    this.target = index;
    this.drawControls();
    this.requestCells();
  }

  /**
   * Return a window around an element in which nothing is reduced; null if that is all.
   * @param {number} row
   * @param {number} column
   */
  fitWindow(row, column) {
    const { info } = this;
    const rows = this.rows == null ? 1 : info.shape[this.rows];
    const columns = this.columns == null ? 1 : info.shape[this.columns];
    const width = this.getPart("xs-heat-frame").clientWidth;
    const most = [Math.floor(HEIGHT / CELL_PIXELS), Math.max(8, Math.floor((width - 10) / CELL_PIXELS))];
    if (rows <= most[0] && columns <= most[1]) return null;
    const [high, wide] = [Math.min(rows, 32, most[0]), Math.min(columns, 64, most[1])];
    const top = Math.max(0, Math.min(rows - high, row - Math.floor(high / 2)));
    const left = Math.max(0, Math.min(columns - wide, column - Math.floor(wide / 2)));
    return [top, top + high, left, left + wide];
  }

  /** Show the elements of the block under the cursor. */
  zoomIn() {
    const { cells, cursor } = this;
    if (!cells?.maximum) return;
    const row = cells.window[0] + cursor[0] * cells.block[0] + Math.floor(cells.block[0] / 2);
    const column = cells.window[2] + cursor[1] * cells.block[1] + Math.floor(cells.block[1] / 2);
    const target = [...this.at];
    if (this.rows != null) target[this.rows] = Math.min(row, this.info.shape[this.rows] - 1);
    if (this.columns != null) target[this.columns] = Math.min(column, this.info.shape[this.columns] - 1);
    this.jump(target);
  }

  showAll() {
    this.window = null;
    this.cursor = [0, 0];
    this.drawControls();
    this.requestCells();
  }

  // Events ----------------------------------------------------------------------------------------------------------

  /** @param {Event} event */
  handleClick(event) {
    const button = /** @type {Element} */ (event.target).closest("[data-do],[data-jump]");
    const what = button?.getAttribute("data-do");
    const index = this.facts?.at[button?.getAttribute("data-jump") ?? ""];
    if (what === "close") this.close?.();
    if (what === "all") {
      this.showAll();
      this.canvas.focus({ preventScroll: true });
    }
    if (index) this.jump(index);
  }

  /** @param {PointerEvent|MouseEvent} event */
  handleCanvasClick(event) {
    this.point(event.offsetX, event.offsetY);
    this.zoomIn();
  }

  /** @param {HTMLInputElement} target @param {string} kind */
  handleChange(target, kind) {
    const { axis, choice, loop } = target.dataset;
    if (axis != null) return this.setIndex(Number(axis), target);
    if (kind !== "change") return undefined;
    if (loop != null) return this.setIteration();
    if (choice === "rows" || choice === "columns") return this.setAxis(choice, Number(target.value));
    if (choice === "part" || choice === "scale" || choice === "shown") this[choice] = target.value;
    return choice === "part" ? this.requestCells() : this.drawCells();
  }

  /** @param {number} axis @param {HTMLInputElement} target */
  setIndex(axis, target) {
    const value = Math.round(Number(target.value));
    if (target.value === "" || !Number.isFinite(value)) return;
    this.at[axis] = Math.max(0, Math.min(this.info.shape[axis] - 1, value));
    for (const field of this.host.querySelectorAll(`[data-axis="${axis}"]`))
      if (field !== target) /** @type {HTMLInputElement} */ (field).value = String(this.at[axis]);
    this.requestCells();
  }

  /** @param {"rows"|"columns"} name @param {number} axis */
  setAxis(name, axis) {
    const other = name === "rows" ? "columns" : "rows";
    if (this[other] === axis) this[other] = this[name];
    this[name] = axis;
    this.window = null;
    this.cursor = [0, 0];
    this.drawControls();
    /** @type {HTMLElement|null} */ (this.host.querySelector(`[data-choice="${name}"]`))?.focus({
      preventScroll: true,
    });
    this.requestCells();
  }

  /** Compute the value again in the chosen iterations. */
  async setIteration() {
    const fields = /** @type {HTMLInputElement[]} */ ([...this.host.querySelectorAll("[data-loop]")]);
    const iterations = fields.every((field) => field.value !== "") ? fields.map((field) => Number(field.value)) : null;
    this.getPart("xs-array-readout").textContent = "computing …";
    try {
      const { of } = this.info;
      // Without numbers a value where NaN was born would be that of its birth again.
      const info = await this.ask({ look: "open", ...of, iterations: iterations ?? this.info.loops?.map(() => -1) });
      this.info = info;
      this.facts = undefined;
      this.getPart("xs-array-readout").textContent = "";
      this.drawControls();
      this.requestFacts();
      this.requestCells();
    } catch (error) {
      this.showError(error);
    }
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    // The panel's own keys would act on the graph.
    event.stopPropagation();
    if (event.target !== this.canvas || !this.cells) return;
    const [row, column] = this.cursor;
    const [rows, columns] = this.cells.cells;
    /** @type {Record<string, number[]>} */
    const moves = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: [row, 0],
      End: [row, columns - 1],
      PageUp: [0, column],
      PageDown: [rows - 1, column],
    };
    const move = moves[event.key];
    if (move) this.moveCursor([Math.max(0, Math.min(rows - 1, move[0])), Math.max(0, Math.min(columns - 1, move[1]))]);
    else if (event.key === "Enter" || event.key === " ") this.zoomIn();
    else if (event.key === "Escape" && this.window) this.showAll();
    else if (event.key === "Escape" && this.close) this.close();
    else return;
    event.preventDefault();
  }
}
