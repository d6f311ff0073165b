// @ts-check
/** The user's source lines with their measured times and the selection. */

import { el } from "../ground/element.js";
import { formatTime, pluralize } from "../ground/format.js";
import { scrollInside } from "../parts/scrolling.js";
import { describeSharing, getLineTimes } from "../program/line_times.js";
import { explainTerms } from "../program/terms.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../ground/element.js").Tree} Tree */
/** @typedef {import("../ground/wire.js").SourceText} SourceText */

const AROUND = 2;
const WHOLE = 80;

/** @param {Store} store */
export function drawSource(store) {
  const { program } = store;
  if (!program?.heavy.sources?.length) return el("div", { class: "xs-empty" }, explainTerms("no source information"));
  const times = getLineTimes(program);
  return program.heavy.sources.map((source) => [
    el(
      "h4",
      {},
      "source",
      el("span", {}, source.title),
      source.note && el("span", { class: "xs-source-note" }, source.note),
    ),
    el(
      "div",
      { class: "xs-code" },
      source.text ? drawSourceLines(program, source, times) : drawBareLines(program, source, times),
    ),
  ]);
}

/** @param {Program} program @param {SourceText} source @param {Map<string, number>} times */
function drawSourceLines(program, source, times) {
  const texts = source.text.replace(/\n$/, "").split("\n");
  const near = texts.length <= WHOLE ? null : listNearLines(program, source, texts.length);
  /** @type {import("../ground/element.js").Tree[]} */ const rows = [];
  let skipped = false;
  texts.forEach((text, i) => {
    const line = source.first + i;
    if (near && !near.has(line)) {
      if (!skipped) rows.push(el("div", { class: "xs-fold" }, "⋯"));
      skipped = true;
      return;
    }
    skipped = false;
    rows.push(drawSourceLine(program, `${source.file}:${line}`, line, text, times));
  });
  return rows;
}

/**
 * Draw the lines of a file that cannot be read: their numbers and times.
 * @param {Program} program
 * @param {SourceText} source
 * @param {Map<string, number>} times
 */
function drawBareLines(program, source, times) {
  const lines = [...program.lines.keys()]
    .map((key) => key.split(":").map(Number))
    .filter(([file]) => file === source.file)
    .map(([, line]) => line);
  return lines.sort((a, b) => a - b).map((line) => drawSourceLine(program, `${source.file}:${line}`, line, "", times));
}

/**
 * @param {Program} program
 * @param {string} key
 * @param {number} line
 * @param {string} text
 * @param {Map<string, number>} times
 */
function drawSourceLine(program, key, line, text, times) {
  const paths = program.lines.get(key);
  const time = times.get(key);
  const tip =
    paths &&
    pluralize(paths.length, "equation") +
      (time == null ? "" : ` · ${formatTime(time)} a call: ${describeSharing(program)}`);
  return el(
    "div",
    {
      class: `xs-line${paths ? " has" : ""}`,
      "data-line": key,
      title: tip,
      role: paths ? "button" : null,
      tabindex: paths ? -1 : null,
    },
    el("span", { class: "xs-n" }, line),
    el("span", { class: "xs-t" }, time == null ? "" : formatTime(time)),
    el("span", { class: "xs-t" }, paths?.length ?? ""),
    el("span", { class: "xs-text", style: `--xs-in:${text.length - text.trimStart().length}` }, text || " "),
  );
}

/** @param {Program} program @param {SourceText} source @param {number} length */
function listNearLines(program, source, length) {
  const near = new Set();
  for (const key of program.lines.keys()) {
    const [file, line] = key.split(":").map(Number);
    if (file === source.file) for (let l = line - AROUND; l <= line + AROUND; l++) near.add(l);
  }
  if (!near.size) for (let l = 0; l < Math.min(length, WHOLE); l++) near.add(source.first + l);
  return near;
}

/** Update the times of the lines in place. @param {Element} pane @param {Store} store */
export function refreshTimes(pane, store) {
  if (!store.program) return;
  const times = getLineTimes(store.program);
  for (const row of pane.querySelectorAll("[data-line]")) {
    const time = times.get(row.getAttribute("data-line") ?? "");
    const cell = row.querySelector(".xs-t");
    if (cell) cell.textContent = time == null ? "" : formatTime(time);
  }
}

/** @param {Element} pane @param {Store} store */
export function highlightSource(pane, store) {
  const { lines } = store.selection;
  let first = null;
  for (const row of pane.querySelectorAll("[data-line]")) {
    const on = lines.has(row.getAttribute("data-line") ?? "");
    row.classList.toggle("selected", on);
    if (on && !first) first = row;
  }
  if (first && store.selection.kind !== "line") scrollInside(pane, first);
}

/** Scroll to the first line that made an equation: a cell may begin with other code. @param {HTMLElement} pane */
export function showFirstLine(pane) {
  const first = /** @type {HTMLElement|null} */ (pane.querySelector(".xs-line.has"));
  if (first && pane.scrollTop === 0) pane.scrollTop = first.offsetTop - pane.clientHeight / 3;
}
