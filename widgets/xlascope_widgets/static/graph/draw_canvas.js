// @ts-check
/**
 * Drawing of a scene on a canvas, for graphs of thousands of nodes: the same boxes, edges, labels and colours as in
 * SVG.
 */

import { append } from "../ground/collections.js";
import { shorten } from "../ground/format.js";
import { pickLabels, scaleLetters } from "../layout/semantic_zoom.js";
import { hatch } from "../program/hatching.js";
import { buildHeatScale } from "../program/heat.js";
import { formatOutTypes, SUB_LETTER } from "../program/labels.js";
import { PASS_COLOURS } from "./canvas_theme.js";
import { FAR_LINE, placeFarLabels } from "./far_labels.js";
import {
  countLetters,
  countTitleLetters,
  formatSubtitle,
  getCardOffsets,
  groupEdges,
  isHullInformative,
  listHullKernels,
  SIDE,
} from "./draw_svg.js";
/** @typedef {import("./canvas_theme.js").Theme} Theme */
/** @typedef {import("./marks.js").Mark} Mark */
/** @typedef {import("../layout/layout.js").SceneEdge} SceneEdge */
/** @typedef {import("../layout/level.js").GraphNode} GraphNode */
/** @typedef {import("../program/unpack.js").Equation} Equation */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../layout/layout.js").Scene} Scene */

/** Below this zoom corners cannot be seen. */
const ROUND = 0.3;

/**
 * @typedef {{program: Program, scene: Scene, heat: string, theme: Theme, marks: Map<string, Mark>, kernels:
 * Set<string>, isSelectedEdge: (from: string, to: string) => boolean, focused: string, seen: {left: number, right:
 * number, top: number, bottom: number}, k: number, spare: number}} Picture
 */

/**
 * @param {CanvasRenderingContext2D} context scaled and moved to the scene's own units
 * @param {Picture} picture
 * @returns {number} nodes drawn
 */
export function drawOnCanvas(context, picture) {
  const { scene, seen } = picture;
  const nodes = scene.nodes.filter((/** @type {GraphNode} */ node) => isInView(node, seen));
  const boxes = nodes.filter((/** @type {GraphNode} */ node) => node.inner);
  const leaves = nodes.filter((/** @type {GraphNode} */ node) => !node.inner);
  for (const node of boxes) drawOpenBox(context, picture, node);
  if (picture.k > ROUND) drawHulls(context, picture, leaves);
  drawEdges(context, picture);
  const heat = buildHeatScale(picture.program, picture.heat, leaves);
  for (const node of leaves) drawLeaf(context, picture, node, heat(node));
  if (isFar(picture.k)) drawFarLabels(context, picture);
  return nodes.length;
}

/** Return whether nodes are too small for their labels. @param {number} k */
const isFar = (k) => pickLabels(scaleLetters(k)) === "none";

/** @param {CanvasRenderingContext2D} context @param {Picture} picture */
function drawFarLabels(context, { program, scene, heat, theme, k, seen, spare }) {
  const up = scaleLetters(k);
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  for (const label of findFarLabels(program, scene, { heat, up, spare })) {
    const { lines, x, y, w, h } = label;
    if (!isInView(label, seen)) continue;
    context.globalAlpha = 0.86;
    context.fillStyle = theme.bg;
    traceBox(context, x - w / 2, y - h / 2, w, h, 3 * up);
    context.fill();
    context.globalAlpha = 1;
    lines.forEach((line, i) => {
      context.fillStyle = i ? theme.ink2 : theme.ink;
      context.font = `${(i ? 11 : 12) * up}px ${theme.mono}`;
      context.fillText(line, x, y + (i + 0.78 - lines.length / 2) * FAR_LINE * up);
    });
  }
}

/**
 * Return the labels of a scene from afar, which are placed once for a size of letters.
 * @param {Program} program
 * @param {Scene} scene
 * @param {{heat: string, up: number, spare: number}} look
 */
function findFarLabels(program, scene, look) {
  const key = `${look.heat} ${look.up}`;
  const { far } = scene;
  if (far?.key === key && far.account === program.account) return far.labels;
  const labels = placeFarLabels(program, scene, look);
  scene.far = { key, account: program.account, labels };
  return labels;
}

/** @param {{x: number, y: number, w: number, h: number}} node @param {Picture["seen"]} region */
function isInView(node, region) {
  return (
    node.y + node.h / 2 > region.top &&
    node.y - node.h / 2 < region.bottom &&
    node.x + node.w / 2 > region.left &&
    node.x - node.w / 2 < region.right
  );
}

/** @param {CanvasRenderingContext2D} context @param {Picture} picture */
function drawEdges(context, { scene, seen, theme, k, isSelectedEdge, marks }) {
  const anyMarked = marks.size > 0;
  context.strokeStyle = theme.ink2;
  const kinds = { near: [0.5, []], across: [0.4, [3, 3]], far: [0.22, []] };
  for (const [kind, [alpha, dash]] of Object.entries(kinds)) {
    context.globalAlpha = /** @type {number} */ (alpha);
    context.lineWidth = Math.max(1.2, 0.6 / k);
    // Dashes too small to see are the most expensive to draw.
    context.setLineDash(k > ROUND ? /** @type {number[]} */ (dash) : []);
    if (k <= ROUND) {
      drawStraightEdges(
        context,
        scene.edges.filter((/** @type {SceneEdge} */ edge) => edge.kind === kind),
        seen,
      );
      continue;
    }
    for (const edge of scene.edges) {
      if (
        edge.kind !== kind ||
        edge.bottom < seen.top ||
        edge.top > seen.bottom ||
        edge.right < seen.left ||
        edge.left > seen.right
      )
        continue;
      context.stroke((edge.shape ??= new Path2D(edge.d)));
    }
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
  context.lineWidth = Math.max(1.6, 1.2 / k);
  if (anyMarked)
    for (const edge of scene.edges)
      if (isSelectedEdge(edge.from, edge.to)) context.stroke((edge.shape ??= new Path2D(edge.d)));
}

/**
 * Draw edges as straight lines in one path, for small zooms.
 * @param {CanvasRenderingContext2D} context
 * @param {SceneEdge[]} edges
 * @param {Picture["seen"]} region
 */
function drawStraightEdges(context, edges, region) {
  context.beginPath();
  let lines = 0;
  for (const { left, right, top, bottom, ends } of edges) {
    if (bottom < region.top || top > region.bottom || right < region.left || left > region.right) continue;
    context.moveTo(ends[0], ends[1]);
    context.lineTo(ends[2], ends[3]);
    if (++lines % 500) continue;
    context.stroke();
    context.beginPath();
  }
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 * @param {number} r
 */
function traceBox(context, x, y, w, h, r) {
  context.beginPath();
  if (r) context.roundRect(x, y, w, h, r);
  else context.rect(x, y, w, h);
}

/** @param {Picture} picture @param {GraphNode} node */
function getPassColour({ program, theme }, node) {
  const pass = program.at(node.path) ? program.getPass(node.path) : "";
  return theme[PASS_COLOURS[/** @type {"forward"} */ (pass)] ?? "line2"];
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Picture} picture
 * @param {GraphNode} node
 * @param {number|null} heat
 */
function drawLeaf(context, picture, node, heat) {
  const { program, theme, marks, k, focused } = picture;
  const equation = program.at(node.path);
  const [left, top] = [node.x - node.w / 2, node.y - node.h / 2];
  const mark = marks.get(node.path);
  const colour = getPassColour(picture, node);
  const radius = k > ROUND ? 6 : 0;
  context.globalAlpha = mark?.faint ? 0.22 : 1;
  if (isFar(k)) {
    context.fillStyle =
      mark?.selected || mark?.start || mark?.between
        ? theme.sel
        : heat != null
          ? theme[`heat${heat}`]
          : picture.heat === "pass"
            ? colour
            : theme.line2;
    context.fillRect(left, top, node.w, node.h);
    context.globalAlpha = 1;
    return;
  }
  for (const shift of getCardOffsets(equation)) drawCard(context, picture, node, shift, colour);
  context.fillStyle = heat == null ? theme.bg : theme[`heat${heat}`];
  if (mark?.between) context.fillStyle = mixColours(theme.sel, theme.bg);
  context.strokeStyle = mark?.selected || mark?.related || mark?.start ? theme.sel : colour;
  context.lineWidth = (mark?.selected || mark?.start || focused === node.id ? 2.6 : 1.3) * Math.max(1, 0.5 / k);
  context.setLineDash(mark?.related ? [4, 3] : []);
  traceBox(context, left, top, node.w, node.h, radius);
  context.fill();
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = node.kind === "equation" ? colour : theme.ink2;
  context.fillRect(left, top, SIDE, node.h);
  if (equation) {
    context.strokeStyle = theme.onbar;
    context.lineWidth = 1.3;
    context.stroke(new Path2D(hatch(program.getPass(node.path), left, top, SIDE, node.h)));
  }
  if (pickLabels(scaleLetters(k)) !== "none") drawLabels(context, picture, node, equation, heat);
  context.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Picture} picture
 * @param {GraphNode} node
 * @param {number} shift
 * @param {string} colour
 */
function drawCard(context, { theme, k }, node, shift, colour) {
  context.fillStyle = theme.bg;
  context.strokeStyle = colour;
  context.lineWidth = 1;
  traceBox(context, node.x - node.w / 2 + shift, node.y - node.h / 2 + shift, node.w, node.h, k > ROUND ? 6 : 0);
  context.fill();
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Picture} picture
 * @param {GraphNode} node
 * @param {Equation|undefined} equation
 * @param {number|null} heat
 */
function drawLabels(context, { program, theme, heat: kind, k }, node, equation, heat) {
  const up = scaleLetters(k);
  const isAll = pickLabels(up) === "all";
  const onDark = heat != null && heat > 2;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.fillStyle = onDark ? theme.onheat : theme.ink;
  context.font = `${12 * up}px ${theme.mono}`;
  const toggle = equation?.bodies ? " ⊞" : "";
  context.fillText(
    (up > 1 ? shorten(node.title, countTitleLetters(node, up) - toggle.length) : node.title) + toggle,
    node.x,
    isAll ? node.y - 2.5 : node.y + 4 * up,
  );
  if (!isAll) return;
  context.fillStyle = onDark ? theme.onheat : theme.ink2;
  context.font = `${11 * up}px ${theme.mono}`;
  context.fillText(shorten(formatSubtitle(program, node, equation, kind), countLetters(node, up)), node.x, node.y + 12);
  if (!node.type || !equation) return;
  context.textAlign = "left";
  context.strokeStyle = theme.bg;
  context.lineWidth = 2.5;
  context.fillStyle = theme.ink2;
  const y = node.type.up ? node.y - node.h / 2 - 7 : node.y + node.h / 2 + 12;
  const words = formatOutTypes(program, equation, node);
  context.strokeText(words, node.x + 6, y);
  context.fillText(words, node.x + 6, y);
}

/** @param {CanvasRenderingContext2D} context @param {Picture} picture @param {GraphNode} node */
function drawOpenBox(context, picture, node) {
  const { theme, k, marks } = picture;
  const [left, top] = [node.x - node.w / 2, node.y - node.h / 2];
  const mark = marks.get(node.path);
  context.globalAlpha = 0.75;
  context.fillStyle = theme.bg2;
  traceBox(context, left, top, node.w, node.h, 10);
  context.fill();
  context.globalAlpha = mark?.selected ? 1 : 0.65;
  context.strokeStyle = mark?.selected ? theme.sel : getPassColour(picture, node);
  context.lineWidth = (mark?.selected ? 2.6 : 1.3) * Math.max(1, 0.5 / k);
  context.stroke();
  context.globalAlpha = 1;
  const up = scaleLetters(k);
  if (pickLabels(up) === "none") return;
  context.textAlign = "left";
  context.fillStyle = theme.ink;
  context.font = `${12 * up}px ${theme.mono}`;
  const title = `⊟ ${up > 1 ? shorten(node.title, countTitleLetters(node, up) - 4) : node.title}`;
  context.fillText(title, left + 12, top + 10 + 6 * up);
  if (up > 1) return;
  const width = context.measureText(title).width;
  context.fillStyle = theme.ink2;
  context.font = `11px ${theme.mono}`;
  context.fillText(node.sub, left + 20 + width, top + 16);
}

/**
 * Draw the members of each fusion, padded, and the edges between them, widened. All outlines come first, so that those
 * of one kernel merge.
 * @param {CanvasRenderingContext2D} context
 * @param {Picture} picture
 * @param {GraphNode[]} leaves
 */
function drawHulls(context, { program, scene, theme, kernels, k }, leaves) {
  const byKernel = new Map();
  for (const node of leaves)
    for (const kernel of node.path ? listHullKernels(program, node) : []) append(byKernel, kernel.name, node);
  const joins = (scene.joins ??= groupEdges(scene));
  for (const [name, members] of byKernel) {
    if (!isHullInformative(program, name, members)) continue;
    const ids = new Set(members.map((/** @type {GraphNode} */ node) => node.id));
    const edges = members.flatMap((/** @type {GraphNode} */ node) =>
      (joins.get(node.id) ?? []).filter((/** @type {SceneEdge} */ edge) => ids.has(edge.to)),
    );
    const on = kernels.has(name);
    for (const [colour, pad] of /** @type {[string, number][]} */ ([
      [on ? theme.sel : theme.line2, 9],
      [on ? mixColours(theme.sel, theme.bg) : theme.hull, 8],
    ])) {
      context.fillStyle = context.strokeStyle = colour;
      context.lineWidth = 14 + 2 * pad;
      for (const edge of edges) context.stroke((edge.shape ??= new Path2D(edge.d)));
      for (const node of members) {
        traceBox(context, node.x - node.w / 2 - pad, node.y - node.h / 2 - pad, node.w + 2 * pad, node.h + 2 * pad, 11);
        context.fill();
      }
    }
    if (pickLabels(scaleLetters(k)) === "all")
      drawHullName(context, theme, program.getKernelTitle(name), members, scaleLetters(k));
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Theme} theme
 * @param {string} name
 * @param {GraphNode[]} members
 * @param {number} up
 */
function drawHullName(context, theme, name, members, up) {
  const first = members.reduce((a, b) => (b.y < a.y || (b.y === a.y && b.x < a.x) ? b : a));
  context.textAlign = "left";
  context.font = `${11 * up}px ${theme.mono}`;
  context.fillStyle = theme.ink2;
  const words = shorten(name, Math.max(8, Math.floor((first.w / 2 + 8) / SUB_LETTER / up)));
  context.fillText(words, first.x - first.w / 2 - 4, first.y - first.h / 2 - 11);
}

/** @param {string} colour @param {string} ground */
function mixColours(colour, ground) {
  return `color-mix(in srgb, ${colour} 16%, ${ground})`;
}
