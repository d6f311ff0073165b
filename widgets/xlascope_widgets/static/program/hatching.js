// @ts-check
/** Hatching of bars by phase, beside their colour: forward is plain, backward slanted, update upright. */

import { round } from "../ground/format.js";

/** The distances of lines. */
const [SLANTED, UPRIGHT] = [5, 4];

/**
 * Return the lines of a phase in a rectangle as the data of a path; "" for a phase without, or where there is no room.
 * @param {string} phase
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 */
export function hatch(phase, x, y, w, h) {
  if (w < 3) return "";
  if (phase === "backward") return drawSlanted(x, y, w, h);
  if (phase === "recomputed") return `M${round(x)},${round(y + h / 2)}h${round(w)}`;
  if (phase !== "update") return "";
  const isNarrow = w < h;
  const length = isNarrow ? h : w;
  let d = "";
  for (let at = UPRIGHT / 2; at < length; at += UPRIGHT)
    d += isNarrow ? `M${round(x)},${round(y + at)}h${round(w)}` : `M${round(x + at)},${round(y)}v${round(h)}`;
  return d;
}

/** @param {number} x @param {number} y @param {number} w @param {number} h */
function drawSlanted(x, y, w, h) {
  let d = "";
  // Each line runs up to the right from the lower edge, cut at both sides.
  for (let start = SLANTED / 2 - h; start < w; start += SLANTED) {
    const [from, to] = [Math.max(0, start), Math.min(w, start + h)];
    d += `M${round(x + from)},${round(y + h - (from - start))}L${round(x + to)},${round(y + h - (to - start))}`;
  }
  return d;
}
