// @ts-check
/** Questions that only the kernel can answer: what was asked, how far it is, and what was found. Looking never needs this. */

import { el } from "../program/element.js";
import { percent, seconds } from "../program/format.js";
import { banner } from "./banners.js";
/** @typedef {import("../program/store.js").Store} Store */
/** @typedef {import("../program/wire.js").Model} Model */
/** @typedef {import("../program/wire.js").Question} Question */
/** @typedef {import("../program/wire.js").Answer} Answer */
/** @typedef {import("../program/wire.js").Finding} Finding */
/** @typedef {import("../program/wire.js").Findings} Findings */
/** @typedef {import("../program/wire.js").Explained} Explained */
/** @typedef {import("../program/wire.js").Passes} Passes */
/** How far a question is: what the kernel said of it, or what is known while it says nothing.
 * @typedef {{id: string, state: string, progress?: number|null, message?: string}} AskState */

/** Milliseconds after which a question without any reply is waiting, and after which it may wait in vain. */
const ASK_LATE = 1200;
const ASK_LOST = 12000;
const NEEDS_KERNEL = "needs the kernel that made this: run the cell again";

/** @param {Question} question what makes two questions the same */
function questionKey(question) {
  return ["question", "program", "target", "from", "to"].map((name) => question[/** @type {"from"} */ (name)] ?? "").join("\n");
}

export class Asks {
  constructor() {
    /** @type {string[]} */ this.questions = [];
    /** @type {string[]} */ this.targets = [];
    /** How to get what compiles for a target, where that is not there. @type {Record<string, string>} */ this.missing = {};
    /** The target without a compiler that was chosen. */ this.wanted = "";
    /** @type {Record<string, Answer>} */ this.answers = {};
    /** @type {Record<string, Finding>} */ this.findings = {};
    /** When a question was sent, by id. @type {Map<string, {key: string, at: number}>} */ this.sent = new Map();
    /** @type {((message: object) => unknown)|undefined} */ this.send = undefined;
    this.failed = false;
  }

  /** @param {Model} model */
  take(model) {
    this.questions = model.get("questions") ?? [];
    this.targets = model.get("targets") ?? [];
    this.missing = model.get("missing") ?? {};
    this.answers = model.get("answers") ?? {};
    this.findings = model.get("findings") ?? {};
    this.send = model.send?.bind(model);
  }

  /** @param {string} kind */
  can(kind) {
    return Boolean(this.send) && !this.failed && this.questions.includes(kind);
  }

  /** The latest state of a question; undefined when it was never asked. @param {Question} question @returns {AskState|undefined} */
  state(question) {
    const key = questionKey(question);
    const told = Object.entries(this.answers).filter(([, answer]) => questionKey(answer.question) === key).pop();
    const sent = [...this.sent].filter(([, { key: own }]) => own === key).pop();
    const [id, known] = sent ? [sent[0], this.answers[sent[0]]] : told ?? ["", undefined];
    if (known) return { ...known, id };
    if (!sent) return undefined;
    const waited = Date.now() - sent[1].at;
    return { id: sent[0], state: waited > ASK_LOST ? "lost" : waited > ASK_LATE ? "late" : "sent" };
  }

  /** What was answered as text. @param {Question} question @returns {string} */
  text(question) {
    return this.findings[this.state(question)?.id ?? ""]?.text ?? "";
  }

  /** @param {Store} store @param {Question} question */
  ask(store, question) {
    const state = this.state(question)?.state ?? "";
    if (!this.can(question.question) || ["sent", "late", "working"].includes(state)) return;
    const id = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
    this.sent.set(id, { key: questionKey(question), at: Date.now() });
    for (const wait of [ASK_LATE, ASK_LOST]) setTimeout(() => store.tell("asks"), wait + 50);
    this.tell(store, { ask: { id, ...question } });
    store.tell("asks");
  }

  /** @param {Store} store @param {string} id */
  cancel(store, id) {
    if (!this.answers[id]) this.sent.delete(id);
    this.tell(store, { cancel: id });
    store.tell("asks");
  }

  /** A channel that is closed says so in ways of its own. @param {Store} store @param {object} message */
  tell(store, message) {
    const lost = () => {
      this.failed = true;
      this.sent.clear();
      store.tell("asks");
    };
    try {
      const sent = /** @type {Promise<unknown>|undefined} */ (this.send?.(message));
      sent?.catch?.(lost);
    } catch {
      lost();
    }
  }

  /** What was found out about a program, with what its records said already.
   * @param {{heavy: Partial<Findings>, number: number}|undefined} program @returns {Findings} */
  found(program) {
    const { targets = {}, explained = [], passes = [] } = program?.heavy ?? {};
    const all = { targets: { ...targets }, explained: [...explained], passes: [...passes] };
    for (const finding of Object.values(this.findings)) {
      if (finding.program !== program?.number) continue;
      Object.assign(all.targets, finding.targets);
      all.explained.push(...(finding.explained ?? []));
      all.passes.push(...(finding.passes ?? []));
    }
    return all;
  }
}

/** A button that asks, or how far the answer is; nothing when it has been given. @param {Store} store @param {Question} question @param {string} label */
export function drawAsk(store, question, label) {
  const known = store.asks.state(question);
  if (known?.state === "working") return drawProgress(known);
  if (known && ["sent", "late", "lost"].includes(known.state)) return drawWaiting(known);
  if (known?.state === "done") return null;
  const can = store.asks.can(question.question);
  return el("div", { class: "xs-ask" },
    known?.state === "failed" && el("div", { class: "xs-ask-bad", role: "alert" }, known.message),
    known?.state === "cancelled" && el("span", { class: "xs-muted" }, "cancelled "),
    el("button", { class: "xs-pill", type: "button", disabled: can ? null : "", "data-ask": JSON.stringify(question), "data-focus": questionKey(question) },
      known ? "ask again" : label),
    !can && el("span", { class: "xs-muted xs-small" }, ` ${NEEDS_KERNEL}`));
}

/** @param {AskState} known */
function drawProgress(known) {
  const share = known.progress;
  const bar = { class: "xs-progress", role: "progressbar", "aria-label": "answering", "aria-valuemin": 0, "aria-valuemax": 100 };
  return el("div", { class: "xs-ask" },
    el("div", share == null ? bar : { ...bar, "aria-valuenow": Math.round(share * 100) }, el("i", { style: `width:${share == null ? 30 : share * 100}%`, class: share == null ? "unknown" : null })),
    el("span", { class: "xs-muted xs-small" }, [known.message || "compiling once more, apart from your program", share != null && percent(share)].filter(Boolean).join(" · "), " "),
    cancelButton(known));
}

/** @param {AskState} known */
function drawWaiting(known) {
  const words = { sent: "asked", late: "queued: the kernel is busy", lost: "no reply yet: the kernel is busy, or it was restarted (then run the cell again)" };
  return el("div", { class: "xs-ask", role: "status" }, el("span", { class: "xs-muted xs-small" }, `${words[/** @type {"sent"} */ (known.state)]} `), cancelButton(known));
}

/** @param {AskState} known */
function cancelButton(known) {
  return el("button", { class: "xs-pill", type: "button", "data-cancel": known.id, "data-focus": "cancel" }, "cancel");
}

/** Everything that is asked just now about other targets: there is no tab yet in which it could be said. @param {Store} store */
export function drawPending(store) {
  const { measured } = store;
  const told = Object.values(store.asks.answers).map((answer) => answer.question);
  const sent = [...store.asks.sent.values()].map(({ key }) => key.split("\n"))
    .map(([question, program, target]) => ({ question, program: Number(program), target }));
  const all = [...told, ...sent].filter((question) => question.question === "target" && question.program === measured?.number);
  const latest = new Map(all.map((question) => [question.target, question]));
  return [installNote(store.asks), [...latest.values()].map((question) => {
    const drawn = store.asks.found(measured).targets[question.target ?? ""] ? null : drawAsk(store, question, "");
    return drawn && banner(`${store.uid} ${question.target} ${store.asks.state(question)?.id}`, {}, el("b", {}, `${question.target} `), drawn);
  })];
}

/** What to install for a target that was chosen and has no compiler here. @param {Asks} asks */
function installNote({ wanted, missing }) {
  const line = missing[wanted];
  if (!line) return null;
  const command = line.match(/^pip .*/) ? `%${line}` : line.match(/^python -m /) ? line.replace("python", "%run") : "";
  return el("div", { class: "xs-note", role: "status" }, el("b", {}, wanted), command
    ? [" needs its compiler, which is not installed here. Run ", el("code", { class: "xs-command" }, command), " in a cell, then run the cell above again. No such hardware is needed."] : `: ${line}`,
    el("button", { class: "xs-close", type: "button", "data-unwanted": "", "aria-label": "close" }, "×"));
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
