// @ts-check
/** Mouse control of the graph: drag, zoom, select and open what is under the pointer. */

import { findEdgeAt } from "../layout/viewport.js";
/** @typedef {import("./graph_pane.js").GraphPane} GraphPane */
/** @typedef {import("../layout/viewport.js").Zoom} Zoom */
/** @typedef {import("../layout/layout.js").SceneEdge} SceneEdge */
/** Where the pointer was pressed, on what, and how the graph stood then.
 * @typedef {{x: number, y: number, zoom: Zoom, moved: boolean, hit: Hit|null, shift: boolean}} Drag */
/**
 * What is under the pointer.
 * @typedef {{id: string, path: string, toggle: boolean, kernel: string, edge: SceneEdge|null}} Hit
 */

/** Pixels from an edge within which a click means it. */
const EDGE_REACH = 5;

export class MouseInput {
  /** @param {GraphPane} pane */
  constructor(pane) {
    this.pane = pane;
    /** What the pointer has been pressed on. @type {Drag|null} */ this.drag = null;
  }

  /** @param {HTMLElement} host */
  listen(host) {
    host.addEventListener("pointerdown", (event) => this.handlePress(event));
    host.addEventListener("pointermove", (event) => this.handleMove(event));
    host.addEventListener("pointerup", (event) => this.handleRelease(event));
    host.addEventListener("pointercancel", () => (this.drag = null));
    host.addEventListener("dblclick", (event) => this.toggleAt(event));
    host.addEventListener("wheel", (event) => this.handleWheel(event), { passive: false });
  }

  /** @param {PointerEvent} event */
  handlePress(event) {
    if (event.button !== 0) return;
    this.drag = {
      x: event.clientX,
      y: event.clientY,
      zoom: { ...this.pane.zoom },
      moved: false,
      hit: this.hitTest(event),
      shift: event.shiftKey,
    };
  }

  /**
   * Return what is under the pointer: a node, or else an edge between equations.
   * @param {PointerEvent|MouseEvent} event
   * @returns {Hit|null}
   */
  hitTest(event) {
    if (!this.pane.scene) return null;
    const hit = this.pane.shown.hit(event);
    const { x, y } = this.pane.toScenePoint(event);
    const edge = hit.id ? null : findEdgeAt(this.pane.scene, x, y, EDGE_REACH / this.pane.zoom.k);
    const [from, to] = edge ? [this.pane.byId.get(edge.from), this.pane.byId.get(edge.to)] : [];
    // Edges of groups, inputs or results are not edges between two equations.
    const equations = this.pane.store.program?.equations;
    return { ...hit, edge: equations?.has(from?.path ?? "") && equations.has(to?.path ?? "") ? edge : null };
  }

  /** @param {PointerEvent} event */
  handleMove(event) {
    if (!this.drag) return;
    const [dx, dy] = [event.clientX - this.drag.x, event.clientY - this.drag.y];
    if (!this.drag.moved && Math.hypot(dx, dy) < 4) return;
    if (!this.drag.moved) this.pane.shown.host.setPointerCapture(event.pointerId);
    this.drag.moved = true;
    this.pane.looked = null;
    this.pane.zoom = { ...this.drag.zoom, x: this.drag.zoom.x + dx, y: this.drag.zoom.y + dy };
    this.pane.place();
  }

  /** @param {PointerEvent} event */
  handleRelease(event) {
    const { drag } = this;
    this.drag = null;
    if (drag && !drag.moved && event.button === 0 && drag.hit) this.handleClick(drag.hit, drag.shift);
  }

  /** @param {Hit} hit @param {boolean} shift */
  handleClick({ id, path, toggle, kernel, edge }, shift) {
    if (path && toggle) return this.pane.toggle(path);
    if (id) this.pane.shown.focus(id);
    if (path) return this.pane.selectNode(path, shift);
    if (!id && edge) return this.pane.store.selectEdge(edge.from, edge.to);
    if (kernel) return this.pane.store.select("kernel", kernel);
    if (!id) this.pane.store.select(null);
  }

  /** @param {MouseEvent} event */
  toggleAt(event) {
    const hit = this.hitTest(event);
    if (hit?.path && !hit.toggle && this.pane.store.program?.at(hit.path)?.bodies) this.pane.toggle(hit.path);
  }

  /**
   * Handle the wheel: with Ctrl it zooms; alone it moves a focused graph, and otherwise scrolls the notebook.
   * @param {WheelEvent} event
   */
  handleWheel(event) {
    const { host } = this.pane.shown;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const box = host.getBoundingClientRect();
      this.pane.zoomAt(event.clientX - box.left, event.clientY - box.top, 1.0015 ** -event.deltaY);
    } else if (this.pane.scene && this.pane.hasFocus) {
      const { height } = this.pane.getSize();
      const low = Math.min(0, height - this.pane.scene.height * this.pane.zoom.k);
      const y = Math.min(0, Math.max(low, this.pane.zoom.y - event.deltaY));
      if (y === this.pane.zoom.y) return;
      event.preventDefault();
      this.pane.zoom = { ...this.pane.zoom, y };
      this.pane.place();
    }
  }
}
