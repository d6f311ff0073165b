// @ts-check
/** What takes the time: kernels, equations or lines with their shares, rates, and what bounds them on this machine. */

import { el } from "../program/element.js";
import { byteSize, flopCount, percent, plural, seconds, shorten } from "../program/format.js";
import { UNREAD_PROFILE, drawUnread } from "../program/unread.js";
import { lineTimes } from "../frame/source_pane.js";
/** @typedef {import("../program/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../program/wire.js").Kernel} Kernel */

const MOST_HOT = 60;
const NUMBERS = new Set(["self time", "time", "FLOP/s", "B/s"]);
const HOT_BY = ["kernels", "equations", "lines"];

/** Operations, bytes and bound of one run of a kernel. An equation's operations are split over the kernels it ended up in.
 * @param {Program} program @param {Kernel|undefined} kernel @param {number} time seconds of one run */
export function kernelRates(program, kernel, time) {
  if (!kernel || kernel.kind === "call" || !(time > 0)) return { flops: 0, bytes: 0, bound: "", part: 0 };
  let flops = 0;
  for (const path of new Set(kernel.eqns)) {
    const equation = program.equations.get(path);
    if (!equation?.flops || equation.bodies) continue;
    flops += equation.flops / (program.kernelsOf.get(path) ?? []).filter((other) => other.kind !== "call").length;
  }
  const bytes = kernel.read + kernel.written;
  const top = program.ceilings;
  if (!top || !(flops || bytes)) return { flops, bytes, bound: "", part: 0 };
  const [compute, memory] = [flops / top.flops_per_s, bytes / top.bytes_per_s];
  return { flops, bytes, bound: compute > memory ? "compute" : "memory", part: Math.max(compute, memory) / time };
}

/** @param {Program} program */
export function hottestWords(program) {
  if (program.target) return `compiled for ${program.target}, which is not measured here`;
  if (!program.times.size && program.light.executed?.notes) return UNREAD_PROFILE;
  if (!program.times.size) return "not measured yet: run it, or ask %timings";
  const top = program.ceilings;
  return top ? `at most ${flopCount(top.flops_per_s)}/s and ${byteSize(top.bytes_per_s)}/s (${top.source})` :
    "what bounds a kernel is known once the machine's ceilings are measured: ask %timings";
}

/** @param {Store} store @param {{by: string, order: string}} state */
export function drawHottest(store, state) {
  const program = /** @type {Program} */ (store.program);
  if (!program.times.size) return [drawUnread(program.light.executed?.notes)];
  const rows = { kernels: kernelRows, equations: equationRows, lines: lineRows }[state.by] ?? kernelRows;
  const { head, body, note } = rows(program, state.order);
  return [
    el("div", { class: "xs-hot-tools" }, HOT_BY.map((by) => el("button", { class: `xs-pill${state.by === by ? " on" : ""}`, type: "button",
      "data-time": `by ${by}`, "aria-pressed": String(state.by === by) }, by)), el("span", { class: "xs-muted xs-small" }, note)),
    el("div", { class: "xs-time-list" }, el("table", { class: "xs-hot" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body.slice(0, MOST_HOT))),
      body.length > MOST_HOT && el("div", { class: "xs-muted xs-small" }, `${plural(body.length - MOST_HOT, "more " + state.by.slice(0, -1))} with less`)),
  ];
}

/** @param {string} text @param {string} [order] @param {string} [current] @param {string} [tip] */
function heading(text, order, current, tip) {
  const side = NUMBERS.has(text) ? "xs-right" : null;
  if (!order) return el("th", { class: side, title: tip, scope: "col" }, text);
  return el("th", { class: side, title: tip, scope: "col", "aria-sort": current === order ? "descending" : null },
    el("button", { class: "xs-sort", type: "button", "data-time": `order ${order}` }, text, current === order ? " ▾" : ""));
}

/** @param {Program} program @param {string} order */
function kernelRows(program, order) {
  const found = [...selfTimes(program)].map(([name, [perStep, run]]) => {
    const kernel = program.kernels.get(name);
    return { name, perStep, run, kernel, ...kernelRates(program, kernel, run) };
  });
  const all = found.reduce((sum, each) => sum + each.perStep, 0) || 1;
  const keys = /** @type {Record<string, (row: typeof found[number]) => number>} */ ({ time: (row) => row.perStep, flops: (row) => row.flops / row.run, bytes: (row) => row.bytes / row.run, bound: (row) => row.part });
  const key = keys[order] ?? keys.time;
  found.sort((a, b) => key(b) - key(a));
  const body = found.map((row) => {
    const operations = [...new Set((row.kernel?.eqns ?? []).map((path) => program.equations.get(path)?.name ?? program.equations.get(path)?.op ?? "?"))];
    return el("tr", { "data-kernel": row.name, tabindex: -1 },
      el("td", { class: "xs-mono", title: shorten(row.name, 200) }, el("i", { class: `xs-chip pass-${program.passOfKernel(row.name)}` }), shorten(row.name, 34)),
      el("td", { class: "xs-right" }, seconds(row.perStep)), shareCell(row.perStep / all),
      el("td", { class: "xs-right" }, row.flops ? `${flopCount(row.flops / row.run)}/s` : ""),
      el("td", { class: "xs-right" }, row.bytes ? `${byteSize(row.bytes / row.run)}/s` : ""),
      boundCell(row), el("td", { class: "xs-mono xs-small xs-hot-ops" }, operations.length ? shorten(operations.slice(0, 6).join(" ▸ "), 60) : "no source known"));
  });
  const sort = (/** @type {string} */ text, /** @type {string} */ by, /** @type {string} */ tip) => heading(text, by, order, tip);
  return { body, note: "self time a step: measured; operations and bytes: our count", head: [heading("kernel"),
    sort("self time", "time", "Seconds of one step, without the kernels that it runs (measured)"), heading("share"),
    sort("FLOP/s", "flops", "Floating-point operations (our count) by its measured time"), sort("B/s", "bytes", "Bytes read and written (our count) by its measured time"),
    sort("bound by", "bound", "What limits a kernel of so many operations per byte, and how much of that limit it reached"), heading("operations")] };
}

/** Seconds of a step and of one run of every kernel: the mean over devices. @param {Program} program @returns {Map<string, [number, number]>} */
function selfTimes(program) {
  const run = program.light.executed;
  const found = new Map();
  if (!run) return found;
  for (const device of run.devices)
    for (const [name, [calls, total]] of Object.entries(device.kernels)) {
      const known = found.get(name) ?? [0, program.times.get(name) ?? 0];
      known[0] += calls ? total / Math.max(1, run.observed) / run.devices.length : 0;
      found.set(name, known);
    }
  return found;
}

/** @param {number} share */
function shareCell(share) {
  return el("td", {}, el("span", { class: "xs-hot-share" }, el("i", { style: `width:${(share * 100).toFixed(1)}%` })), el("span", { class: "xs-hot-percent" }, percent(share)));
}

/** @param {{bound: string, part: number}} row */
function boundCell({ bound, part }) {
  if (!bound) return el("td", {}, "");
  const [cached, above] = [bound === "memory" && part > 1, part > 1];
  const tip = cached ? "faster than the memory: its data were in a cache" : above ? "faster than the product that the ceiling was measured with" : `${percent(part)} of what the machine can do for a kernel with so many operations per byte`;
  return el("td", { title: tip }, cached ? "memory, in cache" : above ? `${bound}, > 100 %` : `${bound}, ${percent(part)}`);
}

/** @param {Program} program */
function equationRows(program) {
  const found = [];
  for (const [path, equation] of program.equations) {
    if (equation.bodies) continue;
    let time = 0;
    for (const kernel of program.kernelsOf.get(path) ?? []) time += perStep(program, kernel.name) / (program.sizes.get(kernel) ?? 1);
    if (time) found.push({ path, equation, time });
  }
  found.sort((a, b) => b.time - a.time);
  const all = found.reduce((sum, each) => sum + each.time, 0) || 1;
  const body = found.map(({ path, equation, time }) => el("tr", { "data-row": `equation ${path}`, tabindex: -1 },
    el("td", { class: "xs-mono" }, el("i", { class: `xs-chip pass-${program.passes.get(path) ?? "unknown"}` }), shorten(equation.name ?? equation.op, 30)),
    el("td", { class: "xs-right" }, seconds(time)), shareCell(time / all), el("td", { class: "xs-mono" }, shorten(equation.out.map((name) => program.typeOf(name)).join(" "), 36)),
    el("td", {}, shorten(program.sourceWords(path), 40))));
  return { body, note: "time a step: measured, each kernel's split equally over its equations", head: ["equation", "time", "share", "result", "source"].map((text) => heading(text)) };
}

/** Seconds of one step that a kernel takes. @param {Program} program @param {string} name */
export function perStep(program, name) {
  const run = program.light.executed;
  if (!run) return 0;
  let total = 0;
  for (const device of run.devices) total += (device.kernels[name]?.[1] ?? 0) / Math.max(1, run.observed) / run.devices.length;
  return total;
}

/** @param {Program} program */
function lineRows(program) {
  const times = [...lineTimes(program)].sort((a, b) => b[1] - a[1]);
  const all = times.reduce((sum, [, time]) => sum + time, 0) || 1;
  const body = times.map(([key, time]) => {
    const [file, line] = key.split(":").map(Number);
    const paths = program.lines.get(key) ?? [];
    return el("tr", { "data-row": `line ${key}`, tabindex: -1 }, el("td", {}, shorten(program.sourceWords(paths[0]), 40)),
      el("td", { class: "xs-right" }, seconds(time)), shareCell(time / all), el("td", { class: "xs-right" }, plural(paths.length, "equation")),
      el("td", { class: "xs-mono" }, shorten(program.sourceLine(file, line).trim(), 90)));
  });
  return { body, note: "time a step: measured, each kernel's split equally over its equations", head: ["line", "time", "share", "equations", "source"].map((text) => heading(text)) };
}
