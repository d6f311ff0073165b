// @ts-check
/** The line about what is selected, or what a search has found. */

import { kernelFacts } from "../compiler/kernels_pane.js";
import { severalWords } from "../compiler/why_pane.js";
import { betweenWords, foundWords, jumpLinks } from "../graph/explorer.js";
import { el } from "../ground/element.js";
import { plural } from "../ground/format.js";
import { describe } from "../program/labels.js";
/** @typedef {import("../store/store.js").Store} Store */

/** @param {Store} store */
export function drawDetail(store) {
  const { program, selection } = store;
  if (store.query && !(selection.kind === "equation" && store.found.has(selection.id))) return found(store);
  const begun = betweenWords(store);
  if (begun && store.start) return [el("code", {}, begun[0]), el("span", { class: "xs-fact" }, begun[1])];
  if (!program || !selection.kind)
    return el(
      "span",
      { class: "xs-muted" },
      "Click an equation, a line, a kernel or a bar. Arrow keys walk, Enter opens, / searches, ? lists all keys.",
    );
  if (selection.kind === "equation") {
    const [line, ...rest] = describe(program, selection.id);
    return [
      store.query && el("div", {}, found(store)),
      el("code", {}, line),
      jumpLinks(store),
      rest.map((part) => el("span", { class: "xs-fact" }, part)),
    ];
  }
  const several = betweenWords(store) ?? severalWords(store);
  if (several)
    return [el("code", {}, several[0]), several.slice(1).map((part) => el("span", { class: "xs-fact" }, part))];
  const kernel = selection.kind === "kernel" && program.kernels.get(selection.id);
  const what = kernel ? selection.id : `line ${selection.id.split(":")[1]}`;
  const words = kernel
    ? kernelFacts(program, kernel)
    : [plural(selection.paths.size, "equation"), plural(selection.kernels.size, "kernel")];
  return [el("code", {}, what), words.map((part) => el("span", { class: "xs-fact" }, part))];
}

/** @param {Store} store */
function found(store) {
  return el("span", { class: "xs-muted" }, foundWords(store));
}
