// @ts-check
/** Questions that only the kernel can answer: what was asked, the progress, and the answers. */

/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("../ground/wire.js").Model} Model */
/** @typedef {import("../ground/wire.js").Question} Question */
/** @typedef {import("../ground/wire.js").Answer} Answer */
/** @typedef {import("../ground/wire.js").Finding} Finding */
/** @typedef {import("../ground/wire.js").Findings} Findings */
/** @typedef {import("../ground/wire.js").Explained} Explained */
/** @typedef {import("../ground/wire.js").Passes} Passes */
/** How far a question is: what the kernel said of it, or what is known while it says nothing.
 * @typedef {{id: string, state: string, progress?: number|null, message?: string}} AskState */

/** Milliseconds after which a question without any reply is waiting, and after which it may wait in vain. */
const ASK_LATE = 1200;
const ASK_LOST = 12000;

/** @param {Question} question what makes two questions the same */
export function getQuestionKey(question) {
  return ["question", "program", "target", "from", "to"]
    .map((name) => question[/** @type {"from"} */ (name)] ?? "")
    .join("\n");
}

export class Queries {
  constructor() {
    /** @type {string[]} */ this.questions = [];
    /** @type {string[]} */ this.targets = [];
    /** How to get what compiles for a target, where that is not there. @type {Record<string, string>} */ this.missing =
      {};
    /** The target without a compiler that was chosen. */ this.wanted = "";
    /** @type {Record<string, Answer>} */ this.answers = {};
    /** @type {Record<string, Finding>} */ this.findings = {};
    /** When a question was sent, by id. @type {Map<string, {key: string, at: number}>} */ this.sent = new Map();
    /** @type {((message: object) => unknown)|undefined} */ this.send = undefined;
    this.failed = false;
  }

  /** @param {Model} model */
  readModel(model) {
    this.questions = model.get("questions") ?? [];
    this.targets = model.get("targets") ?? [];
    this.missing = model.get("missing") ?? {};
    this.answers = model.get("answers") ?? {};
    this.findings = model.get("findings") ?? {};
    this.send = model.send?.bind(model);
  }

  /** @param {string} kind */
  canAsk(kind) {
    return Boolean(this.send) && !this.failed && this.questions.includes(kind);
  }

  /**
   * Return the latest state of a question; undefined when it was never asked.
   * @param {Question} question
   * @returns {AskState|undefined}
   */
  getState(question) {
    const key = getQuestionKey(question);
    const answered = Object.entries(this.answers)
      .filter(([, answer]) => getQuestionKey(answer.question) === key)
      .pop();
    const sent = [...this.sent].filter(([, { key: sentKey }]) => sentKey === key).pop();
    const [id, answer] = sent ? [sent[0], this.answers[sent[0]]] : (answered ?? ["", undefined]);
    if (answer) return { ...answer, id };
    if (!sent) return undefined;
    const waited = Date.now() - sent[1].at;
    return { id: sent[0], state: waited > ASK_LOST ? "lost" : waited > ASK_LATE ? "late" : "sent" };
  }

  /** Return the answer of a question as text. @param {Question} question @returns {string} */
  getText(question) {
    return this.findings[this.getState(question)?.id ?? ""]?.text ?? "";
  }

  /** @param {Store} store @param {Question} question */
  ask(store, question) {
    const state = this.getState(question)?.state ?? "";
    if (!this.canAsk(question.question) || ["sent", "late", "working"].includes(state)) return;
    const id = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
    this.sent.set(id, { key: getQuestionKey(question), at: Date.now() });
    for (const wait of [ASK_LATE, ASK_LOST]) setTimeout(() => store.notify("asks"), wait + 50);
    this.sendMessage(store, { ask: { id, ...question } });
    store.notify("asks");
  }

  /** @param {Store} store @param {string} id */
  cancel(store, id) {
    if (!this.answers[id]) this.sent.delete(id);
    this.sendMessage(store, { cancel: id });
    store.notify("asks");
  }

  /**
   * Send a message; handle each way in which a closed channel reports that.
   * @param {Store} store
   * @param {object} message
   */
  sendMessage(store, message) {
    const handleLostChannel = () => {
      this.failed = true;
      this.sent.clear();
      store.notify("asks");
    };
    try {
      const sent = /** @type {Promise<unknown>|undefined} */ (this.send?.(message));
      sent?.catch?.(handleLostChannel);
    } catch {
      handleLostChannel();
    }
  }

  /**
   * Return the findings about a program, including those in its records.
   * @param {{heavy: Partial<Findings>, number: number}|undefined} program
   * @returns {Findings}
   */
  listFindings(program) {
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
