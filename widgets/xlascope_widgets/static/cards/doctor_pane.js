// @ts-check
/** Card of the doctor: at most three findings about the program shown, each with a suggested change. */

import { goTo } from "../parts/panel_interface.js";
import { registerPane } from "../parts/panes.js";
import { el } from "../ground/element.js";
import { formatPercent, pluralize } from "../ground/format.js";
import { drawQuery, handleQueryClick } from "../parts/question_form.js";
import { TERMS } from "../program/terms.js";
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

/** Draw the card of the program shown; return nothing where there is no finding and no request. @param {Store} store */
function drawDoctor(store) {
  const report = store.live.doctor?.[String(store.measured?.number)];
  return report && drawCard(store, report.findings, report.rules, report.notes ?? []);
}

/** Return the what-if question of a finding. @param {Store} store @param {Advice} one */
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
  const head = findings.length ? pluralize(findings.length, "finding") : `No findings, by ${pluralize(rules, "rule")}`;
  return [
    el("div", { class: "xs-doctor-head", role: "heading", "aria-level": 3, title: TERMS.finding }, head),
    findings.length > 0 &&
      el(
        "ol",
        { class: "xs-doctor-list" },
        findings.map((finding) => drawFinding(store, finding)),
      ),
    notes.map((note) => el("div", { class: "xs-doctor-note xs-muted" }, note)),
  ];
}

/** @param {Store} store @param {Advice} finding */
function drawFinding(store, finding) {
  return el(
    "li",
    { class: "xs-doctor-row" },
    el(
      "span",
      { class: "xs-doctor-share", title: `time attributable: ${TERMS["time attributable"]}` },
      el(
        "span",
        { class: "xs-doctor-bar", "aria-hidden": "true" },
        el("span", { style: `width:${Math.round(100 * finding.share)}%` }),
      ),
      finding.share ? formatPercent(finding.share) : "precision",
    ),
    el(
      "div",
      { class: "xs-doctor-says" },
      el("div", {}, finding.says, " ", drawLocation(finding)),
      el("div", { class: "xs-doctor-do" }, el("b", {}, "Do: "), finding.action),
      finding.what_if && drawWhatIf(store, finding),
    ),
  );
}

/**
 * Draw the comparison of both programs after the suggested change was tried.
 * @param {Store} store
 * @param {Advice} finding
 */
function drawWhatIf(store, finding) {
  const query = buildQuestion(store, finding);
  const text = store.queries.getText(query);
  return text
    ? el("pre", { class: "xs-answer", tabindex: 0, role: "region", "aria-label": "as it is, and changed" }, text)
    : drawQuery(store, query, `what if? (${query.from} ${query.to})`);
}

/** Draw a finding's location: a button that goes there, if the program shows it. @param {Advice} finding */
function drawLocation(finding) {
  const words = [finding.where, finding.kernel].filter(Boolean).join(" · ");
  if (!words) return null;
  if (!finding.equation && !finding.kernel) return el("span", { class: "xs-mono xs-muted" }, words);
  return el(
    "button",
    {
      class: "xs-doctor-place xs-mono",
      type: "button",
      title: "show it in source, graph and kernels",
      "data-finding": finding.equation ?? "",
      "data-of-kernel": finding.kernel ?? "",
    },
    words,
  );
}

/**
 * Handle a click on the card: select the equation or the kernel of a finding.
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
