// @ts-check
/** Labels and tooltips of the timeline's bars. */

import { formatBytes, formatPercent, formatTime, shorten } from "../ground/format.js";
/** @typedef {import("./draw_timeline.js").Bar} Bar */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../ground/wire.js").Device} Device */

/**
 * Describe a copy with its bytes and rate, where known.
 * @param {string} name
 * @param {number} duration
 * @param {number} [bytes]
 */
export function describeCopy(name, duration, bytes) {
  const rate = bytes && duration > 0 ? `, ${formatBytes(bytes / duration)}/s` : "";
  const size = bytes === undefined ? "" : formatBytes(bytes) + " in ";
  return `${formatCopyName(name)}: ${size}${formatTime(duration)}${rate} (measured)`;
}

/** Describe how much of the step the devices are idle, where known. @param {Device[]} devices */
export function describeIdle(devices) {
  const parts = devices.flatMap(({ idle }) => (idle && idle[1] > 0 ? [idle[0] / idle[1]] : []));
  if (!parts.length) return "";
  const [least, most] = [formatPercent(Math.min(...parts)), formatPercent(Math.max(...parts))];
  const part = least === most ? least : least + " to " + most;
  return `idle ${part} of the step shown: neither kernel nor copy ran`;
}

/** Format the name of a copy: "MemcpyH2D" in words. @param {string} name */
export function formatCopyName(name) {
  const [, from, to] = /(H|D|P)(?:2|to)(H|D|P)$/.exec(name) ?? [];
  const memory = /** @type {Record<string, string>} */ ({ H: "host", D: "device", P: "device" });
  return from ? `copy ${memory[from]} → ${memory[to]}` : name;
}

/** Format the title of a kernel, and XLA's name for it. @param {Program} program @param {string} name */
export function formatFullName(program, name) {
  const title = program.getKernelTitle(name);
  return title === name ? shorten(name, 80) : `${title} (${shorten(name, 80)})`;
}

/**
 * Describe which repeat of a loop a run is, where every run of the step is known.
 * @param {Device} device
 * @param {Bar} bar
 * @param {number} [repeats]
 */
export function describeRepeat(device, bar, repeats) {
  const runs = repeats ? device.spans.flatMap(([name], i) => (name === bar.name ? [i] : [])) : [];
  const index = runs.indexOf(bar.first);
  if (!repeats || index < 0 || runs.length % repeats || runs.some((i) => device.spans[i].length > 3)) return [];
  return [`repeat ${(index % repeats) + 1} of ${repeats}`];
}
