// @ts-check
/** XLA's fusion decisions step by step, replayed in the browser from their record, without the kernel. */

import { el } from "../ground/element.js";
import { formatInt, pluralize, shorten } from "../ground/format.js";
import { describeAnswer, drawQuery } from "../parts/question_form.js";
import { registerPane, selectSidePane } from "../parts/panes.js";
import { scrollInside } from "../parts/scrolling.js";
import { decodeSteps, listExplanations } from "./fusion_decisions.js";
import { describeCost } from "./why_pane.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("./fusion_decisions.js").Step} Step */
/** @typedef {import("../program/program.js").Program} Program */

/** Steps drawn before and after the current one, and milliseconds a step is shown for when they are played. */
const BEFORE = 60,
  AFTER = 120,
  PLAYED = 900;

/** @type {WeakMap<Store, ReturnType<typeof setInterval>>} */
const players = new WeakMap();

/** Return the explanation that is replayed: the chosen one, or the latest. @param {Store} store */
function findReplay(store) {
  const all = listExplanations(store);
  return (
    all.find((entry) => entry.steps === store.list.replayed) ??
    [...all].sort((a, b) => b.steps.length - a.steps.length)[0]
  );
}

/** @param {Store} store */
function drawReplay(store) {
  const answer = findReplay(store);
  const query = { question: "why", program: store.measured?.number ?? 0, target: store.aimed };
  if (!answer)
    return el(
      "div",
      { class: "xs-empty" },
      el(
        "p",
        {},
        "XLA's fusion decisions, step by step, with its reasons. They are heard from a compilation of its own, apart from your program, which takes longer than the first.",
      ),
      drawQuery(store, query, "Ask XLA"),
      drawExplainedSummary(store) && "XLA made no fusion decisions here.",
    );
  const steps = decodeSteps(answer);
  if (!steps.length)
    return el(
      "div",
      { class: "xs-empty" },
      "XLA's fusion passes decided nothing here: ",
      answer.note || "there was nothing to fuse.",
    );
  const filtered = filterSteps(store, steps);
  const at = Math.min(store.list.at, steps.length - 1);
  const fused = steps.filter((step) => step.fused).length;
  const index = filtered.findIndex((step) => step.at === at);
  return [
    el(
      "div",
      { class: "xs-list-head xs-stick" },
      el("div", { class: "xs-replay-tools", role: "toolbar", "aria-label": "replay" }, drawTools(store)),
      el(
        "div",
        { class: "xs-muted xs-small" },
        index < 0
          ? `${pluralize(filtered.length, "step")}: `
          : `step ${formatInt(index + 1)} of ${formatInt(filtered.length)}: `,
        `${formatInt(fused)} fused, ${formatInt(steps.length - fused)} refused · ${describeAnswer(answer)}`,
        answer.cut > 0 && ` · ${formatInt(answer.cut)} more not sent`,
        answer.note && ` · ${answer.note}`,
      ),
    ),
    answer.answer && el("div", { class: "xs-whynot" }, answer.answer),
    drawRows(/** @type {Program} */ (store.program), filtered, at),
  ];
}

/** @param {Store} store */
function drawExplainedSummary(store) {
  return listExplanations(store).length > 0;
}

/** @param {Store} store @param {Step[]} steps */
function filterSteps(store, steps) {
  const only = getFilter(store);
  if (only === "all") return steps;
  const filtered = steps.filter((step) => step.fused === (only === "fused"));
  // Refusals about the compiler's own steps, such as the tuple that collects the results, are among all.
  const isAboutUser = (/** @type {Step} */ step) => step.from.length && (step.to.length || !step.b);
  const telling = only === "refused" ? filtered.filter(isAboutUser) : filtered;
  return telling.length ? telling : filtered;
}

/** Return which steps are listed: all, or the reasons for not fusing where these were asked. @param {Store} store */
function getFilter({ list, live }) {
  return list.only || (live.tab === "replay" ? "refused" : "all");
}

/** @param {Store} store */
function drawTools(store) {
  const drawButton = (/** @type {string} */ name, /** @type {string} */ sign, /** @type {string} */ label) =>
    el(
      "button",
      {
        class: "xs-pill",
        type: "button",
        "data-replay": name,
        "data-focus": `replay ${name}`,
        "aria-label": label,
        title: label,
      },
      sign,
    );
  const playing = players.has(store);
  return [
    drawButton("first", "|◀", "first step (Home)"),
    drawButton("previous", "◀", "step back (←)"),
    drawButton("play", playing ? "stop" : "play", playing ? "stop (space)" : "play (space)"),
    drawButton("next", "▶", "next step (→)"),
    el(
      "select",
      { class: "xs-field", "data-list": "only", "data-focus": "only", "aria-label": "which steps" },
      ["all", "fused", "refused"].map((name) =>
        el("option", { value: name, selected: getFilter(store) === name ? "" : null }, name),
      ),
    ),
  ];
}

/**
 * Draw the rows around the current step.
 * @param {Program} program
 * @param {Step[]} steps
 * @param {number} at
 */
function drawRows(program, steps, at) {
  const index = Math.max(
    0,
    steps.findIndex((step) => step.at >= at),
  );
  const first = Math.max(0, index - BEFORE);
  const part = steps.slice(first, index + AFTER);
  const after = steps.length - first - part.length;
  return [
    first > 0 && el("div", { class: "xs-kernel-tail xs-muted" }, `${pluralize(first, "step")} before`),
    part.map((step) => drawStep(program, step, step.at === at)),
    after > 0 && el("div", { class: "xs-kernel-tail xs-muted" }, `${pluralize(after, "step")} after`),
  ];
}

/** @param {Program} program @param {Step} step @param {boolean} on */
function drawStep(program, step, on) {
  const cost = describeCost(step);
  const called = (/** @type {string} */ name, /** @type {string[]} */ paths) =>
    name ? program.describeEquations(paths) || el("span", { class: "xs-mono" }, name) : "anything that reads it";
  const [from, to] = [called(step.a, step.from), called(step.b, step.to)];
  const names = [
    `${step.a} into ${step.b || "any user"}`,
    step.result && step.result !== step.b && ` as ${step.result}`,
  ]
    .filter(Boolean)
    .join("");
  return el(
    "div",
    {
      class: `xs-kernel xs-step ${step.fused ? "fused" : "refused"}${on ? " selected" : ""}`,
      "data-step": step.at,
      "data-focus": `step ${step.at}`,
      role: "button",
      tabindex: -1,
      "aria-pressed": String(on),
      title: `XLA's names: ${shorten(names, 300)}`,
    },
    el(
      "div",
      { class: "xs-small" },
      el("span", { class: "xs-step-sign" }, step.fused ? "+ " : "✕ "),
      step.fused ? "fused " : "not fused: ",
      el("b", {}, from),
      step.fused ? " into " : " and ",
      el("b", {}, to),
    ),
    !step.fused && step.reason && el("div", { class: "xs-small" }, step.plain || `“${step.reason}”`),
    on && [
      step.plain && el("div", { class: "xs-small xs-muted" }, step.fused ? step.plain : ["XLA: “", step.reason, "”"]),
      cost && el("div", { class: "xs-small xs-muted" }, cost),
      [...step.from, ...step.to].length > 0 &&
        el(
          "div",
          { class: "xs-small xs-muted" },
          `${describeEquations(program, step.from)} → ${describeEquations(program, step.to)}`,
        ),
      el(
        "div",
        { class: "xs-small xs-muted" },
        "by XLA's pass ",
        el("span", { class: "xs-mono" }, step.pass),
        ", which names them ",
        el("span", { class: "xs-mono" }, names),
      ),
    ],
  );
}

/** Describe the equations of an instruction: "tanh, line 9". @param {Program} program @param {string[]} paths */
function describeEquations(program, paths) {
  if (!paths.length) return "no source information";
  const words = paths
    .slice(0, 3)
    .map((path) => `${program.equations.get(path)?.op ?? path}, ${program.formatLine(path) ?? "no line known"}`);
  return [...new Set(words), paths.length > 3 && `${paths.length - 3} more`].filter(Boolean).join("; ");
}

/** @param {Element} pane */
function scrollToCurrentStep(pane) {
  const row = pane.querySelector(".xs-step.selected");
  if (row) scrollInside(pane, row);
}

registerPane({
  id: "replay",
  place: "side",
  order: 3,
  title: "decisions",
  tip: "XLA's fusion decisions, step by step",
  draw: drawReplay,
  wanted: (store) => store.queries.listFindings(store.measured).explained.length > 0,
  mark: scrollToCurrentStep,
  press: handleReplayClick,
  key: ({ store }, event, target) => handleReplayKey(store, event, target),
});

/** @param {Store} store */
function isReplayShown(store) {
  return selectSidePane(store).id === "replay";
}

/** Handle a click in the replay; return whether it was one. @param {{store: Store}} panel @param {Element} target */
function handleReplayClick({ store }, target) {
  const command = target.closest("[data-replay]")?.getAttribute("data-replay");
  const step = target.closest("[data-step]")?.getAttribute("data-step");
  const go = target.closest("[data-go]")?.getAttribute("data-go");
  if (command === "play") play(store);
  else if (command) stepReplay(store, command);
  else if (step) showStep(store, Number(step));
  else if (go) {
    const [which, at] = JSON.parse(go);
    Object.assign(store.list, { tab: "replay", only: "all", replayed: listExplanations(store)[which]?.steps });
    showStep(store, at);
  } else return false;
  return true;
}

/** @param {Store} store @param {string} how */
function stepReplay(store, how) {
  const answer = findReplay(store);
  if (!answer) return;
  const steps = filterSteps(store, decodeSteps(answer));
  const { at } = store.list;
  const next = {
    first: steps[0],
    last: steps[steps.length - 1],
    next: steps.find((step) => step.at > at),
    previous: [...steps].reverse().find((step) => step.at < at),
  }[how];
  if (next) showStep(store, next.at);
  else stop(store);
}

/** Show a step: select the equations of both sides, wherever they are drawn. @param {Store} store @param {number} at */
function showStep(store, at) {
  const answer = findReplay(store);
  const step = answer && decodeSteps(answer)[at];
  if (!step) return;
  store.list.at = at;
  store.selectPaths("step", String(at), { paths: [...step.from, ...step.to] });
}

/** @param {Store} store */
function play(store) {
  if (players.has(store)) return stop(store);
  const answer = findReplay(store);
  const steps = answer ? filterSteps(store, decodeSteps(answer)) : [];
  if (!steps.length) return;
  players.set(
    store,
    setInterval(() => (isReplayShown(store) && store.listeners.size ? stepReplay(store, "next") : stop(store)), PLAYED),
  );
  stepReplay(store, steps[steps.length - 1].at === store.list.at ? "first" : "next");
}

/** @param {Store} store */
function stop(store) {
  clearInterval(players.get(store));
  if (players.delete(store)) store.notify("list");
}

/**
 * Handle a key while the replay has the focus; return whether it was used.
 * @param {Store} store
 * @param {KeyboardEvent} event
 * @param {Element} target
 */
function handleReplayKey(store, event, target) {
  if (!isReplayShown(store) || !target.closest(".xs-kernels") || target.matches("input, select")) return false;
  const moves = {
    ArrowLeft: "previous",
    ArrowUp: "previous",
    ArrowRight: "next",
    ArrowDown: "next",
    Home: "first",
    End: "last",
  };
  const move = moves[/** @type {"Home"} */ (event.key)];
  if (move) stepReplay(store, move);
  else if (event.key === " " && !target.matches("button")) play(store);
  else return false;
  event.preventDefault();
  return true;
}
