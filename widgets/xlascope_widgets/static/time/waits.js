// @ts-check
/** Collectives: the exchange between devices, and where a device waits for others. */

import { el } from "../ground/element.js";
import { formatTime, round } from "../ground/format.js";
/** @typedef {import("../ground/wire.js").Device} Device */

/**
 * Pale stretches over the bars of a lane.
 * @param {Device} device
 * @param {number} left
 * @param {number} y
 * @param {number} h
 * @param {{from: number, to: number, scale: number}} axis
 */
export function drawWaits(device, left, y, h, { from, to, scale }) {
  return (device.waits ?? [])
    .filter(([, start, duration]) => start < to && start + duration > from)
    .map(([name, start, duration]) => {
      const [begin, end] = [Math.max(start, from), Math.min(start + duration, to)];
      return el(
        "rect",
        {
          class: "xs-wait",
          x: round(left + (begin - from) * scale),
          y,
          width: round(Math.max(0.5, (end - begin) * scale)),
          height: h,
          "data-kernel": name,
        },
        el(
          "title",
          {},
          `${device.name} waits ${formatTime(duration)} in ${name} until the last device has come (derived from when each began)`,
        ),
      );
    });
}
