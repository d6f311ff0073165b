// @ts-check
/**
 * The recompile card: which functions were traced again, where, what differed, what it cost, and what would spare it.
 */

import { el } from "../ground/element.js";
import { count, plural, seconds, shorten } from "../ground/format.js";
import { closeButton, isClosed, pressClose } from "../parts/banners.js";
import { registerPane } from "../parts/panes.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../ground/wire.js").Retrace} Retrace */
/** @typedef {import("../ground/wire.js").Retraced} Retraced */
/** @typedef {import("../ground/element.js").Child} Child */

/** Retraces of one function in one cell from which on this is a warning: a loop does it. */
const LOOP_RETRACES = 3;

/** Functions that calls traced again, the dearest first; those traced again inside of others are told by these.
 * @param {Store} store @returns {Retraced[]} */
function retraced(store) {
  return (store.live.retraced ?? []).filter((each) => each.count && !each.retraces.every((one) => one.inside));
}

/** The strip's button that opens the card: a warning when a loop traces again. @param {Store} store */
export function whyButton(store) {
  const [first, ...others] = retraced(store);
  if (!first) return null;
  const name = shorten(first.function, 24);
  const loop = first.count >= LOOP_RETRACES;
  const words = loop
    ? [
        `⚠ ${name} traced again ×${count(first.count)}`,
        el("span", { class: "xs-medium" }, ` · ${seconds(first.seconds)} lost`),
      ]
    : `why ${name === "<lambda>" ? "" : name + " "}traced again?`;
  const more = others.length ? `; ${plural(others.length, "other function")} too` : "";
  return el(
    "button",
    {
      class: `xs-why${loop ? " warn" : ""}`,
      type: "button",
      title: `${whyHeading(first)}${more}. Latest: ${first.retraces[0].reason}`,
      "aria-label": `${whyHeading(first)}${more}: show why`,
    },
    words,
  );
}

/** @param {Retraced} each */
function whyHeading(each) {
  const calls = each.misses.reduce((sum, miss) => sum + miss.count, 0);
  const again = each.count
    ? `traced again ${plural(each.count, "time")}, ${each.seconds > 0 ? seconds(each.seconds) + " lost (measured)" : "inside of others"}`
    : "";
  return `${shorten(each.function, 60)}: ${[again, calls ? plural(calls, "call") + " started slowly (Python looked at the arguments again: about 0.1 ms a call, estimated)" : ""].filter(Boolean).join("; ")}`;
}

registerPane({
  id: "again",
  place: "notes",
  order: 1,
  title: "what was traced again",
  draw: drawRecompiles,
  press: pressRecompiles,
});

/** The card, unless it was closed. @param {Store} store */
function drawRecompiles(store) {
  const functions = store.live.retraced ?? [];
  // It is told again when there are more; the strip's button opens it at any time.
  const about = `${store.uid} again ` + functions.map((each) => each.function + each.count).join();
  const isHidden = !functions.length || (isClosed(about) && !store.why);
  return isHidden ? null : [closeButton(about), whyCard(functions, store.why)];
}

/**
 * A click on the card; true when it was used.
 * @param {import("../parts/panel_interface.js").Panel} panel
 * @param {Element} target
 */
function pressRecompiles(panel, target) {
  const isClosing = pressClose(target);
  if (!isClosing && !target.closest(".xs-why-head")) return false;
  panel.showWhy(!isClosing && !panel.store.why);
  return true;
}

/** @param {Retraced[]} functions @param {boolean} open */
function whyCard(functions, open) {
  const [first, ...others] = functions;
  const more = others.length ? ` · ${plural(others.length, "other function")}` : "";
  return [
    el(
      "button",
      { class: "xs-why-head", type: "button", "aria-expanded": String(open) },
      el("span", { "aria-hidden": "true" }, open ? "▾ " : "▸ "),
      whyHeading(first),
      open ? "" : more,
    ),
    open &&
      el(
        "div",
        { class: "xs-why-list", tabindex: 0, role: "group", "aria-label": "why functions were traced again" },
        functions.map(whyGroup),
      ),
  ];
}

/** @param {Retraced} each @param {number} index */
function whyGroup(each, index) {
  const left = each.count - each.retraces.length;
  return el(
    "section",
    {},
    index > 0 && el("div", { class: "xs-why-name" }, whyHeading(each)),
    each.retraces.map(retraceRow),
    left > 0 && el("div", { class: "xs-muted xs-why-row" }, `${count(left)} earlier: %recompiles lists them`),
    each.misses.map((miss) => whyRow(`${plural(miss.count, "slow call")}`, miss.where, miss.reason, miss.fix, "")),
  );
}

/** @param {Retrace} one */
function retraceRow(one) {
  const parts = /** @type {[string, number][]} */ ([
    ["trace", one.trace],
    ["lower", one.lower],
    ["compile", one.compile],
  ]);
  const stages = parts
    .filter(([, time]) => time > 0)
    .map(([name, time]) => `${name} ${seconds(time)}`)
    .join(" + ");
  const lost = one.inside ? ` inside of the trace of ${shorten(one.inside, 40)}` : " lost";
  return whyRow(`trace ${one.number}`, one.where, one.reason, one.fix, [
    el("b", {}, seconds(one.seconds)),
    lost,
    el("div", {}, stages),
  ]);
}

/** @param {string} what @param {string} where @param {string} reason @param {string} fix @param {Child} cost */
function whyRow(what, where, reason, fix, cost) {
  return el(
    "div",
    { class: "xs-why-row" },
    el("span", { class: "xs-muted" }, what),
    el("code", { class: "xs-why-where" }, shorten(where, 60)),
    el("div", {}, el("code", {}, shorten(reason, 400)), el("div", { class: "xs-muted" }, `→ ${shorten(fix, 400)}`)),
    el("div", { class: "xs-num xs-muted", title: "measured" }, cost),
  );
}
