// @ts-check
/** Card of a watched script: its command, where its time went, and its programs, which open below. */

import { el, fill } from "../ground/element.js";
import { formatInt, formatPercent, formatTime, pluralize, shorten } from "../ground/format.js";
import { TERMS } from "../program/terms.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../ground/wire.js").Script} Script */
/** @typedef {import("../ground/wire.js").Share} Share */

/**
 * Programs listed at first: so many at least, so many at most, and of these none with less than this part of the time.
 */
const LEAST = 5,
  MOST = 12,
  SMALL = 0.01;

/**
 * Draw the card when it has changed; hide it where no script was watched.
 * @param {HTMLElement} part
 * @param {Store} store
 */
export function updateScriptCard(part, store) {
  const { script } = store.live;
  part.hidden = !script;
  if (!script) return;
  const number = store.measured?.number;
  const state = JSON.stringify([script, number, store.allPrograms]);
  if (part.dataset.state === state) return;
  part.dataset.state = state;
  const focus = /** @type {HTMLElement|null} */ (
    part.contains(part.ownerDocument.activeElement) ? part.ownerDocument.activeElement : null
  )?.dataset.program;
  fill(
    part,
    drawHead(script),
    drawTimes(script),
    drawTable(script, number, store.allPrograms),
    (script.notes ?? []).map((note) => el("div", { class: "xs-muted xs-script-line" }, note)),
  );
  if (focus)
    /** @type {HTMLElement|null} */ (part.querySelector(`[data-program="${focus}"]`))?.focus({ preventScroll: true });
}

/**
 * Handle a click on the card: show a program, or list all programs; return whether it was used.
 * @param {Store} store
 * @param {Element} target
 */
export function handleScriptClick(store, target) {
  const pressed = /** @type {HTMLElement|null} */ (target.closest("[data-program]"))?.dataset.program;
  if (pressed === "all") store.allPrograms = !store.allPrograms;
  else if (pressed) store.pickProgram(Number(pressed));
  return Boolean(pressed);
}

/** @param {Script} script */
function drawHead({ command, folder, began, ended, seconds: elapsed, facts }) {
  const well = ended === "ended" || !ended;
  return [
    el(
      "div",
      { class: "xs-script-head" },
      el("code", { class: "xs-script-command", title: `in ${folder}` }, shorten(command, 300)),
      el(
        "span",
        { class: "xs-stage" },
        el("i", { class: `xs-dot ${well ? "" : "bad"}` }),
        el("b", {}, ended || "still running"),
        el("span", { class: "xs-muted" }, `after ${formatLongDuration(elapsed)}`),
      ),
    ),
    el(
      "div",
      { class: "xs-muted xs-script-line" },
      [new Date(began * 1000).toLocaleString(), ...facts].map((fact, i) =>
        el("span", { class: i ? "xs-fact" : "" }, shorten(fact, 120)),
      ),
    ),
  ];
}

/** Format a long duration: "1 h 5 min", "62.0 s". @param {number} value */
function formatLongDuration(value) {
  const minutes = Math.round(value / 60);
  if (value >= 3600) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return value >= 600 ? `${minutes} min` : formatTime(value);
}

/** Draw how the time is divided. @param {Script} script */
function drawTimes({ programs, making, seconds: elapsed }) {
  const running = programs.reduce((sum, [, , , time]) => sum + time, 0);
  const other = Math.max(0, elapsed - making - running);
  // Calls may overlap each other and the next compilation.
  const total = making + running + other || 1;
  const parts = /** @type {[string, number, string, string][]} */ ([
    [
      "run",
      running,
      "running programs",
      "calls times the time of one: that of the devices where the profiler saw whole calls, else the host’s (measured)",
    ],
    ["make", making, "trace + lower + compile", TERMS["trace + lower + compile"]],
    ["rest", other, "everything else", "Python, input, waiting: what is left of the time"],
  ]);
  return el(
    "div",
    { class: "xs-script-times" },
    el(
      "div",
      { class: "xs-script-bar", "aria-hidden": "true" },
      parts.map(([name, value]) =>
        el("i", { class: `of-${name}`, style: `width:${((100 * value) / total).toFixed(2)}%` }),
      ),
    ),
    parts.map(([name, value, words, tip]) =>
      el(
        "span",
        { class: "xs-key", title: tip },
        el("i", { class: `xs-chip of-${name}` }),
        `${words} `,
        el("b", {}, formatTime(value)),
        el("span", { class: "xs-muted" }, formatPercent(value / total)),
      ),
    ),
  );
}

/** @param {Script} script @param {number|undefined} shown @param {boolean} all */
function drawTable({ programs }, shown, all) {
  const most = Math.max(...programs.map(totalTime), 1e-12);
  const total = programs.reduce((sum, share) => sum + totalTime(share), 0) || 1;
  const single = programs.filter(([number]) => number >= 0);
  let first = Math.min(LEAST, single.length);
  while (first < Math.min(MOST, single.length) && totalTime(single[first]) > SMALL * total) first += 1;
  const listed = all ? single : single.slice(0, first);
  const others = /** @type {Share[]} */ (all ? [] : single.slice(first)).concat(
    programs.filter(([number]) => number < 0),
  );
  if (!programs.length)
    return el("div", { class: "xs-muted xs-script-line" }, "no program was traced, compiled or run");
  return el(
    "div",
    { class: "xs-script-scroll" },
    el(
      "table",
      { class: "xs-script-table" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["program", "running", "calls", "one call", "compile time", ""].map((name) =>
            el("th", { scope: "col", title: TERMS[name] }, name),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        listed.map((share) => drawRow(share, share[0] === shown, most)),
        others.length > 0 && drawOtherShares(others),
      ),
    ),
    single.length > first &&
      el(
        "button",
        { class: "xs-link xs-small", type: "button", "data-program": "all", "aria-expanded": String(all) },
        all ? "fewer" : `show ${pluralize(single.length - first, "smaller program")}`,
      ),
  );
}

/** @param {Share} share */
function totalTime([, , , running, compiling]) {
  return running + compiling;
}

/** @param {Share} share @param {boolean} on @param {number} most */
function drawRow(share, on, most) {
  const [number, name, calls, running, compiling, , here] = share;
  const width = (/** @type {number} */ value) => `width:${((100 * value) / most).toFixed(2)}%`;
  const title = here ? "show it below" : "its times alone were kept: others took more";
  return el(
    "tr",
    { class: on ? "selected" : "" },
    el(
      "td",
      {},
      here
        ? el(
            "button",
            {
              class: "xs-script-name xs-mono",
              type: "button",
              title,
              "data-program": number,
              "aria-pressed": String(on),
            },
            shorten(name, 60),
          )
        : el("span", { class: "xs-mono xs-muted", title }, shorten(name, 60)),
    ),
    drawCell(running),
    el("td", {}, calls ? formatInt(calls) : ""),
    drawCell(calls ? running / calls : 0),
    drawCell(compiling),
    el(
      "td",
      { class: "xs-script-share", "aria-hidden": "true" },
      el("i", { class: "of-run", style: width(running) }),
      el("i", { class: "of-make", style: width(compiling) }),
    ),
  );
}

/** Draw the programs that are not listed, in one row. @param {Share[]} others */
function drawOtherShares(others) {
  const sum = (/** @type {number} */ field) => others.reduce((total, share) => total + Number(share[field]), 0);
  return el(
    "tr",
    { class: "xs-muted" },
    el("td", {}, pluralize(sum(5), "smaller program")),
    drawCell(sum(3)),
    el("td", {}, formatInt(sum(2))),
    el("td"),
    drawCell(sum(4)),
    el("td"),
  );
}

/** @param {number} value */
function drawCell(value) {
  return el("td", {}, value > 0 ? formatTime(value) : "");
}
