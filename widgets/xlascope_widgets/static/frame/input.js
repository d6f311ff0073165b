// @ts-check
/** Handlers of clicks and keys in a view. */

import { handleWhyKey } from "../compiler/why_pane.js";
import { handleExplorerKey, toggleHelp } from "../graph/explorer.js";
import { goTo } from "../parts/panel_interface.js";
import { handleQueryClick } from "../parts/question_form.js";
import { handleCloseClick } from "../parts/banners.js";
import { scrollInside } from "../parts/scrolling.js";
import { HEATS } from "../program/heat.js";
import { listCards } from "./cards.js";
import { openArray } from "./array_loader.js";
import { compareRun, toggleDiff } from "./edit_comparison.js";
import { requestPin } from "./library.js";
import { toggleFullScreen } from "./layout_prefs.js";
import { closeShareMenu, share } from "./sharing.js";
import { setMenuOpen } from "./toolbar.js";
import { handleScriptClick } from "./script_card.js";
import { handleSideClick, handleSideKey } from "./side_tabs.js";
import { openTab } from "./browser_tab.js";
/** @typedef {import("./view.js").View} View */

/** Attach the handlers of a view. @param {View} view */
export function listen(view) {
  view.root.addEventListener("keydown", (event) => handleKey(view, event));
  for (const kind of ["keyup", "keypress"]) view.root.addEventListener(kind, (event) => event.stopPropagation());
  view.root.addEventListener("pointerdown", (event) => {
    view.pressed = true;
    const target = /** @type {Element} */ (event.target);
    if (!target.closest(".xs-menu, .xs-more-tools")) setMenuOpen(view.getPart("xs-head"), false);
    if (!target.closest(".xs-sharing")) closeShareMenu(view);
  });
  view.root.addEventListener("click", (event) => openArray(view, /** @type {Element} */ (event.target)));
  view.strip.addEventListener("click", (event) =>
    handleStripClick(view, /** @type {Element} */ (event.target), event.shiftKey),
  );
  view
    .getPart("xs-script")
    .addEventListener(
      "click",
      (event) => handleScriptClick(view.store, /** @type {Element} */ (event.target)) && view.drawStrip(),
    );
  view
    .getPart("xs-failures")
    .addEventListener(
      "click",
      (event) => handleCloseClick(/** @type {Element} */ (event.target)) && view.drawFailures(),
    );
  view
    .getPart("xs-edited")
    .addEventListener("click", (event) => handleQueryClick(view.store, /** @type {Element} */ (event.target)));
  for (const [pane, part] of listCards(view))
    part.addEventListener("click", (event) =>
      pane.press?.(view, /** @type {Element} */ (event.target), event.shiftKey),
    );
  view.getPart("xs-head").addEventListener("click", (event) => runCommand(view, /** @type {Element} */ (event.target)));
  view.getPart("xs-head").addEventListener("change", (event) => {
    const choice = /** @type {HTMLSelectElement} */ (event.target);
    if (choice.matches(".xs-add-target")) requestTarget(view, choice.value);
    else if (choice.matches(".xs-grouping")) view.store.setGrouping(choice.value);
    else if (choice.matches("select")) view.store.pickProgram(Number(choice.value));
  });
  const search = /** @type {HTMLInputElement} */ (view.getPart("xs-search"));
  search.addEventListener("input", () => view.store.search(search.value));
  view.help.addEventListener("click", (event) => runCommand(view, /** @type {Element} */ (event.target)));
  view
    .getPart("xs-detail")
    .addEventListener("click", (event) =>
      goTo(view, /** @type {Element} */ (event.target).closest("[data-goto]")?.getAttribute("data-goto") ?? undefined),
    );
  for (const pane of ["xs-source", "xs-kernels", "xs-timeline"])
    view
      .getPart(pane)
      .addEventListener("click", (event) =>
        handlePaneClick(view, /** @type {Element} */ (event.target), event.shiftKey),
      );
  view
    .getPart("xs-notes")
    .addEventListener("click", (event) => handleCloseClick(/** @type {Element} */ (event.target)) && view.drawNotes());
  view.getPart("xs-asks").addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (handleCloseClick(target)) view.drawAsks();
    else handleQueryClick(view.store, target);
  });
  for (const kind of ["input", "change"])
    view.getPart("xs-kernels").addEventListener(kind, (event) => {
      const { dataset, value } = /** @type {HTMLInputElement} */ (event.target);
      const name = /** @type {"sort"|"filter"|"only"|"query"|undefined} */ (dataset.list);
      if (name && view.store.list[name] !== value) view.store.updateList({ [name]: value });
    });
}

/** Compile the program for another target, and show it when it is ready. @param {View} view @param {string} target */
function requestTarget(view, target) {
  const { queries } = view.store;
  queries.wanted = target in queries.missing ? target : "";
  if (queries.wanted) view.drawAsks();
  else if (target) queries.ask(view.store, { question: "target", program: view.store.measured?.number ?? 0, target });
  view.drawBar();
}

/**
 * Handle a click in source, kernels or timeline.
 * @param {View} view
 * @param {Element} target
 * @param {boolean} [add]
 */
function handlePaneClick(view, target, add = false) {
  const { store } = view;
  if (handleQueryClick(store, target) || handleSideClick(view, target, add)) return;
  const kernel = target.closest("[data-kernel]")?.getAttribute("data-kernel");
  const line = target.closest(".xs-line.has")?.getAttribute("data-line");
  if (kernel) view.store.select("kernel", kernel);
  else if (line) view.store.select("line", line);
  if (kernel || line) view.graph.showSelection();
}

/** @param {View} view @param {KeyboardEvent} event */
function handleKey(view, event) {
  event.stopPropagation();
  const target = /** @type {Element} */ (event.target);
  const typing = target.matches("input, select");
  if (
    handleSideKey(view, event, target) ||
    handleWhyKey(view.store, event, target) ||
    handleExplorerKey(view, event, target)
  )
    return;
  if (event.key === "f" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) toggleFullScreen(view);
  else if (event.key === "/" && !typing) {
    event.preventDefault();
    view.getPart("xs-search").focus();
  } else if (event.key === "v" && !typing) openArray(view, view.root.querySelector(".xs-detail [data-look]"));
  else if (event.key === "Escape") clearSelection(view, target);
  else if (event.key === "Enter" && target.matches(".xs-search")) goToSearchResult(view, event.shiftKey ? -1 : 1);
  else if ((event.key === "Enter" || event.key === " ") && target.matches(".xs-kernel, .xs-line")) {
    event.preventDefault();
    handlePaneClick(view, target, event.shiftKey);
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") moveFocusInList(event, target);
}

/**
 * Move the focus from item to item in the source and in the list of kernels.
 * @param {KeyboardEvent} event
 * @param {Element} target
 */
function moveFocusInList(event, target) {
  const pane = target.closest(".xs-source, .xs-kernels");
  if (!pane) return;
  event.preventDefault();
  const items = /** @type {HTMLElement[]} */ ([...pane.querySelectorAll(".xs-line.has, .xs-kernel")]);
  const at = items.findIndex((item) => item.contains(target));
  const next = items[event.key === "ArrowDown" ? at + 1 : Math.max(0, at - 1)];
  next?.focus({ preventScroll: true });
  if (next) scrollInside(pane, next);
}

/** Clear the search, or else the selection. @param {View} view @param {Element} target */
function clearSelection(view, target) {
  const search = /** @type {HTMLInputElement} */ (view.getPart("xs-search"));
  if (!view.help.hidden) return toggleHelp(view);
  const head = view.getPart("xs-head");
  if (closeShareMenu(view)) return;
  if (head.classList.contains("open")) {
    setMenuOpen(head, false);
    /** @type {HTMLElement} */ (head.querySelector(".xs-more-tools")).focus({ preventScroll: true });
    return;
  }
  if (target === search) search.blur();
  view.store.start = "";
  search.value = "";
  if (view.store.query) view.store.search("");
  else view.store.select(null);
  if (target === search) view.graph.svg.focus({ preventScroll: true });
}

/** @param {View} view @param {number} step */
function goToSearchResult(view, step) {
  goTo(view, view.store.findNextMatch(step));
  view.drawDetail();
}

/** @param {View} view @param {Element} target */
function runCommand(view, target) {
  const name = target.closest("[data-command]")?.getAttribute("data-command") ?? "";
  const head = view.getPart("xs-head");
  if (name) setMenuOpen(head, name === "more" && !head.classList.contains("open"));
  if (name === "fit") view.graph.fit(true);
  if (name === "fit") view.graph.paint();
  if (name === "expand" || name === "collapse") toggleAll(view, name === "expand");
  if (name.startsWith("target ")) view.store.setTarget(name.slice(7));
  if (name === "full") toggleFullScreen(view);
  if (name === "tab") openTab(view, (host) => view.openSecondView(host));
  if (name === "list") view.store.toggleList();
  if (name === "help") toggleHelp(view);
  if (name.startsWith("share ")) share(view, name.slice(6));
  if (HEATS.includes(name)) view.store.setHeat(/** @type {"pass"} */ (name));
}

/** Open all boxes and show all of the graph, or close them. @param {View} view @param {boolean} open */
function toggleAll({ store, graph }, open) {
  // A map may be as wide as it likes: what was chosen for few boxes does not hold any more.
  graph.rooms.clear();
  store.toggleAll(open);
  graph.fitInitially(open);
  graph.paint();
}

/** @param {View} view @param {Element} target @param {boolean} add */
function handleStripClick(view, target, add) {
  const [runs, run, pin] = ["data-compare", "data-run", "data-pin"].map((name) =>
    target.closest(`[${name}]`)?.getAttribute(name),
  );
  if (runs) return toggleDiff(view, runs);
  if (run) return compareRun(view, run, add);
  if (pin) return requestPin(view.model, pin === "pin");
  // Between two runs.
  if (target.closest(".xs-runs")) return;
  if (target.closest(".xs-time")) {
    view.store.accountOpen = !view.store.accountOpen;
    return view.drawStrip();
  }
  if (handleQueryClick(view.store, target)) return view.setOpen(true);
  if (!target.closest(".xs-why")) return view.setOpen(!view.isOpen);
  view.store.why = true;
  view.setOpen(true);
  view.showWhy(true);
  view.getPart("xs-why-head").focus();
}
