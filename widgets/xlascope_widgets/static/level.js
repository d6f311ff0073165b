// @ts-check
/** One level of a program (a jaxpr without its bodies) as nodes and edges, and the row that each node stands in.
 *
 * Forward equations stand in bands by their longest path from the inputs. A backward (or tangent) equation stands in the
 * band of the forward one that it transposes, so a residual is a short horizontal edge however long the program is. */

import { phasesOf } from "./program.js";

/** @typedef {{id: string, kind: "equation"|"input"|"output", path: string, name: string, phase: number, band: number, row: number,
 *   up: boolean, index?: number, w: number, h: number, x: number, y: number, inner?: any, order: number}} GraphNode */
/** @typedef {{from: GraphNode, to: GraphNode, name: string}} Edge */

const WIDEST_ROW = 14;

/** The nodes and edges of a level, bands assigned. @param {any} jaxpr @param {string} prefix path of the equation that holds it
 * @param {number} body which of its bodies @returns {{nodes: GraphNode[], edges: Edge[]}} */
export function readLevel(jaxpr, prefix, body) {
  const phases = phasesOf(jaxpr);
  /** @type {GraphNode[]} */ const nodes = [];
  /** @type {Map<string, GraphNode>} */ const makers = new Map();
  /** @type {Edge[]} */ const edges = [];
  const place = `${prefix}#${body}`;
  const add = (/** @type {Partial<GraphNode>} */ node) => {
    const full = /** @type {GraphNode} */ ({ path: "", name: "", band: 0, row: 0, up: false, w: 0, h: 0, x: 0, y: 0, order: nodes.length, ...node });
    nodes.push(full);
    return full;
  };
  const given = new Set([...jaxpr.inputs, ...jaxpr.constants]);
  const connect = (/** @type {string} */ name, /** @type {GraphNode} */ to) => {
    // An input gets its node where it is first used, so that it is drawn there.
    if (given.has(name) && !makers.has(name))
      makers.set(name, add({ id: `${place}:in:${name}`, kind: "input", name, phase: to.phase, up: to.up }));
    const from = makers.get(name);
    if (from) edges.push({ from, to, name });
  };
  jaxpr.equations.forEach((/** @type {any} */ equation, /** @type {number} */ i) => {
    const up = equation.role === "backward";
    const node = add({ id: equation.path, kind: "equation", path: equation.path, phase: phases[i], up });
    for (const name of new Set(equation.in)) connect(name, node);
    for (const name of equation.out) makers.set(name, node);
  });
  jaxpr.outputs.forEach((/** @type {string} */ name, /** @type {number} */ i) => {
    const maker = makers.get(name);
    const node = add({ id: `${place}:out:${i}`, kind: "output", name, index: i, phase: maker?.phase ?? 0, up: maker?.up ?? false });
    connect(name, node);
  });
  assignBands(jaxpr, nodes, edges);
  assignRows(nodes, edges);
  return { nodes, edges };
}

/** @param {GraphNode[]} nodes @param {Edge[]} edges @param {"from"|"to"} end @returns {Map<GraphNode, GraphNode[]>} */
function neighbours(nodes, edges, end) {
  const found = new Map(nodes.map((node) => [node, /** @type {GraphNode[]} */ ([])]));
  for (const edge of edges) found.get(edge[end])?.push(end === "from" ? edge.to : edge.from);
  return found;
}

/** @param {any} jaxpr @param {GraphNode[]} nodes @param {Edge[]} edges */
function assignBands(jaxpr, nodes, edges) {
  const before = neighbours(nodes, edges, "to");
  const after = neighbours(nodes, edges, "from");
  const byPath = new Map(nodes.filter((n) => n.path).map((n) => [n.path, n]));
  const equations = nodes.filter((node) => node.kind === "equation");
  const of = new Map(jaxpr.equations.map((/** @type {any} */ e) => [e.path, e.of]));
  for (const node of equations.filter((n) => n.phase === 0)) node.band = below(node, before);
  sinkSources(equations, before, after);
  for (const node of equations.filter((n) => n.phase > 0)) {
    const anchor = node.phase % 2 ? anchorOf(of.get(node.path), byPath) : undefined;
    node.band = anchor && anchor.phase < node.phase ? anchor.band : bandFromOperands(node, before);
  }
  placeOutputs(nodes, before);
  placeInputs(nodes, after);
}

/** The node at this level that is or holds a path. @param {string|undefined} path @param {Map<string, GraphNode>} byPath */
function anchorOf(path, byPath) {
  for (let inner = path; inner; inner = inner.includes("/") ? inner.slice(0, inner.lastIndexOf("/")) : "") {
    const node = byPath.get(inner);
    if (node) return node;
  }
  return undefined;
}

/** One below the lowest operand of the same phase. @param {GraphNode} node @param {Map<GraphNode, GraphNode[]>} before */
function below(node, before) {
  let band = 1;
  for (const other of before.get(node) ?? [])
    if (other.kind === "equation" && other.phase === node.phase) band = Math.max(band, other.band + 1);
  return band;
}

/** What nobody computes an operand of (a constant, an iota) sinks to just above its first use. @param {GraphNode[]} equations
 * @param {Map<GraphNode, GraphNode[]>} before @param {Map<GraphNode, GraphNode[]>} after */
function sinkSources(equations, before, after) {
  for (const node of [...equations].reverse()) {
    if (node.phase !== 0 || before.get(node)?.some((other) => other.kind === "equation")) continue;
    const uses = (after.get(node) ?? []).filter((other) => other.kind === "equation" && other.phase === 0);
    if (uses.length) node.band = Math.max(node.band, Math.min(...uses.map((use) => use.band)) - 1);
  }
}

/** The band of an equation that transposes none: an optimizer runs on below its gradient, a sum of cotangents stands with the
 * last of them. @param {GraphNode} node @param {Map<GraphNode, GraphNode[]>} before */
function bandFromOperands(node, before) {
  const operands = (before.get(node) ?? []).filter((other) => other.kind === "equation");
  const same = operands.filter((other) => other.phase === node.phase).map((other) => other.band);
  if (node.phase % 2 === 0 && same.length) return Math.max(...same) + 1;
  if (node.up && same.length) return Math.min(...same);
  if (same.length) return Math.max(...same);
  return operands.length ? Math.max(...operands.map((other) => other.band)) : 1;
}

/** @param {GraphNode[]} nodes @param {Map<GraphNode, GraphNode[]>} before */
function placeOutputs(nodes, before) {
  for (const node of nodes.filter((n) => n.kind === "output")) {
    const maker = before.get(node)?.[0];
    // A gradient ends above its equation: beside the parameter, which stands above the forward one.
    if (maker) node.band = node.up ? Math.max(0, maker.band - 1) : maker.band + 1;
  }
}

/** @param {GraphNode[]} nodes @param {Map<GraphNode, GraphNode[]>} after */
function placeInputs(nodes, after) {
  for (const node of nodes.filter((n) => n.kind === "input")) {
    const bands = (after.get(node) ?? []).filter((use) => use.phase === node.phase).map((use) => use.band);
    // What enters a backward equation comes from below, in its own band.
    node.band = node.up ? Math.max(...bands) : Math.max(0, Math.min(...bands) - 1);
  }
}

/** Rows inside a band: what depends on what, within one phase and band. @param {GraphNode[]} nodes @param {Edge[]} edges */
function assignRows(nodes, edges) {
  const before = neighbours(nodes, edges, "to");
  const after = neighbours(nodes, edges, "from");
  for (const node of nodes) {
    for (const other of before.get(node) ?? [])
      if ((other.kind !== "input" || other.up) && other.phase === node.phase && other.band === node.band) node.row = Math.max(node.row, other.row + 1);
  }
  for (const group of groups(nodes).values()) {
    turnUp(group);
    liftInputs(group, after);
    wrapWideRows(group);
  }
}

/** The nodes by phase and band. @param {GraphNode[]} nodes @returns {Map<string, GraphNode[]>} */
export function groups(nodes) {
  const found = new Map();
  for (const node of nodes) {
    const key = `${node.phase}:${node.band}`;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(node);
  }
  return found;
}

/** Backward runs up: its first row is the lowest. @param {GraphNode[]} group */
function turnUp(group) {
  if (!group.some((node) => node.up)) return;
  const last = Math.max(...group.map((node) => node.row));
  for (const node of group) node.row = last - node.row;
}

/** An input used in its own band stands in the row above that use. @param {GraphNode[]} group @param {Map<GraphNode, GraphNode[]>} after */
function liftInputs(group, after) {
  for (const node of group.filter((n) => n.kind === "input" && !n.up)) {
    const uses = (after.get(node) ?? []).filter((use) => use.phase === node.phase && use.band === node.band);
    if (uses.length) node.row = Math.min(...uses.map((use) => use.row)) - 1;
    else node.row = Math.max(...group.filter((n) => n.kind !== "input").map((n) => n.row), 0);
  }
  const first = Math.min(...group.map((node) => node.row));
  for (const node of group) node.row -= first;
}

/** A row of fifty nodes is a wall: it becomes several rows. @param {GraphNode[]} group */
function wrapWideRows(group) {
  const rows = new Map();
  for (const node of group) rows.set(node.row, [...(rows.get(node.row) ?? []), node]);
  if (![...rows.values()].some((row) => row.length > WIDEST_ROW)) return;
  let next = 0;
  for (const key of [...rows.keys()].sort((a, b) => a - b)) {
    const row = rows.get(key);
    const parts = Math.ceil(row.length / WIDEST_ROW);
    const each = Math.ceil(row.length / parts);
    row.forEach((/** @type {GraphNode} */ node, /** @type {number} */ i) => (node.row = next + Math.floor(i / each)));
    next += parts;
  }
}
