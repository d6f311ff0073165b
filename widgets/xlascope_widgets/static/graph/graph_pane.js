// @ts-check
/** The graph's pane: lays out what is open, draws it as SVG, on a canvas or as a list, pans and zooms it, and walks it with the keyboard. */

import { layoutProgram } from "./layout.js";
import { equationSub } from "../program/words.js";
import { markOf } from "../program/select.js";
import { edgeAt, fitZoom, nearest, zoomAbout, zoomShowing } from "./viewport.js";
import { SvgGraph } from "./svg_graph.js";
import { CanvasGraph } from "./canvas_graph.js";
import { Outline, tooLarge } from "./outline.js";
/** @typedef {import("../program/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("./level.js").GraphNode} GraphNode */
/** @typedef {import("../program/unpack.js").Jaxpr} Jaxpr */
/** @typedef {{selected: boolean, related: boolean, between: boolean, start: boolean, faint: boolean}} Mark */
/** @typedef {import("./layout.js").Scene} Scene */
/** Where the pointer was pressed, on what, and how the graph stood then.
 * @typedef {{x: number, y: number, zoom: import("./viewport.js").Zoom, moved: boolean, hit: Hit|null, shift: boolean}} Drag */
/** What is under the pointer. @typedef {{id: string, path: string, toggle: boolean, kernel: string, edge: import("./layout.js").SceneEdge|null}} Hit */
/** A part of the scene. @typedef {{left: number, right: number, top: number, bottom: number}} Part */

/** Nodes above which elements are too slow and a canvas is used. */
const MOST_ELEMENTS = 1000;
/** Equations above which a layout would take longer than a second. */
const MOST_LAID_OUT = 30000;
/** Pixels from an edge within which a click means it. */
const EDGE_REACH = 5;

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
    /** @type {Scene|null} */ this.scene = null;
    /** @type {Map<string, GraphNode>} */ this.byId = new Map();
    /** What the pointer has been pressed on. @type {Drag|null} */ this.drag = null;
    this.anchor = "";
    for (const host of [this.elements.host, this.pixels.host]) this.listen(/** @type {HTMLElement} */ (host));
    this.outline.host.addEventListener("keydown", (event) => this.key(event));
  }

  /** What takes the focus first. */
  get svg() {
    return this.outline.how === "seen" ? this.outline.host : this.shown.host;
  }

  /** @param {HTMLElement} host */
  listen(host) {
    host.addEventListener("pointerdown", (event) => this.press(event));
    host.addEventListener("pointermove", (event) => this.move(event));
    host.addEventListener("pointerup", (event) => this.release(event));
    host.addEventListener("pointercancel", () => (this.drag = null));
    host.addEventListener("dblclick", (event) => this.toggleAt(event));
    host.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    host.addEventListener("keydown", (event) => this.key(event));
  }

  /** Lay out and draw; `fit` chooses a new view, `anchor` keeps that node where it is on the screen.
   * @param {{fit?: boolean, anchor?: string}} [how] */
  draw({ fit = false, anchor = "" } = {}) {
    const { program } = this.store;
    const visible = program?.heavy.jaxpr ? countVisible(program, program.heavy.jaxpr, this.store.open) : 0;
    if (!program || !visible || visible > MOST_LAID_OUT || this.store.asList) {
      this.drawList(visible);
      return;
    }
    const before = anchor && this.byId.get(anchor);
    this.scene = layoutProgram(program, this.store.open);
    this.byId = new Map(this.scene.nodes.map((/** @type {GraphNode} */ node) => [node.id, node]));
    this.use(this.scene.nodes.length > MOST_ELEMENTS);
    const known = this.store.zooms.get(program.number);
    if (known && !fit) this.zoom = known;
    else this.fit(false);
    if (before) this.keepInPlace(before, this.byId.get(anchor));
    this.paint();
  }

  /** No graph: the list of equations, if there are any. @param {number} visible */
  drawList(visible) {
    this.scene = null;
    this.byId = new Map();
    this.shown.clear();
    this.elements.host.style.display = visible ? "none" : "";
    this.pixels.host.hidden = true;
    this.outline.show(visible ? "seen" : "off", visible > MOST_LAID_OUT ? tooLarge(visible) : "");
    this.mark();
  }

  /** Choose how to draw. @param {boolean} onCanvas */
  use(onCanvas) {
    const chosen = onCanvas ? this.pixels : this.elements;
    if (chosen !== this.shown) this.shown.clear();
    this.shown = chosen;
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

  /** The part of the scene on the screen, and a share of it on every side. @param {number} share */
  window(share) {
    const { width, height } = this.size();
    const { x, y, k } = this.zoom;
    const [w, h] = [width * share, height * share];
    return { left: (-x - w) / k, right: (width - x + w) / k, top: (-y - h) / k, bottom: (height - y + h) / k };
  }

  /** Does a part of the scene fill the screen? @param {{left: number, right: number, top: number, bottom: number}} part */
  covers(part) {
    const screen = this.window(0);
    return screen.left >= part.left && screen.right <= part.right && screen.top >= part.top && screen.bottom <= part.bottom;
  }

  size() {
    const box = this.pane.getBoundingClientRect();
    return { width: box.width || 600, height: box.height || 430 };
  }

  /** Apply the zoom. */
  place() {
    if (this.store.program) this.store.zooms.set(this.store.program.number, this.zoom);
    this.shown.place();
  }

  /** @param {boolean} everything */
  fit(everything) {
    if (!this.scene) return;
    this.zoom = fitZoom(this.scene, this.size(), everything);
    this.place();
  }

  /** Amber where selected, faint where a search does not find. */
  mark() {
    const { program, selection, open, query, found, start } = this.store;
    /** @type {Map<string, Mark>} */ const marks = new Map();
    const searched = query ? found : null;
    const between = selection.kind === "between";
    const drawn = this.scene ? this.scene.nodes : this.outline.how === "seen" ? this.outline.rows : [];
    const ends = between ? JSON.parse(selection.id) : [];
    const nothing = !selection.kind && !searched && !start;
    for (const { path } of nothing ? [] : drawn) {
      if (!program || !path || marks.has(path)) continue;
      const mark = markOf(program, selection, path, open.has(path));
      const faint = Boolean(searched && !program.inside(path).some((p) => searched.has(p)));
      marks.set(path, { selected: mark === "selected" && !between, related: mark === "related", between: between && mark === "selected",
        start: path === start || ends.includes(path), faint });
    }
    if (this.scene) this.shown.mark(marks);
    else this.outline.mark(marks);
  }

  /** @param {string} from @param {string} to */
  isOnSelectedEdge(from, to) {
    const { selection } = this.store;
    if (selection.kind === "edge") return selection.id === JSON.stringify([from, to]);
    return selection.kind === "equation" && (from === selection.id || to === selection.id);
  }

  /** New measured times, without drawing anything else anew. */
  refreshNumbers() {
    const { program, heat } = this.store;
    if (!program || !this.scene) return;
    if (heat === "time") return this.paint();
    for (const node of this.scene.nodes) {
      const equation = program.at(node.path);
      if (!equation) continue;
      const sub = equationSub(program, equation);
      if (sub === node.sub) continue;
      node.sub = sub;
      this.shown.refresh(node, equation);
    }
  }

  /** @param {string} id */
  nodeElement(id) {
    return this.shown.element(id);
  }

  /** Bring a node into sight. @param {string} id */
  show(id) {
    const node = this.byId.get(id);
    if (!node) return this.outline.how === "seen" && this.outline.focus(id);
    this.zoom = zoomShowing(this.zoom, this.size(), node);
    this.place();
  }

  /** Bring the first selected equation into sight, unless one is already. */
  showSelection() {
    const { selection, open } = this.store;
    const first = [...selection.paths].slice(0, 200);
    const shown = first.flatMap((path) => this.drawnFor(path, open) ?? []);
    if (shown.length && !shown.some((node) => this.inSight(node))) this.show(shown[0].id);
  }

  /** The node that is, or closes over, a path. @param {string} path @param {Set<string>} open */
  drawnFor(path, open) {
    const chain = this.store.program?.chainTo(path) ?? [];
    const closed = chain.find((outer) => !open.has(outer)) ?? path;
    return this.byId.get(closed) ?? this.byId.get(path);
  }

  /** @param {GraphNode} node */
  inSight(node) {
    const { left, right, top, bottom } = this.window(0);
    return node.x > left && node.x < right && node.y > top && node.y < bottom;
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button !== 0) return;
    this.drag = { x: event.clientX, y: event.clientY, zoom: { ...this.zoom }, moved: false, hit: this.hit(event), shift: event.shiftKey };
  }

  /** What is under the pointer: a node, or else an edge between equations. @param {PointerEvent|MouseEvent} event @returns {Hit|null} */
  hit(event) {
    if (!this.scene) return null;
    const hit = this.shown.hit(event);
    const { x, y } = this.pointOf(event);
    const edge = hit.id ? null : edgeAt(this.scene, x, y, EDGE_REACH / this.zoom.k);
    const [from, to] = edge ? [this.byId.get(edge.from), this.byId.get(edge.to)] : [];
    // What joins groups, inputs or results is no edge between two equations.
    const equations = this.store.program?.equations;
    return { ...hit, edge: equations?.has(from?.path ?? "") && equations.has(to?.path ?? "") ? edge : null };
  }

  /** A point of the screen in the scene's own units. @param {PointerEvent|MouseEvent} event */
  pointOf(event) {
    const box = this.shown.host.getBoundingClientRect();
    return { x: (event.clientX - box.left - this.zoom.x) / this.zoom.k, y: (event.clientY - box.top - this.zoom.y) / this.zoom.k };
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (!this.drag) return;
    const [dx, dy] = [event.clientX - this.drag.x, event.clientY - this.drag.y];
    if (!this.drag.moved && Math.hypot(dx, dy) < 4) return;
    if (!this.drag.moved) this.shown.host.setPointerCapture(event.pointerId);
    this.drag.moved = true;
    this.zoom = { ...this.drag.zoom, x: this.drag.zoom.x + dx, y: this.drag.zoom.y + dy };
    this.place();
  }

  /** @param {PointerEvent} event */
  release(event) {
    const { drag } = this;
    this.drag = null;
    if (drag && !drag.moved && event.button === 0 && drag.hit) this.click(drag.hit, drag.shift);
  }

  /** @param {Hit} hit @param {boolean} shift */
  click({ id, path, toggle, kernel, edge }, shift) {
    if (path && toggle) return this.toggle(path);
    if (id) this.shown.focus(id);
    if (path) return this.choose(path, shift);
    if (!id && edge) return this.store.selectEdge(edge.from, edge.to);
    if (kernel) return this.store.select("kernel", kernel);
    if (!id) this.store.select(null);
  }

  /** Select; with shift, what lies between this and what was selected. @param {string} path @param {boolean} shift */
  choose(path, shift) {
    const { selection } = this.store;
    if (shift && selection.kind === "equation" && selection.id !== path) this.store.selectBetween(selection.id, path);
    else this.store.select("equation", path);
  }

  /** @param {MouseEvent} event */
  toggleAt(event) {
    const hit = this.hit(event);
    if (hit?.path && !hit.toggle && this.store.program?.at(hit.path)?.bodies) this.toggle(hit.path);
  }

  /** @param {string} path */
  toggle(path) {
    this.anchor = path;
    this.store.toggle(path);
    this.focusOn(path);
  }

  /** Ctrl and the wheel zoom; the wheel alone moves a graph that has the focus, and otherwise scrolls the notebook.
   * @param {WheelEvent} event */
  wheel(event) {
    const { host } = this.shown;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const box = host.getBoundingClientRect();
      this.zoomAt(event.clientX - box.left, event.clientY - box.top, 1.0015 ** -event.deltaY);
    } else if (this.scene && (host.contains(document.activeElement) || this.outline.host.contains(document.activeElement))) {
      const { height } = this.size();
      const low = Math.min(0, height - this.scene.height * this.zoom.k);
      const y = Math.min(0, Math.max(low, this.zoom.y - event.deltaY));
      if (y === this.zoom.y) return;
      event.preventDefault();
      this.zoom = { ...this.zoom, y };
      this.place();
    }
  }

  /** @param {number} px @param {number} py @param {number} factor */
  zoomAt(px, py, factor) {
    this.zoom = zoomAbout(this.zoom, px, py, factor);
    this.place();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    const listed = this.outline.how === "seen";
    const at = listed ? this.outline.focused : this.outline.focused || this.shown.focused;
    const steps = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    const step = steps[/** @type {"ArrowUp"} */ (key)];
    if (listed && this.outline.key(key)) event.preventDefault();
    else if (step && !listed) this.walk(at, step[0], step[1]);
    else if (key === "Enter" || key === " ") this.enter(at, event.shiftKey);
    else if (key === "+" || key === "-") this.zoomAt(this.size().width / 2, this.size().height / 2, key === "+" ? 1.2 : 1 / 1.2);
    else if (key === "0") this.fit(true);
    else return;
    event.preventDefault();
  }

  /** Enter selects; on what is selected already it opens or closes. @param {string} id @param {boolean} shift */
  enter(id, shift) {
    const path = this.byId.get(id)?.path ?? (this.outline.how === "seen" ? id : "");
    if (!path) return;
    const holds = this.store.program?.at(path)?.bodies;
    if (holds && this.store.selection.id === path) this.toggle(path);
    else this.choose(path, shift);
  }

  /** To the nearest node in a direction. @param {string} id @param {number} dx @param {number} dy */
  walk(id, dx, dy) {
    if (!this.scene) return;
    const from = this.byId.get(id);
    const next = from ? nearest(this.scene.nodes, from, dx, dy) : this.byId.get(this.store.selection.id) ?? this.scene.nodes.find((/** @type {GraphNode} */ n) => n.path);
    if (!next) return;
    this.show(next.id);
    this.shown.focus(next.id);
  }

  /** @param {string} path */
  focusOn(path) {
    if (this.scene) this.shown.focus(path);
    else this.outline.focus(path);
  }

  /** The node that keys act on: the focused one, or the selected one. */
  get current() {
    const id = this.outline.focused || this.shown.focused;
    return this.byId.get(id)?.path || (this.outline.how === "seen" && id) || (this.store.selection.kind === "equation" ? this.store.selection.id : "");
  }

  remove() {
    this.pixels.remove();
  }
}

/** How many nodes a layout would have. @param {Program} program @param {Jaxpr} jaxpr @param {Set<string>} open @returns {number} */
export function countVisible(program, jaxpr, open) {
  const { equations } = program.shown(jaxpr);
  let sum = equations.length;
  for (const equation of equations)
    if (equation.bodies && open.has(equation.path)) for (const body of equation.bodies) sum += countVisible(program, body, open);
  return sum || jaxpr.outputs.length;
}
