// @ts-check
/** Drawing of a scene as SVG elements: boxes, hulls, edges and nodes, from back to front. */

import { el } from "../ground/element.js";
import { round, shorten } from "../ground/format.js";
import { pickLabels } from "../layout/semantic_zoom.js";
import { FAR_LINE, placeFarLabels } from "./far_labels.js";
import { hatch } from "../program/hatching.js";
import { buildHeatScale } from "../program/heat.js";
import {
  describeEquation,
  formatSubline,
  formatNodeLabel,
  formatOutTypes,
  SUB_LETTER,
  TITLE_LETTER,
} from "../program/labels.js";
/** @typedef {import("../layout/layout.js").Scene} Scene */
/** @typedef {import("../layout/layout.js").SceneEdge} SceneEdge */
/** @typedef {import("../layout/level.js").GraphNode} GraphNode */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../program/unpack.js").Equation} Equation */

/** The width of the bar of a node that shows its phase. */
export const SIDE = 6;
/** Classes for what a comparison says of an equation. */
const SIGN_MARKS = { "+": " sign-added", "−": " sign-removed", "~": " sign-changed" };

/**
 * What colours mean, how much larger letters are than usual, the room beside the scene, and whether it is a picture, in
 * which nothing can be clicked.
 * @typedef {{heat: "pass"|"time"|"flops"|"bytes", up?: number, spare?: number, still?: boolean}} Look
 */

/**
 * @param {Program} program
 * @param {Scene} scene
 * @param {Look} look
 * @param {(item: {top: number, bottom: number, left: number, right: number}) => boolean} [visible]
 */
export function drawScene(program, scene, look, visible = () => true) {
  const nodes = scene.nodes.filter((node) => visible(getBounds(node)));
  const boxes = nodes.filter((node) => node.inner);
  const leaves = nodes.filter((node) => !node.inner);
  const edges = scene.edges.filter((e) => visible(e));
  const heat = buildHeatScale(program, look.heat, leaves);
  return [
    el(
      "g",
      { class: "xs-boxes" },
      boxes.map((node) => drawBox(program, node, look)),
    ),
    el("g", { class: "xs-hulls" }, drawHulls(program, scene, nodes, look)),
    el(
      "g",
      { class: "xs-edges" },
      edges.map((edge) => drawEdge(program, edge)),
    ),
    el(
      "g",
      { class: "xs-nodes" },
      leaves.map((node) => drawNode(program, node, heat, look)),
    ),
    pickLabels(look.up ?? 1) === "none" && drawFarLabels(program, scene, look, visible),
  ];
}

/**
 * @param {Program} program
 * @param {Scene} scene
 * @param {Look} look
 * @param {(item: {top: number, bottom: number, left: number, right: number}) => boolean} visible
 */
function drawFarLabels(program, scene, { heat, up = 1, spare }, visible) {
  const labels = placeFarLabels(program, scene, { heat, up, spare }).filter((label) => visible(getBounds(label)));
  return el(
    "g",
    { class: "xs-far", "aria-hidden": "true" },
    labels.map(({ node, lines, x, y, w, h }) => [
      el("rect", { x: round(x - w / 2), y: round(y - h / 2), width: round(w), height: round(h), rx: round(3 * up) }),
      lines.map((line, i) =>
        el(
          "text",
          {
            class: i ? "xs-sub" : "xs-title",
            "data-of": node.path,
            x: round(x),
            y: round(y + (i + 0.78 - lines.length / 2) * FAR_LINE * up),
          },
          line,
        ),
      ),
    ]),
  );
}

/** @param {{x: number, y: number, w: number, h: number}} node */
function getBounds(node) {
  return {
    top: node.y - node.h / 2,
    bottom: node.y + node.h / 2,
    left: node.x - node.w / 2,
    right: node.x + node.w / 2,
  };
}

/** @param {Program} program @param {SceneEdge} edge */
function drawEdge(program, edge) {
  const title = edge.count > 1 ? `${edge.count} values` : program.values.heat?.[edge.from]?.[3];
  return el(
    "path",
    {
      class: `xs-edge ${edge.kind}${edge.count > 1 ? " several" : ""}`,
      d: edge.d,
      "data-from": edge.from,
      "data-to": edge.to,
    },
    title && el("title", {}, title),
  );
}

/** @param {Program} program @param {GraphNode} node @returns {Record<string, any>} */
function buildAttributes(program, node) {
  const equation = program.at(node.path);
  const pass = equation ? program.getPass(node.path) : "given";
  return {
    class: `xs-node ${node.kind} pass-${pass}${equation?.bodies ? " holds" : ""}${equation?.members ? " group" : ""}${SIGN_MARKS[/** @type {"+"} */ (program.signs?.get(node.path))] ?? ""}`,
    "data-id": node.id,
    "data-kind": node.kind,
    "data-path": node.path || null,
    role: "treeitem",
    tabindex: "-1",
    "aria-level": node.depth + 1,
    "aria-expanded": equation?.bodies ? String(Boolean(node.inner)) : null,
    "aria-label": formatNodeLabel(program, node),
  };
}

/**
 * @param {Program} program
 * @param {GraphNode} node
 * @param {(node: GraphNode) => number|null} heat
 * @param {Look} look
 */
function drawNode(program, node, heat, look) {
  const { left, top } = getBounds(node);
  const step = heat(node);
  const attributes = buildAttributes(program, node);
  if (step != null) attributes.class += ` heat-${step}`;
  const equation = program.at(node.path);
  const up = look.up ?? 1;
  const parts = pickLabels(up);
  const toggle = equation?.bodies && !look.still ? 2 : 0;
  return el(
    "g",
    attributes,
    el("title", {}, equation ? describeEquation(program, node.path).join("\n") : formatNodeLabel(program, node)),
    getCardOffsets(equation).map((shift) =>
      el("rect", {
        class: "xs-card",
        x: round(left + shift),
        y: round(top + shift),
        width: round(node.w),
        height: node.h,
        rx: 6,
      }),
    ),
    el("rect", {
      class: "xs-body",
      x: round(left),
      y: round(top),
      width: round(node.w),
      height: node.h,
      rx: 6,
    }),
    el("rect", { class: "xs-side", x: round(left), y: round(top), width: SIDE, height: node.h, rx: 2 }),
    equation && el("path", { class: "xs-hatch", d: hatch(program.getPass(node.path), left, top, SIDE, node.h) }),
    parts !== "none" &&
      el(
        "text",
        {
          class: "xs-title",
          x: round(node.x),
          y: round(parts === "all" ? node.y - 2.5 : node.y + 4 * up),
        },
        up > 1 ? shorten(node.title, countTitleLetters(node, up) - toggle) : node.title,
        toggle > 0 && el("tspan", { class: "xs-toggle" }, " ⊞"),
      ),
    toggle > 0 &&
      el("rect", {
        class: "xs-toggle hit",
        x: round(left + node.w - 34),
        y: round(top),
        width: 34,
        height: 20,
      }),
    parts === "all" &&
      el(
        "text",
        { class: "xs-sub", x: round(node.x), y: round(node.y + 12) },
        shorten(formatSubtitle(program, node, equation, look.heat), countLetters(node, up)),
      ),
    parts === "all" && drawEdgeLabel(program, node),
  );
}

/**
 * Return the offsets of the cards behind a box: loops and repeated layers look like a stack.
 * @param {Equation|undefined} equation
 * @returns {number[]}
 */
export function getCardOffsets(equation) {
  return (equation?.group?.times ?? 1) > 1 || equation?.op === "scan" || equation?.op === "while" ? [5, 2.5] : [];
}

/**
 * Letters for which a node's second line has room, and its first.
 * @param {GraphNode} node
 * @param {number} [up] how much larger than usual they are
 */
export const countLetters = (node, up = 1) => Math.floor((node.w - 16) / SUB_LETTER / up);

/** @param {GraphNode} node @param {number} up */
export const countTitleLetters = (node, up) => Math.max(3, Math.floor((node.w - 10) / TITLE_LETTER / up));

/** @param {Program} program @param {GraphNode} node @param {Equation|undefined} equation @param {string} heat */
export function formatSubtitle(program, node, equation, heat) {
  return equation && heat !== "pass" ? formatSubline(program, equation, heat) : node.sub;
}

/** Draw the type of a node's result beside the start of its edge. @param {Program} program @param {GraphNode} node */
function drawEdgeLabel(program, node) {
  const equation = program.at(node.path);
  if (!node.type || !equation) return null;
  const y = node.type.up ? node.y - node.h / 2 - 7 : node.y + node.h / 2 + 12;
  return el("text", { class: "xs-type", x: round(node.x + 6), y: round(y) }, formatOutTypes(program, equation, node));
}

/** @param {Program} program @param {GraphNode} node @param {Look} look */
function drawBox(program, node, { up = 1, still = false }) {
  const { left, top } = getBounds(node);
  const parts = pickLabels(up);
  return el(
    "g",
    buildAttributes(program, node),
    el("title", {}, describeEquation(program, node.path).join("\n")),
    el("rect", {
      class: "xs-body",
      x: round(left),
      y: round(top),
      width: round(node.w),
      height: round(node.h),
      rx: 10,
    }),
    !still && el("rect", { class: "xs-toggle hit", x: round(left), y: round(top), width: 28, height: 24 }),
    parts !== "none" &&
      el(
        "text",
        { class: "xs-title", x: round(left + 12), y: round(top + 10 + 6 * up) },
        !still && el("tspan", { class: "xs-toggle" }, "⊟ "),
        up > 1 ? shorten(node.title, countTitleLetters(node, up) - 4) : node.title,
        up === 1 && el("tspan", { class: "xs-sub", dx: 8 }, node.sub),
      ),
    parts === "all" && drawEdgeLabel(program, node),
  );
}

/** @param {Program} program @param {Scene} scene @param {GraphNode[]} nodes @param {Look} look */
function drawHulls(program, scene, nodes, { up = 1 }) {
  const byKernel = new Map();
  for (const node of nodes)
    for (const kernel of node.inner || !node.path ? [] : listHullKernels(program, node)) {
      if (!byKernel.has(kernel.name)) byKernel.set(kernel.name, []);
      byKernel.get(kernel.name).push(node);
    }
  const joins = groupEdges(scene);
  /** The nodes at which a name stands: of two kernels that begin at one, only the first is named. */
  const named = new Set();
  return [...byKernel]
    .filter(([name, members]) => isHullInformative(program, name, members))
    .map(([name, members]) => drawHull(program, name, members, joins, up, named));
}

/**
 * Return whether a hull shows something: not where only one equation is drawn and the others are in closed boxes.
 * @param {Program} program
 * @param {string} name
 * @param {GraphNode[]} members
 */
export function isHullInformative(program, name, members) {
  if (members.length > 1) return true;
  const inside = new Set(program.listInside(members[0].path));
  return (program.kernels.get(name)?.eqns ?? []).every((path) => inside.has(path));
}

/**
 * Return the fusions a drawn node belongs to: one hull per kernel of several equations. A closed box in several
 * kernels, a group, and any box of an overview have none.
 * @param {Program} program
 * @param {GraphNode} node
 */
export function listHullKernels(program, node) {
  const box = program.at(node.path);
  if (box?.members || (box?.bodies && program.grouping === "auto")) return [];
  const kernels = program.listKernels(node.path).filter((kernel) => kernel.eqns.length > 1);
  return box?.bodies && kernels.length > 1 ? [] : kernels;
}

/** Return the short edges that leave each node. @param {Scene} scene @returns {Map<string, SceneEdge[]>} */
export function groupEdges(scene) {
  const joins = new Map();
  for (const edge of scene.edges) {
    if (edge.kind !== "near") continue;
    if (!joins.has(edge.from)) joins.set(edge.from, []);
    joins.get(edge.from).push(edge);
  }
  return joins;
}

/**
 * Draw a hull: the union of its members, padded, and of the edges between them, widened. It is drawn twice, the second
 * time a line's width smaller, so that the union has one outline.
 * @param {Program} program
 * @param {string} name
 * @param {GraphNode[]} members
 * @param {Map<string, SceneEdge[]>} joins
 * @param {number} up
 * @param {Set<GraphNode>} named
 */
function drawHull(program, name, members, joins, up, named) {
  const ids = new Set(members.map((node) => node.id));
  const edges = members.flatMap((node) => (joins.get(node.id) ?? []).filter((edge) => ids.has(edge.to)));
  const drawLayer = (/** @type {string} */ kind, /** @type {number} */ pad) => [
    edges.map((edge) => el("path", { class: `xs-bridge ${kind}`, d: edge.d, "stroke-width": 30 + 2 * pad })),
    members.map((node) => drawPaddedRect(node, kind, 8 + pad)),
  ];
  const first = members.reduce((a, b) => (b.y < a.y || (b.y === a.y && b.x < a.x) ? b : a));
  const label = shorten(program.getKernelTitle(name), Math.max(8, Math.floor((first.w / 2 + 8) / SUB_LETTER / up)));
  const isNamed = pickLabels(up) === "all" && !named.has(first);
  named.add(first);
  return el(
    "g",
    { class: "xs-hull", "data-kernel": name },
    el("title", {}, `one kernel: ${shorten(name, 120)}`),
    drawLayer("outline", 1),
    drawLayer("inside", 0),
    isNamed &&
      el(
        "text",
        {
          class: "xs-hull-name",
          x: round(first.x - first.w / 2 - 4),
          y: round(first.y - first.h / 2 - 11),
        },
        label,
      ),
  );
}

/** @param {GraphNode} node @param {string} kind @param {number} pad */
function drawPaddedRect(node, kind, pad) {
  const { left, top } = getBounds(node);
  return el("rect", {
    class: `xs-pad ${kind}`,
    x: round(left - pad),
    y: round(top - pad),
    width: round(node.w + 2 * pad),
    height: round(node.h + 2 * pad),
    rx: 11,
  });
}
