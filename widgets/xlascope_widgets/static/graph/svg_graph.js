// @ts-check
/** The graph as SVG elements, limited to those near the screen. Each node is an item of a tree for screen readers. */

import { el, fill, SVG, toNode } from "../ground/element.js";
import { shorten } from "../ground/format.js";
import { pickLabels, scaleLetters } from "../layout/semantic_zoom.js";
import { countLetters, drawScene, formatSubtitle } from "./draw_svg.js";
/** @typedef {import("./graph_pane.js").GraphPane} GraphPane */
/** @typedef {import("./marks.js").Mark} Mark */
/** @typedef {import("../layout/level.js").GraphNode} GraphNode */
/** @typedef {import("../program/unpack.js").Equation} Equation */
/** @typedef {import("./graph_pane.js").Part} Part */
/** @typedef {import("../program/program.js").Program} Program */

const MARGIN_SHARE = 0.6;
const ALL_AT_ONCE = 400;

export class SvgGraph {
  /** @param {GraphPane} pane the pane that it is drawn for */
  constructor(pane) {
    this.pane = pane;
    this.host = /** @type {SVGSVGElement} */ (
      toNode(el("svg", { class: "xs-graph-svg", tabindex: 0, role: "tree", "aria-label": "graph of equations" }))
    );
    this.view = /** @type {SVGGElement} */ (toNode(el("g", { class: "xs-view" }), SVG));
    this.host.append(this.view);
    /** @type {Part|null} */ this.painted = null;
    /** How much larger than usual letters were painted. */ this.up = 1;
  }

  paint() {
    const { store, scene } = this.pane;
    if (!scene || !store.program) return;
    this.up = scaleLetters(this.pane.zoom.k);
    this.view.style.setProperty("--xs-up", String(this.up));
    this.view.classList.toggle("far", pickLabels(this.up) === "none");
    this.view.classList.toggle("heated", store.heat !== "pass");
    const region = scene.nodes.length > ALL_AT_ONCE ? this.pane.visibleRegion(MARGIN_SHARE) : null;
    this.painted = region;
    const visible =
      region &&
      ((/** @type {Part} */ e) =>
        e.bottom > region.top && e.top < region.bottom && e.right > region.left && e.left < region.right);
    const look = { heat: store.heat, up: this.up, spare: this.pane.spareWidth };
    fill(this.view, ...drawScene(store.program, scene, look, visible ?? undefined));
  }

  /** Apply the zoom; repaint when the screen has left what was painted. */
  place() {
    const { x, y, k } = this.pane.zoom;
    this.view.setAttribute("transform", `translate(${x.toFixed(2)},${y.toFixed(2)}) scale(${k.toFixed(4)})`);
    if (this.up !== scaleLetters(k) || (this.painted && !this.pane.coversScreen(this.painted))) this.pane.paint();
  }

  /** @param {Map<string, Mark>} marks */
  mark(marks) {
    const { selection } = this.pane.store;
    for (const element of this.view.querySelectorAll(".xs-node[data-path]")) {
      const mark = marks.get(element.getAttribute("data-path") ?? "");
      for (const name of ["selected", "related", "between", "start", "faint"])
        element.classList.toggle(name, Boolean(mark?.[/** @type {"faint"} */ (name)]));
      element.setAttribute("aria-selected", String(Boolean(mark?.selected)));
    }
    for (const hull of this.view.querySelectorAll(".xs-hull"))
      hull.classList.toggle("selected", selection.kernels.has(hull.getAttribute("data-kernel") ?? ""));
    // Highlight the edges of the selection; long ones most of all.
    for (const edge of this.view.querySelectorAll(".xs-edge")) {
      const ends = [edge.getAttribute("data-from") ?? "", edge.getAttribute("data-to") ?? ""];
      edge.classList.toggle("selected", this.pane.isOnSelectedEdge(ends[0], ends[1]));
    }
  }

  /** Update the text of a node. @param {GraphNode} node @param {Equation} equation */
  refresh(node, equation) {
    const words = shorten(
      formatSubtitle(/** @type {Program} */ (this.pane.store.program), node, equation, this.pane.store.heat),
      countLetters(node, this.up),
    );
    const text = this.element(node.id)?.querySelector(".xs-sub");
    if (text && text.textContent !== words) text.textContent = words;
  }

  /** @param {string} id @returns {SVGElement|null} */
  element(id) {
    return this.view.querySelector(`.xs-node[data-id="${CSS.escape(id)}"]`);
  }

  /**
   * Return what is under the pointer.
   * @param {PointerEvent|MouseEvent} event
   * @returns {{id: string, path: string, toggle: boolean, kernel: string}}
   */
  hit(event) {
    const target = /** @type {Element} */ (event.target);
    const node = target.closest(".xs-node");
    return {
      id: node?.getAttribute("data-id") ?? "",
      path: node?.getAttribute("data-path") ?? "",
      toggle: Boolean(node && target.closest(".xs-toggle")),
      kernel: target.closest(".xs-hull")?.getAttribute("data-kernel") ?? "",
    };
  }

  /** Return the node that has the focus. */
  get focused() {
    return this.host.ownerDocument.activeElement?.closest?.(".xs-graph-svg .xs-node")?.getAttribute("data-id") ?? "";
  }

  /** @param {string} id */
  focus(id) {
    const element = this.element(id);
    (element ?? this.host).focus({ preventScroll: true });
  }

  clear() {
    fill(this.view);
  }
}
