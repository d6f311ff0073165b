// @ts-check
/** View of a store, updated when it changes: the strip, and the panel that opens below it. */

import { drawEditDiff } from "./edit_comparison.js";
import { ComparePane } from "../compare/compare_pane.js";
import { GraphPane } from "../graph/graph_pane.js";
import { el, fill, toNode } from "../ground/element.js";
import { formatInt } from "../ground/format.js";
import { listPanes } from "../parts/panes.js";
import { drawPending } from "../parts/question_form.js";
import { drawSource, highlightSource, refreshTimes, showFirstLine } from "../source/source_pane.js";
import { updateAccount } from "./account.js";
import { BottomTabs } from "./bottom_tabs.js";
import { drawToolbar, fitToolbar } from "./toolbar.js";
import { showCards } from "./cards.js";
import { drawDetail } from "./detail.js";
import { drawFailures } from "./failure_card.js";
import { listen } from "./input.js";
import { drawLegend } from "./legend.js";
import { drawNotes } from "./notes.js";
import { initSplitters, isFullScreen, readLayoutPrefs, saveLayoutPrefs, updateFullScreen } from "./layout_prefs.js";
import { updateScriptCard } from "./script_card.js";
import { highlight, updateSide } from "./side_tabs.js";
import { drawSkeleton } from "./skeleton.js";
import { announceStages, drawStrip, updateTimes } from "./strip.js";
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
    // JupyterLab's shortcuts (b, dd, m …) must not fire while the panel has the focus.
    this.root = /** @type {HTMLElement} */ (
      toNode(el("div", { class: "xs-root", "data-lm-suppress-shortcuts": "true" }))
    );
    this.root.append(toNode(drawSkeleton()));
    host.append(this.root);
    this.strip = this.getPart("xs-strip");
    this.help = this.getPart("xs-help");
    this.panel = this.getPart("xs-panel");
    this.graph = new GraphPane(this.getPart("xs-graph"), store);
    if (inTab) this.graph.zooms = new Map();
    this.time = new BottomTabs(this.getPart("xs-timeline"), store);
    this.diff = new ComparePane(this.getPart("xs-compare"), store, () => this.graph.showSelection());
    listen(this);
    initSplitters(this);
    const { graph: high } = readLayoutPrefs();
    if (high) this.graph.pane.style.height = `${high}px`;
    this.onFull = () => isFullScreen(this) || updateFullScreen(this);
    this.root.ownerDocument.addEventListener("fullscreenchange", this.onFull);
    this.onChange = (/** @type {Change} */ change) => this.handleChange(change);
    store.listeners.add(this.onChange);
    this.clock = setInterval(() => updateTimes(this.strip, store), 100);
    this.watchWidth();
    this.unwatchTheme = watchTheme(this.root);
    this.onRelease = () => this.handlePointerUp();
    for (const kind of ["pointerup", "pointercancel"]) this.window.addEventListener(kind, this.onRelease, true);
    this.handleChange("data");
  }

  /** @param {string} name @returns {HTMLElement} */
  getPart(name) {
    return /** @type {HTMLElement} */ (this.root.querySelector(`.${name}`));
  }

  /** Return the window of the panel, which may be a tab of its own. */
  get window() {
    return this.root.ownerDocument.defaultView ?? window;
  }

  /** Return the element that has the focus in the panel's document. */
  get active() {
    return this.root.ownerDocument.activeElement;
  }

  get isOpen() {
    return this.inTab || Boolean(this.model.get("opened"));
  }

  /** Draw what was delayed while the pointer was pressed. */
  handlePointerUp() {
    this.pressed = false;
    // The user dragged the corner of the graph.
    if (this.graph.chosenHeight && this.graph.chosenHeight !== readLayoutPrefs().graph)
      saveLayoutPrefs({ graph: this.graph.chosenHeight });
    const { waiting } = this;
    this.waiting = undefined;
    if (waiting) setTimeout(() => this.handleChange(waiting));
  }

  /** Open another view of the same store in a page of its own. @param {HTMLElement} host */
  openSecondView(host) {
    return new View(this.model, this.store, host, true);
  }

  /** Open the view of a comparison, which is always open. @param {Store} store @param {HTMLElement} host */
  openComparison(store, host) {
    // This view has no saved state: it is open until it is removed.
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
    this.handleChange("open");
  }

  /** Redraw what depends on a change, and nothing else. @param {Change} change */
  handleChange(change) {
    // An element replaced between press and release gets no click, so updates wait for the release.
    if (this.pressed && (change === "live" || change === "data")) {
      this.waiting = this.waiting === "data" ? "data" : change;
      return;
    }
    if (change === "data" || change === "live" || change === "open" || change === "asks") this.drawStrip();
    if (change === "asks" || change === "data") drawEditDiff(this);
    this.panel.hidden = !this.isOpen;
    if (!this.isOpen) {
      this.stale = this.stale || change !== "open";
      return;
    }
    const all = change === "data" || change === "target" || (change === "open" && this.stale !== false);
    if (all) this.drawAll();
    else if (change === "live") this.drawNumbers();
    else if (change === "asks") this.drawAsks();
    else if (change === "list") updateSide(this.getPart("xs-kernels"), this.store);
    else if (change === "graph") this.drawGraph();
    else if (change === "selection" || change === "search") this.mark();
    else if (change === "look") this.drawColours();
  }

  drawStrip() {
    const focused = this.strip.contains(this.active) ? /** @type {HTMLElement} */ (this.active) : null;
    fill(this.strip, drawStrip(this.store, this.isOpen));
    const kind = ["xs-why", "xs-time", "xs-pin"].find((name) => focused?.classList.contains(name)) ?? "xs-open";
    const { run } = focused?.dataset ?? {};
    if (focused)
      /** @type {HTMLElement|null} */ (
        this.strip.querySelector(run ? `[data-run="${CSS.escape(run)}"]` : `.${kind}`)
      )?.focus({ preventScroll: true });
    updateAccount(this.getPart("xs-account"), this.store);
    announceStages(this.getPart("xs-said"), this.store);
    updateScriptCard(this.getPart("xs-script"), this.store);
    this.drawFailures();
  }

  drawFailures() {
    fill(this.getPart("xs-failures"), drawFailures(this.store));
  }

  /** Put the answer to what was asked above the graph. */
  placeAnswer() {
    for (const place of /** @type {const} */ (["below", "side"]))
      this.panel.classList.toggle(
        `asked-${place}`,
        listPanes(place).some((pane) => pane.id === this.store.live.tab),
      );
  }

  drawAll() {
    this.stale = false;
    this.placeAnswer();
    this.drawBar();
    this.drawNotes();
    this.diff.draw();
    fill(this.getPart("xs-source"), drawSource(this.store));
    showFirstLine(this.getPart("xs-source"));
    updateSide(this.getPart("xs-kernels"), this.store);
    fill(this.getPart("xs-asks"), drawPending(this.store));
    this.drawTime();
    this.graph.draw();
    this.drawLegend();
    this.mark();
  }

  drawNumbers() {
    this.drawNotes();
    refreshTimes(this.getPart("xs-source"), this.store);
    updateSide(this.getPart("xs-kernels"), this.store);
    this.drawTime();
    this.graph.refreshNumbers();
    this.drawDetail();
  }

  drawAsks() {
    const targets = JSON.stringify([
      this.store.queries.canAsk("target"),
      Object.keys(this.store.queries.listFindings(this.store.measured).targets),
    ]);
    if (targets !== this.targets) this.drawBar();
    this.targets = targets;
    fill(this.getPart("xs-asks"), drawPending(this.store));
    showCards(this);
    updateSide(this.getPart("xs-kernels"), this.store);
  }

  drawGraph() {
    this.drawBar();
    this.graph.draw({ anchor: this.graph.anchor });
    this.graph.anchor = "";
    this.drawLegend();
    this.markPanes();
  }

  drawColours() {
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
    highlightSource(this.getPart("xs-source"), this.store);
    highlight(this.getPart("xs-kernels"), this.store);
    this.time.markOrDraw();
    this.drawDetail();
  }

  drawBar() {
    const focused = this.active?.closest?.("[data-command]")?.getAttribute("data-command");
    fill(this.getPart("xs-tools"), drawToolbar(this.store, isFullScreen(this)));
    fitToolbar(this.getPart("xs-head"));
    if (!focused) return;
    const button = /** @type {HTMLElement|null} */ (this.root.querySelector(`[data-command="${focused}"]`));
    // A tool of the menu is hidden with it.
    const shown = button?.offsetParent ? button : this.root.querySelector(".xs-more-tools");
    /** @type {HTMLElement|null} */ (shown)?.focus({ preventScroll: true });
  }

  drawNotes() {
    fill(this.getPart("xs-notes"), drawNotes(this.store));
    showCards(this);
  }

  drawLegend() {
    fill(this.getPart("xs-legend"), drawLegend(this.store));
  }

  drawDetail() {
    fill(this.getPart("xs-detail"), drawDetail(this.store));
    this.getPart("xs-count").textContent = this.store.query
      ? `${formatInt(this.store.matches.size)} of ${formatInt(this.store.program?.equations.size ?? 0)}`
      : "";
  }

  /** Redraw what depends on the width when it changes. */
  watchWidth() {
    let width = 0;
    this.resize = new ResizeObserver(() => {
      const now = this.root.clientWidth;
      if (now === width || !this.isOpen) return;
      const first = !width;
      width = now;
      this.drawTime();
      fitToolbar(this.getPart("xs-head"));
      if (first) this.graph.draw();
      else this.graph.refit();
      if (first) showFirstLine(this.getPart("xs-source"));
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
