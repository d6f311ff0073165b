// @ts-check
/** List of the values passed between kernels through memory, the largest first. */

import { el } from "../ground/element.js";
import { formatBytes, formatInt, pluralize } from "../ground/format.js";
import { listBoundaries } from "../program/kernel_boundaries.js";
import { explainTerms, TERMS } from "../program/terms.js";
import { registerPane } from "../parts/panes.js";
import { drawNoKernels } from "../program/unreadable_notes.js";
import { drawWhy, drawWhyNotButton, findSelectedPair } from "./why_pane.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */

/** Items of a list that are drawn. */
export const MOST_LISTED = 400;

/** @param {Store} store */
function drawBoundaries(store) {
  const program = /** @type {Program} */ (store.program);
  const all = listBoundaries(program);
  const total = all.reduce((sum, boundary) => sum + boundary.bytes * (1 + boundary.to.length), 0);
  if (!program.heavy.kernels)
    return el("div", { class: "xs-empty" }, "Not compiled yet: kernel boundaries are known after compilation.");
  const unread = drawNoKernels(program);
  if (unread) return unread;
  if (!all.length)
    return el(
      "div",
      { class: "xs-empty" },
      "Nothing passes from one kernel to another: every kernel reads arguments only.",
    );
  return [
    el(
      "div",
      { class: "xs-list-head xs-muted xs-small" },
      explainTerms(
        `${pluralize(all.length, "array")} between kernels: ${formatBytes(total)} written and read back a call (roofline estimate). Each was not fused away.`,
      ),
    ),
    drawWhy(store),
    all.slice(0, MOST_LISTED).map((boundary) => drawBoundary(store, boundary)),
    all.length > MOST_LISTED &&
      el("div", { class: "xs-kernel-tail xs-muted" }, `${formatInt(all.length - MOST_LISTED)} more not listed`),
  ];
}

registerPane({
  id: "crossing",
  place: "side",
  order: 2,
  title: "boundaries",
  tip: `kernel boundaries: each ${TERMS["kernel boundary"]}`,
  draw: drawBoundaries,
});

/**
 * Format the bytes of a value; a TPU keeps some of them on the chip.
 * @param {import("../program/kernel_boundaries.js").Crossing} boundary
 */
export function formatBoundarySize(boundary) {
  return boundary.bytes ? formatBytes(boundary.bytes) : "stays on the chip";
}

/** @param {Store} store @param {import("../program/kernel_boundaries.js").Crossing} boundary */
function drawBoundary(store, boundary) {
  const id = JSON.stringify([boundary.from, ...boundary.to]);
  const on = store.selection.kind === "kernels" && (store.selection.id === id || isFromSelectedWriter(store, boundary));
  const { program } = store;
  const drawKernelName = (/** @type {string} */ name) =>
    el("span", { title: `XLA's name: ${name}` }, program?.describeKernel(name));
  return el(
    "div",
    {
      class: `xs-kernel xs-crossing${on ? " selected" : ""}`,
      "data-kernels": id,
      "data-focus": `crossing ${boundary.result} ${boundary.from}`,
      role: "button",
      tabindex: -1,
      "aria-expanded": String(on),
    },
    el(
      "div",
      { class: "xs-kernel-head" },
      el("b", { class: "xs-mono" }, boundary.type),
      el("span", { class: "xs-num" }, formatBoundarySize(boundary)),
    ),
    el(
      "div",
      { class: "xs-muted xs-small" },
      "written by ",
      drawKernelName(boundary.from),
      " · read by ",
      boundary.to.length > 3 && !on
        ? `${boundary.to.length} kernels`
        : boundary.to.map((name, i) => [
            i ? " · " : "",
            drawKernelName(name),
            on && [" ", drawWhyNotButton(boundary.from, name)],
          ]),
    ),
  );
}

/**
 * Return whether the selected pair is the writer and a reader of this value.
 * @param {Store} store
 * @param {import("../program/kernel_boundaries.js").Crossing} boundary
 */
function isFromSelectedWriter(store, boundary) {
  const pair = findSelectedPair(store);
  return Boolean(pair && pair.from === boundary.from && boundary.to.includes(pair.to ?? ""));
}
