// @ts-check
/** The widget: the strip, and the panel it opens into. Everything that is only looking happens here, without the kernel. */

import { el, fill, toNode } from "../program/element.js";
import { plural, shorten } from "../program/format.js";
import { describe } from "../program/words.js";
import { follow, forget, storeOf } from "../program/store.js";
import { announce, drawStrip, otherFailures, tickStrip } from "./strip.js";
import { drawSource, markSource, refreshTimes, scrollInside, showFirstLine } from "./source_pane.js";
import { kernelFacts, markKernels, pressKernels, showKernels } from "../compiler/kernels_pane.js";
import { keyReplay, pressReplay } from "../compiler/replay_pane.js";
import { pressPasses } from "../compiler/passes_pane.js";
import { drawPending, pressAsk } from "./asks.js";
import { keyWhy, severalWords } from "../compiler/why_pane.js";
import { drawTargets } from "../compiler/targets.js";
import { TimePane } from "../time/timeline_pane.js";
import { GraphPane } from "../graph/graph_pane.js";
import { betweenWords, foundWords, goTo, groupingChoice, jumpLinks, keyExplorer, toggleHelp } from "../graph/explorer.js";
import { HEATS, HEAT_WORDS } from "../graph/heat.js";
import { ComparePane } from "../compare/compare_pane.js";
import { openLibrary } from "./library.js";
import { showRecompiles } from "./recompiles.js";
/** @typedef {import("../program/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../program/store.js").Change} Change */
/** @typedef {import("../program/wire.js").Model} Model */

export class View {
  /** @param {Model} model @param {Store} store @param {HTMLElement} host */
  constructor(model, store, host) {
    this.model = model;
    this.store = store;
    this.pressed = false;
    /** @type {Change|undefined} */ this.waiting = undefined;
    /** Where the last jump came from. */ this.cameFrom = "";
    /** Which targets the bar was drawn for. */ this.targets = "";
    // JupyterLab's shortcuts (b, dd, m …) must not fire while somebody types or walks in here.
    this.root = /** @type {HTMLElement} */ (toNode(el("div", { class: "xs-root", "data-lm-suppress-shortcuts": "true" })));
    this.root.append(toNode(frame()));
    host.append(this.root);
    this.strip = this.part("xs-strip");
    this.help = this.part("xs-help");
    this.panel = this.part("xs-panel");
    this.graph = new GraphPane(this.part("xs-graph"), store);
    this.time = new TimePane(this.part("xs-timeline"), store);
    this.diff = new ComparePane(this.part("xs-compare"), store, () => this.graph.showSelection());
    this.listen();
    this.onChange = (/** @type {Change} */ change) => this.change(change);
    store.listeners.add(this.onChange);
    this.clock = setInterval(() => tickStrip(this.strip, store), 100);
    this.watchWidth();
    this.unwatchTheme = watchTheme(this.root);
    this.onRelease = () => this.release();
    for (const kind of ["pointerup", "pointercancel"]) window.addEventListener(kind, this.onRelease, true);
    this.change("data");
  }

  /** @param {string} name @returns {HTMLElement} */
  part(name) {
    return /** @type {HTMLElement} */ (this.root.querySelector(`.${name}`));
  }

  get isOpen() {
    return Boolean(this.model.get("opened"));
  }

  listen() {
    this.root.addEventListener("keydown", (event) => this.key(event));
    for (const kind of ["keyup", "keypress"]) this.root.addEventListener(kind, (event) => event.stopPropagation());
    this.root.addEventListener("pointerdown", () => (this.pressed = true));
    this.strip.addEventListener("click", (event) => this.pressStrip(/** @type {Element} */ (event.target)));
    this.part("xs-again").addEventListener("click", (event) => {
      if (/** @type {Element} */ (event.target).closest(".xs-why-head")) this.showWhy(!this.store.why);
    });
    this.part("xs-head").addEventListener("click", (event) => this.command(/** @type {Element} */ (event.target)));
    this.part("xs-head").addEventListener("change", (event) => {
      const choice = /** @type {HTMLSelectElement} */ (event.target);
      if (choice.matches(".xs-add-target")) this.addTarget(choice.value);
      else if (choice.matches(".xs-grouping")) this.store.group(choice.value);
      else if (choice.matches("select")) this.store.pick(Number(choice.value));
    });
    const search = /** @type {HTMLInputElement} */ (this.part("xs-search"));
    search.addEventListener("input", () => this.store.search(search.value));
    this.help.addEventListener("click", (event) => this.command(/** @type {Element} */ (event.target)));
    this.part("xs-detail").addEventListener("click", (event) =>
      goTo(this, /** @type {Element} */ (event.target).closest("[data-goto]")?.getAttribute("data-goto") ?? undefined));
    for (const pane of ["xs-source", "xs-kernels", "xs-timeline"])
      this.part(pane).addEventListener("click", (event) => this.pickFrom(/** @type {Element} */ (event.target), event.shiftKey));
    this.part("xs-asks").addEventListener("click", (event) => pressAsk(this.store, /** @type {Element} */ (event.target)));
    for (const kind of ["input", "change"])
      this.part("xs-kernels").addEventListener(kind, (event) => {
        const { dataset, value } = /** @type {HTMLInputElement} */ (event.target);
        const name = /** @type {"sort"|"filter"|"only"|"query"|undefined} */ (dataset.list);
        if (name && this.store.list[name] !== value) this.store.turn({ [name]: value });
      });
  }

  /** The pointer is up, wherever that was: what has waited is drawn after the click. */
  release() {
    this.pressed = false;
    const { waiting } = this;
    this.waiting = undefined;
    if (waiting) setTimeout(() => this.change(waiting));
  }

  /** Ask for the program as another target's compiler makes it, and look at it when it is there. @param {string} target */
  addTarget(target) {
    if (target) this.store.asks.ask(this.store, { question: "target", program: this.store.measured?.number ?? 0, target });
    this.drawBar();
  }

  /** A click in source, kernels or timeline. @param {Element} target @param {boolean} [add] */
  pickFrom(target, add = false) {
    const { store } = this;
    if (pressAsk(store, target) || pressReplay(store, target) || pressPasses(store, target)) return;
    if (pressKernels(store, target, add)) return this.graph.showSelection();
    const kernel = target.closest("[data-kernel]")?.getAttribute("data-kernel");
    const line = target.closest(".xs-line.has")?.getAttribute("data-line");
    if (kernel) this.store.select("kernel", kernel);
    else if (line) this.store.select("line", line);
    if (kernel || line) this.graph.showSelection();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    event.stopPropagation();
    const target = /** @type {Element} */ (event.target);
    const typing = target.matches("input, select");
    if (keyReplay(this.store, event, target) || keyWhy(this.store, event, target) || keyExplorer(this, event, target)) return;
    if (event.key === "/" && !typing) {
      event.preventDefault();
      this.part("xs-search").focus();
    } else if (event.key === "Escape") this.escape(target);
    else if (event.key === "Enter" && target.matches(".xs-search")) this.nextFound(event.shiftKey ? -1 : 1);
    else if (event.key === "Enter" && target.matches(".xs-kernel, .xs-line")) this.pickFrom(target, event.shiftKey);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") this.step(event, target);
  }

  /** From item to item in the source and in the list of kernels. @param {KeyboardEvent} event @param {Element} target */
  step(event, target) {
    const pane = target.closest(".xs-source, .xs-kernels");
    if (!pane) return;
    event.preventDefault();
    const items = /** @type {HTMLElement[]} */ ([...pane.querySelectorAll(".xs-line.has, .xs-kernel")]);
    const at = items.findIndex((item) => item.contains(target));
    const next = items[event.key === "ArrowDown" ? at + 1 : Math.max(0, at - 1)];
    next?.focus({ preventScroll: true });
    if (next) scrollInside(pane, next);
  }

  /** @param {Element} target */
  escape(target) {
    const search = /** @type {HTMLInputElement} */ (this.part("xs-search"));
    if (!this.help.hidden) return toggleHelp(this);
    if (target === search) search.blur();
    this.store.start = "";
    search.value = "";
    if (this.store.query) this.store.search("");
    else this.store.select(null);
    if (target === search) this.graph.svg.focus({ preventScroll: true });
  }

  /** @param {number} step */
  nextFound(step) {
    goTo(this, this.store.nextFound(step));
    fill(this.part("xs-detail"), detail(this.store));
  }

  /** @param {Element} target */
  command(target) {
    const name = target.closest("[data-command]")?.getAttribute("data-command") ?? "";
    if (name === "fit") this.graph.fit(true);
    if (name === "fit") this.graph.paint();
    if (name === "expand" || name === "collapse") this.store.toggleAll(name === "expand");
    if (name.startsWith("target ")) this.store.aim(name.slice(7));
    if (name === "list") this.store.toggleList();
    if (name === "help") toggleHelp(this);
    if (HEATS.includes(name)) this.store.paint(/** @type {"pass"} */ (name));
  }

  /** @param {Element} target */
  pressStrip(target) {
    if (!target.closest(".xs-why")) return this.setOpen(!this.isOpen);
    this.store.why = true;
    this.setOpen(true);
    this.showWhy(true);
    this.part("xs-why-head").focus();
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
    if (change === "data" || change === "live" || change === "open") this.drawStrip();
    this.panel.hidden = !this.isOpen;
    if (!this.isOpen) {
      this.stale = this.stale || change !== "open";
      return;
    }
    const all = change === "data" || change === "target" || (change === "open" && this.stale !== false);
    if (all) this.drawAll();
    else if (change === "live") this.drawNumbers();
    else if (change === "asks") this.drawAsks();
    else if (change === "list") showKernels(this.part("xs-kernels"), this.store);
    else if (change === "graph") this.drawGraph();
    else if (change === "selection" || change === "search") this.mark();
    else if (change === "look") this.drawLook();
  }

  drawStrip() {
    const why = this.strip.contains(document.activeElement) && document.activeElement?.className;
    fill(this.strip, drawStrip(this.store, this.isOpen));
    if (why) /** @type {HTMLElement|null} */ (this.strip.querySelector(why.includes("xs-why") ? ".xs-why" : ".xs-open"))?.focus({ preventScroll: true });
    announce(this.part("xs-said"), this.store);
  }

  drawAll() {
    this.stale = false;
    this.drawBar();
    this.drawNotes();
    this.diff.draw();
    fill(this.part("xs-source"), drawSource(this.store));
    showFirstLine(this.part("xs-source"));
    showKernels(this.part("xs-kernels"), this.store);
    fill(this.part("xs-asks"), drawPending(this.store));
    this.drawTime();
    this.graph.draw();
    this.drawLegend();
    this.mark();
  }

  drawNumbers() {
    this.drawNotes();
    refreshTimes(this.part("xs-source"), this.store);
    showKernels(this.part("xs-kernels"), this.store);
    this.drawTime();
    this.graph.refreshNumbers();
    fill(this.part("xs-detail"), detail(this.store));
  }

  drawAsks() {
    const targets = JSON.stringify([this.store.asks.can("target"), Object.keys(this.store.asks.found(this.store.measured).targets)]);
    if (targets !== this.targets) this.drawBar();
    this.targets = targets;
    fill(this.part("xs-asks"), drawPending(this.store));
    showKernels(this.part("xs-kernels"), this.store);
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
    markKernels(this.part("xs-kernels"), this.store);
    this.time.markOrDraw();
    fill(this.part("xs-detail"), detail(this.store));
  }

  drawBar() {
    const { store } = this;
    const focused = document.activeElement?.closest?.("[data-command]")?.getAttribute("data-command");
    fill(this.part("xs-tools"), programChoice(store), drawTargets(store), el("span", { class: "xs-muted" }, "colour:"),
      HEATS.map((heat) => el("button", { class: `xs-pill${store.heat === heat ? " on" : ""}`, type: "button", "data-command": heat,
        "aria-pressed": String(store.heat === heat) }, heat)),
      nestings(store.program) && ["expand", "collapse"].map((name) => el("button", { class: "xs-pill", type: "button", "data-command": name }, `${name} all`)),
      el("button", { class: "xs-pill", type: "button", "data-command": "fit", title: "show the whole graph (0)" }, "fit"),
      groupingChoice(store));
    if (focused) /** @type {HTMLElement|null} */ (this.root.querySelector(`[data-command="${focused}"]`))?.focus({ preventScroll: true });
  }

  drawNotes() {
    fill(this.part("xs-notes"), notes(this.store));
    showRecompiles(this.part("xs-again"), this.store);
  }

  drawLegend() {
    fill(this.part("xs-legend"), legend(this.store));
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
    this.graph.remove();
    for (const kind of ["pointerup", "pointercancel"]) window.removeEventListener(kind, this.onRelease, true);
  }
}

/** The parts, empty. */
function frame() {
  return el("div", { class: "xs-frame" },
    el("div", { class: "xs-strip", role: "group", "aria-label": "what this cell does" }),
    el("div", { class: "xs-said", role: "status" }),
    el("div", { class: "xs-panel", hidden: "" },
      el("div", { class: "xs-compare", hidden: "" }),
      el("div", { class: "xs-head" }, el("div", { class: "xs-tools" }),
        el("input", { class: "xs-search", type: "search", placeholder: "search: op, shape, source…   /", "aria-label": "search equations", spellcheck: "false" })),
      el("div", { class: "xs-notes" }),
      el("div", { class: "xs-again", hidden: "" }),
      el("div", { class: "xs-asks", "aria-live": "polite" }),
      el("div", { class: "xs-panes" },
        el("div", { class: "xs-pane xs-source", tabindex: 0, "aria-label": "source" }),
        el("div", { class: "xs-pane xs-middle" }, el("div", { class: "xs-graph" }), el("div", { class: "xs-legend" })),
        el("div", { class: "xs-pane xs-kernels", tabindex: 0, "aria-label": "kernels" })),
      el("div", { class: "xs-detail", "aria-live": "polite" }),
      el("div", { class: "xs-help", role: "dialog", "aria-label": "keys", hidden: "" }),
      el("div", { class: "xs-pane xs-timeline" })));
}

/** @param {Store} store */
function programChoice(store) {
  const { program } = store;
  if (store.programs.size < 2) return el("span", { class: "xs-mono xs-crumb" }, program?.function ?? "");
  const options = [...store.programs.values()].map((p) =>
    el("option", { value: p.number, selected: p === program ? "" : null }, `${shorten(p.function, 40)} · ${plural(p.equations.size, "eqn")}`));
  return el("select", { class: "xs-choice xs-mono", "aria-label": "program" }, options);
}

/** Is there a box that opens: an equation with a body, or a group? @param {Program|undefined} program */
function nestings(program) {
  return Boolean(program?.heavy.jaxpr && program.shown(program.heavy.jaxpr).equations.some((equation) => equation.bodies));
}

/** Failures, and why a function was traced again. @param {Store} store */
function notes(store) {
  const { live } = store;
  const failures = [...live.failures, ...otherFailures(store), store.measured?.light.failure ?? []].flat();
  const found = failures.map((failure) =>
    el("div", { class: "xs-note bad" }, el("b", {}, failure.error), ` in ${failure.stage} of ${failure.function}`,
      failure.line ? `, line ${failure.line}` : "", el("pre", {}, failure.message)));
  if (live.more) found.push(el("div", { class: "xs-note" }, `${plural(live.more, "small program")} more, not listed`));
  return found;
}

/** @param {Store} store */
function detail(store) {
  const { program, selection } = store;
  if (store.query && !(selection.kind === "equation" && store.found.has(selection.id))) return found(store);
  const begun = betweenWords(store);
  if (begun && store.start) return [el("code", {}, begun[0]), el("span", { class: "xs-fact" }, begun[1])];
  if (!program || !selection.kind) return el("span", { class: "xs-muted" }, "Click an equation, a line, a kernel or a bar. Arrow keys walk, Enter opens, / searches, ? lists all keys.");
  if (selection.kind === "equation") {
    const [line, ...rest] = describe(program, selection.id);
    return [store.query && el("div", {}, found(store)), el("code", {}, line), jumpLinks(store), rest.map((part) => el("span", { class: "xs-fact" }, part))];
  }
  const several = betweenWords(store) ?? severalWords(store);
  if (several) return [el("code", {}, several[0]), several.slice(1).map((part) => el("span", { class: "xs-fact" }, part))];
  const kernel = selection.kind === "kernel" && program.kernels.get(selection.id);
  const what = kernel ? selection.id : `line ${selection.id.split(":")[1]}`;
  const words = kernel ? kernelFacts(program, kernel) : [plural(selection.paths.size, "equation"), plural(selection.kernels.size, "kernel")];
  return [el("code", {}, what), words.map((part) => el("span", { class: "xs-fact" }, part))];
}

/** @param {Store} store */
function found(store) {
  return el("span", { class: "xs-muted" }, foundWords(store));
}

/** @param {Store} store */
function legend(store) {
  const { program, heat } = store;
  const key = (/** @type {string} */ kind, /** @type {string} */ text) => el("span", { class: "xs-key" }, el("i", { class: `xs-chip ${kind}` }), text);
  const opens = nestings(program) ? [el("span", {}, "⊞ opens in place")] : [];
  if (heat !== "pass") {
    const steps = [0, 1, 2, 3, 4].map((step) => el("i", { class: `xs-chip heat-${step}` }));
    return [el("span", { class: "xs-key" }, steps, HEAT_WORDS[heat]), opens];
  }
  const passes = new Set(program?.passes.values());
  return [
    passes.has("forward") && key("pass-forward", "forward ↓"),
    passes.has("backward") && key("pass-backward", program?.secondPass ?? ""),
    passes.has("update") && key("pass-update", "update ↓"),
    passes.has("recomputed") && key("pass-recomputed", "computed again ↓"),
    program?.heavy.kernels && key("xs-hull-chip", "one kernel"), opens,
  ];
}

/** Dark when the host says so: JupyterLab, VS Code, Colab, or else the system. */
function isDark() {
  const { body, documentElement } = document;
  const lab = body.getAttribute("data-jp-theme-light");
  if (lab) return lab === "false";
  if (body.className.includes("vscode-")) return !body.classList.contains("vscode-light");
  const colab = documentElement.getAttribute("theme");
  return colab ? colab === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** @param {HTMLElement} root @returns {() => void} */
function watchTheme(root) {
  const apply = () => root.classList.toggle("dark", isDark());
  const observer = new MutationObserver(apply);
  for (const element of [document.body, document.documentElement]) observer.observe(element, { attributes: true });
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", apply);
  apply();
  return () => {
    observer.disconnect();
    system.removeEventListener("change", apply);
  };
}

/** Called once for a model, before any view: data that arrives early is not lost. @param {{model: Model}} context */
export function initialize({ model }) {
  if (model.get("is_library")) return openLibrary(model, { initialize, render, forget: (/** @type {{model: Model}} */ context) => forget(context.model) });
  const store = storeOf(model);
  store.stop?.();
  store.stop = follow(model, store);
  return () => forget(model);
}

/** Called for every view. @param {{model: Model, el: HTMLElement}} context */
export function render({ model, el: host }) {
  const store = storeOf(model);
  if (!store.stop) initialize({ model });
  const view = new View(model, store, host);
  return () => view.remove();
}
