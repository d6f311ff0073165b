// @ts-check
/** What is drawn of a store, and drawn anew when it changes: the strip, and the panel that it opens into. */

import { drawEdited } from "./edit_comparison.js";
import { ComparePane } from "../compare/compare_pane.js";
import { GraphPane } from "../graph/graph_pane.js";
import { el, fill, toNode } from "../ground/element.js";
import { count } from "../ground/format.js";
import { drawPending } from "../parts/question_form.js";
import { drawSource, markSource, refreshTimes, showFirstLine } from "../source/source_pane.js";
import { Below } from "./bottom_tabs.js";
import { drawBar } from "./toolbar.js";
import { showCards } from "./cards.js";
import { drawDetail } from "./detail.js";
import { drawFailures } from "./failure_card.js";
import { listen } from "./input.js";
import { drawLegend } from "./legend.js";
import { drawNotes } from "./notes.js";
import { chosenRoom, isFull, keepRoom, listenRoom, showFull } from "./layout_prefs.js";
import { showScript } from "./script_card.js";
import { markSide, showSide } from "./side_tabs.js";
import { skeleton } from "./skeleton.js";
import { announce, drawStrip, tickStrip } from "./strip.js";
import { watchTheme } from "./theme.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../store/store.js").Change} Change */
/** @typedef {import("../ground/wire.js").Model} Model */

/** A panel on a page. */
export class View {
  /**
   * @param {Model} model
   * @param {Store} store
   * @param {HTMLElement} host
   * @param {boolean} [inTab] whether it has a page of its own, in which it is always open
   */
  constructor(model, store, host, inTab = false) {
    this.model = model;
    this.store = store;
    this.inTab = inTab;
    this.pressed = false;
    /** @type {Change|undefined} */ this.waiting = undefined;
    /** Where the last jump came from. */ this.cameFrom = "";
    /** Which targets the bar was drawn for. */ this.targets = "";
    // JupyterLab's shortcuts (b, dd, m …) must not fire while somebody types or walks in here.
    this.root = /** @type {HTMLElement} */ (
      toNode(el("div", { class: "xs-root", "data-lm-suppress-shortcuts": "true" }))
    );
    this.root.append(toNode(skeleton()));
    host.append(this.root);
    this.strip = this.part("xs-strip");
    this.help = this.part("xs-help");
    this.panel = this.part("xs-panel");
    this.graph = new GraphPane(this.part("xs-graph"), store);
    if (inTab) this.graph.zooms = new Map();
    this.time = new Below(this.part("xs-timeline"), store);
    this.diff = new ComparePane(this.part("xs-compare"), store, () => this.graph.showSelection());
    listen(this);
    listenRoom(this);
    const { graph: high } = chosenRoom();
    if (high) this.graph.pane.style.height = `${high}px`;
    this.onFull = () => isFull(this) || showFull(this);
    this.root.ownerDocument.addEventListener("fullscreenchange", this.onFull);
    this.onChange = (/** @type {Change} */ change) => this.change(change);
    store.listeners.add(this.onChange);
    this.clock = setInterval(() => tickStrip(this.strip, store), 100);
    this.watchWidth();
    this.unwatchTheme = watchTheme(this.root);
    this.onRelease = () => this.release();
    for (const kind of ["pointerup", "pointercancel"]) this.window.addEventListener(kind, this.onRelease, true);
    this.change("data");
  }

  /** @param {string} name @returns {HTMLElement} */
  part(name) {
    return /** @type {HTMLElement} */ (this.root.querySelector(`.${name}`));
  }

  /** The window that the panel is in, which a tab may be. */
  get window() {
    return this.root.ownerDocument.defaultView ?? window;
  }

  /** What has the focus there. */
  get active() {
    return this.root.ownerDocument.activeElement;
  }

  get isOpen() {
    return this.inTab || Boolean(this.model.get("opened"));
  }

  /** The pointer is up, wherever that was: what has waited is drawn after the click. */
  release() {
    this.pressed = false;
    // The corner of the graph was dragged.
    if (this.graph.chosenHeight && this.graph.chosenHeight !== chosenRoom().graph)
      keepRoom({ graph: this.graph.chosenHeight });
    const { waiting } = this;
    this.waiting = undefined;
    if (waiting) setTimeout(() => this.change(waiting));
  }

  /** Another view of the same, in a page of its own. @param {HTMLElement} host */
  again(host) {
    return new View(this.model, this.store, host, true);
  }

  /** A view of a comparison, which is always open. @param {Store} store @param {HTMLElement} host */
  compared(store, host) {
    // Nothing of it is kept: it is open until it goes.
    const model = /** @type {Model} */ ({ get: () => undefined, set() {}, save_changes() {}, on() {}, off() {} });
    return new View(model, store, host, true);
  }

  /** Open or close the recompile card. @param {boolean} open */
  showWhy(open) {
    this.store.why = open;
    this.drawNotes();
  }

  /** @param {boolean} open */
  setOpen(open) {
    this.model.set("opened", open);
    this.model.save_changes();
    this.change("open");
  }

  /** Redraw what a change concerns, and nothing else. @param {Change} change */
  change(change) {
    // An element that is replaced between press and release gets no click: news waits for the release.
    if (this.pressed && (change === "live" || change === "data")) {
      this.waiting = this.waiting === "data" ? "data" : change;
      return;
    }
    if (change === "data" || change === "live" || change === "open" || change === "asks") this.drawStrip();
    if (change === "asks" || change === "data") drawEdited(this);
    this.panel.hidden = !this.isOpen;
    if (!this.isOpen) {
      this.stale = this.stale || change !== "open";
      return;
    }
    const all = change === "data" || change === "target" || (change === "open" && this.stale !== false);
    if (all) this.drawAll();
    else if (change === "live") this.drawNumbers();
    else if (change === "asks") this.drawAsks();
    else if (change === "list") showSide(this.part("xs-kernels"), this.store);
    else if (change === "graph") this.drawGraph();
    else if (change === "selection" || change === "search") this.mark();
    else if (change === "look") this.drawLook();
  }

  drawStrip() {
    const why = this.strip.contains(this.active) && this.active?.className;
    fill(this.strip, drawStrip(this.store, this.isOpen));
    if (why)
      /** @type {HTMLElement|null} */ (
        this.strip.querySelector(why.includes("xs-why") ? ".xs-why" : ".xs-open")
      )?.focus({ preventScroll: true });
    announce(this.part("xs-said"), this.store);
    showScript(this.part("xs-script"), this.store);
    this.drawFailures();
  }

  drawFailures() {
    fill(this.part("xs-failures"), drawFailures(this.store));
  }

  drawAll() {
    this.stale = false;
    this.drawBar();
    this.drawNotes();
    this.diff.draw();
    fill(this.part("xs-source"), drawSource(this.store));
    showFirstLine(this.part("xs-source"));
    showSide(this.part("xs-kernels"), this.store);
    fill(this.part("xs-asks"), drawPending(this.store));
    this.drawTime();
    this.graph.draw();
    this.drawLegend();
    this.mark();
  }

  drawNumbers() {
    this.drawNotes();
    refreshTimes(this.part("xs-source"), this.store);
    showSide(this.part("xs-kernels"), this.store);
    this.drawTime();
    this.graph.refreshNumbers();
    this.drawDetail();
  }

  drawAsks() {
    const targets = JSON.stringify([
      this.store.asks.can("target"),
      Object.keys(this.store.asks.found(this.store.measured).targets),
    ]);
    if (targets !== this.targets) this.drawBar();
    this.targets = targets;
    fill(this.part("xs-asks"), drawPending(this.store));
    showCards(this);
    showSide(this.part("xs-kernels"), this.store);
  }

  drawGraph() {
    this.drawBar();
    this.graph.draw({ anchor: this.graph.anchor });
    this.graph.anchor = "";
    this.drawLegend();
    this.markPanes();
  }

  drawLook() {
    this.drawBar();
    this.graph.paint();
    this.drawLegend();
  }

  drawTime() {
    this.time.draw();
  }

  mark() {
    this.graph.mark();
    if (this.store.selection.kind === "step") this.graph.showSelection();
    this.diff.mark();
    this.markPanes();
  }

  markPanes() {
    markSource(this.part("xs-source"), this.store);
    markSide(this.part("xs-kernels"), this.store);
    this.time.markOrDraw();
    this.drawDetail();
  }

  drawBar() {
    const focused = this.active?.closest?.("[data-command]")?.getAttribute("data-command");
    fill(this.part("xs-tools"), drawBar(this.store, isFull(this)));
    if (focused)
      /** @type {HTMLElement|null} */ (this.root.querySelector(`[data-command="${focused}"]`))?.focus({
        preventScroll: true,
      });
  }

  drawNotes() {
    fill(this.part("xs-notes"), drawNotes(this.store));
    showCards(this);
  }

  drawLegend() {
    fill(this.part("xs-legend"), drawLegend(this.store));
  }

  drawDetail() {
    fill(this.part("xs-detail"), drawDetail(this.store));
    this.part("xs-count").textContent = this.store.query
      ? `${count(this.store.found.size)} of ${count(this.store.program?.equations.size ?? 0)}`
      : "";
  }

  /** Redraw what depends on the width when that changes. */
  watchWidth() {
    let width = 0;
    this.resize = new ResizeObserver(() => {
      const now = this.root.clientWidth;
      if (now === width || !this.isOpen) return;
      const first = !width;
      width = now;
      this.drawTime();
      if (first) this.graph.draw();
      if (first) showFirstLine(this.part("xs-source"));
    });
    this.resize.observe(this.root);
  }

  remove() {
    this.store.listeners.delete(this.onChange);
    clearInterval(this.clock);
    this.resize?.disconnect();
    this.unwatchTheme();
    this.root.ownerDocument.removeEventListener("fullscreenchange", this.onFull);
    this.graph.remove();
    for (const kind of ["pointerup", "pointercancel"]) this.window.removeEventListener(kind, this.onRelease, true);
  }
}
