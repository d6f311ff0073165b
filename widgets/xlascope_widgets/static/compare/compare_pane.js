// @ts-check
/**
 * Two programs side by side: equal, changed, added and removed equations, linked with the selection everywhere else.
 */

import { el, fill } from "../ground/element.js";
import { scrollInside } from "../parts/scrolling.js";
import { buildDiffRows, buildScale, countDiffs, DIFF_SHOWN, DIFF_WORDS, summarizeKernels } from "./compare_rows.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../ground/wire.js").Diff} Diff */
/** @typedef {import("./compare_rows.js").DiffRow} DiffRow */
/** @typedef {import("./compare_rows.js").DiffFold} DiffFold */
/** @typedef {import("./compare_rows.js").DiffSide} DiffSide */

const DIFF_SIDES = ["before", "after"];
/** The numbers that both programs are sent under. */
const DIFF_NUMBERS = [1, 2];
/** Rows drawn at once. */
const MOST_DIFF_SHOWN = 1500;

/** @param {Store} store the comparison and both programs, or nothing */
function findComparison(store) {
  const programs = DIFF_NUMBERS.flatMap((number) => store.programs.get(number) ?? []);
  const { diff } = store.live;
  return diff && programs.length === 2 && programs.every((program) => program.heavy.jaxpr)
    ? { diff, programs }
    : undefined;
}

/** Return the signs of the equations of one side that differ, by path. @param {Diff} diff @param {number} side */
function collectSigns(diff, side) {
  /** @type {Map<string, string>} */ const signs = new Map();
  for (const [sign, ...paths] of diff.equations) {
    const path = paths[side];
    if (sign !== "=" && path != null) signs.set(path, DIFF_SHOWN[sign]);
  }
  return signs;
}

export class ComparePane {
  /**
   * @param {HTMLElement} host
   * @param {Store} store
   * @param {() => void} shown is called when a selection is to be brought into view
   */
  constructor(host, store, shown) {
    this.host = host;
    this.store = store;
    this.shown = shown;
    /** @type {Set<number>} */ this.opened = new Set();
    /** What is drawn just now. @type {Diff|undefined} */ this.drawn = undefined;
    host.addEventListener("click", (event) => this.handleClick(/** @type {Element} */ (event.target)));
    host.addEventListener("keydown", (event) => this.handleKey(event));
  }

  draw() {
    const comparison = findComparison(this.store);
    this.host.hidden = !comparison;
    if (!comparison) return;
    const { diff, programs } = comparison;
    programs.forEach((program, side) => (program.signs = collectSigns(diff, side)));
    // Keep unchanged elements, with their focus and scroll position.
    if (this.drawn === diff) return this.mark();
    this.drawn = diff;
    const [before, after] = programs;
    const rows = buildDiffRows(diff, before, after, this.opened);
    fill(
      this.host,
      diff.timing && drawDiffTiming(diff.timing),
      diff.unmeasured && el("div", { class: "xs-compare-timing xs-muted" }, `not measured: ${diff.unmeasured}`),
      el(
        "div",
        { class: "xs-compare-rows", role: "table", "aria-label": `${diff.labels[0]} compared with ${diff.labels[1]}` },
        el(
          "div",
          { class: "xs-compare-row xs-compare-head", role: "row" },
          el("span", {}),
          diff.labels.map((label, i) =>
            el("b", { class: "xs-mono", role: "columnheader", title: label }, `${DIFF_SIDES[i]}: ${label}`),
          ),
          el("span", { class: "xs-muted xs-compare-why" }, countDiffs(diff)),
        ),
        rows.slice(0, MOST_DIFF_SHOWN).map((row) => drawDiffRow(row)),
        rows.length > MOST_DIFF_SHOWN && el("div", { class: "xs-empty" }, `${rows.length - MOST_DIFF_SHOWN} more rows`),
        drawDiffKernels(diff, before, after),
      ),
      drawDiffNumbers(diff),
    );
    this.mark();
  }

  /** Show what is selected, on both sides. */
  mark() {
    const { selection, program } = this.store;
    const side = DIFF_SIDES[DIFF_NUMBERS.indexOf(program?.number ?? 0)];
    let first = null;
    for (const row of this.host.querySelectorAll(".xs-compare-row[data-row]")) {
      const path = row.getAttribute(`data-${side}`);
      const on = path != null && selection.paths.has(path);
      row.classList.toggle("selected", on);
      if (on && !first) first = row;
    }
    const list = this.host.querySelector(".xs-compare-rows");
    if (first && list) scrollInside(list, first);
  }

  /** @param {Element} target */
  handleClick(target) {
    const fold = target.closest("[data-fold]")?.getAttribute("data-fold");
    if (fold != null) {
      this.opened.add(Number(fold));
      this.drawn = undefined;
      this.draw();
      return;
    }
    const row = target.closest(".xs-compare-row[data-row]");
    if (!row) return;
    const sideName = target.closest("[data-side]")?.getAttribute("data-side");
    const side = [sideName, "after", "before"].find((name) => name && row.hasAttribute(`data-${name}`)) ?? "after";
    this.showEquation(side, row.getAttribute(`data-${side}`) ?? "");
  }

  /** Show an equation in the graph of its program. @param {string} side @param {string} path */
  showEquation(side, path) {
    const { store } = this;
    const number = DIFF_NUMBERS[DIFF_SIDES.indexOf(side)];
    if (store.program?.number !== number) store.pickProgram(number);
    store.reveal(path);
    if (store.selection.id !== path) store.select("equation", path);
    this.shown();
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    const rows = /** @type {HTMLElement[]} */ ([...this.host.querySelectorAll("[tabindex]")]);
    const at = rows.indexOf(/** @type {HTMLElement} */ (event.target));
    if (at < 0) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) rows[Math.min(rows.length - 1, Math.max(0, at + step))].focus();
    else if (event.key === "Enter" || event.key === " ") this.handleClick(rows[at]);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const side = event.key === "ArrowLeft" ? "before" : "after";
      const path = rows[at].getAttribute(`data-${side}`);
      if (path != null) this.showEquation(side, path);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** @param {DiffRow|DiffFold} row */
function drawDiffRow(row) {
  if ("fold" in row)
    return el(
      "div",
      { role: "row" },
      el(
        "div",
        { role: "cell" },
        el(
          "div",
          { class: "xs-compare-fold xs-muted", role: "button", tabindex: 0, "data-fold": row.fold },
          `⋯ ${row.count} alike`,
        ),
      ),
    );
  const source = (row.after ?? row.before)?.source;
  const title = [row.before?.title, row.after?.title].filter(Boolean).join(" → ");
  return el(
    "div",
    {
      class: `xs-compare-row sign-${DIFF_CLASSES[row.sign]}`,
      role: "row",
      tabindex: 0,
      "data-row": "",
      "aria-label": `${DIFF_WORDS[row.sign]}: ${title}, ${row.words} ${row.detail}`,
      "data-before": row.before?.path,
      "data-after": row.after?.path,
    },
    el("b", { class: "xs-compare-sign" }, DIFF_SHOWN[row.sign]),
    drawDiffSide(row.before, "before"),
    drawDiffSide(row.after, "after"),
    el(
      "span",
      { class: "xs-compare-why" },
      row.sign !== "=" && [el("span", { class: "xs-compare-word" }, row.words), row.detail && ` ${row.detail}`],
      source && el("span", { class: "xs-muted xs-mono xs-small", title: source }, ` ${source}`),
    ),
  );
}

const DIFF_CLASSES = { "=": "alike", "~": "changed", "+": "added", "-": "removed" };

/** @param {DiffSide|null} side @param {string} name */
function drawDiffSide(side, name) {
  return el(
    "span",
    { class: "xs-compare-side xs-mono", role: "cell", "data-side": side && name },
    side && [el("b", {}, side.title), " ", el("span", { class: "xs-muted" }, side.types)],
  );
}

/** @param {Diff} diff @param {Program} before @param {Program} after */
function drawDiffKernels(diff, before, after) {
  const { heading, rows } = summarizeKernels(diff, before, after);
  if (!heading) return [];
  return [
    el("div", { class: "xs-compare-row xs-compare-head", role: "row" }, el("span", {}), el("b", {}, heading)),
    rows.slice(0, MOST_DIFF_SHOWN).map((row) =>
      el(
        "div",
        { class: `xs-compare-row sign-${DIFF_CLASSES[row.sign]}`, role: "row" },
        el("b", { class: "xs-compare-sign" }, DIFF_SHOWN[row.sign]),
        [row.before, row.after].map((names) =>
          el(
            "span",
            { class: "xs-compare-side xs-mono" },
            names.map(({ text, tip }) => el("div", { title: tip }, text)),
          ),
        ),
        el(
          "span",
          { class: "xs-compare-why" },
          el("span", { class: "xs-compare-word" }, row.word),
          row.detail && ` ${row.detail}`,
        ),
      ),
    ),
  ];
}

/** Draw each round as a dot, both programs on one scale. @param {NonNullable<Diff["timing"]>} timing */
function drawDiffTiming({ seconds, words, verdict, source }) {
  const scale = buildScale(seconds);
  return el(
    "div",
    { class: "xs-compare-timing" },
    el("b", {}, verdict),
    el("span", { class: "xs-muted xs-small" }, ` measured: ${source}`),
    DIFF_SIDES.map((side, i) =>
      el(
        "div",
        { class: "xs-compare-lane", title: `${words[i]} a call: first quartile, median, third quartile` },
        el("span", { class: "xs-muted" }, side),
        el(
          "span",
          { class: "xs-compare-dots", "aria-hidden": "true" },
          seconds[i].map((value) =>
            el("i", { class: `xs-compare-dot ${side}`, style: `left:${(scale(value) * 98).toFixed(1)}%` }),
          ),
        ),
        el("span", { class: "xs-mono xs-small" }, `${words[i]} a call`),
      ),
    ),
  );
}

/** @param {Diff} diff */
function drawDiffNumbers(diff) {
  const head = ["", ...DIFF_SIDES, "change", "source"];
  return el(
    "table",
    { class: "xs-compare-numbers" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        head.map((text) => el("th", { scope: "col" }, text)),
      ),
    ),
    el(
      "tbody",
      {},
      diff.numbers.map((/** @type {string[]} */ [name, ...cells]) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, name),
          cells.map((cell) => el("td", {}, cell)),
        ),
      ),
    ),
  );
}
