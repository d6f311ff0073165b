// @ts-check
/** Compiler passes that changed something: the lines each added and removed, and which pass removed an operation. */

import { el } from "../ground/element.js";
import { formatInt, pluralize } from "../ground/format.js";
import { describeAnswer, drawQuery } from "../parts/question_form.js";
import { registerPane } from "../parts/panes.js";
import { filterForTarget } from "./fusion_decisions.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../ground/wire.js").Pass} Pass */
/** @typedef {import("../ground/wire.js").Passes} Passes */

/**
 * A pass, its place, and what was asked about that it removed.
 * @typedef {{pass: Pass, at: number, gone: string[]}} Changed
 */

const MOST_LINES = 400;

/** @param {Store} store */
function findPasses(store) {
  return filterForTarget(store, store.queries.listFindings(store.measured).passes)[0];
}

/** @param {Store} store */
function drawPasses(store) {
  const answer = findPasses(store);
  const question = { question: "passes", program: store.measured?.number ?? 0, target: store.aimed };
  if (!answer)
    return el(
      "div",
      { class: "xs-empty" },
      el(
        "p",
        {},
        "What each of XLA's passes changed, and which one removed an operation. Taken from a compilation of its own, apart from your program.",
      ),
      drawQuery(store, question, "Ask XLA"),
    );
  const { query } = store.list;
  const entries = query
    ? findRemovingPasses(store, answer, query)
    : answer.passes.map((/** @type {Pass} */ pass, /** @type {number} */ at) => ({ pass, at, gone: [] }));
  return [
    el(
      "div",
      { class: "xs-list-head" },
      el("input", {
        class: "xs-field xs-filter",
        type: "search",
        placeholder: "which pass removed … (tanh, dot.7)",
        "aria-label": "which pass removed an operation",
        "data-list": "query",
        "data-focus": "query",
        value: query,
        spellcheck: "false",
      }),
      el(
        "div",
        { class: "xs-muted xs-small", role: "status" },
        query
          ? describeRemoved(entries, query)
          : `${pluralize(answer.passes.length, "pass", "passes")} changed something · ${describeAnswer(answer)}`,
        answer.note && ` · ${answer.note}`,
      ),
    ),
    entries.map((entry) => drawPass(store, entry)),
  ];
}

/** @param {Changed[]} entries @param {string} query */
function describeRemoved(entries, query) {
  if (!entries.length) return `no pass removed “${query}”`;
  return `“${query}” was removed or rewritten by ${pluralize(entries.length, "pass", "passes")}: ${[...new Set(entries.map(({ pass }) => pass.name))].join(", ")}`;
}

/**
 * Return the passes that removed the last trace of a matching equation, or else those that removed matching lines.
 * @param {Store} store
 * @param {Passes} answer
 * @param {string} query
 * @returns {Changed[]}
 */
function findRemovingPasses(store, answer, query) {
  const selectPassesBy = (/** @type {(pass: Pass) => string[]} */ gone) =>
    answer.passes.map((pass, at) => ({ pass, at, gone: gone(pass) })).filter((entry) => entry.gone.length);
  const equations = selectPassesBy((/** @type {Pass} */ pass) => listRemovedEquations(store, pass, query));
  return equations.length ? equations : selectPassesBy((/** @type {Pass} */ pass) => listRemovedLines(pass, query));
}

/**
 * Return the equations of which nothing was left after a pass.
 * @param {Store} store
 * @param {Pass} pass
 * @param {string} query
 * @returns {string[]}
 */
function listRemovedEquations(store, pass, query) {
  const { program } = store;
  const removed = (pass.gone ?? []).map((path) => ({ path, equation: program?.equations.get(path) }));
  return removed
    .filter(({ path, equation }) => path === query || equation?.op.includes(query.toLowerCase()))
    .map(
      ({ path, equation }) =>
        `${equation?.op ?? "equation"} ${path}, ${program?.formatLine(path) ?? "no source information"}`,
    );
}

/**
 * Return the lines that a pass removed for good: their instruction is not among the lines that it added.
 * @param {Pass} pass
 * @param {string} query
 */
export function listRemovedLines(pass, query) {
  const lines = pass.diff.split("\n");
  const name = (/** @type {string} */ line) => line.slice(1).match(/%?([\w.-]+) = /)?.[1] ?? line;
  const added = new Set(lines.filter((line) => line.startsWith("+")).map(name));
  const word = query.toLowerCase();
  return lines.filter(
    (line) =>
      line.startsWith("-") && !line.startsWith("---") && line.toLowerCase().includes(word) && !added.has(name(line)),
  );
}

/** @param {Store} store @param {Changed} each */
function drawPass(store, { pass, at, gone }) {
  const on = store.list.pass === at;
  const { program } = store;
  const all = pass.gone ?? [];
  const names =
    !program || gone.length
      ? []
      : [
          ...new Set(
            all
              .slice(0, 60)
              .map((path) => program.describeEquations([path]))
              .filter(Boolean),
          ),
        ];
  const changes = [
    pass.removed && `−${formatInt(pass.removed)}`,
    pass.added && `+${formatInt(pass.added)}`,
    pass.changed && `${formatInt(pass.changed)} changed`,
  ].filter(Boolean);
  const head = pass.does ? pass.does[0].toUpperCase() + pass.does.slice(1) : pass.name;
  return el(
    "div",
    {
      class: `xs-kernel xs-pass${on ? " open" : ""}`,
      "data-pass": at,
      "data-focus": `pass ${at}`,
      role: "button",
      tabindex: -1,
      "aria-expanded": String(on),
    },
    el(
      "div",
      { class: "xs-pass-head" },
      el("span", { class: "xs-muted xs-small" }, `${formatInt(at + 1)} `),
      el("b", {}, head),
    ),
    gone.length > 0 &&
      el(
        "div",
        { class: "xs-mono xs-small xs-removed" },
        gone.slice(0, 3).join("; "),
        gone.length > 3 && `; ${formatInt(gone.length - 3)} more`,
      ),
    names.length > 0 &&
      el(
        "div",
        { class: "xs-small" },
        "nothing left of ",
        names.slice(0, 4).join("; "),
        names.length > 4 && `; ${formatInt(names.length - 4)} more`,
      ),
    el(
      "div",
      { class: "xs-muted xs-small" },
      `${changes.join(" ")}, ${pluralize(pass.instructions, "instruction")} after it · XLA’s pass `,
      el("span", { class: "xs-mono" }, pass.name),
      ` in ${pass.pipeline}`,
    ),
    on && drawDiff(store, pass),
  );
}

/**
 * A line of a diff: its sign, its text, and the equations it belongs to.
 * @typedef {{sign: string, text: string, paths: string[]}} DiffLine
 */
/**
 * What stood before, and what stands in its place; either may be nothing.
 * @typedef {[DiffLine|null, DiffLine|null]} DiffPair
 */

/** @param {Pass} pass @returns {DiffLine[]} */
function parseDiffLines(pass) {
  return pass.diff
    .split("\n")
    .filter(Boolean)
    .map((line, i) => ({
      sign: /^[+-](?![+-]{2} )/.test(line) ? line[0] : "",
      text: line,
      paths: (pass.lines?.[i] ?? "").split(";").filter(Boolean),
    }));
}

/**
 * Pair lines about one instruction, or else about one equation, in one row.
 * @param {DiffLine[]} lines
 * @returns {DiffPair[]}
 */
export function pairDiffLines(lines) {
  const added = lines.filter((line) => line.sign === "+");
  const name = (/** @type {DiffLine} */ line) => line.text.slice(1).match(/%?([\w.-]+) = /)?.[1];
  /** @type {Map<DiffLine, DiffLine>} */ const partner = new Map();
  for (const alike of [
    (/** @type {DiffLine} */ a, /** @type {DiffLine} */ b) => name(a) != null && name(a) === name(b),
    (/** @type {DiffLine} */ a, /** @type {DiffLine} */ b) => a.paths.length > 0 && a.paths.join() === b.paths.join(),
  ]) {
    const free = new Set(added.filter((line) => ![...partner.values()].includes(line)));
    for (const line of lines.filter(({ sign }) => sign === "-")) {
      const other = partner.has(line) ? undefined : [...free].find((candidate) => alike(line, candidate));
      if (other && free.delete(other)) partner.set(line, other);
    }
  }
  const partners = new Set(partner.values());
  return lines
    .filter((line) => !partners.has(line))
    .map((line) => (line.sign === "+" ? [null, line] : [line, partner.get(line) ?? null]));
}

/**
 * Draw before and after side by side where there is room, limited to the selection if there is one.
 * @param {Store} store
 * @param {Pass} pass
 */
function drawDiff(store, pass) {
  const { program, selection, list } = store;
  const every = parseDiffLines(pass);
  const chosen = every.filter((line) => line.paths.some((path) => selection.paths.has(path)));
  const filtered = selection.paths.size > 0 && (pass.lines?.length ?? 0) > 0 && !list.whole;
  const pairs = pairDiffLines((filtered ? chosen : every).slice(0, MOST_LINES));
  const drawCell = (/** @type {DiffLine|null} */ line, /** @type {string} */ kind) =>
    el(
      "code",
      { class: line ? (line.sign ? kind : "xs-muted") : "xs-nothing" },
      line && [
        line.sign ? el("span", { "aria-hidden": "true" }, line.sign, " ") : "",
        line.sign ? line.text.slice(1) : line.text,
        line.paths.length > 0 && program && el("span", { class: "xs-of" }, program.describeEquations(line.paths)),
      ],
    );
  return el(
    "div",
    { class: "xs-diff", tabindex: 0, role: "group", "aria-label": `what ${pass.name} changed` },
    selection.paths.size > 0 &&
      (pass.lines?.length ?? 0) > 0 &&
      el(
        "div",
        { class: "xs-small" },
        el(
          "span",
          { class: "xs-muted" },
          filtered
            ? `${formatInt(chosen.length)} of ${pluralize(every.length, "line")}: about what is selected `
            : "all lines ",
        ),
        el(
          "button",
          { class: "xs-link", type: "button", "data-whole": "", "data-focus": "whole" },
          filtered ? "all lines" : "only about what is selected",
        ),
      ),
    pairs.length > 0 &&
      el(
        "div",
        { class: "xs-diff-row xs-muted", "aria-hidden": "true" },
        el("span", {}, "before"),
        el("span", {}, "after"),
      ),
    pairs.map(([before, after]) =>
      el("div", { class: "xs-diff-row" }, drawCell(before, "xs-removed"), drawCell(after, "xs-added")),
    ),
    (every.length > MOST_LINES || (pass.cut ?? 0) > 0) &&
      el("div", { class: "xs-muted" }, "… cut here; %passes --save has all of it"),
  );
}

registerPane({
  id: "passes",
  place: "side",
  order: 4,
  title: "passes",
  tip: "what each of XLA's passes changed",
  draw: drawPasses,
  wanted: (store) => store.queries.listFindings(store.measured).passes.length > 0,
  press: handlePassesClick,
});

/** Handle a click on a pass; return whether it was one. @param {{store: Store}} panel @param {Element} target */
function handlePassesClick({ store }, target) {
  const at = target.closest("[data-pass]")?.getAttribute("data-pass");
  if (target.closest("[data-whole]")) {
    store.updateList({ whole: !store.list.whole });
    return true;
  }
  if (at == null || target.closest(".xs-diff")) return at != null;
  store.updateList({ pass: store.list.pass === Number(at) ? -1 : Number(at) });
  return true;
}
