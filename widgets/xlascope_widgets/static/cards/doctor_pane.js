// @ts-check
/** The doctor's card: at most three things that are wrong with the program shown, each with what to do about it. */

import { goTo } from "../parts/panel_interface.js";
import { registerPane } from "../parts/panes.js";
import { el } from "../ground/element.js";
import { formatPercent, pluralize } from "../ground/format.js";
import { drawQuery, handleQueryClick } from "../parts/question_form.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../ground/wire.js").Advice} Advice */
/** @typedef {import("../parts/panel_interface.js").Panel} Panel */

registerPane({
  id: "doctor",
  place: "top",
  order: 1,
  title: "what could be better",
  draw: drawDoctor,
  press: handleDoctorClick,
});

/** The card of the program shown; none where nothing was found and nobody asked. @param {Store} store */
function drawDoctor(store) {
  const told = store.live.doctor?.[String(store.measured?.number)];
  return told && drawCard(store, told.findings, told.rules, told.notes ?? []);
}

/** What is asked about one of them. @param {Store} store @param {Advice} one */
function buildQuestion(store, { what_if: [kind, ...values] = [""] }) {
  return {
    question: "whatif",
    program: store.measured?.number ?? 0,
    from: kind,
    to: values.join(),
    change: [kind, ...values],
  };
}

/** @param {Store} store @param {Advice[]} findings @param {number} rules @param {string[]} notes */
function drawCard(store, findings, rules, notes) {
  const head = findings.length
    ? `${pluralize(findings.length, "thing")} to change`
    : `Nothing found, by ${pluralize(rules, "rule")}`;
  return [
    el("div", { class: "xs-doctor-head", role: "heading", "aria-level": 3 }, head),
    findings.length > 0 &&
      el(
        "ol",
        { class: "xs-doctor-list" },
        findings.map((one) => drawFinding(store, one)),
      ),
    notes.map((note) => el("div", { class: "xs-doctor-note xs-muted" }, note)),
  ];
}

/** @param {Store} store @param {Advice} one */
function drawFinding(store, one) {
  return el(
    "li",
    { class: "xs-doctor-row" },
    el(
      "span",
      { class: "xs-doctor-share", title: "the part of what is spent that is at stake" },
      el(
        "span",
        { class: "xs-doctor-bar", "aria-hidden": "true" },
        el("span", { style: `width:${Math.round(100 * one.share)}%` }),
      ),
      formatPercent(one.share),
    ),
    el(
      "div",
      { class: "xs-doctor-says" },
      el("div", {}, one.says, " ", drawLocation(one)),
      el("div", { class: "xs-doctor-do" }, el("b", {}, "Do: "), one.action),
      one.what_if && drawWhatIf(store, one),
    ),
  );
}

/** The change, tried: both programs, compared. @param {Store} store @param {Advice} one */
function drawWhatIf(store, one) {
  const asked = buildQuestion(store, one);
  const text = store.queries.getText(asked);
  return text
    ? el("pre", { class: "xs-answer", tabindex: 0, role: "region", "aria-label": "as it is, and changed" }, text)
    : drawQuery(store, asked, `what if? (${asked.from} ${asked.to})`);
}

/** Where it is: a button that goes there, if the program shows it. @param {Advice} one */
function drawLocation(one) {
  const words = [one.where, one.kernel].filter(Boolean).join(" · ");
  if (!words) return null;
  if (!one.equation && !one.kernel) return el("span", { class: "xs-mono xs-muted" }, words);
  return el(
    "button",
    {
      class: "xs-doctor-place xs-mono",
      type: "button",
      title: "show it in source, graph and kernels",
      "data-finding": one.equation ?? "",
      "data-of-kernel": one.kernel ?? "",
    },
    words,
  );
}

/**
 * A click on the card: the equation of a finding, or its kernel, is what is selected then.
 * @param {Panel} panel
 * @param {Element} target
 */
function handleDoctorClick(panel, target) {
  const button = target.closest(".xs-doctor-place");
  const [path, kernel] = ["data-finding", "data-of-kernel"].map((name) => button?.getAttribute(name));
  if (handleQueryClick(panel.store, target)) return true;
  if (path) goTo(panel, path);
  else if (kernel) {
    panel.store.select("kernel", kernel);
    panel.graph.showSelection();
  }
  return Boolean(path || kernel);
}
