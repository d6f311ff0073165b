// @ts-check
/** Minimap of the graph, and breadcrumbs of the boxes around what is visible or selected. */

import { el, fill, toNode } from "../ground/element.js";
import { shorten } from "../ground/format.js";
import { HEAD } from "../layout/layout.js";
import { formatEquation } from "../program/labels.js";
import { PASS_COLOURS, readTheme, watchColours } from "./canvas_theme.js";
/** @typedef {import("./graph_pane.js").GraphPane} GraphPane */
/** @typedef {import("../layout/level.js").GraphNode} GraphNode */
/** @typedef {import("../layout/layout.js").Scene} Scene */

const WIDTH = 168,
  HEIGHT = 108;
/** From the crumbs to the pane's edge. */
const EDGE = 6;
/** Nodes from which on a map is drawn of the boxes alone. */
const MOST_MAPPED = 4000;

/** Map of the whole graph, and the boxes around the part that is visible or selected. */
export class Minimap {
  /** @param {GraphPane} pane */
  constructor(pane) {
    this.pane = pane;
    this.crumbs = /** @type {HTMLElement} */ (
      toNode(el("nav", { class: "xs-crumbs", "aria-label": "where in the program", hidden: "" }))
    );
    this.map = /** @type {HTMLElement} */ (
      toNode(
        el(
          "div",
          { class: "xs-minimap", "aria-hidden": "true", hidden: "", title: "the whole graph; drag to move" },
          el("canvas", { width: WIDTH * 2, height: HEIGHT * 2 }),
          el("i", {}),
        ),
      )
    );
    /** What the crumbs were drawn for, and the map. */ this.said = "";
    /** @type {Scene|null} */ this.mapped = null;
    /** Stops watching the colours. @type {(() => void)|undefined} */ this.unwatch = undefined;
    pane.pane.append(this.crumbs, this.map);
    this.crumbs.addEventListener("click", (event) => this.handleClick(/** @type {Element} */ (event.target)));
    for (const kind of /** @type {const} */ (["pointerdown", "pointermove"]))
      this.map.addEventListener(kind, (event) => this.handleDrag(event));
  }

  /** Update after a change of the zoom, the scene or the selection. */
  update() {
    this.drawCrumbs();
    const { scene } = this.pane;
    const region = this.pane.visibleRegion(0);
    const isAll =
      !scene ||
      (region.left <= 8 && region.top <= 8 && region.right >= scene.width - 8 && region.bottom >= scene.height - 8);
    this.map.hidden = isAll;
    if (!scene || isAll) return;
    if (this.mapped !== scene) this.drawMap(scene);
    const scale = computeScale(scene);
    const frame = /** @type {HTMLElement} */ (this.map.lastElementChild);
    const [left, top] = [Math.max(0, region.left * scale), Math.max(0, region.top * scale)];
    Object.assign(frame.style, {
      left: `${left}px`,
      top: `${top}px`,
      width: `${Math.max(4, Math.min(scene.width, region.right) * scale - left)}px`,
      height: `${Math.max(4, Math.min(scene.height, region.bottom) * scale - top)}px`,
    });
  }

  /** Draw every node as a rectangle of its colour. @param {Scene} scene */
  drawMap(scene) {
    const { program } = this.pane.store;
    this.mapped = scene;
    if (!program) return;
    this.unwatch ??= watchColours(/** @type {Element} */ (this.map.closest(".xs-root")), () => {
      if (this.map.isConnected) this.drawMap(/** @type {Scene} */ (this.mapped));
      else this.unwatch?.();
    });
    const theme = readTheme(this.map);
    const scale = computeScale(scene);
    const canvas = /** @type {HTMLCanvasElement} */ (this.map.firstElementChild);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    [this.map.style.width, this.map.style.height] = [`${scene.width * scale}px`, `${scene.height * scale}px`];
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(2 * scale, 0, 0, 2 * scale, 0, 0);
    const isMany = scene.nodes.length > MOST_MAPPED;
    for (const node of scene.nodes) {
      if (isMany && !node.inner) continue;
      context.globalAlpha = node.inner ? 0.2 : node.path ? 1 : 0.5;
      context.fillStyle =
        theme[node.path ? PASS_COLOURS[/** @type {"forward"} */ (program.getPass(node.path))] : "line2"] ?? theme.line2;
      context.fillRect(node.x - node.w / 2, node.y - node.h / 2, node.w, node.h);
    }
  }

  /** Return the boxes around the selection, around the target of the last zoom, or around the middle of the screen. */
  findEnclosingBoxes() {
    const { scene, store, byId } = this.pane;
    const { selection, program } = store;
    if (!scene || !program) return [];
    const chain =
      selection.kind === "equation" ? program.listEnclosing(selection.id).map((path) => byId.get(path)) : null;
    if (chain?.length) return chain.filter((node) => node != null);
    const { left, right, top, bottom } = this.pane.visibleRegion(0);
    const { x, y } = this.pane.looked ?? { x: (left + right) / 2, y: (top + bottom) / 2 };
    // A box that is entirely visible needs no breadcrumb.
    return scene.nodes.filter(
      (node) =>
        node.inner &&
        Math.abs(node.x - x) < node.w / 2 &&
        Math.abs(node.y - y) < node.h / 2 &&
        (node.w > right - left || node.h > bottom - top),
    );
  }

  drawCrumbs() {
    const { program } = this.pane.store;
    const around = this.findEnclosingBoxes();
    const key = JSON.stringify([program?.function, around.map((node) => node.id)]);
    if (key === this.said) return;
    this.said = key;
    this.crumbs.hidden = !around.length;
    if (!program || !around.length) return;
    const drawCrumb = (/** @type {string} */ path, /** @type {string} */ words, /** @type {string} */ tip) =>
      el("button", { class: "xs-crumb-link", type: "button", "data-crumb": path, title: tip }, shorten(words, 28));
    fill(
      this.crumbs,
      drawCrumb("", program.function, "all of it (0)"),
      around.map((node) => {
        const equation = program.at(node.path);
        return [
          el("span", { "aria-hidden": "true" }, " ▸ "),
          drawCrumb(node.path, equation ? formatEquation(program, equation).title : node.title, "show it"),
        ];
      }),
    );
    this.placeCrumbs();
  }

  /** Place the breadcrumbs where they cover the fewest labels, at the upper or the lower edge. */
  placeCrumbs() {
    const { width, height } = this.pane.getSize();
    const { width: w, height: h } = this.crumbs.getBoundingClientRect();
    const [middle, right, bottom] = [(width - w) / 2, width - w - EDGE, height - h - EDGE];
    const spots = [
      [EDGE, EDGE],
      [right, EDGE],
      [EDGE, bottom],
      [middle, EDGE],
      [middle, bottom],
    ].filter(([x]) => x >= EDGE);
    const covered = spots.map(([x, y]) => this.countCoveredNodes(x, y, w, h));
    const [x, y] = spots[covered.indexOf(Math.min(...covered))] ?? [EDGE, EDGE];
    Object.assign(this.crumbs.style, {
      left: `${x}px`,
      top: y === bottom ? "auto" : `${y}px`,
      bottom: y === bottom ? `${EDGE}px` : "auto",
    });
  }

  /**
   * Return the number of nodes with labels in a part of the screen; the label of an open box is at its top.
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   */
  countCoveredNodes(x, y, w, h) {
    const { scene, zoom } = this.pane;
    const [left, right, top, bottom] = [
      (x - zoom.x) / zoom.k,
      (x + w - zoom.x) / zoom.k,
      (y - zoom.y) / zoom.k,
      (y + h - zoom.y) / zoom.k,
    ];
    const isOver = (/** @type {GraphNode} */ node) =>
      Math.abs(node.x - (left + right) / 2) < (node.w + right - left) / 2 &&
      node.y - node.h / 2 < bottom &&
      node.y - node.h / 2 + (node.inner ? HEAD : node.h) > top;
    return scene ? scene.nodes.filter(isOver).length : 0;
  }

  /** @param {Element} target */
  handleClick(target) {
    const path = target.closest("[data-crumb]")?.getAttribute("data-crumb");
    if (path == null) return;
    if (path) this.pane.showBox(path);
    else this.pane.fit(true);
    this.pane.paint();
    this.pane.focusOn(path);
  }

  /** Center the visible part at the pointer. @param {PointerEvent} event */
  handleDrag(event) {
    const { scene, zoom } = this.pane;
    if (!scene || !(event.buttons & 1)) return;
    if (event.type === "pointerdown") this.map.setPointerCapture(event.pointerId);
    event.preventDefault();
    const box = this.map.getBoundingClientRect();
    const scale = computeScale(scene);
    const { width, height } = this.pane.getSize();
    this.pane.zoom = {
      k: zoom.k,
      x: width / 2 - ((event.clientX - box.left) / scale) * zoom.k,
      y: height / 2 - ((event.clientY - box.top) / scale) * zoom.k,
    };
    this.pane.place();
  }
}

/** @param {Scene} scene */
const computeScale = (scene) => Math.min(WIDTH / scene.width, HEIGHT / scene.height);
