// @ts-check
/** What asks the kernel: a button, how far its answer is, and what was said of it. */

import { el } from "../ground/element.js";
import { percent, seconds } from "../ground/format.js";
import { questionKey } from "../store/queries.js";
import { banner } from "./banners.js";
/** @typedef {import("../store/queries.js").AskState} AskState */
/** @typedef {import("../store/queries.js").Asks} Asks */
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
export function drawAsk(store, question, label) {
  const known = store.asks.state(question);
  if (known?.state === "working") return drawProgress(known);
  if (known && ["sent", "late", "lost"].includes(known.state)) return drawWaiting(known);
  if (known?.state === "done") return null;
  const can = store.asks.can(question.question);
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
        "data-focus": questionKey(question),
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
      [known.message || "compiling once more, apart from your program", share != null && percent(share)]
        .filter(Boolean)
        .join(" · "),
      " ",
    ),
    cancelButton(known),
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
    cancelButton(known),
  );
}

/** @param {AskState} known */
function cancelButton(known) {
  return el("button", { class: "xs-pill", type: "button", "data-cancel": known.id, "data-focus": "cancel" }, "cancel");
}

/**
 * Everything that is asked just now about other targets: there is no tab yet in which it could be said.
 * @param {Store} store
 */
export function drawPending(store) {
  const { measured } = store;
  const told = Object.values(store.asks.answers).map((answer) => answer.question);
  const sent = [...store.asks.sent.values()]
    .map(({ key }) => key.split("\n"))
    .map(([question, program, target]) => ({ question, program: Number(program), target }));
  const all = [...told, ...sent].filter(
    (question) => question.question === "target" && question.program === measured?.number,
  );
  const latest = new Map(all.map((question) => [question.target, question]));
  return [
    installNote(store.asks),
    [...latest.values()].map((question) => {
      const drawn = store.asks.found(measured).targets[question.target ?? ""] ? null : drawAsk(store, question, "");
      return (
        drawn &&
        banner(
          `${store.uid} ${question.target} ${store.asks.state(question)?.id}`,
          {},
          el("b", {}, `${question.target} `),
          drawn,
        )
      );
    }),
  ];
}

/** What to install for a target that was chosen and has no compiler here. @param {Asks} asks */
function installNote({ wanted, missing }) {
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
export function pressAsk(store, target) {
  const question = target.closest("[data-ask]")?.getAttribute("data-ask");
  const id = target.closest("[data-cancel]")?.getAttribute("data-cancel");
  const unwanted = target.closest("[data-unwanted]");
  if (unwanted) store.asks.wanted = "";
  if (unwanted) store.tell("asks");
  if (question) store.asks.ask(store, JSON.parse(question));
  if (id) store.asks.cancel(store, id);
  return Boolean(question || id || unwanted);
}

/** How long an answer took to compile, and for which program. @param {Explained|Passes} found */
export function answeredWords(found) {
  const whole = found.complete ? "" : " · stopped at its time limit: not all of it is here";
  return `${found.module || "the program"}, compiled for this in ${seconds(found.seconds)}${whole}`;
}
