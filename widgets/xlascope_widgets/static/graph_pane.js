// @ts-check
/** The graph's pane: draws the scene, pans and zooms it, opens boxes in place, walks with the keyboard. */

import { SVG, el, fill, toNode } from "./element.js";
import { count, shorten } from "./format.js";
import { layoutProgram } from "./layout.js";
import { equationSub, jaxprLine } from "./words.js";
import { drawScene } from "./draw_graph.js";
import { markOf } from "./select.js";
/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./program.js").Program} Program */

const MOST_AT_ONCE = 1500;
const MOST_LAID_OUT = 30000;
const MARGIN_SHARE = 0.6;

export class GraphPane {
  /** @param {HTMLElement} pane @param {Store} store */
  constructor(pane, store) {
    this.pane = pane;
    this.store = store;
    this.svg = /** @type {SVGSVGElement} */ (toNode(el("svg", { class: "xs-graph-svg", tabindex: 0, role: "tree", "aria-label": "graph of equations" })));
    this.view = /** @type {SVGGElement} */ (toNode(el("g", { class: "xs-view" }), SVG));
    this.svg.append(this.view);
    this.outline = /** @type {HTMLElement} */ (toNode(el("div", { class: "xs-outline", hidden: "" })));
    pane.append(this.svg, this.outline);
    this.zoom = { x: 0, y: 0, k: 1 };
    /** @type {any} */ this.scene = null;
    /** @type {any} */ this.drag = null;
    this.listen();
  }

  listen() {
    const { svg } = this;
    svg.addEventListener("pointerdown", (event) => this.press(event));
    svg.addEventListener("pointermove", (event) => this.move(event));
    svg.addEventListener("pointerup", (event) => this.release(event));
    svg.addEventListener("pointercancel", () => (this.drag = null));
    svg.addEventListener("dblclick", (event) => this.toggleAt(event.target));
    svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    svg.addEventListener("keydown", (event) => this.key(event));
  }

  /** Lay out and draw; `fit` chooses a new view, `anchor` keeps that node where it is on the screen.
   * @param {{fit?: boolean, anchor?: string}} [how] */
  draw({ fit = false, anchor = "" } = {}) {
    const program = this.store.program;
    const visible = program?.heavy.jaxpr ? countVisible(program.heavy.jaxpr, this.store.open) : 0;
    this.showOutline(visible > MOST_LAID_OUT);
    if (!program || !visible) {
      this.scene = null;
      fill(this.view);
      return;
    }
    if (visible > MOST_LAID_OUT) return;
    const before = anchor && this.scene?.nodes.find((/** @type {any} */ node) => node.id === anchor);
    this.scene = layoutProgram(program, this.store.open);
    this.byId = new Map(this.scene.nodes.map((/** @type {any} */ node) => [node.id, node]));
    const known = this.store.zooms.get(program.number);
    if (known && !fit) this.zoom = known;
    else this.fit(false);
    if (before) this.keepInPlace(before, this.byId.get(anchor));
    this.paint();
  }

  /** @param {any} before @param {any} after */
  keepInPlace(before, after) {
    if (!after) return;
    const { k } = this.zoom;
    this.zoom.x += (before.x - before.w / 2 - after.x + after.w / 2) * k;
    this.zoom.y += (before.y - before.h / 2 - after.y + after.h / 2) * k;
  }

  /** Draw what can be seen (all of it when there is little). */
  paint() {
    const program = this.store.program;
    if (!this.scene || !program) return;
    const focused = document.activeElement?.closest?.(".xs-graph-svg .xs-node")?.getAttribute("data-id");
    const seen = this.scene.nodes.length > MOST_AT_ONCE ? this.window() : null;
    this.painted = seen;
    const visible = seen && ((/** @type {any} */ e) => e.bottom > seen.top && e.top < seen.bottom && e.right > seen.left && e.left < seen.right);
    fill(this.view, ...drawScene(program, this.scene, { heat: this.store.heat }, visible ?? undefined));
    this.place();
    this.mark();
    if (focused) this.nodeElement(focused)?.focus({ preventScroll: true });
  }

  /** The part of the scene around the screen. */
  window() {
    const { width, height } = this.size();
    const { x, y, k } = this.zoom;
    const [w, h] = [width * MARGIN_SHARE, height * MARGIN_SHARE];
    return { left: (-x - w) / k, right: (width - x + w) / k, top: (-y - h) / k, bottom: (height - y + h) / k };
  }

  size() {
    const box = this.svg.getBoundingClientRect();
    return { width: box.width || 600, height: box.height || 430 };
  }

  /** Apply the zoom; repaint when the screen has left what was painted. */
  place() {
    const { x, y, k } = this.zoom;
    this.view.setAttribute("transform", `translate(${x.toFixed(2)},${y.toFixed(2)}) scale(${k.toFixed(4)})`);
    if (this.store.program) this.store.zooms.set(this.store.program.number, this.zoom);
  }

  repaintIfLeft() {
    const seen = this.painted;
    if (!seen) return;
    const { width, height } = this.size();
    const { x, y, k } = this.zoom;
    if (-x / k < seen.left || -y / k < seen.top || (width - x) / k > seen.right || (height - y) / k > seen.bottom) this.paint();
  }

  /** The whole width, as long as it can be read; or, on request, everything. @param {boolean} everything */
  fit(everything) {
    if (!this.scene) return;
    const { width, height } = this.size();
    const across = width / this.scene.width;
    const k = everything ? Math.min(1.2, across, height / this.scene.height) : Math.min(1, Math.max(0.8, across));
    const x = Math.max(0, (width - this.scene.width * k) / 2);
    this.zoom = { x, y: everything ? Math.max(0, (height - this.scene.height * k) / 2) : 0, k };
    this.place();
  }

  /** Amber where selected, faint where a search does not find. */
  mark() {
    const { program, selection, open, query } = this.store;
    if (!program) return;
    const found = query ? this.store.found : null;
    for (const element of this.view.querySelectorAll(".xs-node[data-path]")) {
      const path = element.getAttribute("data-path") ?? "";
      const mark = markOf(program, selection, path, open.has(path));
      element.classList.toggle("selected", mark === "selected");
      element.classList.toggle("related", mark === "related");
      element.setAttribute("aria-selected", String(mark === "selected"));
      element.classList.toggle("faint", Boolean(found && !program.inside(path).some((/** @type {string} */ p) => found.has(p))));
    }
    for (const hull of this.view.querySelectorAll(".xs-hull"))
      hull.classList.toggle("selected", selection.kernels.has(hull.getAttribute("data-kernel") ?? ""));
    this.markEdges();
  }

  /** Edges of what is selected stand out, long ones above all. */
  markEdges() {
    const { selection } = this.store;
    for (const edge of this.view.querySelectorAll(".xs-edge")) {
      const on = selection.kind === "equation" && [edge.getAttribute("data-from"), edge.getAttribute("data-to")].includes(selection.id);
      edge.classList.toggle("selected", on);
    }
  }

  /** New measured times, without drawing anything else anew. */
  refreshNumbers() {
    const program = this.store.program;
    if (!program || !this.scene) return;
    if (this.store.heat === "time") return this.paint();
    for (const node of this.scene.nodes) {
      const equation = program.equations.get(node.path);
      if (!equation) continue;
      const sub = equationSub(program, equation);
      if (sub === node.sub) continue;
      node.sub = sub;
      const text = this.nodeElement(node.id)?.querySelector(".xs-sub");
      if (text) text.textContent = shorten(sub, Math.floor((node.w - 14) / 5.7));
    }
  }

  /** @param {string} id @returns {SVGElement|null} */
  nodeElement(id) {
    return this.view.querySelector(`.xs-node[data-id="${CSS.escape(id)}"]`);
  }

  /** Bring a node into sight. @param {string} id */
  show(id) {
    const node = this.byId?.get(id);
    if (!node) return;
    const { width, height } = this.size();
    const { k } = this.zoom;
    const [x, y] = [node.x * k + this.zoom.x, node.y * k + this.zoom.y];
    const [halfW, halfH] = [Math.min(width / 2, (node.w * k) / 2 + 12), Math.min(height / 2, (node.h * k) / 2 + 12)];
    if (x < halfW || x > width - halfW) this.zoom.x += width / 2 - x;
    if (y < halfH || y > height - halfH) this.zoom.y += height / 2 - y;
    this.place();
    this.repaintIfLeft();
  }

  /** Bring the first selected equation into sight, unless one is already. */
  showSelection() {
    const { selection, open } = this.store;
    const shown = [...selection.paths].map((path) => this.drawnFor(path, open)).filter(Boolean);
    const inSight = shown.some((node) => this.inSight(node));
    if (shown.length && !inSight) this.show(shown[0].id);
  }

  /** The node that is, or closes over, a path. @param {string} path @param {Set<string>} open */
  drawnFor(path, open) {
    for (let outer = /** @type {string|undefined} */ (path); outer; outer = this.store.program?.parents.get(outer)) {
      const node = this.byId?.get(outer);
      if (node && !open.has(outer)) return node;
    }
    return this.byId?.get(path);
  }

  /** @param {any} node */
  inSight(node) {
    const { width, height } = this.size();
    const { x, y, k } = this.zoom;
    const [cx, cy] = [node.x * k + x, node.y * k + y];
    return cx > 0 && cx < width && cy > 0 && cy < height;
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button !== 0) return;
    this.drag = { x: event.clientX, y: event.clientY, zoom: { ...this.zoom }, moved: false, target: event.target };
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (!this.drag) return;
    const [dx, dy] = [event.clientX - this.drag.x, event.clientY - this.drag.y];
    if (!this.drag.moved && Math.hypot(dx, dy) < 4) return;
    if (!this.drag.moved) this.svg.setPointerCapture(event.pointerId);
    this.drag.moved = true;
    this.zoom = { ...this.drag.zoom, x: this.drag.zoom.x + dx, y: this.drag.zoom.y + dy };
    this.place();
    this.repaintIfLeft();
  }

  /** @param {PointerEvent} event */
  release(event) {
    const drag = this.drag;
    this.drag = null;
    if (drag && !drag.moved && event.button === 0) this.click(drag.target);
  }

  /** @param {Element} target */
  click(target) {
    const node = target.closest(".xs-node");
    const path = node?.getAttribute("data-path");
    if (node && path && target.closest(".xs-toggle")) return this.toggle(path);
    if (node) /** @type {SVGElement} */ (node).focus({ preventScroll: true });
    if (path) return this.store.select("equation", path);
    const hull = target.closest(".xs-hull")?.getAttribute("data-kernel");
    if (hull) return this.store.select("kernel", hull);
    if (!node) this.store.select(null);
  }

  /** @param {EventTarget|null} target */
  toggleAt(target) {
    const node = /** @type {Element} */ (target).closest(".xs-node.holds");
    if (node && !/** @type {Element} */ (target).closest(".xs-toggle")) this.toggle(node.getAttribute("data-path") ?? "");
  }

  /** @param {string} path */
  toggle(path) {
    this.anchor = path;
    this.store.toggle(path);
    this.nodeElement(path)?.focus({ preventScroll: true });
  }

  /** Ctrl and the wheel zoom; the wheel alone moves a graph that has the focus, and otherwise scrolls the notebook.
   * @param {WheelEvent} event */
  wheel(event) {
    const { svg } = this;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      this.zoomAt(event.clientX - box.left, event.clientY - box.top, 1.0015 ** -event.deltaY);
    } else if (this.scene && svg.contains(document.activeElement)) {
      const { height } = this.size();
      const low = Math.min(0, height - this.scene.height * this.zoom.k);
      const y = Math.min(0, Math.max(low, this.zoom.y - event.deltaY));
      if (y === this.zoom.y) return;
      event.preventDefault();
      this.zoom = { ...this.zoom, y };
      this.place();
      this.repaintIfLeft();
    }
  }

  /** @param {number} px @param {number} py @param {number} factor */
  zoomAt(px, py, factor) {
    const k = Math.min(3, Math.max(0.08, this.zoom.k * factor));
    const grow = k / this.zoom.k;
    this.zoom = { x: px - (px - this.zoom.x) * grow, y: py - (py - this.zoom.y) * grow, k };
    this.place();
    this.repaintIfLeft();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const at = document.activeElement?.closest?.(".xs-node")?.getAttribute("data-id") ?? "";
    const steps = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    const step = steps[/** @type {"ArrowUp"} */ (event.key)];
    if (step) this.walk(at, step[0], step[1]);
    else if (event.key === "Enter" || event.key === " ") this.enter(at);
    else if (event.key === "+" || event.key === "-") this.zoomAt(this.size().width / 2, this.size().height / 2, event.key === "+" ? 1.2 : 1 / 1.2);
    else return;
    event.preventDefault();
  }

  /** Enter selects; on what is selected already it opens or closes. @param {string} id */
  enter(id) {
    const node = this.byId?.get(id);
    if (!node?.path) return;
    const holds = this.store.program?.equations.get(node.path)?.bodies;
    if (holds && this.store.selection.id === node.path) this.toggle(node.path);
    else this.store.select("equation", node.path);
  }

  /** To the nearest node in a direction. @param {string} id @param {number} dx @param {number} dy */
  walk(id, dx, dy) {
    if (!this.scene) return;
    const from = this.byId?.get(id);
    const next = from ? nearest(this.scene.nodes, from, dx, dy) : this.byId?.get(this.store.selection.id) ?? this.scene.nodes.find((/** @type {any} */ n) => n.path);
    if (!next) return;
    this.show(next.id);
    this.nodeElement(next.id)?.focus({ preventScroll: true });
  }

  /** @param {boolean} on */
  showOutline(on) {
    this.outline.hidden = !on;
    this.svg.style.display = on ? "none" : "";
    if (on && this.store.program) drawOutline(this.outline, this.store);
  }
}

/** @param {any} jaxpr @param {Set<string>} open @returns {number} */
function countVisible(jaxpr, open) {
  let sum = jaxpr.equations.length;
  for (const equation of jaxpr.equations)
    if (equation.bodies && open.has(equation.path)) for (const body of equation.bodies) sum += countVisible(body, open);
  return sum || jaxpr.outputs.length;
}

/** @param {any[]} nodes @param {any} from @param {number} dx @param {number} dy */
function nearest(nodes, from, dx, dy) {
  let best = null, least = Infinity;
  for (const node of nodes) {
    const [x, y] = [node.x - from.x, node.y - from.y];
    const ahead = x * dx + y * dy;
    if (ahead <= 4) continue;
    const aside = Math.abs(x * dy) + Math.abs(y * dx);
    const distance = ahead + 2 * aside;
    if (distance < least) [best, least] = [node, distance];
  }
  return best;
}

const ROW = 20;

/** Too many equations for a graph: the list of them, of which only the rows on the screen exist. @param {HTMLElement} pane @param {Store} store */
function drawOutline(pane, store) {
  const program = /** @type {Program} */ (store.program);
  const paths = program.order;
  const rows = () => {
    const first = Math.max(0, Math.floor(pane.scrollTop / ROW) - 5);
    const shown = paths.slice(first, first + Math.ceil((pane.clientHeight || 430) / ROW) + 10);
    fill(pane,
      el("div", { class: "xs-muted xs-outline-head" }, `${count(paths.length)} equations: too many to draw as a graph, so here is the list.`),
      el("div", { style: `height:${first * ROW}px` }),
      shown.map((path) => el("div", { class: "xs-outline-row xs-mono", "data-path": path, "data-kind": "equation" },
        jaxprLine(program, /** @type {any} */ (program.equations.get(path))))),
      el("div", { style: `height:${Math.max(0, paths.length - first - shown.length) * ROW}px` }));
  };
  pane.onscroll = rows;
  pane.onclick = (event) => {
    const path = /** @type {Element} */ (event.target).closest("[data-path]")?.getAttribute("data-path");
    if (path) store.select("equation", path);
  };
  rows();
}
