// @ts-check
/** What clicks and keys do in a view. */

import { keyWhy } from "../compiler/why_pane.js";
import { keyExplorer, toggleHelp } from "../graph/explorer.js";
import { goTo } from "../parts/panel_interface.js";
import { pressAsk } from "../parts/question_form.js";
import { pressClose } from "../parts/banners.js";
import { scrollInside } from "../parts/scrolling.js";
import { HEATS } from "../program/heat.js";
import { cardsOf } from "./cards.js";
import { pressEdited } from "./edit_comparison.js";
import { toggleFull } from "./layout_prefs.js";
import { pressScript } from "./script_card.js";
import { keySide, pressSide } from "./side_tabs.js";
import { openTab } from "./browser_tab.js";
/** @typedef {import("./view.js").View} View */

/** @param {View} view */
export function listen(view) {
  view.root.addEventListener("keydown", (event) => key(view, event));
  for (const kind of ["keyup", "keypress"]) view.root.addEventListener(kind, (event) => event.stopPropagation());
  view.root.addEventListener("pointerdown", () => (view.pressed = true));
  view.strip.addEventListener("click", (event) => pressStrip(view, /** @type {Element} */ (event.target)));
  view
    .part("xs-script")
    .addEventListener(
      "click",
      (event) => pressScript(view.store, /** @type {Element} */ (event.target)) && view.drawStrip(),
    );
  view
    .part("xs-failures")
    .addEventListener("click", (event) => pressClose(/** @type {Element} */ (event.target)) && view.drawFailures());
  view
    .part("xs-edited")
    .addEventListener("click", (event) => pressAsk(view.store, /** @type {Element} */ (event.target)));
  for (const [pane, part] of cardsOf(view))
    part.addEventListener("click", (event) =>
      pane.press?.(view, /** @type {Element} */ (event.target), event.shiftKey),
    );
  view.part("xs-head").addEventListener("click", (event) => command(view, /** @type {Element} */ (event.target)));
  view.part("xs-head").addEventListener("change", (event) => {
    const choice = /** @type {HTMLSelectElement} */ (event.target);
    if (choice.matches(".xs-add-target")) addTarget(view, choice.value);
    else if (choice.matches(".xs-grouping")) view.store.group(choice.value);
    else if (choice.matches("select")) view.store.pick(Number(choice.value));
  });
  const search = /** @type {HTMLInputElement} */ (view.part("xs-search"));
  search.addEventListener("input", () => view.store.search(search.value));
  view.help.addEventListener("click", (event) => command(view, /** @type {Element} */ (event.target)));
  view
    .part("xs-detail")
    .addEventListener("click", (event) =>
      goTo(view, /** @type {Element} */ (event.target).closest("[data-goto]")?.getAttribute("data-goto") ?? undefined),
    );
  for (const pane of ["xs-source", "xs-kernels", "xs-timeline"])
    view
      .part(pane)
      .addEventListener("click", (event) => pickFrom(view, /** @type {Element} */ (event.target), event.shiftKey));
  view
    .part("xs-notes")
    .addEventListener("click", (event) => pressClose(/** @type {Element} */ (event.target)) && view.drawNotes());
  view.part("xs-asks").addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (pressClose(target)) view.drawAsks();
    else pressAsk(view.store, target);
  });
  for (const kind of ["input", "change"])
    view.part("xs-kernels").addEventListener(kind, (event) => {
      const { dataset, value } = /** @type {HTMLInputElement} */ (event.target);
      const name = /** @type {"sort"|"filter"|"only"|"query"|undefined} */ (dataset.list);
      if (name && view.store.list[name] !== value) view.store.turn({ [name]: value });
    });
}

/**
 * Ask for the program as another target's compiler makes it, and look at it when it is there.
 * @param {View} view
 * @param {string} target
 */
function addTarget(view, target) {
  const { asks } = view.store;
  asks.wanted = target in asks.missing ? target : "";
  if (asks.wanted) view.drawAsks();
  else if (target) asks.ask(view.store, { question: "target", program: view.store.measured?.number ?? 0, target });
  view.drawBar();
}

/** A click in source, kernels or timeline. @param {View} view @param {Element} target @param {boolean} [add] */
function pickFrom(view, target, add = false) {
  const { store } = view;
  if (pressAsk(store, target) || pressSide(view, target, add)) return;
  const kernel = target.closest("[data-kernel]")?.getAttribute("data-kernel");
  const line = target.closest(".xs-line.has")?.getAttribute("data-line");
  if (kernel) view.store.select("kernel", kernel);
  else if (line) view.store.select("line", line);
  if (kernel || line) view.graph.showSelection();
}

/** @param {View} view @param {KeyboardEvent} event */
function key(view, event) {
  event.stopPropagation();
  const target = /** @type {Element} */ (event.target);
  const typing = target.matches("input, select");
  if (keySide(view, event, target) || keyWhy(view.store, event, target) || keyExplorer(view, event, target)) return;
  if (event.key === "f" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) toggleFull(view);
  else if (event.key === "/" && !typing) {
    event.preventDefault();
    view.part("xs-search").focus();
  } else if (event.key === "Escape") clear(view, target);
  else if (event.key === "Enter" && target.matches(".xs-search")) nextFound(view, event.shiftKey ? -1 : 1);
  else if ((event.key === "Enter" || event.key === " ") && target.matches(".xs-kernel, .xs-line")) {
    event.preventDefault();
    pickFrom(view, target, event.shiftKey);
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") walkList(event, target);
}

/** From item to item in the source and in the list of kernels. @param {KeyboardEvent} event @param {Element} target */
function walkList(event, target) {
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
function clear(view, target) {
  const search = /** @type {HTMLInputElement} */ (view.part("xs-search"));
  if (!view.help.hidden) return toggleHelp(view);
  if (target === search) search.blur();
  view.store.start = "";
  search.value = "";
  if (view.store.query) view.store.search("");
  else view.store.select(null);
  if (target === search) view.graph.svg.focus({ preventScroll: true });
}

/** @param {View} view @param {number} step */
function nextFound(view, step) {
  goTo(view, view.store.nextFound(step));
  view.drawDetail();
}

/** @param {View} view @param {Element} target */
function command(view, target) {
  const name = target.closest("[data-command]")?.getAttribute("data-command") ?? "";
  if (name === "fit") view.graph.fit(true);
  if (name === "fit") view.graph.paint();
  if (name === "expand" || name === "collapse") view.store.toggleAll(name === "expand");
  if (name.startsWith("target ")) view.store.aim(name.slice(7));
  if (name === "full") toggleFull(view);
  if (name === "tab") openTab(view, (host) => view.again(host));
  if (name === "list") view.store.toggleList();
  if (name === "help") toggleHelp(view);
  if (HEATS.includes(name)) view.store.paint(/** @type {"pass"} */ (name));
}

/** @param {View} view @param {Element} target */
function pressStrip(view, target) {
  if (target.closest("[data-compare]")) return pressEdited(view);
  if (!target.closest(".xs-why")) return view.setOpen(!view.isOpen);
  view.store.why = true;
  view.setOpen(true);
  view.showWhy(true);
  view.part("xs-why-head").focus();
}
