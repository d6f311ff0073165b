// @ts-check
/** From a program and the set of opened equations to a scene: every node with its place, every edge with its path.
 * The same code runs in the browser and, for pictures without one, in an embedded JavaScript engine. */

import { append } from "../ground/collections.js";
import { shorten } from "../ground/format.js";
import { formatEquation, formatVariable, SUB_LETTER, TITLE_LETTER } from "../program/labels.js";
import { placeColumn } from "./columns.js";
import { NARROW_GAP, routeEdges, ROW_GAP } from "./edges.js";
import { foldLevel } from "./folding.js";
import { groupNodes, readLevel, ROOMY } from "./level.js";
/** @typedef {import("./level.js").GraphNode} GraphNode */
/** @typedef {import("./level.js").Edge} Edge */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../program/unpack.js").Equation} Equation */
/** @typedef {import("../program/unpack.js").Jaxpr} Jaxpr */

const BAND_GAP = 32;
const COLUMN_GAP = 48;
export const PAD = 16;
/** Above a scene: room for the name of a kernel that begins there. */
const TOP = 24;
/** Above what is in an open box: its title, and under it the name of a kernel that begins there. */
export const HEAD = 42;
const LEAF = 36;
const PITCH = LEAF + ROW_GAP;
const WIDEST = 230,
  NARROWEST = 178;
/** What is tried where there is little room, in this order; only for few nodes. @type {import("./level.js").Room[]} */
const ROOMS = [
  ROOMY,
  { beside: 3, ends: true },
  { beside: 14, ends: false },
  { beside: 2, ends: false },
  { beside: 1, ends: false },
  { beside: 1, ends: false, widest: 132 },
  { beside: 1, ends: false, widest: 112 },
];
const MOST_NARROWED = 80;

/**
 * An edge with its path: `near`, `far` or `across` to another phase.
 * @typedef {{d: string, ends: number[], from: string, to: string, name: string, count: number, kind:
 * "near"|"far"|"across", left: number, right: number, top: number, bottom: number, shape?: Path2D}} SceneEdge
 */
/**
 * @typedef {{nodes: GraphNode[], edges: SceneEdge[], width: number, height: number, joins?: Map<string, SceneEdge[]>,
 * far?: {key: string, account: unknown, labels: FarLabel[]}}} Scene
 */
/** A label of a scene seen from afar. @typedef {{node: GraphNode, lines: string[], x: number, y: number, w: number, h:
 * number}} FarLabel */
/** A point that an edge is led through, and how high its row is. @typedef {{x: number, y: number, h: number}} Lead */
/**
 * A level with its places, before they are those of the whole scene.
 * @typedef {{nodes: GraphNode[], edges: Edge[], leads: Map<Edge, Lead[]>, width: number, height: number, narrow:
 * boolean}} Level
 */

/**
 * @param {Program} program
 * @param {Set<string>} open paths of the equations opened in place
 * @param {import("./level.js").Room} [room]
 * @returns {Scene}
 */
export function layoutProgram(program, open, room = ROOMY) {
  return flatten(layoutLevel(program, /** @type {Jaxpr} */ (program.heavy.jaxpr), "", 0, open, room));
}

/**
 * Return the limits of a layout that fits a width, or comes close to it.
 * @param {Program} program
 * @param {Set<string>} open
 * @param {number} width
 * @returns {import("./level.js").Room}
 */
export function computeRoom(program, open, width) {
  for (const room of ROOMS) {
    const scene = layoutProgram(program, open, room);
    if (scene.width <= width) return room;
    if (scene.nodes.length > MOST_NARROWED) return ROOMY;
  }
  return ROOMS[ROOMS.length - 1];
}

/**
 * @param {Program} program
 * @param {Jaxpr} jaxpr
 * @param {string} prefix
 * @param {number} body
 * @param {Set<string>} open
 * @param {import("./level.js").Room} room
 * @returns {Level}
 */
function layoutLevel(program, jaxpr, prefix, body, open, room) {
  const { nodes, edges, broken } = readLevel(program.groupedLevel(jaxpr), prefix, body, room);
  for (const node of nodes) sizeNode(program, node, open, room);
  const last = Math.max(0, ...nodes.map((node) => node.phase));
  // Phases after the last backward phase have no neighbours and need no bands.
  const isFree = (/** @type {GraphNode} */ node) => !broken && last >= 2 && last % 2 === 0 && node.phase === last;
  const banded = nodes.filter((node) => !isFree(node));
  // Rows of what is free go by where the others stand when nothing is open, so that opening a box moves no chain past
  // another.
  const stacked = [...groupNodes(banded).values()];
  stackBands(stacked, () => LEAF);
  for (const node of banded) node.closedY = node.y;
  const height = stackBands(stacked, (node) => node.h);
  const bands = Math.max(height, stackFreely(nodes.filter(isFree), edges, computeLowering(banded), room));
  const { columns, leads } =
    room.beside > 1 ? placePhases(nodes, edges, COLUMN_GAP) : placePhases(nodes, [], NARROW_GAP);
  const width = columns.length ? columns[columns.length - 1].right : 0;
  const level = { nodes, edges, leads, width, height: bands, narrow: room.beside === 1 };
  return room === ROOMY ? foldLevel(level) : level;
}

/**
 * @param {Program} program
 * @param {GraphNode} node
 * @param {Set<string>} open
 * @param {import("./level.js").Room} room
 */
function sizeNode(program, node, open, room) {
  const equation = program.at(node.path);
  if (equation?.bodies && open.has(node.path)) {
    openNode(program, node, equation, open, room);
    return;
  }
  const words = equation ? formatEquation(program, equation) : formatVariable(program, node);
  Object.assign(node, words);
  // An equation keeps its width when a measured time arrives.
  const least = node.kind === "equation" ? 124 : 76;
  const title = (words.title.length + (equation?.bodies ? 2 : 0)) * TITLE_LETTER;
  node.w = Math.min(
    room.widest ?? (room.beside > 1 ? WIDEST : NARROWEST),
    Math.max(least, 22 + Math.max(title, words.sub.length * SUB_LETTER)),
  );
  node.title = shorten(words.title, Math.floor((node.w - 18) / TITLE_LETTER) - (equation?.bodies ? 2 : 0));
  node.h = LEAF;
}

/**
 * @param {Program} program
 * @param {GraphNode} node
 * @param {Equation} equation
 * @param {Set<string>} open
 * @param {import("./level.js").Room} room
 */
function openNode(program, node, equation, open, room) {
  node.inner = (equation.bodies ?? []).map((body, i) => layoutLevel(program, body, node.path, i, open, room));
  Object.assign(node, formatEquation(program, equation));
  const inside = node.inner.reduce((sum, level) => sum + level.width + PAD, -PAD);
  node.w = Math.max(inside, node.title.length * TITLE_LETTER + node.sub.length * SUB_LETTER + 36) + 2 * PAD;
  node.h = Math.max(...node.inner.map((level) => level.height)) + HEAD + PAD;
}

/**
 * Return the function that tells how far the open boxes have moved what stands at a height.
 * @param {GraphNode[]} nodes
 * @returns {(y: number) => number}
 */
function computeLowering(nodes) {
  const places = nodes.filter((node) => node.y !== node.closedY).sort((a, b) => a.closedY - b.closedY);
  return (y) => {
    let low = 0,
      high = places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[middle].closedY <= y) low = middle + 1;
      else high = middle;
    }
    return low ? places[low - 1].y - places[low - 1].closedY : 0;
  };
}

/**
 * Stack the bands: a band is as high as its highest stack; each stack is centered in it. Return the total height.
 * @param {GraphNode[][]} stacked the nodes of each phase and band
 * @param {(node: GraphNode) => number} heightOf
 */
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

/**
 * Stack the rows of an optimizer: each chain starts level with its gradient and runs down in even steps. Return the
 * height.
 * @param {GraphNode[]} nodes
 * @param {Edge[]} edges
 * @param {(y: number) => number} lowered
 * @param {import("./level.js").Room} room
 */
function stackFreely(nodes, edges, lowered, room) {
  if (!nodes.length) return 0;
  assignFreeRows(nodes, edges);
  narrowRows(nodes, room.beside);
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

/** Split rows that have too many nodes side by side. @param {GraphNode[]} nodes @param {number} widest */
function narrowRows(nodes, widest) {
  /** @type {Map<number, GraphNode[]>} */ const rows = new Map();
  for (const node of nodes) append(rows, node.row, node);
  let next = 0;
  for (const [row, members] of [...rows].sort(([a], [b]) => a - b)) {
    next = Math.max(next, row);
    members.forEach((node, i) => (node.row = next + Math.floor(i / widest)));
    next += Math.ceil(members.length / widest);
  }
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
    const rows = entering
      .get(node)
      ?.filter((from) => from.kind !== "input")
      .map((from) => (mine.has(from) ? from.row + 1 : Math.round((from.closedY - LEAF / 2) / PITCH)));
    node.row = Math.max(1, ...(rows ?? []));
  }
  // Place equations without computed operands, and inputs, just above their first use.
  const hasOnlyInputOperands = (/** @type {GraphNode} */ node) =>
    !entering.get(node)?.some((from) => from.kind !== "input");
  for (const node of [
    ...computed.filter(hasOnlyInputOperands).reverse(),
    ...nodes.filter((candidate) => candidate.kind === "input"),
  ]) {
    const uses = leaving.get(node)?.map((to) => to.row) ?? [];
    if (uses.length) node.row = Math.max(0, Math.min(...uses) - 1);
  }
}

/**
 * Place the phases from left to right, one column for each.
 * @param {GraphNode[]} nodes
 * @param {Edge[]} edges
 * @param {number} gap
 */
function placePhases(nodes, edges, gap) {
  const columns = [];
  const leads = new Map();
  let left = 0;
  for (const phase of [...new Set(nodes.map((node) => node.phase))].sort((a, b) => a - b)) {
    const mine = nodes.filter((node) => node.phase === phase);
    const edgesHere = edges.filter((edge) => edge.from.phase === phase && edge.to.phase === phase);
    const rows = new Map();
    for (const node of mine) append(rows, node.y, node);
    const levels = [...rows.keys()].sort((a, b) => a - b);
    const heights = levels.map((y) => Math.max(...rows.get(y).map((/** @type {GraphNode} */ node) => node.h)));
    const column = placeColumn(
      levels.map((y) => rows.get(y)),
      edgesHere,
    );
    for (const node of mine) node.x += left;
    for (const [edge, slots] of column.leads)
      leads.set(
        edge,
        slots.map((slot) => ({ x: slot.x + left, y: levels[slot.row], h: heights[slot.row] })),
      );
    columns.push({ phase, left, right: left + column.width });
    left += column.width + gap;
  }
  return { columns, leads };
}

/**
 * Return the boxes, nodes and edges of all open levels in one list each, in absolute places.
 * @param {Level} level
 * @returns {Scene}
 */
function flatten(level) {
  /** @type {Scene} */ const scene = {
    nodes: [],
    edges: [],
    width: level.width + 2 * PAD,
    height: level.height + TOP + PAD,
  };
  flattenLevel(scene, level, PAD, TOP, 0);
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
