// @ts-check
/** From a program and the set of opened equations to a scene: every node with its place, every edge with its path.
 * The same code runs in the browser and, for pictures without one, in an embedded JavaScript engine. */

import { groups, readLevel } from "./level.js";
import { placeColumn } from "./columns.js";
import { append } from "./phases.js";
import { equationWords, variableWords } from "../program/words.js";
/** @typedef {import("./level.js").GraphNode} GraphNode */
/** @typedef {import("./level.js").Edge} Edge */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../program/unpack.js").Equation} Equation */
/** @typedef {import("../program/unpack.js").Jaxpr} Jaxpr */

const ROW_GAP = 30;
const BAND_GAP = 30;
const COLUMN_GAP = 56;
export const PAD = 16;
const HEAD = 24;
const LEAF = 32;
const PITCH = LEAF + ROW_GAP;

/** An edge with its path: `near`, `far` or `across` to another phase. @typedef {{d: string, ends: number[], from: string, to: string, name: string, count: number,
 *   kind: "near"|"far"|"across", left: number, right: number, top: number, bottom: number, shape?: Path2D}} SceneEdge */
/** @typedef {{nodes: GraphNode[], edges: SceneEdge[], width: number, height: number, joins?: Map<string, SceneEdge[]>}} Scene */
/** A point that an edge is led through, and how high its row is. @typedef {{x: number, y: number, h: number}} Lead */
/** A level with its places, before they are those of the whole scene.
 * @typedef {{nodes: GraphNode[], edges: Edge[], leads: Map<Edge, Lead[]>, width: number, height: number}} Level */

/** @param {Program} program @param {Set<string>} open paths of the equations opened in place @returns {Scene} */
export function layoutProgram(program, open) {
  return flatten(layoutLevel(program, /** @type {Jaxpr} */ (program.heavy.jaxpr), "", 0, open));
}

/** @param {Program} program @param {Jaxpr} jaxpr @param {string} prefix @param {number} body @param {Set<string>} open @returns {Level} */
function layoutLevel(program, jaxpr, prefix, body, open) {
  const { nodes, edges } = readLevel(program.shown(jaxpr), prefix, body);
  for (const node of nodes) sizeNode(program, node, open);
  const last = Math.max(0, ...nodes.map((node) => node.phase));
  // What comes after the last backward pass has nothing beside it: it need not keep to the bands.
  const isFree = (/** @type {GraphNode} */ node) => last >= 2 && last % 2 === 0 && node.phase === last;
  const banded = nodes.filter((node) => !isFree(node));
  // Rows of what is free go by where the others stand when nothing is open, so that opening a box moves no chain past another.
  const stacked = [...groups(banded).values()];
  stackBands(stacked, () => LEAF);
  for (const node of banded) node.closedY = node.y;
  const height = stackBands(stacked, (node) => node.h);
  const bands = Math.max(height, stackFreely(nodes.filter(isFree), edges, loweredBy(banded)));
  const { columns, leads } = placePhases(nodes, edges);
  const width = columns.length ? columns[columns.length - 1].right : 0;
  return { nodes, edges, leads, width, height: bands };
}

/** @param {Program} program @param {GraphNode} node @param {Set<string>} open */
function sizeNode(program, node, open) {
  const equation = program.at(node.path);
  if (equation?.bodies && open.has(node.path)) {
    openNode(program, node, equation, open);
    return;
  }
  const words = equation ? equationWords(program, equation) : variableWords(program, node);
  Object.assign(node, words);
  // An equation keeps its width when a measured time arrives.
  const least = node.kind === "equation" ? 116 : 72;
  node.w = Math.min(210, Math.max(least, 22 + Math.max(words.title.length * 6.7, words.sub.length * 5.8)));
  node.h = LEAF;
}

/** @param {Program} program @param {GraphNode} node @param {Equation} equation @param {Set<string>} open */
function openNode(program, node, equation, open) {
  node.inner = (equation.bodies ?? []).map((body, i) => layoutLevel(program, body, node.path, i, open));
  Object.assign(node, equationWords(program, equation));
  const inside = node.inner.reduce((sum, level) => sum + level.width + PAD, -PAD);
  node.w = Math.max(inside, node.title.length * 6.7 + node.sub.length * 5.8 + 36) + 2 * PAD;
  node.h = Math.max(...node.inner.map((level) => level.height)) + HEAD + PAD;
}

/** How far down the boxes that are open have moved what stands at a height. @param {GraphNode[]} nodes @returns {(y: number) => number} */
function loweredBy(nodes) {
  const places = nodes.filter((node) => node.y !== node.closedY).sort((a, b) => a.closedY - b.closedY);
  return (y) => {
    let low = 0, high = places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[middle].closedY <= y) low = middle + 1;
      else high = middle;
    }
    return low ? places[low - 1].y - places[low - 1].closedY : 0;
  };
}

/** Heights: a band is as high as its highest stack; each stack stands in its middle. Returns the total height.
 * @param {GraphNode[][]} stacked the nodes of each phase and band @param {(node: GraphNode) => number} heightOf */
function stackBands(stacked, heightOf) {
  /** @type {Map<number, number>} */ const heights = new Map();
  const stacks = stacked.map((group) => {
    /** @type {number[]} */ const rows = [];
    for (const node of group) rows[node.row] = Math.max(rows[node.row] ?? 0, heightOf(node));
    const height = rows.reduce((sum, row) => sum + (row ?? 0) + ROW_GAP, -ROW_GAP);
    heights.set(group[0].band, Math.max(heights.get(group[0].band) ?? 0, height));
    return { group, rows, height };
  });
  const tops = new Map();
  let y = 0;
  for (const band of [...heights.keys()].sort((a, b) => a - b)) {
    tops.set(band, y);
    y += (heights.get(band) ?? 0) + BAND_GAP;
  }
  for (const { group, rows, height } of stacks) {
    let top = tops.get(group[0].band) + ((heights.get(group[0].band) ?? 0) - height) / 2;
    const middles = rows.map((row) => {
      top += row + ROW_GAP;
      return top - ROW_GAP - row / 2;
    });
    for (const node of group) node.y = middles[node.row];
  }
  return Math.max(0, y - BAND_GAP);
}

/** Rows of an optimizer: each chain starts level with its gradient and runs down in even steps. Returns the height.
 * @param {GraphNode[]} nodes @param {Edge[]} edges @param {(y: number) => number} lowered */
function stackFreely(nodes, edges, lowered) {
  if (!nodes.length) return 0;
  assignFreeRows(nodes, edges);
  /** @type {Map<number, GraphNode[]>} */ const rows = new Map(nodes.map((node) => [node.row, []]));
  for (const node of nodes) rows.get(node.row)?.push(node);
  let bottom = -Infinity;
  for (const [row, members] of [...rows].sort(([a], [b]) => a - b)) {
    const height = Math.max(...members.map((node) => node.h));
    const level = row * PITCH + LEAF / 2;
    const y = Math.max(level + lowered(level), bottom + ROW_GAP + height / 2);
    for (const node of members) node.y = y;
    bottom = y + height / 2;
  }
  return bottom;
}

/** @param {GraphNode[]} nodes @param {Edge[]} edges */
function assignFreeRows(nodes, edges) {
  const mine = new Set(nodes);
  const entering = new Map(nodes.map((node) => [node, /** @type {GraphNode[]} */ ([])]));
  const leaving = new Map(nodes.map((node) => [node, /** @type {GraphNode[]} */ ([])]));
  for (const edge of edges) {
    entering.get(edge.to)?.push(edge.from);
    if (mine.has(edge.to)) leaving.get(edge.from)?.push(edge.to);
  }
  const computed = nodes.filter((node) => node.kind !== "input");
  for (const node of computed) {
    const rows = entering.get(node)?.filter((from) => from.kind !== "input").map((from) =>
      mine.has(from) ? from.row + 1 : Math.round((from.closedY - LEAF / 2) / PITCH));
    node.row = Math.max(1, ...(rows ?? []));
  }
  // What waits for nothing stands just above its first use; so do the inputs.
  const waiting = (/** @type {GraphNode} */ node) => !entering.get(node)?.some((from) => from.kind !== "input");
  for (const node of [...computed.filter(waiting).reverse(), ...nodes.filter((node) => node.kind === "input")]) {
    const uses = leaving.get(node)?.map((to) => to.row) ?? [];
    if (uses.length) node.row = Math.max(0, Math.min(...uses) - 1);
  }
}

/** One column per phase, from left to right. @param {GraphNode[]} nodes @param {Edge[]} edges */
function placePhases(nodes, edges) {
  const columns = [];
  const leads = new Map();
  let left = 0;
  for (const phase of [...new Set(nodes.map((node) => node.phase))].sort((a, b) => a - b)) {
    const mine = nodes.filter((node) => node.phase === phase);
    const own = edges.filter((edge) => edge.from.phase === phase && edge.to.phase === phase);
    const rows = new Map();
    for (const node of mine) append(rows, node.y, node);
    const levels = [...rows.keys()].sort((a, b) => a - b);
    const heights = levels.map((y) => Math.max(...rows.get(y).map((/** @type {GraphNode} */ node) => node.h)));
    const column = placeColumn(levels.map((y) => rows.get(y)), own);
    for (const node of mine) node.x += left;
    for (const [edge, slots] of column.leads)
      leads.set(edge, slots.map((slot) => ({ x: slot.x + left, y: levels[slot.row], h: heights[slot.row] })));
    columns.push({ phase, left, right: left + column.width });
    left += column.width + COLUMN_GAP;
  }
  return { columns, leads };
}

/** Absolute places: boxes, nodes and edges of all open levels in one list each. @param {Level} level @returns {Scene} */
function flatten(level) {
  /** @type {Scene} */ const scene = { nodes: [], edges: [], width: level.width + 2 * PAD, height: level.height + 2 * PAD };
  flattenLevel(scene, level, PAD, PAD, 0);
  return scene;
}

/** @param {Scene} scene @param {Level} level @param {number} left @param {number} top @param {number} depth */
function flattenLevel(scene, level, left, top, depth) {
  for (const node of level.nodes) {
    node.x += left;
    node.y += top;
    node.depth = depth;
    scene.nodes.push(node);
    if (!node.inner) continue;
    let x = node.x - node.w / 2 + PAD;
    const y = node.y - node.h / 2 + HEAD;
    for (const inner of node.inner) {
      flattenLevel(scene, inner, x, y, depth + 1);
      x += inner.width + PAD;
    }
  }
  for (const lead of level.leads.values())
    for (const point of lead) {
      point.x += left;
      point.y += top;
    }
  routeEdges(scene, level);
}

/** @param {Scene} scene @param {Level} level */
function routeEdges(scene, level) {
  const ports = targetPorts(level.edges);
  for (const edge of level.edges) {
    const { from, to } = edge;
    const across = from.phase !== to.phase || from.y === to.y;
    const d = across ? acrossPath(from, to) : alongPath(from, to, ports.get(edge) ?? 0, level.leads.get(edge) ?? []);
    const lead = (level.leads.get(edge) ?? []).map((point) => point.x);
    const sign = Math.sign(across ? to.x - from.x : to.y - from.y);
    const ends = across ? [from.x + (sign * from.w) / 2, from.y, to.x - (sign * to.w) / 2, to.y] : [from.x, from.y + (sign * from.h) / 2, to.x, to.y - (sign * to.h) / 2];
    const far = !across && !level.leads.has(edge) && Math.abs(from.y - to.y) > 400;
    scene.edges.push({ d, ends, from: from.id, to: to.id, name: edge.name, count: edge.count, kind: across ? "across" : far ? "far" : "near",
      left: Math.min(from.x - from.w / 2, to.x - to.w / 2, ...lead), right: Math.max(from.x + from.w / 2, to.x + to.w / 2, ...lead), top: Math.min(from.y, to.y), bottom: Math.max(from.y, to.y) });
    if (!across && from.type == null) from.type = { up: to.y < from.y };
  }
}

/** Where each edge enters its target: side by side, in the order of the sources. @param {Edge[]} edges */
function targetPorts(edges) {
  const entering = new Map();
  for (const edge of edges) append(entering, edge.to, edge);
  const ports = new Map();
  for (const [to, list] of entering) {
    list.sort((/** @type {Edge} */ a, /** @type {Edge} */ b) => a.from.x - b.from.x);
    const step = Math.min(18, (to.w - 24) / list.length);
    list.forEach((/** @type {SceneEdge} */ edge, /** @type {number} */ i) => ports.set(edge, (i - (list.length - 1) / 2) * step));
  }
  return ports;
}

/** Down (or up) from node to node, straight through the rows where a stand-in keeps a place free.
 * @param {GraphNode} from @param {GraphNode} to @param {number} port @param {{x: number, y: number, h: number}[]} lead */
function alongPath(from, to, port, lead) {
  const sign = to.y > from.y ? 1 : -1;
  let [x, y] = [from.x, from.y + (sign * from.h) / 2];
  let d = `M${round(x)},${round(y)}`;
  const bend = (/** @type {number} */ x2, /** @type {number} */ y2) => {
    const middle = round((y + y2) / 2);
    d += x === x2 ? `V${round(y2)}` : `C${round(x)},${middle} ${round(x2)},${middle} ${round(x2)},${round(y2)}`;
    [x, y] = [x2, y2];
  };
  for (const point of lead) {
    bend(point.x, point.y - (sign * point.h) / 2);
    bend(point.x, point.y + (sign * point.h) / 2);
  }
  bend(to.x + port, to.y - (sign * to.h) / 2);
  return d;
}

/** From side to side: residuals, and what stands in one row. @param {GraphNode} from @param {GraphNode} to */
function acrossPath(from, to) {
  const sign = to.x > from.x ? 1 : -1;
  const [x1, x2] = [from.x + (sign * from.w) / 2, to.x - (sign * to.w) / 2];
  const bend = Math.min(60, Math.max(20, Math.abs(x2 - x1) / 2));
  return `M${round(x1)},${round(from.y)}C${round(x1 + sign * bend)},${round(from.y)} ${round(x2 - sign * bend)},${round(to.y)} ${round(x2)},${round(to.y)}`;
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}
