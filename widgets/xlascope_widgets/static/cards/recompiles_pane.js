// @ts-check
/** Card of recompilations: which functions were traced again, where, what differed, the cost, and the fix. */

import { el } from "../ground/element.js";
import { formatInt, formatTime, pluralize, shorten } from "../ground/format.js";
import { drawCloseButton, handleCloseClick, isClosed } from "../parts/banners.js";
import { registerPane } from "../parts/panes.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../ground/wire.js").Retrace} Retrace */
/** @typedef {import("../ground/wire.js").Retraced} Retraced */
/** @typedef {import("../ground/element.js").Child} Child */

/** Retraces of one function in one cell from which on this is a warning: a loop does it. */
const LOOP_RETRACES = 3;

/**
 * Return the functions that calls traced again, the most expensive first, without those inside others.
 * @param {Store} store
 * @returns {Retraced[]}
 */
function listRetraced(store) {
  return (store.live.retraced ?? []).filter(
    (entry) => entry.count && !entry.retraces.every((retrace) => retrace.inside),
  );
}

/** Draw the strip's button that opens the card: a warning when a loop traces again. @param {Store} store */
export function drawWhyButton(store) {
  const [first, ...others] = listRetraced(store);
  if (!first) return null;
  const name = shorten(first.function, 24);
  const loop = first.count >= LOOP_RETRACES;
  const words = loop
    ? [
        `⚠ ${name} traced again ×${formatInt(first.count)}`,
        first.retraces[0].where && el("span", { class: "xs-wide" }, ` at ${shorten(first.retraces[0].where, 24)}`),
        el("span", { class: "xs-medium" }, ` · ${formatTime(first.seconds)} lost`),
      ]
    : `why ${name === "<lambda>" ? "" : name + " "}traced again?`;
  const more = others.length ? `; ${pluralize(others.length, "other function")} too` : "";
  return el(
    "button",
    {
      class: `xs-why${loop ? " warn" : ""}`,
      type: "button",
      title: `${drawWhyHeading(first)}${more}. Latest: ${first.retraces[0].reason}`,
      "aria-label": `${drawWhyHeading(first)}${more}: show why`,
    },
    words,
  );
}

/** @param {Retraced} entry */
function drawWhyHeading(entry) {
  const calls = entry.misses.reduce((sum, miss) => sum + miss.count, 0);
  const times = entry.count
    ? `traced again ${pluralize(entry.count, "time")}, ${entry.seconds > 0 ? formatTime(entry.seconds) + " lost (measured)" : "inside of others"}`
    : "";
  return `${shorten(entry.function, 60)}: ${[times, calls ? pluralize(calls, "call") + " started slowly (Python looked at the arguments again: about 0.1 ms a call, estimated)" : ""].filter(Boolean).join("; ")}`;
}

registerPane({
  id: "again",
  place: "notes",
  order: 1,
  title: "what was traced again",
  draw: drawRecompiles,
  press: handleRecompileClick,
});

/** Draw the card, unless it was closed. @param {Store} store */
function drawRecompiles(store) {
  const functions = store.live.retraced ?? [];
  // The card reappears when there are more; the strip's button opens it at any time.
  const about = `${store.uid} again ` + functions.map((entry) => entry.function + entry.count).join();
  const isHidden = !functions.length || (isClosed(about) && !store.why);
  return isHidden ? null : [drawCloseButton(about), drawWhyCard(functions, store.why)];
}

/**
 * Handle a click on the card; return whether it was used.
 * @param {import("../parts/panel_interface.js").Panel} panel
 * @param {Element} target
 */
function handleRecompileClick(panel, target) {
  const isClosing = handleCloseClick(target);
  if (!isClosing && !target.closest(".xs-why-head")) return false;
  panel.showWhy(!isClosing && !panel.store.why);
  return true;
}

/** @param {Retraced[]} functions @param {boolean} open */
function drawWhyCard(functions, open) {
  const [first, ...others] = functions;
  const more = others.length ? ` · ${pluralize(others.length, "other function")}` : "";
  return [
    el(
      "button",
      { class: "xs-why-head", type: "button", "aria-expanded": String(open) },
      el("span", { "aria-hidden": "true" }, open ? "▾ " : "▸ "),
      drawWhyHeading(first),
      open ? "" : more,
    ),
    open &&
      el(
        "div",
        { class: "xs-why-list", tabindex: 0, role: "group", "aria-label": "why functions were traced again" },
        functions.map(drawWhyGroup),
      ),
  ];
}

/** @param {Retraced} entry @param {number} index */
function drawWhyGroup(entry, index) {
  const left = entry.count - entry.retraces.length;
  return el(
    "section",
    {},
    index > 0 && el("div", { class: "xs-why-name" }, drawWhyHeading(entry)),
    entry.retraces.map(drawRetraceRow),
    left > 0 && el("div", { class: "xs-muted xs-why-row" }, `${formatInt(left)} earlier: %recompiles lists them`),
    entry.misses.map((miss) =>
      drawWhyRow(`${pluralize(miss.count, "slow call")}`, miss.where, miss.reason, miss.fix, ""),
    ),
  );
}

/** @param {Retrace} retrace */
function drawRetraceRow(retrace) {
  const parts = /** @type {[string, number][]} */ ([
    ["trace", retrace.trace],
    ["lower", retrace.lower],
    ["compile", retrace.compile],
  ]);
  const stages = parts
    .filter(([, time]) => time > 0)
    .map(([name, time]) => `${name} ${formatTime(time)}`)
    .join(" + ");
  const lost = retrace.inside ? ` inside of the trace of ${shorten(retrace.inside, 40)}` : " lost";
  return drawWhyRow(`trace ${retrace.number}`, retrace.where, retrace.reason, retrace.fix, [
    el("b", {}, formatTime(retrace.seconds)),
    lost,
    el("div", {}, stages),
  ]);
}

/** @param {string} title @param {string} where @param {string} reason @param {string} fix @param {Child} cost */
function drawWhyRow(title, where, reason, fix, cost) {
  return el(
    "div",
    { class: "xs-why-row" },
    el("span", { class: "xs-muted" }, title),
    el("code", { class: "xs-why-where" }, shorten(where, 60)),
    el("div", {}, el("code", {}, shorten(reason, 400)), el("div", { class: "xs-muted" }, `→ ${shorten(fix, 400)}`)),
    el("div", { class: "xs-num xs-muted", title: "measured" }, cost),
  );
}
