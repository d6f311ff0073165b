// @ts-check
/** The widget: the strip, and the panel it opens into. Everything that is only looking happens here, without the kernel. */

import { el, fill, toNode } from "./element.js";
import { plural, shorten } from "./format.js";
import { describe } from "./words.js";
import { follow, forget, storeOf } from "./store.js";
import { drawStrip, tickStrip } from "./strip.js";
import { drawSource, markSource, refreshTimes, scrollInside, showFirstLine } from "./source_pane.js";
import { drawKernels, kernelFacts, markKernels } from "./kernels_pane.js";
import { drawTimelinePane, markTimeline } from "./timeline_pane.js";
import { GraphPane } from "./graph_pane.js";
/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./program.js").Program} Program */
/** @typedef {import("./store.js").Change} Change */

const HEATS = /** @type {const} */ (["pass", "time", "bytes"]);

class View {
  /** @param {any} model @param {Store} store @param {HTMLElement} host */
  constructor(model, store, host) {
    this.model = model;
    this.store = store;
    this.pressed = false;
    /** @type {Change|undefined} */ this.waiting = undefined;
    // JupyterLab's shortcuts (b, dd, m …) must not fire while somebody types or walks in here.
    this.root = /** @type {HTMLElement} */ (toNode(el("div", { class: "xs-root", "data-lm-suppress-shortcuts": "true" })));
    this.root.append(toNode(frame()));
    host.append(this.root);
    this.strip = this.part("xs-strip");
    this.panel = this.part("xs-panel");
    this.graph = new GraphPane(this.part("xs-graph"), store);
    this.listen();
    this.onChange = (/** @type {any} */ change) => this.change(change);
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
    this.strip.addEventListener("click", () => this.setOpen(!this.isOpen));
    this.part("xs-head").addEventListener("click", (event) => this.command(/** @type {Element} */ (event.target)));
    this.part("xs-head").addEventListener("change", (event) => {
      const choice = /** @type {HTMLSelectElement} */ (event.target);
      if (choice.matches("select")) this.store.pick(Number(choice.value));
    });
    const search = /** @type {HTMLInputElement} */ (this.part("xs-search"));
    search.addEventListener("input", () => this.store.search(search.value));
    for (const pane of ["xs-source", "xs-kernels", "xs-timeline"])
      this.part(pane).addEventListener("click", (event) => this.pickFrom(/** @type {Element} */ (event.target)));
  }

  /** The pointer is up, wherever that was: what has waited is drawn after the click. */
  release() {
    this.pressed = false;
    const { waiting } = this;
    this.waiting = undefined;
    if (waiting) setTimeout(() => this.change(waiting));
  }

  /** A click in source, kernels or timeline. @param {Element} target */
  pickFrom(target) {
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
    if (event.key === "/" && !typing) {
      event.preventDefault();
      this.part("xs-search").focus();
    } else if (event.key === "Escape") this.escape(target);
    else if (event.key === "Enter" && target.matches(".xs-search")) this.nextFound();
    else if (event.key === "Enter" && target.matches(".xs-kernel, .xs-line")) this.pickFrom(target);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") this.step(event, target);
  }

  /** From item to item in the source and in the list of kernels. @param {KeyboardEvent} event @param {Element} target */
  step(event, target) {
    const pane = target.closest(".xs-source, .xs-kernels");
    if (!pane) return;
    event.preventDefault();
    const items = /** @type {HTMLElement[]} */ ([...pane.querySelectorAll(".xs-line.has, .xs-kernel")]);
    const at = items.findIndex((item) => item === target);
    const next = items[event.key === "ArrowDown" ? at + 1 : Math.max(0, at - 1)];
    next?.focus({ preventScroll: true });
    if (next) scrollInside(pane, next);
  }

  /** @param {Element} target */
  escape(target) {
    const search = /** @type {HTMLInputElement} */ (this.part("xs-search"));
    if (target === search) search.blur();
    search.value = "";
    if (this.store.query) this.store.search("");
    else this.store.select(null);
    if (target === search) this.graph.svg.focus({ preventScroll: true });
  }

  nextFound() {
    const path = this.store.nextFound();
    if (!path) return;
    this.store.reveal(path);
    if (this.store.selection.id !== path) this.store.select("equation", path);
    this.graph.show(path);
  }

  /** @param {Element} target */
  command(target) {
    const name = target.closest("[data-command]")?.getAttribute("data-command") ?? "";
    if (name === "fit") this.graph.fit(true);
    if (name === "fit") this.graph.paint();
    if (name === "expand" || name === "collapse") this.store.toggleAll(name === "expand");
    if (HEATS.includes(/** @type {"pass"} */ (name))) this.store.paint(/** @type {"pass"} */ (name));
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
    if (change === "data" || change === "live" || change === "open") fill(this.strip, drawStrip(this.store, this.isOpen));
    this.panel.hidden = !this.isOpen;
    if (!this.isOpen) {
      this.stale = this.stale || change !== "open";
      return;
    }
    const all = change === "data" || (change === "open" && this.stale !== false);
    if (all) this.drawAll();
    else if (change === "live") this.drawNumbers();
    else if (change === "graph") this.drawGraph();
    else if (change === "selection" || change === "search") this.mark();
    else if (change === "look") this.drawLook();
  }

  drawAll() {
    this.stale = false;
    this.drawBar();
    this.drawNotes();
    fill(this.part("xs-source"), drawSource(this.store));
    showFirstLine(this.part("xs-source"));
    fill(this.part("xs-kernels"), drawKernels(this.store));
    this.drawTime();
    this.graph.draw();
    this.drawLegend();
    this.mark();
  }

  drawNumbers() {
    this.drawNotes();
    refreshTimes(this.part("xs-source"), this.store);
    keepPlace(this.part("xs-kernels"), () => fill(this.part("xs-kernels"), drawKernels(this.store)));
    this.drawTime();
    this.graph.refreshNumbers();
    for (const card of this.part("xs-kernels").querySelectorAll("[data-kernel]"))
      card.classList.toggle("selected", this.store.selection.kernels.has(card.getAttribute("data-kernel") ?? ""));
    fill(this.part("xs-detail"), detail(this.store));
  }

  drawGraph() {
    this.graph.draw({ anchor: this.graph.anchor });
    this.graph.anchor = "";
  }

  drawLook() {
    this.drawBar();
    this.graph.paint();
    this.drawLegend();
  }

  drawTime() {
    const width = this.part("xs-timeline").clientWidth - 24;
    if (width > 0) fill(this.part("xs-timeline"), drawTimelinePane(this.store, width));
    markTimeline(this.part("xs-timeline"), this.store);
  }

  mark() {
    this.graph.mark();
    this.markPanes();
  }

  markPanes() {
    markSource(this.part("xs-source"), this.store);
    markKernels(this.part("xs-kernels"), this.store);
    markTimeline(this.part("xs-timeline"), this.store);
    fill(this.part("xs-detail"), detail(this.store));
  }

  drawBar() {
    const { store } = this;
    const focused = document.activeElement?.closest?.("[data-command]")?.getAttribute("data-command");
    fill(this.part("xs-tools"), programChoice(store), el("span", { class: "xs-muted" }, "colour:"),
      HEATS.map((heat) => el("button", { class: `xs-pill${store.heat === heat ? " on" : ""}`, type: "button", "data-command": heat,
        "aria-pressed": String(store.heat === heat) }, heat)),
      nestings(store.program) && ["expand", "collapse"].map((name) => el("button", { class: "xs-pill", type: "button", "data-command": name }, `${name} all`)),
      el("button", { class: "xs-pill", type: "button", "data-command": "fit", title: "show the whole graph" }, "fit"));
    if (focused) /** @type {HTMLElement|null} */ (this.root.querySelector(`[data-command="${focused}"]`))?.focus({ preventScroll: true });
  }

  drawNotes() {
    fill(this.part("xs-notes"), notes(this.store));
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
    for (const kind of ["pointerup", "pointercancel"]) window.removeEventListener(kind, this.onRelease, true);
  }
}

/** The parts, empty. */
function frame() {
  return el("div", { class: "xs-frame" },
    el("div", { class: "xs-strip", role: "status" }),
    el("div", { class: "xs-panel", hidden: "" },
      el("div", { class: "xs-head" }, el("div", { class: "xs-tools" }),
        el("input", { class: "xs-search", type: "search", placeholder: "search: op, shape, source…   /", "aria-label": "search equations", spellcheck: "false" })),
      el("div", { class: "xs-notes" }),
      el("div", { class: "xs-panes" },
        el("div", { class: "xs-pane xs-source", tabindex: 0, "aria-label": "source" }),
        el("div", { class: "xs-pane xs-middle" }, el("div", { class: "xs-graph" }), el("div", { class: "xs-legend" })),
        el("div", { class: "xs-pane xs-kernels", tabindex: 0, "aria-label": "kernels" })),
      el("div", { class: "xs-detail", "aria-live": "polite" }),
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

/** @param {Program|undefined} program */
function nestings(program) {
  return program && [...program.equations.values()].some((equation) => equation.bodies);
}

/** Failures, and why a function was traced again. @param {Store} store */
function notes(store) {
  const { program, live } = store;
  const failures = [...live.failures, program?.light.failure].filter(Boolean);
  const found = failures.map((/** @type {any} */ failure) =>
    el("div", { class: "xs-note bad" }, el("b", {}, failure.error), ` in ${failure.stage} of ${failure.function}`,
      failure.line ? `, line ${failure.line}` : "", el("pre", {}, failure.message)));
  if ((program?.light.traces ?? 0) > 1)
    found.push(el("div", { class: "xs-note" }, el("b", {}, `trace ${program?.light.traces} of ${program?.function}: `), program?.light.reason));
  if (live.more) found.push(el("div", { class: "xs-note" }, `${plural(live.more, "small program")} more, not listed`));
  return found;
}

/** @param {Store} store */
function detail(store) {
  const { program, selection } = store;
  if (store.query) return found(store);
  if (!program || !selection.kind) return el("span", { class: "xs-muted" }, "Click an equation, a line, a kernel or a bar. Arrow keys walk, Enter opens, / searches, Esc clears.");
  if (selection.kind === "equation") {
    const [line, ...rest] = describe(program, selection.id);
    return [el("code", {}, line), rest.map((part) => el("span", { class: "xs-fact" }, part))];
  }
  const kernel = selection.kind === "kernel" && program.kernels.get(selection.id);
  const what = kernel ? selection.id : `line ${selection.id.split(":")[1]}`;
  const words = kernel ? kernelFacts(program, kernel) : [plural(selection.paths.size, "equation"), plural(selection.kernels.size, "kernel")];
  return [el("code", {}, what), words.map((part) => el("span", { class: "xs-fact" }, part))];
}

/** @param {Store} store */
function found(store) {
  return el("span", { class: "xs-muted" }, `${plural(store.found.size, "equation")} found for “${store.query}” · Enter goes to the next`);
}

/** @param {Store} store */
function legend(store) {
  const { program, heat } = store;
  const key = (/** @type {string} */ kind, /** @type {string} */ text) => el("span", { class: "xs-key" }, el("i", { class: `xs-chip ${kind}` }), text);
  const opens = nestings(program) ? [el("span", {}, "⊞ opens in place")] : [];
  if (heat !== "pass") {
    const steps = [0, 1, 2, 3, 4].map((step) => el("i", { class: `xs-chip heat-${step}` }));
    const words = heat === "time" ? "little to much time (measured, a kernel's split equally over its equations)" : "few to many bytes read and written (our count)";
    return [el("span", { class: "xs-key" }, steps, words), opens];
  }
  const passes = new Set(program?.passes.values());
  return [
    passes.has("forward") && key("pass-forward", "forward ↓"),
    passes.has("backward") && key("pass-backward", program?.secondPass ?? ""),
    passes.has("update") && key("pass-update", "update ↓"),
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

/** Draw a pane anew and leave its scroll position and its focus where they were. @param {Element} pane @param {() => void} change */
function keepPlace(pane, change) {
  const top = pane.scrollTop;
  const kernel = pane.contains(document.activeElement) ? document.activeElement?.getAttribute("data-kernel") : null;
  change();
  pane.scrollTop = top;
  if (kernel) /** @type {HTMLElement|null} */ (pane.querySelector(`[data-kernel="${CSS.escape(kernel)}"]`))?.focus({ preventScroll: true });
}

/** Called once for a model, before any view: data that arrives early is not lost. @param {{model: any}} context */
function initialize({ model }) {
  const store = storeOf(model);
  store.stop?.();
  store.stop = follow(model, store);
  return () => forget(model);
}

/** Called for every view. @param {{model: any, el: HTMLElement}} context */
function render({ model, el: host }) {
  const store = storeOf(model);
  if (!store.stop) initialize({ model });
  const view = new View(model, store, host);
  return () => view.remove();
}

export default { initialize, render };
