// @ts-check
/** Form of a question to the kernel: a button, the progress of the answer, and errors. */

import { el } from "../ground/element.js";
import { formatPercent, formatTime } from "../ground/format.js";
import { getQuestionKey } from "../store/queries.js";
import { drawBanner } from "./banners.js";
/** @typedef {import("../store/queries.js").AskState} AskState */
/** @typedef {import("../store/queries.js").Queries} Asks */
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../ground/wire.js").Question} Question */
/** @typedef {import("../ground/wire.js").Explained} Explained */
/** @typedef {import("../ground/wire.js").Passes} Passes */

const NEEDS_KERNEL = "needs the kernel that made this: run the cell again";

/**
 * Draw the button of a question, or the progress of its answer; return nothing when it is answered.
 * @param {Store} store
 * @param {Question} question
 * @param {string} label
 */
export function drawQuery(store, question, label) {
  const state = store.queries.getState(question);
  if (state?.state === "working") return drawProgress(state);
  if (state && ["sent", "late", "lost"].includes(state.state)) return drawWaiting(state);
  if (state?.state === "done") return null;
  const can = store.queries.canAsk(question.question);
  return el(
    "div",
    { class: "xs-ask" },
    state?.state === "failed" && el("div", { class: "xs-ask-bad", role: "alert" }, state.message),
    state?.state === "cancelled" && el("span", { class: "xs-muted" }, "cancelled "),
    el(
      "button",
      {
        class: "xs-pill",
        type: "button",
        disabled: can ? null : "",
        "data-ask": JSON.stringify(question),
        "data-focus": getQuestionKey(question),
      },
      state ? "ask again" : label,
    ),
    !can && el("span", { class: "xs-muted xs-small" }, ` ${NEEDS_KERNEL}`),
  );
}

/** @param {AskState} state */
function drawProgress(state) {
  const share = state.progress;
  const bar = {
    class: "xs-progress",
    role: "progressbar",
    "aria-label": "answering",
    "aria-valuemin": 0,
    "aria-valuemax": 100,
  };
  return el(
    "div",
    { class: "xs-ask" },
    el(
      "div",
      share == null ? bar : { ...bar, "aria-valuenow": Math.round(share * 100) },
      el("i", { style: `width:${share == null ? 30 : share * 100}%`, class: share == null ? "unknown" : null }),
    ),
    el(
      "span",
      { class: "xs-muted xs-small" },
      [state.message || "compiling once more, apart from your program", share != null && formatPercent(share)]
        .filter(Boolean)
        .join(" · "),
      " ",
    ),
    drawCancelButton(state),
  );
}

/** @param {AskState} state */
function drawWaiting(state) {
  const words = {
    sent: "asked",
    late: "queued: the kernel is busy",
    lost: "no reply yet: the kernel is busy, or it was restarted (then run the cell again)",
  };
  return el(
    "div",
    { class: "xs-ask", role: "status" },
    el("span", { class: "xs-muted xs-small" }, `${words[/** @type {"sent"} */ (state.state)]} `),
    drawCancelButton(state),
  );
}

/** @param {AskState} state */
function drawCancelButton(state) {
  return el("button", { class: "xs-pill", type: "button", "data-cancel": state.id, "data-focus": "cancel" }, "cancel");
}

/** Draw the running compilations for other targets, which have no tab yet. @param {Store} store */
export function drawPending(store) {
  const { measured } = store;
  const answered = Object.values(store.queries.answers).map((answer) => answer.question);
  const sent = [...store.queries.sent.values()]
    .map(({ key }) => key.split("\n"))
    .map(([question, program, target]) => ({ question, program: Number(program), target }));
  const all = [...answered, ...sent].filter(
    (question) => question.question === "target" && question.program === measured?.number,
  );
  const latest = new Map(all.map((question) => [question.target, question]));
  return [
    drawInstallNote(store.queries),
    [...latest.values()].map((question) => {
      const form = store.queries.listFindings(measured).targets[question.target ?? ""]
        ? null
        : drawQuery(store, question, "");
      return (
        form &&
        drawBanner(
          `${store.uid} ${question.target} ${store.queries.getState(question)?.id}`,
          {},
          el("b", {}, `${question.target} `),
          form,
        )
      );
    }),
  ];
}

/** Draw what to install for a chosen target without a compiler. @param {Asks} asks */
function drawInstallNote({ wanted, missing }) {
  const line = missing[wanted];
  if (!line) return null;
  const command = line.match(/^pip .*/) ? `%${line}` : line.match(/^python -m /) ? line.replace("python", "%run") : "";
  return el(
    "div",
    { class: "xs-note", role: "status" },
    el("b", {}, wanted),
    command
      ? [
          " needs its compiler, which is not installed here. Run ",
          el("code", { class: "xs-command" }, command),
          " in a cell, then run the cell above again. No such hardware is needed.",
        ]
      : `: ${line}`,
    el("button", { class: "xs-close", type: "button", "data-unwanted": "", "aria-label": "close" }, "×"),
  );
}

/**
 * Handle a click on a button that asks or cancels; return whether it was one.
 * @param {Store} store
 * @param {Element} target
 */
export function handleQueryClick(store, target) {
  const question = target.closest("[data-ask]")?.getAttribute("data-ask");
  const id = target.closest("[data-cancel]")?.getAttribute("data-cancel");
  const unwanted = target.closest("[data-unwanted]");
  if (unwanted) store.queries.wanted = "";
  if (unwanted) store.notify("asks");
  if (question) store.queries.ask(store, JSON.parse(question));
  if (id) store.queries.cancel(store, id);
  return Boolean(question || id || unwanted);
}

/** Describe for which program an answer was compiled, and how long that took. @param {Explained|Passes} answer */
export function describeAnswer(answer) {
  const limit = answer.complete ? "" : " · stopped at its time limit: not all of it is here";
  return `${answer.module || "the program"}, compiled for this in ${formatTime(answer.seconds)}${limit}`;
}
