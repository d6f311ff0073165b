// @ts-check
/** The graph on a canvas. More than the screen is painted, so that panning only moves what is there; a list beside it
 * (`outline.js`) holds the items that a screen reader reads and that take the focus. */

import { el, toNode } from "../ground/element.js";
import { describeEquation, formatNodeLabel } from "../program/labels.js";
import { readTheme, watchColours } from "./canvas_theme.js";
import { drawOnCanvas } from "./draw_canvas.js";
import { listHullKernels } from "./draw_svg.js";
/** @typedef {import("./graph_pane.js").GraphPane} GraphPane */
/** @typedef {import("../layout/layout.js").Scene} Scene */
/** @typedef {import("./outline.js").Outline} Outline */
/** @typedef {import("./marks.js").Mark} Mark */
/** @typedef {import("./graph_pane.js").Part} Part */
/** @typedef {import("../program/program.js").Program} Program */

const PAINTED_AROUND = 0.5;
const MOST_PIXELS = 12e6;
/**
 * How much larger than painted, or smaller, it may be seen while somebody zooms, and the milliseconds after which he
 * rests.
 */
const STRETCHED = 1.4,
  REST = 90;
/** How far the hull of a fusion reaches around its equations. */
const HULL = 8;

/**
 * What has been painted of the scene, and at which zoom.
 * @typedef {Part & {zoom: import("../layout/viewport.js").Zoom, width: number, height: number}} Painted
 */

export class CanvasGraph {
  /** @param {GraphPane} pane the pane that it is drawn for @param {Outline} outline the list that takes the focus */
  constructor(pane, outline) {
    this.pane = pane;
    this.outline = outline;
    this.host = /** @type {HTMLElement} */ (
      toNode(
        el(
          "div",
          {
            class: "xs-canvas-host",
            hidden: "",
            tabindex: 0,
            role: "group",
            "aria-label": "graph of equations, drawn; arrow keys walk it",
          },
          el("canvas", { class: "xs-canvas", "aria-hidden": "true" }),
        ),
      )
    );
    this.canvas = /** @type {HTMLCanvasElement} */ (this.host.firstChild);
    this.host.addEventListener("pointermove", (event) => this.handleHover(event));
    /** Where and how what is on the canvas was painted. @type {Painted|null} */ this.painted = null;
    /** @type {Map<string, Mark>} */ this.marks = new Map();
    /** @type {(() => void)|undefined} */ this.unwatch = undefined;
    this.cursor = "";
    /** The node under the pointer. */ this.hovered = "";
    this.waiting = 0;
    /** @type {ReturnType<typeof setTimeout>|undefined} */ this.resting = undefined;
    this.drawn = 0;
  }

  /** Paint now. */
  paint() {
    (this.host.ownerDocument.defaultView ?? window).cancelAnimationFrame(this.waiting);
    this.waiting = 0;
    const { scene, store, zoom } = this.pane;
    if (!scene || !store.program || this.host.hidden) return;
    this.theme ??= this.followTheme();
    const { width, height } = this.pane.getSize();
    const ratio = Math.min(
      globalThis.devicePixelRatio || 1,
      Math.sqrt(MOST_PIXELS / (width * height * (1 + 2 * PAINTED_AROUND) ** 2)),
    );
    const [w, h] = [Math.ceil(width * (1 + 2 * PAINTED_AROUND)), Math.ceil(height * (1 + 2 * PAINTED_AROUND))];
    if (this.canvas.width !== Math.round(w * ratio) || this.canvas.height !== Math.round(h * ratio)) {
      this.canvas.width = Math.round(w * ratio);
      this.canvas.height = Math.round(h * ratio);
      this.canvas.style.width = `${w}px`;
      this.canvas.style.height = `${h}px`;
    }
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    const [x, y] = [zoom.x + width * PAINTED_AROUND, zoom.y + height * PAINTED_AROUND];
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.setTransform(zoom.k * ratio, 0, 0, zoom.k * ratio, x * ratio, y * ratio);
    const region = this.pane.visibleRegion(PAINTED_AROUND);
    this.drawn = drawOnCanvas(context, {
      program: store.program,
      scene,
      heat: store.heat,
      theme: this.theme,
      marks: this.marks,
      kernels: store.selection.kernels,
      isSelectedEdge: (from, to) => this.pane.isOnSelectedEdge(from, to),
      focused: this.focused,
      seen: region,
      k: zoom.k,
      spare: this.pane.spareWidth,
    });
    this.painted = { ...region, zoom: { ...zoom }, width, height };
    this.moveBitmap();
  }

  /** Read the colours once, and again when the host changes them. */
  followTheme() {
    this.unwatch ??= watchColours(this.host.closest(".xs-root") ?? document.body, () => {
      this.theme = readTheme(this.host);
      this.schedulePaint();
    });
    return readTheme(this.host);
  }

  schedulePaint() {
    // Use the window of the panel: a hidden window draws no frames.
    this.waiting ||= (this.host.ownerDocument.defaultView ?? window).requestAnimationFrame(() => this.paint());
  }

  /** Apply the zoom: move the bitmap, and paint again where it does not reach or is blurred. */
  place() {
    if (!this.painted) return;
    this.moveBitmap();
    const grown = this.pane.zoom.k / this.painted.zoom.k;
    clearTimeout(this.resting);
    // Somebody who zooms sees what is painted, larger or smaller, until it is far off or he rests: painting takes
    // longer than a frame.
    if (grown > STRETCHED || grown < 1 / STRETCHED || !this.pane.coversScreen(this.painted)) this.schedulePaint();
    else if (grown !== 1) this.resting = setTimeout(() => this.schedulePaint(), REST);
  }

  moveBitmap() {
    if (!this.painted) return;
    const { zoom, width, height } = this.painted;
    const now = this.pane.zoom;
    const grow = now.k / zoom.k;
    const x = now.x - (zoom.x + width * PAINTED_AROUND) * grow,
      y = now.y - (zoom.y + height * PAINTED_AROUND) * grow;
    this.canvas.style.transform = `translate(${x}px,${y}px) scale(${grow})`;
  }

  /** @param {Map<string, Mark>} marks */
  mark(marks) {
    this.marks = marks;
    this.outline.mark(marks);
    this.schedulePaint();
  }

  refresh() {
    this.schedulePaint();
  }

  /** Return what is under the pointer. @param {PointerEvent|MouseEvent} event */
  hit(event) {
    const { x: px, y: py } = this.pane.toScenePoint(event);
    const scene = /** @type {Scene} */ (this.pane.scene);
    const program = /** @type {Program} */ (this.pane.store.program);
    const node = findNodeAt(scene, px, py, 0);
    const beside = node?.inner || !node ? findNodeAt(scene, px, py, HULL) : null;
    const kernel = beside?.path && !beside.inner ? listHullKernels(program, beside)[0]?.name : "";
    const [left, top] = node ? [px - (node.x - node.w / 2), py - (node.y - node.h / 2)] : [0, 0];
    const holds = node && program.at(node.path)?.bodies;
    const toggle = Boolean(holds && (node.inner ? left < 28 && top < 24 : left > node.w - 34 && top < 18));
    // The hull of a fusion is drawn on top of an open box.
    const inHull = Boolean(kernel) && !toggle;
    return { id: inHull ? "" : (node?.id ?? ""), path: inHull ? "" : (node?.path ?? ""), toggle, kernel: kernel ?? "" };
  }

  /** @param {PointerEvent} event */
  handleHover(event) {
    if (this.pane.pointing.drag?.moved || !this.pane.scene) return;
    const { id, path, toggle } = this.hit(event);
    this.host.style.cursor = toggle ? "zoom-in" : id ? "pointer" : "";
    if (id === this.hovered) return;
    this.hovered = id;
    const node = this.pane.byId.get(id);
    const program = /** @type {Program} */ (this.pane.store.program);
    if (node) this.host.title = path ? describeEquation(program, path).join("\n") : formatNodeLabel(program, node);
    else this.host.removeAttribute("title");
  }

  /** @param {string} id */
  focus(id) {
    this.cursor = id;
    this.outline.focus(id);
    this.schedulePaint();
  }

  /** Return the node that has the focus, by its item in the list. */
  get focused() {
    return this.outline.focused || this.cursor;
  }

  /** @param {string} id */
  element(id) {
    return this.outline.element(id);
  }

  clear() {
    this.painted = null;
    this.canvas.width = this.canvas.height = 0;
  }

  remove() {
    this.unwatch?.();
    clearTimeout(this.resting);
    cancelAnimationFrame(this.waiting);
  }
}

/**
 * Return the innermost node at a point of the scene: nodes come after the box that holds them.
 * @param {Scene} scene
 * @param {number} x
 * @param {number} y
 * @param {number} reach around it
 */
function findNodeAt(scene, x, y, reach) {
  for (let i = scene.nodes.length - 1; i >= 0; i--) {
    const node = scene.nodes[i];
    if (Math.abs(x - node.x) <= node.w / 2 + reach && Math.abs(y - node.y) <= node.h / 2 + reach) return node;
  }
  return null;
}
