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
      facts.map((part) => el("span", { class: "xs-fact" }, explainTerms(part))),
    ];
  }
  const several = describePaths(store) ?? describeSelection(store);
  if (several)
    return [
      el("code", {}, several[0]),
      several.slice(1).map((part) => el("span", { class: "xs-fact" }, explainTerms(part))),
    ];
  const kernel = selection.kind === "kernel" && program.kernels.get(selection.id);
  const title = kernel ? selection.id : `line ${selection.id.split(":")[1]}`;
  const words = kernel
    ? describeKernel(program, kernel)
    : [pluralize(selection.paths.size, "equation"), pluralize(selection.kernels.size, "kernel")];
  return [el("code", {}, title), words.map((part) => el("span", { class: "xs-fact" }, explainTerms(part)))];
}

/** @param {Store} store */
function drawSearchResult(store) {
  return el("span", { class: "xs-muted" }, describeSearch(store));
}
