// @ts-check
/** Most expensive kernels, equations or lines: their shares, rates, and bounds on this machine. */

import { el } from "../ground/element.js";
import { formatBytes, formatFlops, formatPercent, formatTime, pluralize, shorten } from "../ground/format.js";
import { explainTerms } from "../program/terms.js";
import { registerPane } from "../parts/panes.js";
import { describeSharing, getLineTimes } from "../program/line_times.js";
import { describeOrigin, formatKernelOrigin, formatOverlap } from "../program/stage_labels.js";
import { drawUnreadable, UNREAD_PROFILE } from "../program/unreadable_notes.js";
import { getTimeState } from "./time_state.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../ground/wire.js").KernelCall} KernelCall */

const MOST_HOT = 60;
const NUMBERS = new Set(["time a call", "FLOP/s", "B/s"]);
/** @type {Record<string, string>} */ const HEADING_CLASSES = { operations: "xs-hot-ops" };
const HOT_BY = ["kernels", "equations", "lines"];

/** @param {Program} program */
export function describeHottest(program) {
  if (program.target) return `compiled for ${program.target}, which is not measured here`;
  if (!program.times.size && program.light.executed?.notes) return UNREAD_PROFILE;
  if (!program.times.size) return "not measured yet: run it, or ask %timings";
  const top = program.ceilings;
  return top
    ? `the device can do ${formatFlops(top.flops_per_s)}/s and ${formatBytes(top.bytes_per_s)}/s (${top.source})`
    : "what bounds a kernel is known once the machine's ceilings are measured: ask %timings";
}

registerPane({
  id: "hottest",
  place: "below",
  order: 2,
  title: "hottest",
  tip: "kernels, equations and lines by time",
  draw: (store) => drawHottest(store, getTimeState(store)),
  words: describeHottest,
  command({ store }, name, value) {
    if (name === "by" || name === "order") getTimeState(store)[name] = value;
  },
});

/** @param {Store} store @param {{by: string, order: string}} state */
export function drawHottest(store, state) {
  const program = /** @type {Program} */ (store.program);
  if (!program.times.size) return [drawUnreadable(program.light.executed?.notes)];
  const rows =
    { kernels: drawKernelRows, equations: drawEquationRows, lines: drawLineRows }[state.by] ?? drawKernelRows;
  const { head, body, note } = rows(program, state.order);
  return [
    el(
      "div",
      { class: "xs-hot-tools" },
      HOT_BY.map((by) =>
        el(
          "button",
          {
            class: `xs-pill${state.by === by ? " on" : ""}`,
            type: "button",
            "data-time": `by ${by}`,
            "aria-pressed": String(state.by === by),
          },
          by,
        ),
      ),
      el("span", { class: "xs-muted xs-small" }, explainTerms(note)),
    ),
    el(
      "div",
      { class: "xs-time-list", tabindex: 0, role: "group", "aria-label": `${state.by} by time` },
      el("table", { class: "xs-hot" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body.slice(0, MOST_HOT))),
      body.length > MOST_HOT &&
        el(
          "div",
          { class: "xs-muted xs-small" },
          `${pluralize(body.length - MOST_HOT, "more " + state.by.slice(0, -1))} with less`,
        ),
    ),
  ];
}

/** @param {string} text @param {string} [order] @param {string} [current] @param {string} [tip] */
function drawHeading(text, order, current, tip) {
  const side = NUMBERS.has(text) ? `xs-right${text.endsWith("/s") ? " xs-rate" : ""}` : HEADING_CLASSES[text];
  if (!order) return el("th", { class: side, title: tip, scope: "col" }, text);
  return el(
    "th",
    { class: side, title: tip, scope: "col", "aria-sort": current === order ? "descending" : null },
    el(
      "button",
      { class: "xs-sort", type: "button", "data-time": `order ${order}` },
      text,
      current === order ? " ▾" : "",
    ),
  );
}

/**
 * Orders of the kernels: the number of each, the largest first.
 * @type {Record<string, (call: KernelCall) => number>}
 */
const HOT_ORDERS = {
  time: ([time]) => time,
  flops: (call) => call[3] ?? 0,
  bytes: (call) => call[4] ?? 0,
  bound: (call) => call[6] ?? 0,
};

/** @param {Program} program @param {string} order */
function drawKernelRows(program, order) {
  const key = HOT_ORDERS[order] ?? HOT_ORDERS.time;
  const kernels = Object.entries(program.account?.kernels ?? {}).sort(([, a], [, b]) => key(b) - key(a));
  const body = kernels.map(([name, [time, runs, share, flops, bytes, bound]]) => {
    const kernel = program.kernels.get(name);
    const operations = [
      ...new Set(
        (kernel?.eqns ?? []).map((path) => program.equations.get(path)?.name ?? program.equations.get(path)?.op ?? "?"),
      ),
    ];
    return el(
      "tr",
      { "data-kernel": name, tabindex: -1 },
      el(
        "td",
        { class: "xs-mono", title: shorten(name, 200) },
        el("i", { class: `xs-chip pass-${program.getKernelPass(name)}` }),
        shorten(program.getKernelTitle(name), 34),
        kernel && el("span", { class: "xs-muted" }, ` ${formatKernelOrigin(program, kernel)}`),
      ),
      el("td", { class: "xs-right", title: runs > 1.5 ? `${pluralize(runs, "run")} a call` : null }, formatTime(time)),
      drawShareCell(share),
      el("td", { class: "xs-right xs-rate" }, flops ? `${formatFlops(flops)}/s` : ""),
      el("td", { class: "xs-right xs-rate" }, bytes ? `${formatBytes(bytes)}/s` : ""),
      el("td", {}, bound ?? ""),
      el(
        "td",
        { class: "xs-mono xs-small xs-hot-ops" },
        operations.length ? shorten(operations.slice(0, 6).join(" ▸ "), 60) : describeOrigin(program, kernel),
      ),
    );
  });
  const sort = (/** @type {string} */ text, /** @type {string} */ by, /** @type {string} */ tip) =>
    drawHeading(text, by, order, tip);
  return {
    body,
    note: `measured, share of all kernels' time${formatOverlap(program)}; operations and bytes: roofline estimates`,
    head: [
      drawHeading("kernel"),
      sort("time a call", "time", "Seconds of one call, without the kernels that it runs (measured)"),
      drawHeading("share"),
      sort("FLOP/s", "flops", "Floating-point operations (roofline estimate) by its measured time"),
      sort("B/s", "bytes", "Bytes read and written (roofline estimate) by its measured time"),
      sort(
        "bound by",
        "bound",
        "A kernel is bound by what it reached 60 % of, or more, of what the device can do; below that by neither. Faster than memory: its data were in a cache",
      ),
      drawHeading("operations"),
    ],
  };
}

/** @param {number} share */
function drawShareCell(share) {
  return el(
    "td",
    {},
    el("span", { class: "xs-hot-share" }, el("i", { style: `width:${(share * 100).toFixed(1)}%` })),
    el("span", { class: "xs-hot-percent" }, formatPercent(share)),
  );
}

/** @param {Program} program */
function drawEquationRows(program) {
  const equations = Object.entries(program.account?.equations ?? {}).flatMap(([path, time]) => {
    const equation = program.equations.get(path);
    return equation ? [{ path, equation, time }] : [];
  });
  equations.sort((a, b) => b.time - a.time);
  const all = sumKernelSeconds(program);
  const body = equations.map(({ path, equation, time }) =>
    el(
      "tr",
      { "data-row": `equation ${path}`, tabindex: -1 },
      el(
        "td",
        { class: "xs-mono" },
        el("i", { class: `xs-chip pass-${program.passes.get(path) ?? "unknown"}` }),
        shorten(equation.name ?? equation.op, 30),
      ),
      el("td", { class: "xs-right" }, formatTime(time)),
      drawShareCell(time / all),
      el("td", { class: "xs-mono" }, shorten(equation.out.map((name) => program.getType(name)).join(" "), 36)),
      el("td", {}, shorten(program.describeSource(path), 40)),
    ),
  );
  return {
    body,
    note: `${describeSharing(program)}; share of all kernels' time`,
    head: ["equation", "time a call", "share", "result", "source"].map((text) => drawHeading(text)),
  };
}

/** Return all kernels' seconds per call, of which shares are parts. @param {Program} program */
function sumKernelSeconds(program) {
  return [...program.times.values()].reduce((sum, time) => sum + time, 0) || 1;
}

/** @param {Program} program */
function drawLineRows(program) {
  const times = [...getLineTimes(program)].sort((a, b) => b[1] - a[1]);
  const all = sumKernelSeconds(program);
  const body = times.map(([key, time]) => {
    const [file, line] = key.split(":").map(Number);
    const paths = program.lines.get(key) ?? [];
    return el(
      "tr",
      { "data-row": `line ${key}`, tabindex: -1 },
      el("td", {}, shorten(program.describeSource(paths[0]), 40)),
      el("td", { class: "xs-right" }, formatTime(time)),
      drawShareCell(time / all),
      el("td", { class: "xs-right" }, pluralize(paths.length, "equation")),
      el("td", { class: "xs-mono" }, shorten(program.getSourceLine(file, line).trim(), 90)),
    );
  });
  return {
    body,
    note: `${describeSharing(program)}; share of all kernels' time`,
    head: ["line", "time a call", "share", "equations", "source"].map((text) => drawHeading(text)),
  };
}
