// @ts-check
/**
 * One level of a program (a jaxpr without its bodies) as nodes and edges, and the row that each node stands in.
 *
 * Forward equations stand in bands by their longest path from the inputs. A backward (or tangent) equation stands in
 * the band of the forward one that it transposes, so a residual is a short horizontal edge however long the program is.
 */

import { append } from "../ground/collections.js";
import { getParentPath } from "../ground/path.js";
import { computePhases } from "../program/phases.js";
/** @typedef {import("../program/unpack.js").Jaxpr} Jaxpr */

/**
 * The last line is filled in by the layout.
 * @typedef {{id: string, kind: "equation"|"input"|"output", path: string, name: string, phase: number, band: number,
 * row: number, column?: number, up: boolean, index?: number, last?: number, bundle?: string[], w: number, h: number, x:
 * number, y: number, order: number, title: string, sub: string, depth: number, closedY: number, type?: {up: boolean,
 * name: string, count: number}, inner?: import("./layout.js").Level[]}} GraphNode
 */
/** @typedef {{from: GraphNode, to: GraphNode, name: string, count: number}} Edge */

/**
 * How a graph uses its room: how many nodes of a pass may stand side by side, whether an overview shows what comes in
 * and goes out as nodes, and how wide a node may be at most.
 * @typedef {{beside: number, ends: boolean, widest?: number}} Room
 */

/** Without a reason to be narrower. @type {Room} */
export const ROOMY = { beside: 14, ends: true };
/** Rows of an overview that stand below one another, and those within a box of it. */
const MOST_ROWS = 8,
  MOST_ROWS_INSIDE = 6;
/** Inputs or results of one equation up to which each has a node of its own. */
const MOST_ENDS = 5;

/**
 * Return the nodes and edges of a level, bands assigned.
 * @param {Jaxpr} jaxpr
 * @param {string} prefix path of the equation that holds it
 * @param {number} body which of its bodies
 * @param {Room} [room]
 * @returns {{nodes: GraphNode[], edges: Edge[], broken?: boolean}}
 */
export function readLevel(jaxpr, prefix, body, room = ROOMY) {
  if (!jaxpr.equations.length) return readEmpty(jaxpr, `${prefix}#${body}`);
  // Without a backward phase beside it, an update goes on below what it follows.
  const phases = jaxpr.equations.some((equation) => equation.role) ? computePhases(jaxpr) : [];
  /** @type {GraphNode[]} */ const nodes = [];
  /** @type {Map<string, GraphNode>} */ const makers = new Map();
  /** @type {Edge[]} */ const edges = [];
  const id = `${prefix}#${body}`;
  const add = (/** @type {Partial<GraphNode>} */ fields) => {
    const node = createNode({ order: nodes.length, ...fields });
    nodes.push(node);
    return node;
  };
  const inputs = new Set([...jaxpr.inputs, ...jaxpr.constants]);
  const bundles = jaxpr.bundles ?? bundleInputs(jaxpr, inputs);
  // In a narrow overview the types along the edges replace nodes of inputs and results.
  const isQuiet = jaxpr.quiet || (jaxpr.overview && !room.ends);
  const connect = (/** @type {Iterable<string>} */ names, /** @type {GraphNode} */ to) => {
    /** Several values from one node to another are one edge. @type {Map<GraphNode, Edge>} */ const edgeTo = new Map();
    for (const name of names) {
      // An input gets its node where it is first used, so that it is drawn there.
      if (inputs.has(name) && !isQuiet && !makers.has(name)) {
        const bundle = bundles.get(name);
        const node = add({ id: `${id}:in:${name}`, kind: "input", name, phase: to.phase, up: to.up, bundle });
        for (const member of bundle ?? [name]) makers.set(member, node);
      }
      const from = makers.get(name);
      // Omit edges from arguments to the gradient.
      if (jaxpr.overview && from?.kind === "input" && to.up && !from.up) continue;
      const edge = from && edgeTo.get(from);
      if (edge) edge.count++;
      else if (from) edgeTo.set(from, { from, to, name, count: 1 });
    }
    edges.push(...edgeTo.values());
  };
  jaxpr.equations.forEach((equation, i) => {
    const up = equation.role === "backward";
    const node = add({ id: equation.path, kind: "equation", path: equation.path, phase: phases[i] ?? 0, up });
    connect(new Set(equation.in), node);
    for (const name of equation.out) makers.set(name, node);
  });
  for (const { names, first, last } of isQuiet ? [] : bundleOutputs(jaxpr, makers, jaxpr.bundles ? 1 : MOST_ENDS)) {
    const maker = makers.get(names[0]);
    const bundle = names.length > 1 ? names : undefined;
    connect(
      names,
      add({
        id: `${id}:out:${first}`,
        kind: "output",
        name: names[0],
        index: first,
        last,
        phase: maker?.phase ?? 0,
        up: maker?.up ?? false,
        bundle,
      }),
    );
  }
  assignBands(jaxpr, nodes, edges);
  assignRows(nodes, edges, room.beside);
  return {
    nodes,
    edges,
    broken: jaxpr.overview && room.beside > 1 && breakColumn(nodes, jaxpr.quiet ? MOST_ROWS_INSIDE : MOST_ROWS),
  };
}

/** Create a node that has no place yet. @param {Partial<GraphNode>} fields */
function createNode(fields) {
  return /** @type {GraphNode} */ ({
    path: "",
    name: "",
    phase: 0,
    band: 0,
    row: 0,
    up: false,
    w: 0,
    h: 0,
    x: 0,
    y: 0,
    ...fields,
  });
}

/**
 * Bundle inputs that the same equations use, when there are many: one node stands for all.
 * @param {Jaxpr} jaxpr
 * @param {Set<string>} inputs
 * @returns {Map<string, string[]>}
 */
function bundleInputs(jaxpr, inputs) {
  /** @type {Map<string, string>} */ const uses = new Map();
  if (inputs.size > MOST_ENDS)
    jaxpr.equations.forEach((equation, i) => {
      for (const name of new Set(equation.in)) if (inputs.has(name)) uses.set(name, `${uses.get(name) ?? ""} ${i}`);
    });
  const same = new Map();
  for (const [name, key] of uses) append(same, key, name);
  const bundles = new Map();
  for (const names of same.values()) if (names.length > MOST_ENDS) for (const name of names) bundles.set(name, names);
  return bundles;
}

/**
 * Bundle results by the equation that computes them, when there are many.
 * @param {Jaxpr} jaxpr
 * @param {Map<string, GraphNode>} makers
 * @param {number} most results of one maker that have nodes of their own
 * @returns {{names: string[], first: number, last?: number}[]} with the last number of a bundle without gaps
 */
function bundleOutputs(jaxpr, makers, most) {
  const byMaker = new Map();
  for (const name of jaxpr.outputs) append(byMaker, makers.get(name), name);
  /** @type {Set<GraphNode>} */ const bundled = new Set();
  return jaxpr.outputs.flatMap((name, first) => {
    const maker = makers.get(name);
    const names = byMaker.get(maker);
    if (!maker || names.length <= most) return [{ names: [name], first }];
    if (bundled.has(maker)) return [];
    bundled.add(maker);
    const numbers = jaxpr.outputs.flatMap((other, i) => (makers.get(other) === maker ? [i] : []));
    const last = numbers[numbers.length - 1];
    return [{ names, first, last: last - first === numbers.length - 1 ? last : undefined }];
  });
}

/**
 * Return the nodes of a level that computes nothing: its results are inputs, or constants.
 * @param {Jaxpr} jaxpr
 * @param {string} id
 */
function readEmpty(jaxpr, id) {
  const nodes = [...jaxpr.constants, ...jaxpr.inputs].map((name, i) =>
    createNode({ id: `${id}:in:${name}`, kind: "input", name, order: i }),
  );
  const makers = new Map(nodes.map((node) => [node.name, node]));
  /** @type {Edge[]} */ const edges = [];
  jaxpr.outputs.forEach((name, i) => {
    const to = createNode({ id: `${id}:out:${i}`, kind: "output", name, index: i, band: 1, order: nodes.length });
    nodes.push(to);
    const from = makers.get(name);
    if (from) edges.push({ from, to, name, count: 1 });
  });
  return { nodes, edges };
}

/** @param {GraphNode[]} nodes @param {Edge[]} edges @param {"from"|"to"} end @returns {Map<GraphNode, GraphNode[]>} */
function findNeighbours(nodes, edges, end) {
  const neighbours = new Map(nodes.map((node) => [node, /** @type {GraphNode[]} */ ([])]));
  for (const edge of edges) neighbours.get(edge[end])?.push(end === "from" ? edge.to : edge.from);
  return neighbours;
}

/** @param {Jaxpr} jaxpr @param {GraphNode[]} nodes @param {Edge[]} edges */
function assignBands(jaxpr, nodes, edges) {
  const before = findNeighbours(nodes, edges, "to");
  const after = findNeighbours(nodes, edges, "from");
  const byId = new Map(nodes.map((n) => [n.path, n]));
  /** @type {Map<string, GraphNode>} */ const byPath = new Map();
  for (const equation of jaxpr.equations)
    for (const member of equation.members ?? [equation])
      byPath.set(member.path, /** @type {GraphNode} */ (byId.get(equation.path)));
  const equations = nodes.filter((node) => node.kind === "equation");
  const origins = new Map(jaxpr.equations.map((e) => [e.path, e.of]));
  for (const node of equations.filter((n) => n.phase === 0)) node.band = computeBandBelow(node, before);
  sinkSources(equations, before, after);
  for (const node of equations.filter((n) => n.phase > 0)) {
    const anchor = node.phase % 2 ? findAnchor(origins.get(node.path), byPath) : undefined;
    node.band = anchor && anchor.phase < node.phase ? anchor.band : computeBand(node, before);
  }
  placeOutputs(nodes, before);
  placeInputs(nodes, after);
}

/**
 * Return the node at this level that is or holds a path.
 * @param {string|undefined} path
 * @param {Map<string, GraphNode>} byPath
 */
function findAnchor(path, byPath) {
  for (let inner = path; inner; inner = getParentPath(inner)) {
    const node = byPath.get(inner);
    if (node) return node;
  }
  return undefined;
}

/**
 * Return the band below the lowest operand of the same phase.
 * @param {GraphNode} node
 * @param {Map<GraphNode, GraphNode[]>} before
 */
function computeBandBelow(node, before) {
  let band = 1;
  for (const other of before.get(node) ?? [])
    if (other.kind === "equation" && other.phase === node.phase) band = Math.max(band, other.band + 1);
  return band;
}

/**
 * Move equations without computed operands (a constant, an iota) down to just above their first use.
 * @param {GraphNode[]} equations
 * @param {Map<GraphNode, GraphNode[]>} before
 * @param {Map<GraphNode, GraphNode[]>} after
 */
function sinkSources(equations, before, after) {
  for (const node of [...equations].reverse()) {
    if (node.phase !== 0 || before.get(node)?.some((other) => other.kind === "equation")) continue;
    const uses = (after.get(node) ?? []).filter((other) => other.kind === "equation" && other.phase === 0);
    if (uses.length) node.band = Math.max(node.band, Math.min(...uses.map((use) => use.band)) - 1);
  }
}

/**
 * Return the band of an equation that transposes none: an optimizer runs on below its gradient, a sum of cotangents
 * stands with the last of them.
 * @param {GraphNode} node
 * @param {Map<GraphNode, GraphNode[]>} before
 */
function computeBand(node, before) {
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
    // A gradient ends above its equation, beside the parameter above the forward equation.
    if (maker) node.band = node.up ? Math.max(0, maker.band - 1) : maker.band + 1;
  }
}

/** @param {GraphNode[]} nodes @param {Map<GraphNode, GraphNode[]>} after */
function placeInputs(nodes, after) {
  for (const node of nodes.filter((n) => n.kind === "input")) {
    const bands = (after.get(node) ?? []).filter((use) => use.phase === node.phase).map((use) => use.band);
    // Inputs of a backward equation stand in its band, for they come from below.
    node.band = node.up ? Math.max(...bands) : Math.max(0, Math.min(...bands) - 1);
  }
}

/**
 * Assign rows inside each band by dependencies within one phase and band.
 * @param {GraphNode[]} nodes
 * @param {Edge[]} edges
 * @param {number} widest
 */
function assignRows(nodes, edges, widest) {
  const before = findNeighbours(nodes, edges, "to");
  const after = findNeighbours(nodes, edges, "from");
  for (const node of nodes) {
    for (const other of before.get(node) ?? [])
      if ((other.kind !== "input" || other.up) && other.phase === node.phase && other.band === node.band)
        node.row = Math.max(node.row, other.row + 1);
  }
  for (const group of groupNodes(nodes).values()) {
    reverseRows(group);
    liftInputs(group, after);
    wrapWideRows(group, widest);
  }
}

/**
 * Break an overview of one phase that is a long column into columns side by side.
 * @param {GraphNode[]} nodes
 * @param {number} most rows
 * @returns {boolean} whether it does
 */
function breakColumn(nodes, most) {
  const stacks = [...groupNodes(nodes)].sort(([a], [b]) => a - b).map(([, group]) => group);
  const countRows = (/** @type {GraphNode[]} */ group) => Math.max(...group.map((node) => node.row)) + 1;
  const rows = stacks.reduce((sum, group) => sum + countRows(group), 0);
  if (rows <= most || nodes.some((node) => node.phase !== nodes[0].phase)) return false;
  const high = Math.ceil(rows / Math.ceil(rows / most));
  let [column, top, at] = [0, 0, 0];
  for (const group of stacks) {
    if (at + countRows(group) > high && at) {
      column += 2;
      [top, at] = [group[0].band, 0];
    }
    at += countRows(group);
    for (const node of group) [node.phase, node.band] = [column, node.band - top];
  }
  return column > 0;
}

/** Group the nodes by phase and band. @param {GraphNode[]} nodes @returns {Map<number, GraphNode[]>} */
export function groupNodes(nodes) {
  const groups = new Map();
  for (const node of nodes) {
    append(groups, node.phase * 1e7 + node.band, node);
  }
  return groups;
}

/** Reverse the rows of a backward phase: it runs up, and its first row is the lowest. @param {GraphNode[]} group */
function reverseRows(group) {
  if (!group.some((node) => node.up)) return;
  const last = Math.max(...group.map((node) => node.row));
  for (const node of group) node.row = last - node.row;
}

/**
 * Move an input that is used in its own band to the row above that use.
 * @param {GraphNode[]} group
 * @param {Map<GraphNode, GraphNode[]>} after
 */
function liftInputs(group, after) {
  for (const node of group.filter((n) => n.kind === "input" && !n.up)) {
    const uses = (after.get(node) ?? []).filter((use) => use.phase === node.phase && use.band === node.band);
    if (uses.length) node.row = Math.min(...uses.map((use) => use.row)) - 1;
    else node.row = Math.max(...group.filter((n) => n.kind !== "input").map((n) => n.row), 0);
  }
  const first = Math.min(...group.map((node) => node.row));
  for (const node of group) node.row -= first;
}

/** Split very wide rows into several. @param {GraphNode[]} group @param {number} widest */
function wrapWideRows(group, widest) {
  const rows = new Map();
  for (const node of group) append(rows, node.row, node);
  if (![...rows.values()].some((row) => row.length > widest)) return;
  let next = 0;
  for (const key of [...rows.keys()].sort((a, b) => a - b)) {
    const row = rows.get(key);
    const parts = Math.ceil(row.length / widest);
    const size = Math.ceil(row.length / parts);
    row.forEach((/** @type {GraphNode} */ node, /** @type {number} */ i) => (node.row = next + Math.floor(i / size)));
    next += parts;
  }
}
