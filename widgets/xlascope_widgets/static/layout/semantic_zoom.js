// @ts-check
/** Semantic zoom: zooming in opens boxes, zooming out closes them. Letters keep their size on the screen. */

import { READABLE } from "./viewport.js";
/** @typedef {import("./layout.js").Scene} Scene */
/** @typedef {import("./level.js").GraphNode} GraphNode */
/** @typedef {import("./viewport.js").Zoom} Zoom */
/** @typedef {{width: number, height: number}} Screen */

/** Above the first zoom the box under the pointer opens; below the second the innermost ones that are open close. */
const OPENS = 1.5,
  GATHERS = 0.74;
/** How near to a point, in its own widths, a box is meant by it. */
const REACH = 1;
/** Letters larger than a graph is made for: above the first only titles have room, above the second nothing has. */
const TITLES_ONLY = 1.35,
  NOTHING = 2.2;

/**
 * Return the box that opens after zooming in to a point of the scene, or none.
 * @param {Scene} scene
 * @param {(node: GraphNode) => boolean} holds
 * @param {number} k
 * @param {{x: number, y: number}} point
 * @returns {GraphNode|undefined}
 */
export function findBoxToOpen(scene, holds, k, point) {
  if (k < OPENS) return undefined;
  let best,
    least = REACH;
  for (const node of scene.nodes) {
    if (node.inner || !node.path || !holds(node)) continue;
    const away = Math.max(Math.abs(node.x - point.x) / node.w, Math.abs(node.y - point.y) / (2 * node.h));
    if (away <= least) [best, least] = [node, away];
  }
  return best;
}

/**
 * Return the open boxes that close after zooming out: the innermost ones.
 * @param {Scene} scene
 * @param {number} k
 * @returns {GraphNode[]}
 */
export function findBoxesToClose(scene, k) {
  if (k >= GATHERS) return [];
  const open = scene.nodes.filter((node) => node.inner);
  const depth = Math.max(...open.map((node) => node.depth));
  return open.filter((node) => node.depth === depth);
}

/**
 * Return the zoom that shows a box, just opened, where it was closed, as much of it as can be read.
 * @param {GraphNode} node
 * @param {{x: number, y: number}} at where on the screen its middle was
 * @param {Screen} screen
 * @returns {Zoom}
 */
export function computeZoomInto(node, at, screen) {
  const k = Math.min(
    1.2,
    Math.max(READABLE, Math.min((0.92 * screen.width) / node.w, (0.92 * screen.height) / node.h)),
  );
  const [w, h] = [node.w * k, node.h * k];
  // Keep the box within the screen; show the beginning of a box that is too large.
  const left = Math.max(8, Math.min(at.x - w / 2, screen.width - w - 8));
  const top = Math.max(8, Math.min(at.y - h / 2, screen.height - h - 8));
  return { k, x: left - (node.x - node.w / 2) * k, y: top - (node.y - node.h / 2) * k };
}

/**
 * Return the scale of letters that keeps them readable at a zoom, in steps, since each step is drawn again.
 * @param {number} k
 */
export function scaleLetters(k) {
  return k >= READABLE ? 1 : Math.ceil((READABLE / k) * 8) / 8;
}

/** Return which labels fit a node with letters of a scale. @param {number} up @returns {"all"|"title"|"none"} */
export function pickLabels(up) {
  return up <= TITLES_ONLY ? "all" : up <= NOTHING ? "title" : "none";
}
