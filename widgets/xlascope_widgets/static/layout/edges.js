// @ts-check
/** Routing of the edges of a level whose nodes are placed. */

import { append } from "../ground/collections.js";
/** @typedef {import("./layout.js").Scene} Scene */
/** @typedef {import("./layout.js").SceneEdge} SceneEdge */
/** @typedef {import("./layout.js").Level} Level */
/** @typedef {import("./level.js").Edge} Edge */
/** @typedef {import("./level.js").GraphNode} GraphNode */

/** The room between rows, and between the columns of passes in a narrow graph. */
export const ROW_GAP = 32;
export const NARROW_GAP = 26;

/** @param {Scene} scene @param {Level} level */
export function routeEdges(scene, level) {
  const ports = assignTargetPorts(level.edges);
  for (const edge of level.edges) {
    const { from, to } = edge;
    const isFolded = from.column !== to.column;
    const across = isFolded || from.phase !== to.phase || from.y === to.y;
    const passes = level.narrow && !across && Math.abs(from.y - to.y) > (from.h + to.h) / 2 + ROW_GAP + 1;
    const d = across
      ? routeAcross(from, to)
      : passes
        ? routeAround(from, to)
        : routeAlong(from, to, ports.get(edge) ?? 0, level.leads.get(edge) ?? []);
    const lead = (level.leads.get(edge) ?? []).map((point) => point.x);
    const sign = Math.sign(across ? to.x - from.x : to.y - from.y);
    const ends = across
      ? [from.x + (sign * from.w) / 2, from.y, to.x - (sign * to.w) / 2, to.y]
      : [from.x, from.y + (sign * from.h) / 2, to.x, to.y - (sign * to.h) / 2];
    const far = !across && !level.leads.has(edge) && Math.abs(from.y - to.y) > 400;
    scene.edges.push({
      d,
      ends,
      from: from.id,
      to: to.id,
      name: edge.name,
      count: edge.count,
      kind: isFolded || far ? "far" : across ? "across" : "near",
      left: Math.min(from.x - from.w / 2, to.x - to.w / 2, ...lead),
      right: Math.max(from.x + from.w / 2, to.x + to.w / 2, ...lead),
      top: Math.min(from.y, to.y),
      bottom: Math.max(from.y, to.y),
    });
    if (!across && !passes && from.type == null) from.type = { up: to.y < from.y, name: edge.name, count: edge.count };
  }
}

/** Return where each edge enters its target: side by side, in the order of the sources. @param {Edge[]} edges */
function assignTargetPorts(edges) {
  const entering = new Map();
  for (const edge of edges) append(entering, edge.to, edge);
  const ports = new Map();
  for (const [to, list] of entering) {
    list.sort((/** @type {Edge} */ a, /** @type {Edge} */ b) => a.from.x - b.from.x);
    const step = Math.min(18, (to.w - 24) / list.length);
    list.forEach((/** @type {SceneEdge} */ edge, /** @type {number} */ i) =>
      ports.set(edge, (i - (list.length - 1) / 2) * step),
    );
  }
  return ports;
}

/**
 * Route an edge down (or up) from node to node, straight through the rows where a stand-in keeps a place free.
 * @param {GraphNode} from
 * @param {GraphNode} to
 * @param {number} port
 * @param {{x: number, y: number, h: number}[]} lead
 */
function routeAlong(from, to, port, lead) {
  const sign = to.y > from.y ? 1 : -1;
  let [x, y] = [from.x, from.y + (sign * from.h) / 2];
  let d = `M${round(x)},${round(y)}`;
  const drawBend = (/** @type {number} */ x2, /** @type {number} */ y2) => {
    const middle = round((y + y2) / 2);
    d += x === x2 ? `V${round(y2)}` : `C${round(x)},${middle} ${round(x2)},${middle} ${round(x2)},${round(y2)}`;
    [x, y] = [x2, y2];
  };
  for (const point of lead) {
    drawBend(point.x, point.y - (sign * point.h) / 2);
    drawBend(point.x, point.y + (sign * point.h) / 2);
  }
  drawBend(to.x + port, to.y - (sign * to.h) / 2);
  return d;
}

/** Route an edge around what stands between two nodes in a column. @param {GraphNode} from @param {GraphNode} to */
function routeAround(from, to) {
  const [x1, x2] = [from.x + from.w / 2, to.x + to.w / 2];
  const out = Math.max(x1, x2) + NARROW_GAP - 6;
  return `M${round(x1)},${round(from.y)}C${round(out)},${round(from.y)} ${round(out)},${round(to.y)} ${round(x2)},${round(to.y)}`;
}

/** Route an edge from side to side: residuals, and edges within a row. @param {GraphNode} from @param {GraphNode} to */
function routeAcross(from, to) {
  const sign = to.x > from.x ? 1 : -1;
  const [x1, x2] = [from.x + (sign * from.w) / 2, to.x - (sign * to.w) / 2];
  const bend = Math.min(60, Math.max(20, Math.abs(x2 - x1) / 2));
  return `M${round(x1)},${round(from.y)}C${round(x1 + sign * bend)},${round(from.y)} ${round(x2 - sign * bend)},${round(to.y)} ${round(x2)},${round(to.y)}`;
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}
