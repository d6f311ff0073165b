// @ts-check
/** Line about the selection, or about the result of a search. */

import { describeKernel } from "../compiler/kernels_pane.js";
import { describeSelection } from "../compiler/why_pane.js";
import { describePaths, describeSearch, drawJumpLinks } from "../graph/explorer.js";
import { el } from "../ground/element.js";
import { pluralize } from "../ground/format.js";
import { describeEquation } from "../program/labels.js";
import { explainTerms } from "../program/terms.js";
/** @typedef {import("../store/store.js").Store} Store */

/** How many results of an equation have a button. */
const MOST_RESULTS = 4;

/** @param {Store} store */
export function drawDetail(store) {
  const { program, selection } = store;
  if (store.query && !(selection.kind === "equation" && store.matches.has(selection.id)))
    return drawSearchResult(store);
  const pending = describePaths(store);
  if (pending && store.start) return [el("code", {}, pending[0]), el("span", { class: "xs-fact" }, pending[1])];
  if (!program || !selection.kind)
    return el(
      "span",
      { class: "xs-muted" },
      "Click an equation, a line, a kernel or a bar. Arrow keys walk, Enter opens, / searches, ? lists all keys.",
    );
  if (selection.kind === "equation") {
    const [line, ...facts] = describeEquation(program, selection.id);
    return [
      store.query && el("div", {}, drawSearchResult(store)),
      el("code", {}, line),
      drawJumpLinks(store),
      drawLookLinks(store),
      facts.map((part) => el("span", { class: "xs-fact" }, explainTerms(part))),
    ];
  }
  const several = describePaths(store) ?? describeSelection(store);
  if (several)
    return [
      el("code", {}, several[0]),
      drawLookLinks(store),
      several.slice(1).map((part) => el("span", { class: "xs-fact" }, explainTerms(part))),
    ];
  const kernel = selection.kind === "kernel" && program.kernels.get(selection.id);
  const title = kernel ? selection.id : `line ${selection.id.split(":")[1]}`;
  const words = kernel
    ? describeKernel(program, kernel)
    : [pluralize(selection.paths.size, "equation"), pluralize(selection.kernels.size, "kernel")];
  return [el("code", {}, title), words.map((part) => el("span", { class: "xs-fact" }, explainTerms(part)))];
}

/**
 * Draw a button for each result of the selected equation, or each value of the selected edge, whose elements can be
 * shown: of a call whose values are known.
 * @param {Store} store
 */
function drawLookLinks({ program, selection, queries }) {
  if (!program?.values.heat) return null;
  const [from, to] = selection.kind === "edge" ? JSON.parse(selection.id) : [selection.id];
  const names = program.equations.get(from)?.out ?? [];
  const used = new Set(program.equations.get(to)?.in);
  const results = [...names.entries()].filter(
    ([, name]) => name !== "_" && (used.has(name) || !names.some((n) => used.has(n))),
  );
  return results.slice(0, MOST_RESULTS).map(([index, name]) =>
    el(
      "button",
      {
        class: "xs-link",
        type: "button",
        "data-look": JSON.stringify({ program: program.number, path: from, position: "result", index }),
        disabled: queries.canAsk("look") ? null : "",
        title: queries.canAsk("look") ? "show its elements (v)" : "its elements need the kernel: run the cell again",
      },
      `look into ${name}: ${program.getType(name)}`,
    ),
  );
}

/** @param {Store} store */
function drawSearchResult(store) {
  return el("span", { class: "xs-muted" }, describeSearch(store));
}
