// @ts-check
/** A scene as SVG elements: boxes, hulls, edges, nodes, in that order from back to front. */

import { el } from "../ground/element.js";
import { r1, shorten } from "../ground/format.js";
import { saidAt } from "../layout/semantic_zoom.js";
import { heatOf } from "../program/heat.js";
import { SUB_LETTER, TITLE_LETTER, describe, equationSub, nodeLabel, outTypes } from "../program/labels.js";
/** @typedef {import("../layout/layout.js").Scene} Scene */
/** @typedef {import("../layout/layout.js").SceneEdge} SceneEdge */
/** @typedef {import("../layout/level.js").GraphNode} GraphNode */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../program/unpack.js").Equation} Equation */

/** Classes for what a comparison says of an equation. */
const SIGN_MARKS = { "+": " sign-added", "−": " sign-removed", "~": " sign-changed" };

/**
 * What colours mean, and how much larger letters are than usual.
 * @typedef {{heat: "pass"|"time"|"flops"|"bytes", up?: number}} Look
 */

/**
 * @param {Program} program
 * @param {Scene} scene
 * @param {Look} look
 * @param {(item: {top: number, bottom: number, left: number, right: number}) => boolean} [visible]
 */
export function drawScene(program, scene, look, visible = () => true) {
  const nodes = scene.nodes.filter((node) => visible(extent(node)));
  const boxes = nodes.filter((node) => node.inner);
  const leaves = nodes.filter((node) => !node.inner);
  const edges = scene.edges.filter((e) => visible(e));
  const heat = heatOf(program, look.heat, leaves);
  return [
    el(
      "g",
      { class: "xs-boxes" },
      boxes.map((node) => drawBox(program, node, look)),
    ),
    el("g", { class: "xs-hulls" }, drawHulls(program, scene, nodes, look)),
    el("g", { class: "xs-edges" }, edges.map(drawEdge)),
    el(
      "g",
      { class: "xs-nodes" },
      leaves.map((node) => drawNode(program, node, heat, look)),
    ),
  ];
}

/** @param {GraphNode} node */
function extent(node) {
  return {
    top: node.y - node.h / 2,
    bottom: node.y + node.h / 2,
    left: node.x - node.w / 2,
    right: node.x + node.w / 2,
  };
}

/** @param {SceneEdge} edge */
function drawEdge(edge) {
  return el(
    "path",
    {
      class: `xs-edge ${edge.kind}${edge.count > 1 ? " several" : ""}`,
      d: edge.d,
      "data-from": edge.from,
      "data-to": edge.to,
    },
    edge.count > 1 && el("title", {}, `${edge.count} values`),
  );
}

/** @param {Program} program @param {GraphNode} node @returns {Record<string, any>} */
function nodeAttributes(program, node) {
  const equation = program.at(node.path);
  const pass = equation ? program.passOf(node.path) : "given";
  return {
    class: `xs-node ${node.kind} pass-${pass}${equation?.bodies ? " holds" : ""}${equation?.members ? " group" : ""}${SIGN_MARKS[/** @type {"+"} */ (program.signs?.get(node.path))] ?? ""}`,
    "data-id": node.id,
    "data-kind": node.kind,
    "data-path": node.path || null,
    role: "treeitem",
    tabindex: "-1",
    "aria-level": node.depth + 1,
    "aria-expanded": equation?.bodies ? String(Boolean(node.inner)) : null,
    "aria-label": nodeLabel(program, node),
  };
}

/**
 * @param {Program} program
 * @param {GraphNode} node
 * @param {(node: GraphNode) => number|null} heat
 * @param {Look} look
 */
function drawNode(program, node, heat, look) {
  const { left, top } = extent(node);
  const step = heat(node);
  const attributes = nodeAttributes(program, node);
  if (step != null) attributes.class += ` heat-${step}`;
  const equation = program.at(node.path);
  const up = look.up ?? 1;
  const said = saidAt(up);
  const toggle = equation?.bodies ? 2 : 0;
  return el(
    "g",
    attributes,
    el("title", {}, equation ? describe(program, node.path).join("\n") : nodeLabel(program, node)),
    cards(equation).map((shift) =>
      el("rect", {
        class: "xs-card",
        x: r1(left + shift),
        y: r1(top + shift),
        width: r1(node.w),
        height: node.h,
        rx: 6,
      }),
    ),
    el("rect", { class: "xs-body", x: r1(left), y: r1(top), width: r1(node.w), height: node.h, rx: 6 }),
    el("rect", { class: "xs-side", x: r1(left), y: r1(top), width: 4, height: node.h, rx: 2 }),
    said !== "none" &&
      el(
        "text",
        { class: "xs-title", x: r1(node.x), y: r1(said === "all" ? node.y - 2.5 : node.y + 4 * up) },
        up > 1 ? shorten(node.title, titleRoom(node, up) - toggle) : node.title,
        toggle > 0 && el("tspan", { class: "xs-toggle" }, " ⊞"),
      ),
    toggle > 0 && el("rect", { class: "xs-toggle hit", x: r1(left + node.w - 34), y: r1(top), width: 34, height: 20 }),
    said === "all" &&
      el(
        "text",
        { class: "xs-sub", x: r1(node.x), y: r1(node.y + 12) },
        shorten(subOf(program, node, equation, look.heat), roomFor(node, up)),
      ),
    said === "all" && edgeLabel(program, node),
  );
}

/**
 * How far behind a box the cards of a stack lie: a loop and repeated layers are several.
 * @param {Equation|undefined} equation
 * @returns {number[]}
 */
export function cards(equation) {
  return (equation?.group?.times ?? 1) > 1 || equation?.op === "scan" || equation?.op === "while" ? [5, 2.5] : [];
}

/**
 * Letters for which a node's second line has room, and its first.
 * @param {GraphNode} node
 * @param {number} [up] how much larger than usual they are
 */
export const roomFor = (node, up = 1) => Math.floor((node.w - 12) / SUB_LETTER / up);

/** @param {GraphNode} node @param {number} up */
export const titleRoom = (node, up) => Math.max(3, Math.floor((node.w - 10) / TITLE_LETTER / up));

/** @param {Program} program @param {GraphNode} node @param {Equation|undefined} equation @param {string} heat */
export function subOf(program, node, equation, heat) {
  return equation && heat !== "pass" ? equationSub(program, equation, heat) : node.sub;
}

/**
 * The type of what leaves a node, written beside the start of its edge.
 * @param {Program} program
 * @param {GraphNode} node
 */
function edgeLabel(program, node) {
  const equation = program.at(node.path);
  if (!node.type || !equation) return null;
  const y = node.type.up ? node.y - node.h / 2 - 7 : node.y + node.h / 2 + 12;
  return el("text", { class: "xs-type", x: r1(node.x + 6), y: r1(y) }, outTypes(program, equation, node));
}

/** @param {Program} program @param {GraphNode} node @param {Look} look */
function drawBox(program, node, { up = 1 }) {
  const { left, top } = extent(node);
  const said = saidAt(up);
  return el(
    "g",
    nodeAttributes(program, node),
    el("title", {}, describe(program, node.path).join("\n")),
    el("rect", { class: "xs-body", x: r1(left), y: r1(top), width: r1(node.w), height: r1(node.h), rx: 10 }),
    el("rect", { class: "xs-toggle hit", x: r1(left), y: r1(top), width: 28, height: 24 }),
    said !== "none" &&
      el(
        "text",
        { class: "xs-title", x: r1(left + 12), y: r1(top + 10 + 6 * up) },
        el("tspan", { class: "xs-toggle" }, "⊟ "),
        up > 1 ? shorten(node.title, titleRoom(node, up) - 4) : node.title,
        up === 1 && el("tspan", { class: "xs-sub", dx: 8 }, node.sub),
      ),
    said === "all" && edgeLabel(program, node),
  );
}

/** @param {Program} program @param {Scene} scene @param {GraphNode[]} nodes @param {Look} look */
function drawHulls(program, scene, nodes, { up = 1 }) {
  const byKernel = new Map();
  for (const node of nodes)
    for (const kernel of node.inner || !node.path ? [] : hullKernels(program, node)) {
      if (!byKernel.has(kernel.name)) byKernel.set(kernel.name, []);
      byKernel.get(kernel.name).push(node);
    }
  const joins = joinsByNode(scene);
  return [...byKernel]
    .filter(([name, members]) => saysSomething(program, name, members))
    .map(([name, members]) => drawHull(program, name, members, joins, up));
}

/**
 * Of a fusion of which one equation is seen and the others are in closed boxes there is nothing to see.
 * @param {Program} program
 * @param {string} name
 * @param {GraphNode[]} members
 */
export function saysSomething(program, name, members) {
  if (members.length > 1) return true;
  const inside = new Set(program.inside(members[0].path));
  return (program.kernels.get(name)?.eqns ?? []).every((path) => inside.has(path));
}

/**
 * The fusions a drawn node belongs to: one hull per kernel of several equations. A closed box that is in several
 * kernels, a group, and any box of an overview, lies in none of their hulls.
 * @param {Program} program
 * @param {GraphNode} node
 */
export function hullKernels(program, node) {
  const box = program.at(node.path);
  if (box?.members || (box?.bodies && program.grouping === "auto")) return [];
  const kernels = program.kernelsWith(node.path).filter((kernel) => kernel.eqns.length > 1);
  return box?.bodies && kernels.length > 1 ? [] : kernels;
}

/** The short edges that leave each node. @param {Scene} scene @returns {Map<string, SceneEdge[]>} */
export function joinsByNode(scene) {
  const joins = new Map();
  for (const edge of scene.edges) {
    if (edge.kind !== "near") continue;
    if (!joins.has(edge.from)) joins.set(edge.from, []);
    joins.get(edge.from).push(edge);
  }
  return joins;
}

/**
 * A hull is the union of its members, padded, and of the edges between them, made broad. Drawn twice, the second time a
 * line's width smaller, so that the union has one outline.
 * @param {Program} program
 * @param {string} name
 * @param {GraphNode[]} members
 * @param {Map<string, SceneEdge[]>} joins
 * @param {number} up
 */
function drawHull(program, name, members, joins, up) {
  const ids = new Set(members.map((node) => node.id));
  const edges = members.flatMap((node) => (joins.get(node.id) ?? []).filter((edge) => ids.has(edge.to)));
  const layer = (/** @type {string} */ kind, /** @type {number} */ pad) => [
    edges.map((edge) => el("path", { class: `xs-bridge ${kind}`, d: edge.d, "stroke-width": 30 + 2 * pad })),
    members.map((node) => paddedRect(node, kind, 8 + pad)),
  ];
  const first = members.reduce((a, b) => (b.y < a.y || (b.y === a.y && b.x < a.x) ? b : a));
  const label = shorten(program.titleOfKernel(name), Math.max(8, Math.floor((first.w / 2 + 8) / SUB_LETTER / up)));
  return el(
    "g",
    { class: "xs-hull", "data-kernel": name },
    el("title", {}, `one kernel: ${shorten(name, 120)}`),
    layer("outline", 1),
    layer("inside", 0),
    saidAt(up) === "all" &&
      el("text", { class: "xs-hull-name", x: r1(first.x - first.w / 2 - 4), y: r1(first.y - first.h / 2 - 11) }, label),
  );
}

/** @param {GraphNode} node @param {string} kind @param {number} pad */
function paddedRect(node, kind, pad) {
  const { left, top } = extent(node);
  return el("rect", {
    class: `xs-pad ${kind}`,
    x: r1(left - pad),
    y: r1(top - pad),
    width: r1(node.w + 2 * pad),
    height: r1(node.h + 2 * pad),
    rx: 11,
  });
}
