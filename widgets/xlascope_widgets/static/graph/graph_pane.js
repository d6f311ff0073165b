// @ts-check
/** Pane of the graph: lays out the open boxes, draws them as SVG, on a canvas or as a list, and scrolls and zooms. */

import { computeZoomInto, findBoxesToClose, findBoxToOpen } from "../layout/semantic_zoom.js";
import { computeRoom, layoutProgram } from "../layout/layout.js";
import { computeFitZoom, computeHeight, computeZoomAbout, computeZoomShowing, READABLE } from "../layout/viewport.js";
import { formatSubline } from "../program/labels.js";
import { CanvasGraph } from "./canvas_graph.js";
import { computeMarks } from "./marks.js";
import { describeTooLarge, Outline } from "./outline.js";
import { MouseInput } from "./mouse.js";
import { SvgGraph } from "./svg_graph.js";
import { handleGraphKey } from "./keyboard.js";
import { Minimap } from "./minimap.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../layout/level.js").GraphNode} GraphNode */
/** @typedef {import("../program/unpack.js").Jaxpr} Jaxpr */
/** @typedef {import("../layout/layout.js").Scene} Scene */
/** A part of the scene. @typedef {{left: number, right: number, top: number, bottom: number}} Part */

/** Nodes above which elements are too slow and a canvas is used. */
const MOST_ELEMENTS = 1000;
/** The heights that the pane takes by itself, for what is first seen in it. */
const LEAST_HIGH = 380,
  MOST_HIGH = 680;
/** Equations above which a layout would take longer than a second. */
const MOST_LAID_OUT = 30000;

export class GraphPane {
  /** @param {HTMLElement} pane @param {Store} store */
  constructor(pane, store) {
    this.pane = pane;
    this.store = store;
    this.outline = new Outline(this);
    this.elements = new SvgGraph(this);
    this.pixels = new CanvasGraph(this, this.outline);
    /** @type {SvgGraph|CanvasGraph} */ this.shown = this.elements;
    pane.append(this.elements.host, this.pixels.host, this.outline.host);
    this.zoom = { x: 0, y: 0, k: 1 };
    /** The zoom that the last fit chose. */ this.fitted = this.zoom;
    /** Whether that was to show everything, readable or not. */ this.isFittedWhole = false;
    /** @type {Scene|null} */ this.scene = null;
    /** @type {Map<string, GraphNode>} */ this.byId = new Map();
    this.pointing = new MouseInput(this);
    this.whereabouts = new Minimap(this);
    this.anchor = "";
    /** How each program was last seen, which the next view of the store begins with. */ this.zooms = store.zooms;
    /** The box that was last zoomed into. @type {GraphNode|null} */ this.looked = null;
    /** How each program uses the room. @type {Map<number, import("../layout/level.js").Room>} */ this.rooms =
      new Map();
    /** The height that a full screen gives; 0 without. */ this.mostHigh = 0;
    /** The height that the pane has taken by itself. */ this.ownHeight = "";
    const [elements, pixels, outline] = /** @type {HTMLElement[]} */ ([
      this.elements.host,
      this.pixels.host,
      this.outline.host,
    ]);
    for (const host of [elements, pixels]) this.pointing.listen(host);
    for (const host of [elements, pixels, outline])
      host.addEventListener("keydown", (event) => handleGraphKey(this, event));
  }

  /** Return the element that takes the focus first. */
  get svg() {
    return this.outline.how === "seen" ? this.outline.host : this.shown.host;
  }

  /** Lay out and draw; `fit` chooses a new view, `anchor` keeps that node where it is on the screen.
   * @param {{fit?: boolean, anchor?: string}} [how] */
  draw({ fit = false, anchor = "" } = {}) {
    const { program } = this.store;
    // What is not in a page has no size yet: the first one draws it.
    if (!this.scene && !this.pane.isConnected) return;
    this.store.screen = { width: this.getSize().width, height: this.chosenHeight || this.mostHigh || MOST_HIGH };
    const visible = program?.heavy.jaxpr ? countVisible(program, program.heavy.jaxpr, this.store.open) : 0;
    if (!program || !visible || visible > MOST_LAID_OUT || this.store.asList) {
      this.drawList(visible);
      return;
    }
    const before = anchor && this.byId.get(anchor);
    const saved = this.zooms.get(program.number);
    const fresh = !saved || fit;
    // The width is chosen once, so that opening a box moves nothing from one row to another.
    if (fresh || !this.rooms.has(program.number))
      this.rooms.set(program.number, computeRoom(program, this.store.open, this.getSize().width / READABLE));
    this.scene = layoutProgram(program, this.store.open, this.rooms.get(program.number));
    this.byId = new Map(this.scene.nodes.map((/** @type {GraphNode} */ node) => [node.id, node]));
    this.selectRenderer(this.scene.nodes.length > MOST_ELEMENTS);
    if (!fresh) this.zoom = saved;
    else this.fitInitially();
    if (before) this.keepInPlace(before, this.byId.get(anchor));
    this.paint();
  }

  /** Draw the list of equations instead of the graph. @param {number} visible */
  drawList(visible) {
    this.scene = null;
    this.byId = new Map();
    this.shown.clear();
    this.elements.host.style.display = visible ? "none" : "";
    this.pixels.host.hidden = true;
    this.outline.show(visible ? "seen" : "off", visible > MOST_LAID_OUT ? describeTooLarge(visible) : "");
    this.mark();
  }

  /** Choose between canvas and SVG. @param {boolean} onCanvas */
  selectRenderer(onCanvas) {
    const renderer = onCanvas ? this.pixels : this.elements;
    if (renderer !== this.shown) this.shown.clear();
    this.shown = renderer;
    this.elements.host.style.display = onCanvas ? "none" : "";
    this.pixels.host.hidden = !onCanvas;
    this.outline.show(onCanvas ? "unseen" : "off");
  }

  /** @param {GraphNode} before @param {GraphNode|undefined} after */
  keepInPlace(before, after) {
    if (!after) return;
    const { k } = this.zoom;
    this.zoom.x += (before.x - before.w / 2 - after.x + after.w / 2) * k;
    this.zoom.y += (before.y - before.h / 2 - after.y + after.h / 2) * k;
  }

  /** Draw what can be seen. */
  paint() {
    if (!this.scene || !this.store.program) return;
    const focused = this.shown.focused;
    this.shown.paint();
    this.place();
    this.mark();
    if (focused && this.shown === this.elements) this.shown.focus(focused);
  }

  /** Return the part of the scene on the screen, with a margin on every side. @param {number} share */
  visibleRegion(share) {
    const { width, height } = this.getSize();
    const { x, y, k } = this.zoom;
    const [w, h] = [width * share, height * share];
    return { left: (-x - w) / k, right: (width - x + w) / k, top: (-y - h) / k, bottom: (height - y + h) / k };
  }

  /**
   * Return whether a part of the scene fills the screen.
   * @param {{left: number, right: number, top: number, bottom: number}} part
   */
  coversScreen(part) {
    const screen = this.visibleRegion(0);
    return (
      screen.left >= part.left && screen.right <= part.right && screen.top >= part.top && screen.bottom <= part.bottom
    );
  }

  getSize() {
    const box = this.pane.getBoundingClientRect();
    return { width: box.width || 600, height: box.height || 430 };
  }

  /** Return the room on each side of a scene that is narrower than the screen, in its own units. */
  get spareWidth() {
    return Math.max(0, this.getSize().width / this.zoom.k - (this.scene?.width ?? 0)) / 2;
  }

  /** Apply the zoom. */
  place() {
    if (this.store.program) this.zooms.set(this.store.program.number, this.zoom);
    this.shown.place();
    this.whereabouts.update();
  }

  /**
   * Fit a program that is shown for the first time, or whose boxes were all opened or closed: set the height of the
   * pane, and show everything in it.
   * @param {boolean} [everything] even where it is too small to be read
   */
  fitInitially(everything = false) {
    if (this.scene && !this.chosenHeight) {
      const { width } = this.getSize();
      const whole = everything
        ? this.scene.height * Math.min(1, width / this.scene.width)
        : computeHeight(this.scene, width);
      const high = this.mostHigh || Math.min(MOST_HIGH, Math.max(LEAST_HIGH, whole));
      this.pane.style.height = `${Math.round(high)}px`;
      this.ownHeight = this.pane.style.height;
    }
    this.fit(everything);
  }

  /** Fit again after a change of the width, unless the user has moved or zoomed since the last fit. */
  refit() {
    const isMoved = Object.entries(this.fitted).some(([name, value]) => this.zoom[/** @type {"k"} */ (name)] !== value);
    const { isFittedWhole } = this;
    if (isMoved || !this.scene) return this.place();
    this.draw({ fit: true });
    if (!isFittedWhole) return;
    this.fitInitially(true);
    this.paint();
  }

  /** Return the height that the user dragged the pane to, or 0. */
  get chosenHeight() {
    return !this.mostHigh && this.pane.style.height && this.pane.style.height !== this.ownHeight
      ? this.pane.getBoundingClientRect().height
      : 0;
  }

  /** @param {boolean} everything */
  fit(everything) {
    if (!this.scene) return;
    this.looked = null;
    this.zoom = computeFitZoom(this.scene, this.getSize(), everything);
    this.fitted = { ...this.zoom };
    this.isFittedWhole = everything;
    this.place();
  }

  /** Highlight the selection; fade what does not match a search. */
  mark() {
    const marks = computeMarks(
      this.store,
      this.scene ? this.scene.nodes : this.outline.how === "seen" ? this.outline.rows : [],
    );
    if (this.scene) this.shown.mark(marks);
    else this.outline.mark(marks);
    this.whereabouts.update();
  }

  /** @param {string} from @param {string} to */
  isOnSelectedEdge(from, to) {
    const { selection } = this.store;
    if (selection.kind === "edge") return selection.id === JSON.stringify([from, to]);
    return selection.kind === "equation" && (from === selection.id || to === selection.id);
  }

  /** Update measured times without drawing anything else again. */
  refreshNumbers() {
    const { program, heat } = this.store;
    if (!program || !this.scene) return;
    if (heat === "time") return this.paint();
    for (const node of this.scene.nodes) {
      const equation = program.at(node.path);
      if (!equation) continue;
      const sub = formatSubline(program, equation);
      if (sub === node.sub) continue;
      node.sub = sub;
      this.shown.refresh(node, equation);
    }
  }

  /** @param {string} id */
  getNodeElement(id) {
    return this.shown.element(id);
  }

  /** Scroll a node into view. @param {string} id */
  show(id) {
    const node = this.byId.get(id);
    if (!node) return this.outline.how === "seen" && this.outline.focus(id);
    this.zoom = computeZoomShowing(this.zoom, this.getSize(), node);
    this.place();
  }

  /** Zoom to a box, as large as it can be read. @param {string} path */
  showBox(path) {
    const node = this.byId.get(path);
    if (!node) return;
    const { width, height } = this.getSize();
    this.zoom = computeZoomInto(node, { x: width / 2, y: height / 2 }, { width, height });
    this.place();
  }

  /** Scroll the first selected equation into view, unless one is visible. */
  showSelection() {
    const { selection, open } = this.store;
    const first = [...selection.paths].slice(0, 200);
    const nodes = first.flatMap((path) => this.findDrawnNode(path, open) ?? []);
    if (nodes.length && !nodes.some((node) => this.isInSight(node))) this.show(nodes[0].id);
  }

  /** Return the node of a path, or the closed box around it. @param {string} path @param {Set<string>} open */
  findDrawnNode(path, open) {
    const chain = this.store.program?.listEnclosing(path) ?? [];
    const closed = chain.find((outer) => !open.has(outer)) ?? path;
    return this.byId.get(closed) ?? this.byId.get(path);
  }

  /** @param {GraphNode} node */
  isInSight(node) {
    const { left, right, top, bottom } = this.visibleRegion(0);
    return node.x > left && node.x < right && node.y > top && node.y < bottom;
  }

  /** Convert a point of the screen to the units of the scene. @param {PointerEvent|MouseEvent} event */
  toScenePoint(event) {
    const box = this.shown.host.getBoundingClientRect();
    return {
      x: (event.clientX - box.left - this.zoom.x) / this.zoom.k,
      y: (event.clientY - box.top - this.zoom.y) / this.zoom.k,
    };
  }

  /**
   * Select a node; with shift, the paths between it and the selected one.
   * @param {string} path
   * @param {boolean} shift
   */
  selectNode(path, shift) {
    const { selection } = this.store;
    if (shift && selection.kind === "equation" && selection.id !== path) this.store.selectBetween(selection.id, path);
    else this.store.select("equation", path);
  }

  /** @param {string} path */
  toggle(path) {
    this.anchor = path;
    this.store.toggle(path);
    this.focusOn(path);
  }

  /**
   * Zoom about a point of the screen. Zooming in opens the box there, zooming out closes boxes.
   * @param {number} px
   * @param {number} py
   * @param {number} factor
   */
  zoomAt(px, py, factor) {
    const { scene, store } = this;
    const zoom = computeZoomAbout(this.zoom, px, py, factor);
    const point = { x: (px - zoom.x) / zoom.k, y: (py - zoom.y) / zoom.k };
    const holds = (/** @type {GraphNode} */ node) => Boolean(store.program?.at(node.path)?.bodies);
    const box = scene && factor > 1 && findBoxToOpen(scene, holds, zoom.k, point);
    const closing = scene && factor < 1 ? findBoxesToClose(scene, zoom.k) : [];
    if (box) this.openBox(box);
    else if (closing.length) this.closeBoxes(closing, zoom);
    else {
      // When no box is left to close, show everything.
      const least =
        scene && store.grouping === "auto"
          ? Math.min(this.zoom.k, READABLE, computeFitZoom(scene, this.getSize(), true).k)
          : 0;
      this.zoom = zoom.k < least ? computeFitZoom(/** @type {Scene} */ (scene), this.getSize(), true) : zoom;
      this.place();
    }
  }

  /** @param {GraphNode} box */
  openBox(box) {
    const at = { x: box.x * this.zoom.k + this.zoom.x, y: box.y * this.zoom.k + this.zoom.y };
    this.store.toggle(box.path);
    const opened = this.byId.get(box.id);
    if (opened) this.zoom = computeZoomInto(opened, at, this.getSize());
    this.looked = opened ?? null;
    this.paint();
  }

  /** @param {GraphNode[]} boxes @param {import("../layout/viewport.js").Zoom} zoom */
  closeBoxes(boxes, zoom) {
    this.looked = null;
    const { width, height } = this.getSize();
    const middle = { x: (width / 2 - zoom.x) / zoom.k, y: (height / 2 - zoom.y) / zoom.k };
    const away = (/** @type {GraphNode} */ node) => Math.hypot(node.x - middle.x, node.y - middle.y);
    const nearest = boxes.reduce((a, b) => (away(b) < away(a) ? b : a));
    this.store.closeAll(boxes.map((box) => box.path));
    const closed = this.byId.get(nearest.id);
    const k = Math.max(zoom.k, READABLE);
    const all = this.scene && computeFitZoom(this.scene, this.getSize(), true);
    if (all && all.k >= READABLE) this.zoom = all;
    else if (closed)
      this.zoom = {
        k,
        x: nearest.x * zoom.k + zoom.x - closed.x * k,
        y: nearest.y * zoom.k + zoom.y - closed.y * k,
      };
    this.paint();
  }

  /** @param {string} path */
  focusOn(path) {
    if (this.scene) this.shown.focus(path);
    else this.outline.focus(path);
  }

  /** Return whether the graph or its list has the focus. */
  get hasFocus() {
    const { activeElement } = this.pane.ownerDocument;
    return this.shown.host.contains(activeElement) || this.outline.host.contains(activeElement);
  }

  /** Return the path of the node that keys act on: the focused or the selected one. */
  get current() {
    const id = this.outline.focused || this.shown.focused;
    return (
      this.byId.get(id)?.path ||
      (this.outline.how === "seen" && id) ||
      (this.store.selection.kind === "equation" ? this.store.selection.id : "")
    );
  }

  remove() {
    this.pixels.remove();
  }
}

/**
 * Return the number of nodes that a layout would have.
 * @param {Program} program
 * @param {Jaxpr} jaxpr
 * @param {Set<string>} open
 * @returns {number}
 */
export function countVisible(program, jaxpr, open) {
  const { equations } = program.groupedLevel(jaxpr);
  let sum = equations.length;
  for (const equation of equations)
    if (equation.bodies && open.has(equation.path))
      for (const body of equation.bodies) sum += countVisible(program, body, open);
  return sum || jaxpr.outputs.length;
}
