// @ts-check
/** What asks the kernel: a button, how far its answer is, and what was said of it. */

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
 * A button that asks, or how far the answer is; nothing when it has been given.
 * @param {Store} store
 * @param {Question} question
 * @param {string} label
 */
export function drawQuery(store, question, label) {
  const known = store.queries.getState(question);
  if (known?.state === "working") return drawProgress(known);
  if (known && ["sent", "late", "lost"].includes(known.state)) return drawWaiting(known);
  if (known?.state === "done") return null;
  const can = store.queries.canAsk(question.question);
  return el(
    "div",
    { class: "xs-ask" },
    known?.state === "failed" && el("div", { class: "xs-ask-bad", role: "alert" }, known.message),
    known?.state === "cancelled" && el("span", { class: "xs-muted" }, "cancelled "),
    el(
      "button",
      {
        class: "xs-pill",
        type: "button",
        disabled: can ? null : "",
        "data-ask": JSON.stringify(question),
        "data-focus": getQuestionKey(question),
      },
      known ? "ask again" : label,
    ),
    !can && el("span", { class: "xs-muted xs-small" }, ` ${NEEDS_KERNEL}`),
  );
}

/** @param {AskState} known */
function drawProgress(known) {
  const share = known.progress;
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
      [known.message || "compiling once more, apart from your program", share != null && formatPercent(share)]
        .filter(Boolean)
        .join(" · "),
      " ",
    ),
    drawCancelButton(known),
  );
}

/** @param {AskState} known */
function drawWaiting(known) {
  const words = {
    sent: "asked",
    late: "queued: the kernel is busy",
    lost: "no reply yet: the kernel is busy, or it was restarted (then run the cell again)",
  };
  return el(
    "div",
    { class: "xs-ask", role: "status" },
    el("span", { class: "xs-muted xs-small" }, `${words[/** @type {"sent"} */ (known.state)]} `),
    drawCancelButton(known),
  );
}

/** @param {AskState} known */
function drawCancelButton(known) {
  return el("button", { class: "xs-pill", type: "button", "data-cancel": known.id, "data-focus": "cancel" }, "cancel");
}

/**
 * Everything that is asked just now about other targets: there is no tab yet in which it could be said.
 * @param {Store} store
 */
export function drawPendingTargets(store) {
  const { measured } = store;
  const told = Object.values(store.queries.answers).map((answer) => answer.question);
  const sent = [...store.queries.sent.values()]
    .map(({ key }) => key.split("\n"))
    .map(([question, program, target]) => ({ question, program: Number(program), target }));
  const all = [...told, ...sent].filter(
    (question) => question.question === "target" && question.program === measured?.number,
  );
  const latest = new Map(all.map((question) => [question.target, question]));
  return [
    drawInstallNote(store.queries),
    [...latest.values()].map((question) => {
      const drawn = store.queries.listFindings(measured).targets[question.target ?? ""]
        ? null
        : drawQuery(store, question, "");
      return (
        drawn &&
        drawBanner(
          `${store.uid} ${question.target} ${store.queries.getState(question)?.id}`,
          {},
          el("b", {}, `${question.target} `),
          drawn,
        )
      );
    }),
  ];
}

/** What to install for a target that was chosen and has no compiler here. @param {Asks} asks */
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

/** A click on something that asks or cancels; true when it was one. @param {Store} store @param {Element} target */
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

/** How long an answer took to compile, and for which program. @param {Explained|Passes} found */
export function describeAnswer(found) {
  const whole = found.complete ? "" : " · stopped at its time limit: not all of it is here";
  return `${found.module || "the program"}, compiled for this in ${formatTime(found.seconds)}${whole}`;
}
