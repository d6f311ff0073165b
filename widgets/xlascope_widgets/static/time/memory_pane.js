// @ts-check
/** The compiler's memory plan: the bytes needed while each kernel runs, and the buffers that are live at a moment. */

import { el } from "../ground/element.js";
import { formatBytes, formatInt, pluralize, round, shorten } from "../ground/format.js";
import { explainTerms } from "../program/terms.js";
import { registerPane } from "../parts/panes.js";
import { drawUnreadable } from "../program/unreadable_notes.js";
import { TIME_LEFT, TIME_RIGHT } from "./draw_timeline.js";
import { getTimeState } from "./time_state.js";
/** @typedef {import("../parts/panes.js").Space} Space */
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../ground/wire.js").MemoryPlan} MemoryPlan */

const HIGH = 90;
const MOST_HELD = 60;
const KIND_NAMES = ["argument", "result", "constant", "in between"];

/**
 * One array, as it is sent: maker (a kernel's number, or a name), kind, bytes, first and last kernel, argument,
 * allocation, offset, and its equations where it has no kernel.
 * @typedef {[string|number, number, number, number, number, number, number, number, ...string[]]} Held
 */

/** @param {Program} program */
export function describeMemory(program) {
  const plan = program.heavy.memory;
  if (!plan && program.heavy.notes) return "no plan of memory to show";
  if (!plan)
    return program.heavy.kernels
      ? `the compiler for ${program.heavy.platform ?? "this target"} does not tell its plan`
      : "not compiled yet";
  return `${formatBytes(plan.most)} needed at most · arguments ${formatBytes(plan.arguments)}, results ${formatBytes(plan.results)}, temporaries ${formatBytes(plan.temporaries)} (XLA's plan)`;
}

registerPane({
  id: "memory",
  place: "below",
  order: 3,
  title: "memory",
  tip: "what needs memory, and when",
  draw: (store, space) => space && drawMemory(store, getTimeState(store), space.width),
  words: describeMemory,
  follows: true, // it shows the lives of what is selected
  attach: listen,
  command({ store }, name) {
    if (name === "moment") getTimeState(store).at.delete(store.program?.number ?? 0);
  },
});

/** @param {Space} space */
function listen(space) {
  const isCurve = (/** @type {Event} */ event) =>
    Boolean(/** @type {Element} */ (event.target).closest(".xs-memory-svg"));
  space.pane.addEventListener("click", (event) => isCurve(event) && handleCurveClick(space, event), true);
  space.pane.addEventListener("keydown", (event) => isCurve(event) && handleCurveKey(space, event));
}

/** Handle a click on the curve: show what is live at that moment. @param {Space} space @param {MouseEvent} event */
function handleCurveClick(space, event) {
  const { program } = space.store;
  const box = space.pane.querySelector(".xs-memory-svg")?.getBoundingClientRect();
  if (!box || !program?.heavy.memory) return;
  const share = (event.clientX - box.left - TIME_LEFT) / (space.width - TIME_LEFT - TIME_RIGHT);
  showMoment(space, Math.floor(share * (program.heavy.kernels?.length ?? 1)));
}

/** @param {Space} space @param {KeyboardEvent} event */
function handleCurveKey(space, event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const { program } = space.store;
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  const at = getTimeState(space.store).at.get(program?.number ?? 0) ?? program?.heavy.memory?.at ?? 0;
  showMoment(space, at + step);
  event.preventDefault();
  event.stopPropagation();
}

/** @param {Space} space @param {number} position */
function showMoment(space, position) {
  const { program } = space.store;
  if (!program) return;
  const last = (program.heavy.kernels?.length ?? 1) - 1;
  getTimeState(space.store).at.set(program.number, Math.max(0, Math.min(last, position)));
  space.draw();
}

/** @param {Store} store @param {{at: Map<number, number>}} state @param {number} width */
export function drawMemory(store, state, width) {
  const program = /** @type {Program} */ (store.program);
  const plan = program.heavy.memory;
  if (!plan) return [drawUnreadable(program.heavy.notes)];
  const at = Math.min(state.at.get(program.number) ?? plan.at, Math.max(0, (program.heavy.kernels?.length ?? 1) - 1));
  const kernel = program.heavy.kernels?.[at];
  const buffers = listBuffersAt(plan.buffers, at);
  const peak = at === plan.at;
  return [
    el(
      "svg",
      {
        class: "xs-memory-svg",
        width,
        height: HIGH + 22,
        role: "slider",
        tabindex: 0,
        "aria-label": "memory while each kernel runs; arrow keys go to the next",
        "aria-valuemin": 1,
        "aria-valuemax": program.heavy.kernels?.length ?? 1,
        "aria-valuenow": at + 1,
        "aria-valuetext": `${formatBytes(countLiveBytes(plan, at))} while ${kernel?.name ?? "nothing"} runs`,
      },
      drawCurve(program, plan, at, width, store.selection.kernels),
    ),
    el(
      "div",
      { class: "xs-hot-tools" },
      el(
        "span",
        { class: "xs-small" },
        el("b", {}, peak ? "at the peak: " : "here: "),
        formatBytes(countLiveBytes(plan, at)),
        plan.per > 1 && !peak ? " or less" : "",
        ` while ${kernel ? shorten(program.describeKernel(kernel.name), 60) : "nothing"} runs (kernel ${formatInt(at + 1)} of ${formatInt(program.heavy.kernels?.length ?? 0)})`,
      ),
      !peak && el("button", { class: "xs-pill", type: "button", "data-time": "moment peak" }, "peak"),
      el(
        "span",
        { class: "xs-muted xs-small" },
        `XLA's own peak: ${formatBytes(plan.own)}${program.heavy.platform === "cpu" ? ", without temporaries" : ""}`,
      ),
    ),
    el(
      "div",
      { class: "xs-time-list", tabindex: 0, role: "group", "aria-label": "what is held" },
      el(
        "table",
        { class: "xs-hot" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ["held", "size", "what", "made by", "needed", "source"].map((text) =>
              el("th", { scope: "col", class: text === "size" ? "xs-right" : null }, text),
            ),
          ),
        ),
        el(
          "tbody",
          {},
          buffers.slice(0, MOST_HELD).map((buffer) => drawBufferRow(program, buffer)),
        ),
      ),
      (buffers.length > MOST_HELD || plan.more > 0) &&
        el(
          "div",
          { class: "xs-muted xs-small" },
          buffers.length > MOST_HELD && `${pluralize(buffers.length - MOST_HELD, "smaller array")} more. `,
          plan.more > 0 && `${pluralize(plan.more, "small array")} not listed.`,
        ),
    ),
  ];
}

/** @param {MemoryPlan} plan @param {number} at */
function countLiveBytes(plan, at) {
  return at === plan.at ? plan.most : (plan.live[Math.floor(at / plan.per)] ?? 0);
}

/**
 * Return the buffers needed at a moment, largest first, without those inside another.
 * @param {Held[]} buffers
 * @param {number} at
 * @returns {Held[]}
 */
export function listBuffersAt(buffers, at) {
  const live = buffers.filter(([, , , first, last]) => first <= at && at <= last).sort((a, b) => b[2] - a[2]);
  /** @type {Map<number, [number, number][]>} */ const ranges = new Map();
  return live.filter(([, , bytes, , , , allocation, offset]) => {
    const places = ranges.get(allocation) ?? [];
    if (places.some(([from, to]) => from <= offset && offset + bytes <= to)) return false;
    ranges.set(allocation, [...places, [offset, offset + bytes]]);
    return true;
  });
}

/** @param {Program} program @param {Held} each */
function drawBufferRow(program, [by, kind, bytes, first, last, argument, , , ...equations]) {
  const maker = formatMaker(program, by);
  const paths = (typeof by === "number" ? (program.heavy.kernels?.[by].eqns ?? []) : equations).filter((path) =>
    program.equations.has(path),
  );
  const operations = [
    ...new Set(
      paths.flatMap((path) => program.equations.get(path) ?? []).map((equation) => equation.name ?? equation.op),
    ),
  ];
  const kernel = program.kernels.has(maker);
  const link = kernel
    ? { "data-kernel": maker }
    : paths.length
      ? { "data-row": `equation ${paths[paths.length - 1]}` }
      : {};
  return el(
    "tr",
    { ...link, tabindex: -1 },
    el(
      "td",
      { class: "xs-mono", title: shorten(maker, 200) },
      shorten(
        argument < 0 ? (kernel ? program.getKernelTitle(maker) : maker) : (formatArgument(program, argument) ?? maker),
        36,
      ),
    ),
    el("td", { class: "xs-right" }, formatBytes(bytes)),
    el("td", {}, KIND_NAMES[kind]),
    el(
      "td",
      { class: "xs-mono xs-small" },
      argument >= 0
        ? ""
        : operations.length
          ? shorten(operations.join(" ▸ "), 40)
          : explainTerms("no source information"),
    ),
    el(
      "td",
      { class: "xs-muted" },
      kind === 0 || kind === 2 ? "all the time" : `kernels ${formatInt(first + 1)} to ${formatInt(last + 1)}`,
    ),
    el("td", {}, paths.length ? shorten(program.describeSource(paths[paths.length - 1]), 40) : ""),
  );
}

/** @param {Program} program @param {string|number} by @returns {string} */
function formatMaker(program, by) {
  return typeof by === "number" ? (program.heavy.kernels?.[by].name ?? "") : by;
}

/** @param {Program} program @param {number} argument */
function formatArgument(program, argument) {
  const jaxpr = program.heavy.jaxpr;
  const name = jaxpr && [...jaxpr.constants, ...jaxpr.inputs][argument];
  return name && (program.variables.get(name)?.[2] || name);
}

/**
 * @param {Program} program
 * @param {MemoryPlan} plan
 * @param {number} at
 * @param {number} width
 * @param {Set<string>} selected
 */
function drawCurve(program, plan, at, width, selected) {
  const positions = Math.max(1, program.heavy.kernels?.length ?? 1);
  const scale = (width - TIME_LEFT - TIME_RIGHT) / positions;
  const x = (/** @type {number} */ position) => round(TIME_LEFT + position * scale);
  const y = (/** @type {number} */ bytes) => round(4 + HIGH - (bytes / (plan.most || 1)) * HIGH);
  const steps = plan.live.map((bytes, i) => `V${y(bytes)}H${x(Math.min(positions, (i + 1) * plan.per))}`);
  const lives = plan.buffers.filter((/** @type {Held} */ [by]) => selected.has(formatMaker(program, by))).slice(0, 40);
  const most = lives.reduce((sum, life) => Math.max(sum, life[2]), 1);
  return [
    el("text", { class: "xs-lane-name", x: 0, y: 16 }, formatBytes(plan.most)),
    el("text", { class: "xs-axis", x: 0, y: HIGH + 2 }, "0 B"),
    el("path", { class: "xs-memory-area", d: `M${x(0)},${y(0)}${steps.join("")}V${y(0)}Z` }),
    // Live ranges of the selected kernels' buffers, with heights by size.
    lives.map(([, , bytes, first, last]) =>
      el("rect", {
        class: "xs-memory-life",
        x: x(first),
        width: round(Math.max(2, (last + 1 - first) * scale)),
        y: round(4 + HIGH - Math.max(3, (bytes / Math.max(most, plan.most)) * HIGH)),
        height: round(Math.max(3, (bytes / Math.max(most, plan.most)) * HIGH)),
      }),
    ),
    el("line", { class: "xs-rule", x1: TIME_LEFT, x2: width - TIME_RIGHT, y1: HIGH + 4, y2: HIGH + 4 }),
    el("line", { class: "xs-memory-at", x1: x(at + 0.5), x2: x(at + 0.5), y1: 2, y2: HIGH + 4 }),
    el(
      "text",
      {
        class: "xs-axis",
        x: x(Math.min(positions, at + 0.5)),
        y: HIGH + 17,
        "text-anchor": at > positions / 2 ? "end" : "start",
      },
      at === plan.at ? "peak" : "here",
    ),
    el("text", { class: "xs-axis", x: 0, y: HIGH + 17 }, "kernels"),
  ];
}
