// @ts-check
/**
 * The timeline: what the host did to make programs, and one representative step on every device, each on its own axis.
 * Bars too narrow to draw are drawn together, with a count; what runs inside another (a loop's body) stands below it.
 */

import { el } from "../ground/element.js";
import {
  computeTicks,
  formatAxisTime,
  formatPercent,
  formatTime,
  pluralize,
  round,
  shorten,
} from "../ground/format.js";
import { hatch } from "../program/hatching.js";
import { describeOrigin, formatClock } from "../program/stage_labels.js";
import { UNREAD_PROFILE } from "../program/unreadable_notes.js";
import { describeCopy, describeIdle, describeRepeat, formatCopyName, formatFullName } from "./timeline_labels.js";
import { drawWaits } from "./waits.js";
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../ground/wire.js").Device} Device */
/** @typedef {import("../ground/wire.js").Light} Light */
/** @typedef {import("../ground/wire.js").Span} Span */
/** @typedef {import("../ground/element.js").Child} Child */
/** @typedef {import("../ground/element.js").Value} Value */

export const TIME_LEFT = 74;
export const TIME_RIGHT = 16;
const BAR = 18;
/** The height of the hatching along a bar's lower edge. */
const BAND = 5;
const ROW = 20;
const MOST_ROWS = 4;
const NARROW = 1.5;
const WIDEST_TOGETHER = 24;
/** Idle time of the host longer than this share of its work is cut out of its axis. */
const IDLE = 0.2;
const BREAK = 46;

/**
 * A bar: what it is, its times, the row it stands in, and how many runs it stands for (a run of a kernel inside others
 * first).
 * @typedef {{name: string, start: number, duration: number, count: number, row: number, first: number, shown?: number,
 * joined?: boolean}} Bar
 */
/** @typedef {{view?: [number, number]|null, colour?: "pass"|"kind", lights?: Light[]}} TimelineOptions */

/** @type {WeakMap<Span[], {bars: Bar[], rows: number, end: number}>} */
const laidOut = new WeakMap();

/**
 * @param {Program} program
 * @param {number} width
 * @param {TimelineOptions} [options]
 * @returns {{tree: Child[], height: number, end: number}}
 */
export function drawTimeline(program, width, options = {}) {
  const devices = program.light.executed?.devices ?? [];
  const host = drawHostLane(program, width, options.lights ?? [program.light]);
  const end = findStepEnd(program);
  const [from, to] = options.view ?? [0, end];
  const scale = (width - TIME_LEFT - TIME_RIGHT) / (to - from || 1);
  let y = host.height + (host.height ? 6 : 0);
  const lanes = devices.map((device, index) => {
    const lane = drawDeviceLane(program, device, index, y, {
      from,
      to,
      scale,
      width,
      colour: options.colour ?? "pass",
    });
    y += lane.height;
    return lane.tree;
  });
  const axis = devices.length ? drawAxis(from, to, scale, y + 12, isPartOfStep(program) ? "part" : "one step") : [];
  return { tree: [host.tree, lanes, axis], height: devices.length ? y + 18 : host.height, end };
}

/** Return the end of the step shown, on whichever device is last. @param {Program} program */
export function findStepEnd(program) {
  return Math.max(0, ...(program.light.executed?.devices ?? []).map((device) => layOutBars(device.spans).end));
}

/**
 * Describe the timeline in a sentence: what is shown and how much of it could be attributed.
 * @param {Program} program
 */
export function describeTimeline(program) {
  const run = program.light.executed;
  if (program.target) return `compiled for ${program.target}, which is not measured here`;
  if (!run) return program.light.compiled == null ? "not compiled yet" : "not measured yet";
  const step = run.step
    ? `${formatTime(run.step)} a call (${formatClock(run)})`
    : `ran ${pluralize(run.calls, "time")}`;
  if (!run.observed)
    return `${isPartOfStep(program) ? "part of a step · " : ""}${step}; ${run.notes ? UNREAD_PROFILE : "the profiler has seen no whole call yet"}`;
  const parts = [`one step · ${step}`, `profiler saw ${pluralize(run.observed, "whole call")}`];
  if (run.devices.some((device) => device.waits)) parts.push("pale: waiting for other devices (derived)");
  parts.push(describeIdle(run.devices));
  const { account } = program;
  if (account)
    parts.push(
      `${formatPercent(account.attributed)} of the kernels' time has an equation`,
      account.copied ? `${formatPercent(account.copied)} copies what equations made` : "",
    );
  return parts.filter(Boolean).join(" · ");
}

/** Return whether the lanes show less than a step. @param {Program} program */
function isPartOfStep(program) {
  const { observed = 0, devices = [] } = program.light.executed ?? {};
  return (
    (!observed && devices.some((device) => device.spans.length > 0)) ||
    devices.some((device) => device.whole === false && device.spans.length > 0)
  );
}

/**
 * Return the bars with their rows: each below those that it runs inside of.
 * @param {Span[]} spans
 * @returns {{bars: Bar[], rows: number, end: number}}
 */
export function layOutBars(spans) {
  const cached = laidOut.get(spans);
  if (cached) return cached;
  const sorted = spans.map(([name, start, duration, count = 1], first) => ({
    name,
    start,
    duration,
    count,
    row: 0,
    first,
  }));
  sorted.sort((a, b) => a.start - b.start || b.duration - a.duration);
  /** @type {number[]} */ const ends = [];
  let end = 0;
  for (const bar of sorted) {
    // Profilers round: a span that starts a few nanoseconds before another ends follows it.
    const free = ends.findIndex((until) => until <= bar.start + 5e-9);
    bar.row = free >= 0 ? free : Math.min(ends.length, MOST_ROWS - 1);
    ends[bar.row] = Math.max(ends[bar.row] ?? 0, bar.start + bar.duration);
    end = Math.max(end, bar.start + bar.duration);
  }
  const layout = { bars: sorted, rows: Math.max(1, ends.length), end };
  laidOut.set(spans, layout);
  return layout;
}

/**
 * Merge neighbours in a row that are too narrow to see.
 * @param {Bar[]} bars
 * @param {number} scale pixels a second
 * @returns {Bar[]}
 */
export function mergeNarrowBars(bars, scale) {
  /** @type {Bar[]} */ const merged = [];
  /** @type {(Bar|undefined)[]} */ const open = [];
  for (const bar of bars) {
    const last = open[bar.row];
    const narrow = bar.duration * scale < NARROW;
    const near =
      last &&
      (bar.start - last.start - last.duration) * scale < 1 &&
      (bar.start + bar.duration - last.start) * scale < WIDEST_TOGETHER;
    if (narrow && last && near) {
      last.joined = true;
      if (bar.duration > (last.shown ?? 0)) [last.name, last.shown] = [bar.name, bar.duration];
      last.duration = Math.max(last.duration, bar.start + bar.duration - last.start);
      last.count += bar.count;
    } else {
      const copy = { ...bar, shown: bar.duration };
      open[bar.row] = narrow ? copy : undefined;
      merged.push(copy);
    }
  }
  return merged;
}

/**
 * @param {Program} program
 * @param {Device} device
 * @param {number} index
 * @param {number} y
 * @param {{from: number, to: number, scale: number, width: number, colour: string}} axis
 */
function drawDeviceLane(program, device, index, y, { from, to, scale, width, colour }) {
  const { bars, rows, names } = layOutStreams(device);
  const visible = bars.filter((bar) => bar.start < to && bar.start + bar.duration > from);
  const elements = mergeNarrowBars(visible, scale).map((bar) => {
    const [start, stop] = [Math.max(bar.start, from), Math.min(bar.start + bar.duration, to)];
    const w = Math.max(1, (stop - start) * scale - 0.6);
    return drawDeviceBar(program, device, bar, TIME_LEFT + (start - from) * scale, y + bar.row * ROW, w, colour, index);
  });
  const copies = (device.transfers ?? [])
    .filter(([, start, duration]) => start < to && start + duration > from)
    .map(([name, start, duration, , bytes]) =>
      drawBar(
        TIME_LEFT + (Math.max(start, from) - from) * scale,
        y + rows * ROW,
        Math.max(1, (Math.min(start + duration, to) - Math.max(start, from)) * scale),
        formatCopyName(name),
        { class: "xs-bar transfer", role: "img" },
        describeCopy(name, duration, bytes),
        "dark",
      ),
    );
  const height = (rows + (device.transfers ? 1 : 0)) * ROW + 10;
  const tree = el(
    "g",
    { class: "xs-lane", "data-device": device.name },
    drawLaneName(device.name, y, 10 - Math.min(5, shortenStream(names[0]?.[0] ?? "").length)),
    drawStreamNames(device, names, rows, y),
    drawRule(y + height - 6, width),
    elements,
    drawWaits(device, TIME_LEFT, y, BAR, { from, to, scale }),
    copies,
  );
  return { tree, height };
}

/**
 * Return the bars of a device with their rows: each stream has rows of its own.
 * @param {Device} device
 * @returns {{bars: Bar[], rows: number, names: [string, number][]}}
 */
function layOutStreams(device) {
  const { streams, spans } = device;
  if (!streams) return { ...layOutBars(spans), names: [] };
  /** @type {Bar[]} */ const bars = [];
  /** @type {[string, number][]} */ const names = [];
  let rows = 0;
  streams.forEach(([name, first], i) => {
    const laid = layOutBars(filterStream(device, i));
    for (const bar of laid.bars) bars.push({ ...bar, row: bar.row + rows, first: bar.first + first });
    names.push([name, rows]);
    rows += laid.rows;
  });
  return { bars, rows, names };
}

/** @type {WeakMap<Span[], Span[][]>} */
const parted = new WeakMap();

/**
 * Return the spans of one stream, the same list each time.
 * @param {Device} device
 * @param {number} index
 * @returns {Span[]}
 */
function filterStream({ spans, streams = [] }, index) {
  const cached =
    parted.get(spans) ?? streams.map(([, first], i) => spans.slice(first, streams[i + 1]?.[1] ?? spans.length));
  parted.set(spans, cached);
  return cached[index];
}

/** @param {string} name "Stream #13" is #13 */
const shortenStream = (name) => name.replace(/^(Stream|XLA) /, "");

/**
 * Short names of streams and of the row of copies, left of their rows.
 * @param {Device} device
 * @param {[string, number][]} names
 * @param {number} rows
 * @param {number} y
 */
function drawStreamNames(device, names, rows, y) {
  /** @type {[string, string, number][]} */ const labels = names.map(([name, row]) => [shortenStream(name), name, row]);
  if (names.length && device.transfers) labels.push(["copies", (device.copied ?? []).join("; "), rows]);
  return labels.map(([short, tip, row]) =>
    el(
      "text",
      { class: "xs-axis xs-stream", x: TIME_LEFT - 6, y: y + row * ROW + 13, "text-anchor": "end" },
      el("title", {}, tip),
      shorten(short, row ? 9 : 5),
    ),
  );
}

/**
 * @param {Program} program
 * @param {Device} device
 * @param {Bar} bar
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {string} colour
 * @param {number} lane
 */
function drawDeviceBar(program, device, bar, x, y, w, colour, lane) {
  const { name, duration, count } = bar;
  const kernel = program.kernels.get(name);
  const kind =
    colour === "kind"
      ? `kind-${(kernel?.kind ?? "unknown").replace(/ .*/, "")}`
      : `pass-${program.getKernelPass(name)}`;
  const time = `${formatTime(duration)} (measured)`;
  const several = count > 1;
  const words = several
    ? `${pluralize(count, "kernel run")} close together on ${device.name}, ${time}; ${bar.joined ? "zoom in to see each" : "the longest is " + shorten(name, 80)}`
    : [
        `${formatFullName(program, name)} on ${device.name}: ${time}`,
        ...describeRepeat(device, bar, kernel?.repeats),
        ...(kernel?.eqns.length ? [] : [describeOrigin(program, kernel)]),
      ].join(" · ");
  const label = several && w > 34 ? `× ${count}` : several ? "" : program.getKernelTitle(name);
  return drawBar(
    x,
    y,
    w,
    label,
    {
      class: `xs-bar ${kind}${several ? " several" : ""}`,
      role: "button",
      "aria-label": words,
      tabindex: -1,
      "data-kernel": bar.joined ? null : name,
      "data-bar": `${lane}:${bar.first}`,
      "data-zoom": bar.joined ? `${bar.start} ${bar.start + duration}` : null,
    },
    words,
    kind.endsWith("unknown") ? "dark" : "",
    kind.replace("pass-", ""),
  );
}

const STAGES = /** @type {Record<string, string>} */ ({ trace: "trace", lower: "lower", compile: "XLA compile" });

/**
 * Draw trace, lowering and compilation on the host's clock, without long idle times.
 * @param {Program} program
 * @param {number} width
 * @param {Light[]} lights
 */
function drawHostLane(program, width, lights) {
  const stages = lights.flatMap((light) =>
    (light.stages ?? []).map(([stage, start, duration, cache]) => ({
      name: cache === "hit" ? "load from cache" : (STAGES[stage] ?? stage),
      start,
      duration,
      light,
    })),
  );
  if (!stages.length) return { tree: [], height: 0 };
  const { bars, rows } = layOutBars(stages.map((stage) => [stage.name, stage.start, stage.duration]));
  const axis = buildHostAxis(bars, width);
  const many = new Set(stages.map((stage) => stage.light)).size > 1;
  const elements = bars.map((bar) => {
    const { light, name, duration } = stages[bar.first];
    const title = shorten(light.function, 60);
    const words = name + (many ? ` ${title}` : "");
    const x = axis.x(bar.start);
    const isShown = light.number === program.number;
    return drawBar(
      x,
      4 + bar.row * ROW,
      Math.max(2, axis.x(bar.start + duration) - x - 0.6),
      `${words} ${formatTime(duration)}`,
      {
        class: `xs-bar host${isShown ? "" : " other"}`,
        "data-program": many ? light.number : null,
        role: many ? "button" : "img",
        tabindex: many ? -1 : null,
        "data-bar": many ? `host:${bar.first}` : null,
        "aria-label": `${words}: ${formatTime(duration)}`,
      },
      `${name} of ${title}: ${formatTime(duration)} (measured, host clock)`,
      "dark",
    );
  });
  const bottom = 4 + rows * ROW;
  const breaks = axis.breaks.map(({ x, idle }) =>
    el(
      "text",
      { class: "xs-axis", x: round(x), y: bottom + 15, "text-anchor": "middle" },
      `⋯ ${formatAxisTime(idle)} ⋯`,
    ),
  );
  const labels = axis.breaks.length ? [] : drawAxis(0, axis.work, axis.scale, bottom + 15, "");
  const name = el("text", { class: "xs-axis", x: 0, y: bottom + 15 }, "build");
  return {
    tree: [drawLaneName("host", 4), drawRule(bottom + 3, width), elements, name, labels, breaks],
    height: bottom + 22,
  };
}

/**
 * Return the mapping from host times to pixels, without idle times.
 * @param {Bar[]} bars in order of their starts
 * @param {number} width
 */
function buildHostAxis(bars, width) {
  /** @type {[number, number][]} */ const busy = [];
  const total = bars.reduce((sum, bar) => sum + bar.duration, 0);
  for (const bar of bars) {
    const last = busy[busy.length - 1];
    if (last && bar.start - last[1] < IDLE * total) last[1] = Math.max(last[1], bar.start + bar.duration);
    else busy.push([bar.start, bar.start + bar.duration]);
  }
  const work = busy.reduce((sum, [from, to]) => sum + to - from, 0);
  const gap = Math.min(BREAK, (width - TIME_LEFT - TIME_RIGHT) / (2 * busy.length));
  const scale = (width - TIME_LEFT - TIME_RIGHT - gap * (busy.length - 1)) / (work || 1);
  let x = TIME_LEFT;
  const starts = busy.map(([from, to]) => {
    const here = x;
    x += (to - from) * scale + gap;
    return here;
  });
  const at = (/** @type {number} */ time) => {
    const i = Math.max(
      0,
      busy.findLastIndex(([from]) => from <= time),
    );
    return starts[i] + (time - busy[i][0]) * scale;
  };
  const breaks =
    gap < BREAK ? [] : busy.slice(1).map(([from], i) => ({ x: starts[i + 1] - gap / 2, idle: from - busy[i][1] }));
  return { x: at, scale, work, breaks };
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {string} name
 * @param {Record<string, Value>} attributes
 * @param {string} tip
 * @param {string} tone
 * @param {string} [phase]
 */
function drawBar(x, y, w, name, attributes, tip, tone, phase = "") {
  const letters = Math.floor((w - 8) / 6.7);
  const lines = hatch(phase, x + 1, y + BAR - BAND - 1, w - 2, BAND);
  return [
    el(
      "rect",
      { ...attributes, x: round(x), y, width: round(w), height: BAR, rx: w > 6 ? 3 : 0 },
      el("title", {}, tip),
    ),
    name &&
      letters >= Math.min(4, name.length) &&
      el("text", { class: `xs-bar-name ${tone}`, x: round(x + 5), y: y + (lines ? 11 : 13) }, shorten(name, letters)),
    lines && el("path", { class: "xs-hatch", d: lines }),
  ];
}

/** @param {string} name @param {number} y @param {number} [letters] how many have room */
function drawLaneName(name, y, letters = 10) {
  return el("text", { class: "xs-lane-name", x: 0, y: y + 13 }, el("title", {}, name), shorten(name, letters));
}

/** @param {number} y @param {number} width */
function drawRule(y, width) {
  return el("line", { class: "xs-rule", x1: TIME_LEFT, x2: width - TIME_RIGHT, y1: y, y2: y });
}

/** @param {number} from @param {number} to @param {number} scale @param {number} y @param {string} name */
function drawAxis(from, to, scale, y, name) {
  if (!(to > from)) return [];
  const step = computeTicks(to - from, 5)[1] ?? to - from;
  const labels = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++)
    labels.push({ x: TIME_LEFT + (i * step - from) * scale, text: formatAxisTime(i * step) });
  return [
    el("text", { class: "xs-axis", x: 0, y }, name),
    labels.map(({ x, text }) =>
      el("text", { class: "xs-axis", x: round(x), y, "text-anchor": text === "0" ? "start" : "middle" }, text),
    ),
  ];
}
