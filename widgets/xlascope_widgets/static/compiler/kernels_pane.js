// @ts-check
/**
 * List of XLA's kernels, sorted and filtered: their equations, times, bytes saved by fusion, and operands from others.
 */

import { el } from "../ground/element.js";
import { formatBytes, formatInt, formatPercent, formatTime, pluralize, shorten } from "../ground/format.js";
import { drawQuery } from "../parts/question_form.js";
import { registerPane } from "../parts/panes.js";
import { listBoundaries } from "../program/kernel_boundaries.js";
import {
  describeCollective,
  formatEstimates,
  formatKernels,
  rankUnmeasured,
  sortKernelsByTime,
  labelKernel,
} from "../program/stage_labels.js";
import { explainTerms } from "../program/terms.js";
import { drawNoKernels } from "../program/unreadable_notes.js";
import { formatBoundarySize, MOST_LISTED } from "./kernel_boundaries_pane.js";
import { describeTarget, drawTargetTable } from "./target_tabs.js";
import { drawWhy, drawWhyNotButton } from "./why_pane.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../ground/wire.js").Kernel} Kernel */

/** XLA's kinds of kernel in plain words. @type {Record<string, string>} */
export const KINDS = {
  loop: "loop fusion: one loop over the elements of the result; for each it computes the whole chain, and what lies between stays in registers",
  input: "input fusion: ends in a reduction; what comes before it is computed while its input is read",
  output:
    "output fusion: begins with a matrix product or convolution; what follows is applied to its result before that is written",
  custom: "custom fusion: handed as a whole to a code generator or library of this back end",
  "library call": "library call: XLA hands it to a library (a matrix product, say) and generates no code for it",
  call: "holds kernels of its own: a loop, a branch or a called computation, listed as they run",
  single: "a single operation, with nothing fused into it",
};

/**
 * Orders of the list; each gives a number, the largest first.
 * @type {Record<string, {word: string, of: (program: Program, kernel: Kernel) => number}>}
 */
const ORDERS = {
  time: {
    word: "time",
    of: (program, kernel) =>
      program.times.get(kernel.name) ?? kernel.estimate ?? kernel.cycles ?? rankUnmeasured(kernel),
  },
  bytes: { word: "bytes read and written", of: (_, kernel) => kernel.read + kernel.written },
  saved: { word: "bytes saved", of: (_, kernel) => kernel.saved },
  run: { word: "order they run in", of: () => 0 },
};

/** @param {Store} store */
function drawKernels(store) {
  const program = /** @type {Program} */ (store.program);
  if (!program.heavy.kernels)
    return [
      drawWhy(store),
      el(
        "div",
        { class: "xs-empty" },
        "not compiled yet: kernels are known when the function has been called, or after %fusions f(x), which compiles and does not run it",
      ),
    ];
  const unread = drawNoKernels(program);
  if (unread) return [drawWhy(store), unread, drawTargetTable(store)];
  const kernels = sortKernels(store);
  const [all, listed] = [program.heavy.kernels, kernels.slice(0, MOST_LISTED)];
  const unknown = all.filter((kernel) => !kernel.eqns.length).length;
  const copies = all.filter((kernel) => kernel.moves || kernel.copies).length;
  const single = all.filter((kernel) => new Set(kernel.eqns).size === 1).length;
  const saved = all.reduce((sum, kernel) => sum + kernel.saved, 0);
  const tail = [
    single && `${pluralize(single, "kernel")} with one equation`,
    copies && `${formatInt(copies)} that only ${copies === 1 ? "copies" : "copy"}`,
    unknown > copies && `${formatInt(unknown - copies)} with no source information`,
    kernels.length > MOST_LISTED && `${formatInt(kernels.length - MOST_LISTED)} more not listed`,
    saved && `fusing saved ${formatBytes(saved)} of reads and writes (roofline estimate)`,
    formatEstimates(program),
  ].filter(Boolean);
  return [
    el(
      "div",
      { class: "xs-list-head" },
      el("div", { class: "xs-muted xs-small" }, explainTerms(describeTarget(program) || formatKernels(program))),
      drawListTools(store, kernels.length),
    ),
    drawTargetTable(store),
    drawWhy(store),
    listed.map((kernel) => drawKernel(store, program, kernel)),
    tail.length > 0 && el("div", { class: "xs-kernel-tail xs-muted" }, explainTerms(tail.join(" · "))),
  ];
}

/** @param {Store} store @param {number} kernels */
function drawListTools(store, kernels) {
  const { list, program } = store;
  const filtered =
    list.filter &&
    el(
      "span",
      { class: "xs-muted xs-small", role: "status" },
      `${formatInt(kernels)} of ${formatInt(program?.heavy.kernels?.length ?? 0)}`,
    );
  return el(
    "div",
    { class: "xs-list-tools" },
    el(
      "label",
      { class: "xs-muted xs-small" },
      "by ",
      el(
        "select",
        { class: "xs-field", "data-list": "sort", "data-focus": "sort" },
        Object.entries(ORDERS).map(([name, { word }]) =>
          el("option", { value: name, selected: list.sort === name ? "" : null }, word),
        ),
      ),
    ),
    el("input", {
      class: "xs-field xs-filter",
      type: "search",
      placeholder: "filter",
      "aria-label": "filter kernels by name, kind or operation",
      "data-list": "filter",
      "data-focus": "filter",
      value: list.filter,
      spellcheck: "false",
    }),
    filtered,
  );
}

/** @param {Store} store @returns {Kernel[]} */
function sortKernels(store) {
  const { list } = store;
  const program = /** @type {Program} */ (store.program);
  const words = list.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const { of } = ORDERS[list.sort];
  return sortKernelsByTime(program, (kernel) => of(program, kernel)).filter((kernel) => {
    const text = words.length
      ? `${kernel.name} ${kernel.kind} ${kernel.type} ${kernel.eqns.map((/** @type {string} */ path) => findOperationName(program, path)).join(" ")}`.toLowerCase()
      : "";
    return words.every((/** @type {string} */ word) => text.includes(word));
  });
}

/** @param {Store} store @param {Program} program @param {Kernel} kernel */
function drawKernel(store, program, kernel) {
  const { title, origin, facts, pass, time } = labelKernel(program, kernel);
  const { name } = kernel;
  const share = program.account?.kernels[name]?.[2] ?? 0;
  const single = new Set(kernel.eqns).size === 1;
  const [kind, ...rest] = facts;
  const open = store.selection.kernels.size === 1 && store.selection.kernels.has(name);
  return el(
    "div",
    {
      class: `xs-kernel${store.selection.kernels.has(name) ? " selected" : ""}`,
      "data-kernel": name,
      role: open ? "group" : "button",
      "aria-label": open ? name : null,
      tabindex: -1,
      "aria-expanded": open ? null : "false",
    },
    el(
      "div",
      { class: "xs-kernel-head" },
      el("i", { class: `xs-chip pass-${pass}` }),
      el("b", { class: "xs-mono", title: `XLA's name: ${shorten(name, 200)}` }, title),
      el("span", { class: "xs-kernel-origin xs-mono xs-muted", title: origin }, origin),
      drawKernelTime(kernel, time),
    ),
    time != null &&
      el(
        "div",
        { class: "xs-track", title: `${formatPercent(share)} of the kernels' time (measured)` },
        el("i", { class: `xs-share pass-${pass}`, style: `width:${(share * 100).toFixed(1)}%` }),
      ),
    el(
      "div",
      { class: "xs-muted" },
      el("span", { class: "xs-kind", title: KINDS[kind] ?? "" }, kind),
      ["", ...rest].join(" · "),
      single && [" · ", el("span", { class: "xs-mono xs-small" }, listEquationNames(program, kernel))],
    ),
    !single &&
      kernel.eqns.length > 0 &&
      el("div", { class: "xs-mono xs-small xs-names" }, listEquationNames(program, kernel)),
    open && drawKernelDetails(store, program, kernel),
  );
}

/** @param {Kernel} kernel @param {number|undefined} time */
function drawKernelTime(kernel, time) {
  if (time != null) return el("span", { class: "xs-num", title: "measured" }, formatTime(time));
  const estimated = kernel.estimate ? formatTime(kernel.estimate) : kernel.cycles && pluralize(kernel.cycles, "cycle");
  return estimated && el("span", { class: "xs-num xs-muted", title: "estimated, not measured" }, `≈ ${estimated}`);
}

/**
 * Draw the details of the selected kernel: its kind in words, its sizes and its neighbours.
 * @param {Store} store
 * @param {Program} program
 * @param {Kernel} kernel
 */
function drawKernelDetails(store, program, kernel) {
  const all = listBoundaries(program);
  const written = all.filter((boundary) => boundary.from === kernel.name);
  const reads = all.filter((boundary) => boundary.to.includes(kernel.name));
  return el(
    "div",
    { class: "xs-more xs-small" },
    el(
      "div",
      {},
      el("span", { class: "xs-muted" }, "XLA's name "),
      el("code", { class: "xs-mono" }, shorten(kernel.name, 200)),
    ),
    el("div", { class: "xs-muted" }, KINDS[kernel.kind] ?? ""),
    el(
      "div",
      { class: "xs-muted" },
      explainTerms([kernel.type, kernel.layout, kernel.launch, ...describeSizes(kernel)].filter(Boolean).join(" · ")),
    ),
    reads.map((boundary) => drawNeighbour(program, "reads", boundary, boundary.from, kernel.name, boundary.from)),
    written.flatMap((boundary) =>
      boundary.to.map((to) => drawNeighbour(program, "read by", boundary, kernel.name, to, to)),
    ),
    drawCode(store, kernel),
  );
}

/** Draw the machine code of a kernel, where its compiler provides it. @param {Store} store @param {Kernel} kernel */
function drawCode(store, kernel) {
  const [stage, word] =
    { cpu: ["asm", "assembly"], gpu: ["ptx", "PTX"], cuda: ["ptx", "PTX"] }[
      /** @type {"cpu"} */ (store.program?.heavy.platform)
    ] ?? [];
  if (!stage || !store.queries.questions.includes("code")) return null;
  const query = {
    question: "code",
    program: store.measured?.number ?? 0,
    target: store.aimed,
    from: kernel.name,
    to: stage,
  };
  const text = store.queries.getText(query);
  return text
    ? el("pre", { class: "xs-answer", tabindex: 0, "aria-label": `${word} of ${kernel.name}` }, text)
    : drawQuery(store, query, `Show its ${word}`);
}

/**
 * @param {Program} program
 * @param {string} verb
 * @param {import("../program/kernel_boundaries.js").Crossing} boundary
 * @param {string} from
 * @param {string} to
 * @param {string} name
 */
function drawNeighbour(program, verb, boundary, from, to, name) {
  return el(
    "div",
    { class: "xs-neighbour" },
    el("span", { class: "xs-muted" }, `${verb} `),
    el("span", { title: `XLA's name: ${name}` }, program.describeKernel(name)),
    el("span", { class: "xs-muted" }, ` ${boundary.type}, ${formatBoundarySize(boundary)} `),
    drawWhyNotButton(from, to),
  );
}

/** @param {Kernel} kernel @returns {string[]} */
function describeSizes(kernel) {
  const saved = kernel.saved
    ? `, saved ${formatBytes(kernel.saved)} of intermediate results, neither written nor read back`
    : "";
  const sizes = `reads ${formatBytes(kernel.read)}, writes ${formatBytes(kernel.written)}${saved} (roofline estimate)`;
  const facts = [...describeCollective(kernel), sizes];
  return kernel.unknown
    ? [...facts, `${kernel.unknown} of ${pluralize(kernel.instructions, "instruction")} with no source information`]
    : facts;
}

/**
 * Return the facts for the line about a selected kernel.
 * @param {Program} program
 * @param {Kernel} kernel
 * @returns {string[]}
 */
export function describeKernel(program, kernel) {
  const [time, runs, share] = program.account?.kernels[kernel.name] ?? [];
  const often = runs && runs > 1.5 ? ` in ${formatInt(runs)} runs` : "";
  const measured =
    time == null
      ? []
      : [`${formatTime(time)} a call${often}, ${formatPercent(share ?? 0)} of the kernels' time (measured)`];
  return [labelKernel(program, kernel).facts.slice(0, 2).join(", "), ...measured, ...describeSizes(kernel)];
}

/**
 * Return the names of a kernel's equations, "add ▸ tanh ▸ mul"; repeats are listed once.
 * @param {Program} program
 * @param {Kernel} kernel
 */
function listEquationNames(program, kernel) {
  const { eqns, repeats = 1 } = kernel;
  const names = [...new Set(eqns.length % repeats ? eqns : eqns.filter((_, i) => i % repeats === 0))].map((path) =>
    findOperationName(program, /** @type {string} */ (path)),
  );
  const text = names.slice(0, 8).join(" ▸ ");
  return names.length > 8 ? `${text} ▸ ${names.length - 8} more` : text;
}

/** @param {Program} program @param {string} path */
function findOperationName(program, path) {
  return program.equations.get(path)?.op ?? "?";
}

registerPane({
  id: "kernels",
  place: "side",
  order: 1,
  title: "kernels",
  tip: "the kernels that XLA made",
  draw: drawKernels,
  press: handleListClick,
});

/**
 * Handle a click in a list: select two kernels, the kernels that one value connects, or one kernel more.
 * @param {import("../parts/panel_interface.js").Panel} panel
 * @param {Element} target
 * @param {boolean} add
 */
function handleListClick({ store, graph }, target, add) {
  const why = target.closest("[data-why]")?.getAttribute("data-why");
  const several = target.closest("[data-kernels]")?.getAttribute("data-kernels");
  const kernel = target.closest("[data-kernel]")?.getAttribute("data-kernel");
  const isSecond = add && store.selection.kind === "kernel" && store.selection.id !== kernel;
  if (target.closest("select, input, pre")) return true;
  if (why) store.selectKernels(JSON.parse(why));
  else if (several) store.selectKernels(JSON.parse(several));
  else if (kernel && isSecond) store.selectKernels([store.selection.id, kernel]);
  else return false;
  graph.showSelection();
  return true;
}
