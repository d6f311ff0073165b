// @ts-check
/** Answers to "why are these not fused?", for two kernels or an edge of the graph, in XLA's and in plain words. */

import { el } from "../ground/element.js";
import { formatBytes, formatInt, formatTime, pluralize } from "../ground/format.js";
import { describeAnswer, drawQuery } from "../parts/question_form.js";
import { filterBoundaries, findEdgeKernels } from "../program/kernel_boundaries.js";
import { explainTerms } from "../program/terms.js";
import { decodeSteps, findDecision, listExplanations } from "./fusion_decisions.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("./fusion_decisions.js").Step} Step */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../ground/wire.js").Explained} Explained */
/** @typedef {{from: string|null, to: string|null, paths: string[]}} Pair */
/**
 * What is known of a pair: a step of an explanation; with `isDecided`, of exactly this pair.
 * @typedef {{step: Step|undefined, explanation: Explained, steps: Step[], isDecided: boolean}} Answer
 */

/**
 * The two that are selected: kernels, or the ends of an edge. null when the selection is something else.
 * @param {Store} store
 * @returns {Pair|null}
 */
export function findSelectedPair(store) {
  const { program, selection } = store;
  if (!program || (selection.kind !== "kernels" && selection.kind !== "edge")) return null;
  const ids = JSON.parse(selection.id);
  if (ids.length !== 2) return null;
  if (selection.kind === "kernels") return { from: ids[0], to: ids[1], paths: [] };
  const [from, to] = findEdgeKernels(program, ids[0], ids[1]);
  return { from, to, paths: ids };
}

/**
 * Describe a selection of several items: an edge, kernels, a step of the replay.
 * @param {Store} store
 * @returns {string[]|null}
 */
export function describeSelection(store) {
  const { program, selection } = store;
  if (!program || !["edge", "kernels", "step"].includes(selection.kind ?? "")) return null;
  const counts = [pluralize(selection.paths.size, "equation"), pluralize(selection.kernels.size, "kernel")];
  if (selection.kind === "step")
    return [`step ${formatInt(Number(selection.id) + 1)} of the fusion decisions`, ...counts];
  const ids = JSON.parse(selection.id);
  if (selection.kind === "kernels")
    return [
      ids.length > 4
        ? pluralize(ids.length, "kernel")
        : ids.map((/** @type {string} */ name) => program.describeKernel(name)).join(" · "),
      ...counts,
    ];
  const title = ids.map((/** @type {string} */ path) => program.equations.get(path)?.op ?? path).join(" → ");
  return [
    title,
    `in ${[...selection.kernels].map((name) => program.getKernelTitle(name)).join(" and in ") || "no kernel"}`,
  ];
}

/** @param {string} from @param {string} to */
export function drawWhyNotButton(from, to) {
  return el(
    "button",
    {
      class: "xs-pill xs-why-button",
      type: "button",
      "data-why": JSON.stringify([from, to]),
      "data-focus": `why ${from} ${to}`,
      "aria-label": `why is ${from} not fused with ${to}?`,
      title: "why are these not fused?",
    },
    "why not fused?",
  );
}

/** Draw the answer for the selected pair; return nothing when there is none. @param {Store} store */
export function drawWhy(store) {
  const pair = findSelectedPair(store);
  if (!pair) return null;
  return el("div", { class: "xs-whynot", role: "region", "aria-label": "why, and why not" }, drawPair(store, pair));
}

/** @param {Store} store @param {Pair} pair */
function drawPair(store, pair) {
  const { from, to } = pair;
  const name = (/** @type {string|null} */ kernel) => store.program?.describeKernel(kernel);
  const theirs = (/** @type {(string|null)[]} */ names) =>
    el(
      "div",
      { class: "xs-muted xs-small" },
      "XLA's name",
      names.length > 1 ? "s " : " ",
      names.map((kernelName, i) => [i ? " and " : "", el("span", { class: "xs-mono" }, kernelName)]),
    );
  if (from == null || to == null) return drawFolded(store, pair);
  const answer = findAnswer(store, pair);
  if (from === to)
    return [
      el("b", {}, "Fused: both are in one kernel, ", name(from)),
      theirs([from]),
      el("div", { class: "xs-muted" }, "What passes between them is neither written to memory nor read back."),
      answer ? drawDecision(store, pair, answer) : drawQuery(store, buildQuestion(store, pair), "How was it decided?"),
      drawSplit(store, pair),
    ];
  return [
    el("b", {}, "Why are ", name(from), " and ", name(to), " not fused?"),
    theirs([from, to]),
    drawPassedValues(store, from, to),
    answer ? drawDecision(store, pair, answer) : drawQuery(store, buildQuestion(store, pair), "Ask XLA"),
  ];
}

/** @param {Store} store @param {Pair} pair */
function drawFolded(store, pair) {
  const missing = pair.paths.filter((path) => !store.program?.listKernels(path).length);
  if (!store.program?.heavy.kernels)
    return el(
      "span",
      { class: "xs-muted" },
      "Not compiled yet: after compilation this says whether the two were fused, and why not.",
    );
  const names = missing.map((path) => store.program?.equations.get(path)?.op ?? "an argument or result").join(" and ");
  return [
    el("b", {}, "Nothing to fuse here: "),
    el(
      "span",
      { class: "xs-muted" },
      `${names} ${missing.length > 1 ? "are" : "is"} in no kernel: XLA folded it away, or it is an input or output of the program.`,
    ),
  ];
}

/** @param {Store} store @param {string} from @param {string} to */
function drawPassedValues(store, from, to) {
  const boundaries = filterBoundaries(/** @type {Program} */ (store.program), from, to);
  if (!boundaries.length)
    return el(
      "div",
      { class: "xs-muted" },
      "Neither reads what the other writes: nothing passes directly between them.",
    );
  return boundaries.map((boundary) =>
    el(
      "div",
      { class: "xs-muted" },
      explainTerms(`kernel boundary: ${boundary.type}, ${formatBytes(boundary.bytes)} (roofline estimate)`),
      boundary.to.length > 1 && `, read by ${pluralize(boundary.to.length, "kernel")}`,
    ),
  );
}

/** @param {Store} store @param {Pair} pair */
function buildQuestion(store, pair) {
  const ends = pair.paths.length ? pair.paths : [pair.from, pair.to];
  return {
    question: "why",
    program: store.measured?.number ?? 0,
    target: store.aimed,
    from: ends[0] ?? "",
    to: ends[1] ?? "",
    edge: ends,
  };
}

/**
 * Return the answer for a pair. An answer to this exact question has priority over other explanations, which count only
 * where the compiled program came to the same result.
 * @param {Store} store
 * @param {Pair} pair
 * @returns {Answer|undefined}
 */
function findAnswer(store, pair) {
  const { program } = store;
  const edge = JSON.stringify(buildQuestion(store, pair).edge);
  const [from, to] =
    pair.from === pair.to
      ? pair.paths.map((path) => [path])
      : [pair.from, pair.to].map((name) => program?.kernels.get(name ?? "")?.eqns ?? []);
  const all = listExplanations(store);
  const mine = all.find((answer) => answer.edge && JSON.stringify(answer.edge) === edge);
  for (const answer of mine ? [mine] : all) {
    const steps = decodeSteps(answer);
    const step = findDecision(steps, new Set(from), new Set(to));
    const fits = step && step.fused === (pair.from === pair.to);
    // An equation may have lost its name in the compiler; its kernel is still known.
    if (fits && (!mine || ["never", "gone"].includes(mine.outcome ?? "")))
      return { step, explanation: answer, steps, isDecided: true };
  }
  return (
    mine && {
      step: decodeSteps(mine)[mine.about?.at(-1) ?? -1],
      explanation: mine,
      steps: decodeSteps(mine),
      isDecided: ["fused", "refused"].includes(mine.outcome ?? ""),
    }
  );
}

/** @param {Store} store @param {Pair} pair */
function listSharedEquations(store, pair) {
  const [from, to] = [pair.from, pair.to].map((name) => store.program?.kernels.get(name ?? "")?.eqns ?? []);
  return pair.from === pair.to ? [] : [...new Set(from)].filter((path) => to.includes(path));
}

/** @param {Store} store @param {Pair} pair @param {Answer} answer */
function drawDecision(store, pair, { step, explanation: answer, steps, isDecided }) {
  const shared = listSharedEquations(store, pair);
  if (answer.outcome === "fused" && shared.length) {
    const names = [...new Set(shared.map((path) => store.program?.equations.get(path)?.op))].slice(0, 4).join(", ");
    return [
      el(
        "div",
        { class: "xs-plain" },
        `Both compute ${names}: XLA put that into each of them, so that it need not pass through memory.`,
      ),
      el("div", { class: "xs-muted xs-small" }, describeAnswer(answer)),
    ];
  }
  const cost = step && describeCost(step);
  return [
    isDecided && step?.reason && el("div", {}, `XLA: “${step.reason}”`),
    el("div", { class: "xs-plain" }, isDecided && step ? step.plain : answer.answer),
    cost && el("div", { class: "xs-muted" }, explainTerms(cost)),
    el(
      "div",
      { class: "xs-muted xs-small" },
      isDecided && step && ["decided by ", el("span", { class: "xs-mono" }, step.pass), " · "],
      describeAnswer(answer),
      answer.note && ` · ${answer.note}`,
    ),
    isDecided &&
      step &&
      el(
        "button",
        {
          class: "xs-pill",
          type: "button",
          "data-go": JSON.stringify([listExplanations(store).indexOf(answer), step.at]),
          "data-focus": "go",
        },
        `step ${formatInt(step.at + 1)} of ${formatInt(steps.length)} ▸`,
      ),
  ];
}

/** @param {Step} step */
export function describeCost(step) {
  if (step.fusedSeconds == null && step.apartSeconds == null) return "";
  const say = (/** @type {number|null} */ time) => (time == null ? "not estimated" : formatTime(time));
  return `fused ${say(step.fusedSeconds)}, apart ${say(step.apartSeconds)} (XLA's estimate)`;
}

/** Draw the estimate for running both apart, which is answered as text. @param {Store} store @param {Pair} pair */
function drawSplit(store, pair) {
  if (!pair.paths.length || store.aimed || !store.queries.canAsk("split")) return null;
  const query = { ...buildQuestion(store, pair), question: "split" };
  const text = store.queries.getText(query);
  return text
    ? el("pre", { class: "xs-answer", tabindex: 0, "aria-label": "as it is, and split" }, text)
    : drawQuery(store, query, "What if they were split here?");
}

/**
 * Handle the key w on a node: ask about it and the selected equation; return whether it was used.
 * @param {Store} store
 * @param {KeyboardEvent} event
 * @param {Element} target
 */
export function handleWhyKey(store, event, target) {
  const other = target.closest(".xs-node, [role=treeitem]")?.getAttribute("data-path");
  const { kind, id } = store.selection;
  if (event.key !== "w" || kind !== "equation" || !other || other === id || target.matches("input, select"))
    return false;
  const forth = store.program?.equations
    .get(other)
    ?.in.some((name) => store.program?.equations.get(id)?.out.includes(name));
  store.selectEdge(...(forth ? /** @type {const} */ ([id, other]) : /** @type {const} */ ([other, id])));
  return true;
}
