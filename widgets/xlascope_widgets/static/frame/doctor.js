// @ts-check
/** The doctor's card: at most three things that are wrong with the program shown, each with what to do about it. */

import { el, fill } from "../program/element.js";
import { percent, plural } from "../program/format.js";
import { goTo } from "../graph/explorer.js";
/** @typedef {import("../program/store.js").Store} Store */
/** @typedef {import("../program/wire.js").Advice} Advice */
/** @typedef {import("./view.js").View} View */

/** Draw the card of the program shown when it has changed; none where nothing was found and nobody asked.
 * @param {HTMLElement} part @param {Store} store */
export function showDoctor(part, store) {
  const number = store.measured?.number;
  const told = store.live.doctor?.[String(number)];
  part.hidden = !told;
  const state = JSON.stringify([number, told ?? null]);
  if (part.dataset.state === state) return;
  part.dataset.state = state;
  fill(part, told ? card(told.findings, told.rules, told.notes ?? []) : []);
}

/** @param {Advice[]} findings @param {number} rules @param {string[]} notes */
function card(findings, rules, notes) {
  const head = findings.length ? `${plural(findings.length, "thing")} to change` : `Nothing found, by ${plural(rules, "rule")}`;
  return [
    el("div", { class: "xs-doctor-head", role: "heading", "aria-level": 3 }, head),
    findings.length > 0 && el("ol", { class: "xs-doctor-list" }, findings.map(row)),
    notes.map((note) => el("div", { class: "xs-doctor-note xs-muted" }, note)),
  ];
}

/** @param {Advice} one */
function row(one) {
  return el("li", { class: "xs-doctor-row" },
    el("span", { class: "xs-doctor-share", title: "the part of what is spent that is at stake" },
      el("span", { class: "xs-doctor-bar", "aria-hidden": "true" }, el("span", { style: `width:${Math.round(100 * one.share)}%` })), percent(one.share)),
    el("div", { class: "xs-doctor-says" },
      el("div", {}, one.says, " ", place(one)),
      el("div", { class: "xs-doctor-do" }, el("b", {}, "Do: "), one.action)));
}

/** Where it is: a button that goes there, if the program shows it. @param {Advice} one */
function place(one) {
  const words = [one.where, one.kernel].filter(Boolean).join(" · ");
  if (!words) return null;
  if (!one.equation && !one.kernel) return el("span", { class: "xs-mono xs-muted" }, words);
  return el("button", { class: "xs-doctor-place xs-mono", type: "button", title: "show it in source, graph and kernels", "data-finding": one.equation ?? "",
    "data-of-kernel": one.kernel ?? "" }, words);
}

/** A click on the card: the equation of a finding, or its kernel, is what is selected then. @param {View} view @param {Element} target */
export function pressDoctor(view, target) {
  const button = target.closest(".xs-doctor-place");
  const [path, kernel] = ["data-finding", "data-of-kernel"].map((name) => button?.getAttribute(name));
  if (path) return goTo(view, path);
  if (!kernel) return;
  view.store.select("kernel", kernel);
  view.graph.showSelection();
}
