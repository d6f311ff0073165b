// @ts-check
/** The timeline: what the host did to make the program, and one representative step on every device, each on its own axis. */

import { el } from "./element.js";
import { axisTime, count, percent, plural, seconds, shorten, ticks } from "./format.js";
import { r1 } from "./draw_graph.js";

const LEFT = 74;
const RIGHT = 16;
const LANE = 32;
const BAR = 20;

/** @param {any} program @param {number} width @returns {{tree: any[], height: number}} */
export function drawTimeline(program, width) {
  const devices = program.light.executed?.devices ?? [];
  const host = hostLane(program, width);
  const top = host.height + 6;
  const end = Math.max(0, ...devices.map(deviceEnd));
  const scale = (width - LEFT - RIGHT) / (end || 1);
  const lanes = devices.map((/** @type {any} */ device, /** @type {number} */ i) => deviceLane(program, device, top + i * LANE, scale, width));
  const bottom = top + devices.length * LANE;
  const axis = devices.length ? drawAxis(end, scale, bottom + 12, "one step") : [];
  return { tree: [host.tree, lanes, axis], height: devices.length ? bottom + 18 : host.height };
}

/** One sentence above the timeline: what is shown and how much of it could be attributed. @param {any} program */
export function timelineWords(program) {
  const run = program.light.executed;
  if (!run) return program.light.compiled == null ? "not compiled yet" : "not measured yet";
  if (!run.observed) return `ran ${plural(run.calls, "time")}; the profiler has not seen a call yet`;
  const coverage = program.coverage();
  const parts = [`one step, ${seconds(run.step)} (measured, median of ${plural(run.observed, "call")})`];
  if (coverage != null) parts.push(`${percent(coverage)} of device time has an equation`);
  const cut = run.devices.reduce((/** @type {number} */ sum, /** @type {any} */ d) => sum + d.cut, 0);
  if (cut) parts.push(`${count(cut)} more bars not drawn`);
  return parts.join(" · ");
}

/** @param {any} device */
function deviceEnd(device) {
  return Math.max(0, ...device.spans.map((/** @type {any} */ [, start, duration]) => start + duration));
}

/** @param {any} program @param {number} width */
function hostLane(program, width) {
  const { traced, lowered, compiled } = program.light;
  const steps = [["trace", traced], ["lower", lowered], ["XLA compile", compiled]].filter(([, time]) => time != null);
  const end = steps.reduce((sum, [, time]) => sum + time, 0);
  const scale = (width - LEFT - RIGHT) / (end || 1);
  let x = LEFT;
  const bars = steps.map(([name, time]) => {
    const w = Math.max(2, time * scale);
    const bar = drawBar(x, 4, w, `${name} ${seconds(time)}`, { class: "xs-bar host" }, `${name}: ${seconds(time)} (measured)`, "dark");
    x += w;
    return bar;
  });
  const tree = [laneName("host", 4), rule(4 + BAR + 5, width), bars, drawAxis(end, scale, BAR + 21, "build")];
  return { tree, height: BAR + 30 };
}

/** @param {any} program @param {any} device @param {number} y @param {number} scale @param {number} width */
function deviceLane(program, device, y, scale, width) {
  const bars = device.spans.map((/** @type {any} */ [name, start, duration]) => {
    const pass = program.passOfKernel(name);
    const known = program.kernels.get(name)?.eqns.length ? "" : " · no source known";
    return drawBar(LEFT + start * scale, y, Math.max(1, duration * scale - 0.6), name,
      { class: `xs-bar pass-${pass}`, "data-kernel": name, role: "button", "aria-label": `${name} on ${device.name}, ${seconds(duration)}` },
      `${name} on ${device.name}: ${seconds(duration)} (measured)${known}`, pass === "unknown" ? "dark" : "");
  });
  return el("g", { class: "xs-lane", "data-device": device.name }, laneName(device.name, y), rule(y + BAR + 5, width), bars);
}

/** @param {number} x @param {number} y @param {number} w @param {string} name @param {Record<string, any>} attributes @param {string} tip @param {string} tone */
function drawBar(x, y, w, name, attributes, tip, tone) {
  const letters = Math.floor((w - 8) / 6.1);
  return [
    el("rect", { ...attributes, x: r1(x), y, width: r1(w), height: BAR, rx: w > 6 ? 3 : 0 }, el("title", {}, tip)),
    letters >= Math.min(4, name.length) && el("text", { class: `xs-bar-name ${tone}`, x: r1(x + 5), y: y + 14 }, shorten(name, letters)),
  ];
}

/** @param {string} name @param {number} y */
function laneName(name, y) {
  return el("text", { class: "xs-lane-name", x: 0, y: y + 14 }, el("title", {}, name), shorten(name, 10));
}

/** @param {number} y @param {number} width */
function rule(y, width) {
  return el("line", { class: "xs-rule", x1: LEFT, x2: width - RIGHT, y1: y, y2: y });
}

/** @param {number} end @param {number} scale @param {number} y @param {string} name */
function drawAxis(end, scale, y, name) {
  if (!end) return [];
  const labels = ticks(end, 5).map((time) => ({ x: LEFT + time * scale, text: axisTime(time) }));
  return [
    el("text", { class: "xs-axis", x: 0, y }, name),
    labels.map(({ x, text }) => el("text", { class: "xs-axis", x: r1(x), y, "text-anchor": text === "0" ? "start" : "middle" }, text)),
  ];
}
