// @ts-check
/** The compiler's passes that changed something: what each added and removed, and which of them removed an operation. */

import { el } from "../program/element.js";
import { count, plural } from "../program/format.js";
import { answeredWords, drawAsk } from "../frame/asks.js";
import { aboutShown } from "./decisions.js";
/** @typedef {import("../program/store.js").Store} Store */
/** @typedef {import("../program/wire.js").Pass} Pass */
/** @typedef {import("../program/wire.js").Passes} Passes */

/** A pass, its place, and what was asked about that it removed. @typedef {{pass: Pass, at: number, gone: string[]}} Changed */

const MOST_LINES = 400;

/** @param {Store} store */
function passesShown(store) {
  return aboutShown(store, store.asks.found(store.measured).passes)[0];
}

/** @param {Store} store */
export function drawPasses(store) {
  const found = passesShown(store);
  const asked = { question: "passes", program: store.measured?.number ?? 0, target: store.aimed };
  if (!found)
    return el("div", { class: "xs-empty" }, el("p", {}, "What each of XLA's passes changed, and which one removed an operation. Taken from a compilation of its own, apart from your program."),
      drawAsk(store, asked, "Ask XLA"));
  const { query } = store.list;
  const shown = query ? removers(store, found, query) : found.passes.map((/** @type {Pass} */ pass, /** @type {number} */ at) => ({ pass, at, gone: [] }));
  return [
    el("div", { class: "xs-list-head" },
      el("input", { class: "xs-field xs-filter", type: "search", placeholder: "which pass removed … (tanh, dot.7)", "aria-label": "which pass removed an operation",
        "data-list": "query", "data-focus": "query", value: query, spellcheck: "false" }),
      el("div", { class: "xs-muted xs-small", role: "status" }, query ? removedWords(shown, query) : `${plural(found.passes.length, "pass", "passes")} changed something · ${answeredWords(found)}`,
        found.note && ` · ${found.note}`)),
    shown.map((each) => drawPass(store, each)),
  ];
}

/** @param {Changed[]} shown @param {string} query */
function removedWords(shown, query) {
  if (!shown.length) return `no pass removed “${query}”`;
  return `“${query}” was removed or rewritten by ${plural(shown.length, "pass", "passes")}: ${[...new Set(shown.map(({ pass }) => pass.name))].join(", ")}`;
}

/** The passes after which nothing was left of an equation that is meant; if there are none, those that took lines away.
 * @param {Store} store @param {Passes} found @param {string} query @returns {Changed[]} */
function removers(store, found, query) {
  const by = (/** @type {(pass: Pass) => string[]} */ gone) => found.passes
    .map((pass, at) => ({ pass, at, gone: gone(pass) })).filter((each) => each.gone.length);
  const equations = by((/** @type {Pass} */ pass) => goneEquations(store, pass, query));
  return equations.length ? equations : by((/** @type {Pass} */ pass) => removedLines(pass, query));
}

/** Equations of which nothing was left after a pass. @param {Store} store @param {Pass} pass @param {string} query @returns {string[]} */
function goneEquations(store, pass, query) {
  const { program } = store;
  const found = (pass.gone ?? []).map((path) => ({ path, equation: program?.equations.get(path) }));
  return found.filter(({ path, equation }) => path === query || equation?.op.includes(query.toLowerCase()))
    .map(({ path, equation }) => `${equation?.op ?? "equation"} ${path}, ${program?.lineOf(path) ?? "no source known"}`);
}

/** Lines that a pass took away for good: their instruction is not among the lines that it added. @param {Pass} pass @param {string} query */
export function removedLines(pass, query) {
  const lines = pass.diff.split("\n");
  const name = (/** @type {string} */ line) => line.slice(1).match(/%?([\w.-]+) = /)?.[1] ?? line;
  const added = new Set(lines.filter((line) => line.startsWith("+")).map(name));
  const word = query.toLowerCase();
  return lines.filter((line) => line.startsWith("-") && !line.startsWith("---") && line.toLowerCase().includes(word) && !added.has(name(line)));
}

/** @param {Store} store @param {Changed} each */
function drawPass(store, { pass, at, gone }) {
  const on = store.list.pass === at;
  const changes = [pass.removed && `−${count(pass.removed)} removed`, pass.added && `+${count(pass.added)} added`, pass.changed && `${count(pass.changed)} changed`].filter(Boolean);
  return el("div", { class: `xs-kernel xs-pass${on ? " open" : ""}`, "data-pass": at, "data-focus": `pass ${at}`, role: "button", tabindex: -1, "aria-expanded": String(on) },
    el("div", { class: "xs-kernel-head" }, el("span", { class: "xs-muted xs-small" }, `${count(at + 1)}`), el("b", { class: "xs-mono" }, pass.name)),
    el("div", { class: "xs-muted xs-small" }, [...changes, `${plural(pass.instructions, "instruction")} after it`, pass.pipeline].filter(Boolean).join(" · ")),
    gone.length > 0 && el("div", { class: "xs-mono xs-small xs-removed" }, gone.slice(0, 3).join("; "), gone.length > 3 && `; ${count(gone.length - 3)} more`),
    on && drawDiff(pass));
}

/** @param {Pass} pass */
function drawDiff(pass) {
  const lines = pass.diff.split("\n");
  const kind = (/** @type {string} */ line) => (/^\+(?!\+\+ )/.test(line) ? "xs-added" : /^-(?!-- )/.test(line) ? "xs-removed" : "xs-muted");
  return el("pre", { class: "xs-diff", tabindex: 0, "aria-label": `what ${pass.name} changed` },
    lines.slice(0, MOST_LINES).map((line) => el("span", { class: kind(line) }, `${line}\n`)),
    (lines.length > MOST_LINES || (pass.cut ?? 0) > 0) && el("span", { class: "xs-muted" }, "… cut here; %passes --save has all of it"));
}

/** A click on a pass; true when it was one. @param {Store} store @param {Element} target */
export function pressPasses(store, target) {
  const at = target.closest("[data-pass]")?.getAttribute("data-pass");
  if (at == null || target.closest(".xs-diff")) return at != null;
  store.turn({ pass: store.list.pass === Number(at) ? -1 : Number(at) });
  return true;
}
