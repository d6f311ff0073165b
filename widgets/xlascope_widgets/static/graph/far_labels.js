// @ts-check
/**
 * Labels of a graph seen from afar, as on a map: names with their shares in letters that can be read, boxes before
 * equations and the heaviest first, where they cover no other label.
 */

import { shorten } from "../ground/format.js";
import { formatHeat } from "../program/heat.js";
import { formatTimeFraction, TITLE_LETTER } from "../program/labels.js";
/** @typedef {import("../layout/layout.js").Scene} Scene */
/** @typedef {import("../layout/level.js").GraphNode} GraphNode */
/** @typedef {import("../program/program.js").Program} Program */

/** A label with the middle of its rectangle, in units of the scene. @typedef {import("../layout/layout.js").FarLabel}
 * FarLabel */

/** What colours mean, how much larger letters are than usual, and the room on each side of the scene.
 * @typedef {{heat: string, up: number, spare?: number}} FarLook */

/** The height of a line and the room around it, in units of letters of the usual size. */
export const FAR_LINE = 14;
const [ASIDE, BETWEEN] = [4, 3];
/** The letters of a name that is as long as its box, at least and at most; and of an equation in a box. */
const [FEWEST, MOST, FEWEST_INSIDE] = [10, 24, 7];
/** The part of the time from which on an equation in a box has a label. */
const LITTLE = 0.01;

/**
 * Return the labels of a scene whose nodes are too small for their own.
 * @param {Program} program
 * @param {Scene} scene
 * @param {FarLook} look
 * @returns {FarLabel[]}
 */
export function placeFarLabels(program, scene, look) {
  const taken = new Taken(FAR_LINE * look.up);
  const outermost = findBranchingDepth(scene.nodes);
  const labels = [];
  for (const node of sortByWeight(program, scene.nodes)) {
    const options = listOptions(program, node, outermost, look).map((option) =>
      keepInside(option, scene, look.spare ?? 0),
    );
    const label = options.find((option) => taken.isFree(option));
    if (!label) continue;
    taken.add(label);
    labels.push(label);
  }
  return labels;
}

/**
 * Move a label so that it can be seen, where there is room.
 * @param {FarLabel} label
 * @param {Scene} scene
 * @param {number} spare room beside the scene, on each side
 */
function keepInside(label, { width, height }, spare) {
  const move = (/** @type {number} */ at, /** @type {number} */ size, /** @type {number} */ all, more = 0) =>
    size > all + 2 * more ? at : Math.max(size / 2 - more, Math.min(all + more - size / 2, at));
  return { ...label, x: move(label.x, label.w, width, spare), y: move(label.y, label.h, height) };
}

/** Return the depth at which more than one node stands: what is above holds everything. @param {GraphNode[]} nodes */
function findBranchingDepth(nodes) {
  /** @type {number[]} */ const counts = [];
  for (const { path, depth } of nodes) if (path) counts[depth] = (counts[depth] ?? 0) + 1;
  return counts.findIndex((count) => count > 1);
}

/**
 * Return what can have a label: open boxes, outer ones first, then the others; the heaviest of equals first.
 * @param {Program} program
 * @param {GraphNode[]} nodes
 */
function sortByWeight(program, nodes) {
  const weight = new Map();
  for (const node of nodes)
    if (node.path) weight.set(node, program.getSeconds(node.path) ?? program.listInside(node.path).length);
  const rank = (/** @type {GraphNode} */ node) => (node.inner ? node.depth : 1e6);
  return [...weight.keys()].sort((a, b) => rank(a) - rank(b) || weight.get(b) - weight.get(a));
}

/**
 * Return the ways to write a node's label, the best first; none for an equation in a box that is too small.
 * @param {Program} program
 * @param {GraphNode} node
 * @param {number} outermost
 * @param {FarLook} look
 * @returns {FarLabel[]}
 */
function listOptions(program, node, outermost, { heat, up }) {
  const isArea = node.inner != null || node.depth <= outermost;
  const room = Math.floor(((isArea ? 1 : 1.2) * node.w) / (TITLE_LETTER * up));
  if (!isArea && (room < Math.min(node.title.length, FEWEST_INSIDE) || isIrrelevant(program, node))) return [];
  const letters = isArea ? Math.max(FEWEST, Math.min(MOST, room)) : room;
  const title = shorten(node.title, letters);
  const share = formatShare(program, node, heat);
  const both = share && share.length <= Math.max(letters, FEWEST) ? [[title, share]] : [];
  return [...both, [title]].flatMap((lines) => {
    const w = Math.max(...lines.map((line) => line.length)) * TITLE_LETTER * up + 2 * ASIDE * up;
    const h = lines.length * FAR_LINE * up;
    return listPlaces(node, w, h, isArea).map(([x, y]) => ({ node, lines, x, y, w, h }));
  });
}

/**
 * Return where a label may stand: in its node, at the upper end of one that holds others, or beside it.
 * @param {GraphNode} node
 * @param {number} w
 * @param {number} h
 * @param {boolean} isArea
 * @returns {[number, number][]}
 */
function listPlaces(node, w, h, isArea) {
  const top = node.y - node.h / 2 + h / 2;
  const y = node.inner?.some((level) => level.nodes.some((inner) => inner.inner)) ? Math.min(top, node.y) : node.y;
  if (!isArea) return [[node.x, y]];
  const away = (node.w + w) / 2;
  return [
    [node.x, y],
    [node.x + away, y],
    [node.x - away, y],
  ];
}

/** Return whether an equation takes so little of the time that its name tells nothing. */
function isIrrelevant(/** @type {Program} */ program, /** @type {GraphNode} */ node) {
  return (program.getTimeFraction(node.path) ?? 1) < LITTLE;
}

/** @param {Program} program @param {GraphNode} node @param {string} heat */
function formatShare(program, node, heat) {
  const equation = program.at(node.path);
  if (!equation || program.getTimeFraction(node.path) === 0) return "";
  return heat === "pass" ? formatTimeFraction(program, node.path) : formatHeat(program, equation, heat);
}

/** The rectangles of labels that are there, by the rows of a grid. */
class Taken {
  /** @param {number} pitch */
  constructor(pitch) {
    this.pitch = pitch;
    /** @type {Map<number, FarLabel[]>} */ this.rows = new Map();
  }

  /** @param {FarLabel} label @returns {number[]} */
  listRows({ y, h }) {
    const [first, last] = [Math.floor((y - h / 2) / this.pitch), Math.floor((y + h / 2) / this.pitch)];
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  }

  /** @param {FarLabel} label */
  isFree(label) {
    const isApart = (/** @type {FarLabel} */ other) =>
      Math.abs(label.x - other.x) >= (label.w + other.w) / 2 + BETWEEN ||
      Math.abs(label.y - other.y) >= (label.h + other.h) / 2;
    return this.listRows(label).every((row) => (this.rows.get(row) ?? []).every(isApart));
  }

  /** @param {FarLabel} label */
  add(label) {
    for (const row of this.listRows(label)) this.rows.set(row, [...(this.rows.get(row) ?? []), label]);
  }
}
