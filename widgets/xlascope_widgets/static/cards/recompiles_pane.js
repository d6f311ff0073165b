// @ts-check
/**
 * The recompile card: which functions were traced again, where, what differed, what it cost, and what would spare it.
 */

import { el } from "../ground/element.js";
import { formatInt, pluralize, formatTime, shorten } from "../ground/format.js";
import { drawCloseButton, isClosed, handleCloseClick } from "../parts/banners.js";
import { registerPane } from "../parts/panes.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../ground/wire.js").Retrace} Retrace */
/** @typedef {import("../ground/wire.js").Retraced} Retraced */
/** @typedef {import("../ground/element.js").Child} Child */

/** Retraces of one function in one cell from which on this is a warning: a loop does it. */
const LOOP_RETRACES = 3;

/** Functions that calls traced again, the dearest first; those traced again inside of others are told by these.
 * @param {Store} store @returns {Retraced[]} */
function listRetraced(store) {
  return (store.live.retraced ?? []).filter((each) => each.count && !each.retraces.every((one) => one.inside));
}

/** The strip's button that opens the card: a warning when a loop traces again. @param {Store} store */
export function drawWhyButton(store) {
  const [first, ...others] = listRetraced(store);
  if (!first) return null;
  const name = shorten(first.function, 24);
  const loop = first.count >= LOOP_RETRACES;
  const words = loop
    ? [
        `⚠ ${name} traced again ×${formatInt(first.count)}`,
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

/** @param {Retraced} each */
function drawWhyHeading(each) {
  const calls = each.misses.reduce((sum, miss) => sum + miss.count, 0);
  const again = each.count
    ? `traced again ${pluralize(each.count, "time")}, ${each.seconds > 0 ? formatTime(each.seconds) + " lost (measured)" : "inside of others"}`
    : "";
  return `${shorten(each.function, 60)}: ${[again, calls ? pluralize(calls, "call") + " started slowly (Python looked at the arguments again: about 0.1 ms a call, estimated)" : ""].filter(Boolean).join("; ")}`;
}

registerPane({
  id: "again",
  place: "notes",
  order: 1,
  title: "what was traced again",
  draw: drawRecompiles,
  press: handleRecompileClick,
});

/** The card, unless it was closed. @param {Store} store */
function drawRecompiles(store) {
  const functions = store.live.retraced ?? [];
  // It is told again when there are more; the strip's button opens it at any time.
  const about = `${store.uid} again ` + functions.map((each) => each.function + each.count).join();
  const isHidden = !functions.length || (isClosed(about) && !store.why);
  return isHidden ? null : [drawCloseButton(about), drawWhyCard(functions, store.why)];
}

/**
 * A click on the card; true when it was used.
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

/** @param {Retraced} each @param {number} index */
function drawWhyGroup(each, index) {
  const left = each.count - each.retraces.length;
  return el(
    "section",
    {},
    index > 0 && el("div", { class: "xs-why-name" }, drawWhyHeading(each)),
    each.retraces.map(drawRetraceRow),
    left > 0 && el("div", { class: "xs-muted xs-why-row" }, `${formatInt(left)} earlier: %recompiles lists them`),
    each.misses.map((miss) =>
      drawWhyRow(`${pluralize(miss.count, "slow call")}`, miss.where, miss.reason, miss.fix, ""),
    ),
  );
}

/** @param {Retrace} one */
function drawRetraceRow(one) {
  const parts = /** @type {[string, number][]} */ ([
    ["trace", one.trace],
    ["lower", one.lower],
    ["compile", one.compile],
  ]);
  const stages = parts
    .filter(([, time]) => time > 0)
    .map(([name, time]) => `${name} ${formatTime(time)}`)
    .join(" + ");
  const lost = one.inside ? ` inside of the trace of ${shorten(one.inside, 40)}` : " lost";
  return drawWhyRow(`trace ${one.number}`, one.where, one.reason, one.fix, [
    el("b", {}, formatTime(one.seconds)),
    lost,
    el("div", {}, stages),
  ]);
}

/** @param {string} what @param {string} where @param {string} reason @param {string} fix @param {Child} cost */
function drawWhyRow(what, where, reason, fix, cost) {
  return el(
    "div",
    { class: "xs-why-row" },
    el("span", { class: "xs-muted" }, what),
    el("code", { class: "xs-why-where" }, shorten(where, 60)),
    el("div", {}, el("code", {}, shorten(reason, 400)), el("div", { class: "xs-muted" }, `→ ${shorten(fix, 400)}`)),
    el("div", { class: "xs-num xs-muted", title: "measured" }, cost),
  );
}
