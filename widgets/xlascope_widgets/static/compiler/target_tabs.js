// @ts-check
/** Choice between the program as measured here and as compiled for other targets. */

import { el } from "../ground/element.js";
import { formatBytes, formatInt, formatTime } from "../ground/format.js";
import { explainTerms } from "../program/terms.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../ground/wire.js").Target} Target */
/** @typedef {import("../ground/wire.js").Kernel} Kernel */

/** Draw the target buttons: this device, other targets, and a choice of more. @param {Store} store */
export function drawTargets(store) {
  const { measured, queries } = store;
  const names = Object.keys(queries.listFindings(measured).targets);
  if (!measured || (!measured.heavy.jaxpr && !measured.heavy.kernels && !names.length)) return null;
  const others = queries.targets.filter((name) => !names.includes(name));
  if (!names.length && !queries.canAsk("target")) return null;
  const tip = `this device (${(measured.heavy.devices ?? []).join(", ") || measured.heavy.platform})`;
  const tabs = [...(measured.heavy.kernels ? [""] : []), ...names].map((name) =>
    el(
      "button",
      {
        class: `xs-pill${store.aimed === name ? " on" : ""}`,
        type: "button",
        "data-command": `target ${name}`,
        "aria-pressed": String(store.aimed === name),
        title: name ? `as XLA compiles it for ${name}: estimated, not run` : tip,
      },
      name || (measured.light.executed ? "measured" : measured.heavy.platform || "here"),
    ),
  );
  return [tabs, queries.canAsk("target") && others.length > 0 && drawTargetChoice(queries, others)];
}

/**
 * Draw the choice of targets, grouped by what has to be installed for them.
 * @param {import("../store/queries.js").Queries} asks
 * @param {string[]} names
 */
function drawTargetChoice({ missing }, names) {
  const lines = [...new Set(names.map((name) => missing[name] ?? ""))].sort((a, b) => a.length - b.length);
  const options = (/** @type {string} */ line) =>
    names.filter((name) => (missing[name] ?? "") === line).map((name) => el("option", { value: name }, name));
  return el(
    "select",
    {
      class: "xs-field xs-add-target",
      "aria-label": "compile for another target",
      title: "compile for another target: it need not be here",
    },
    el("option", { value: "" }, "+ target"),
    lines.map((line) => el("optgroup", { label: line || "compilers that are here" }, options(line))),
  );
}

/** Describe the estimated time of the program on a target, and the source of the estimate. @param {Program} program */
export function describeTarget(program) {
  const { target, estimated } = program;
  if (!target || !estimated) return "";
  const time = estimated.estimate
    ? `${formatTime(estimated.estimate)} a call estimated (${estimated.by || "XLA's estimate"})`
    : "no time estimated";
  return `compiled for ${target} in ${formatTime(estimated.seconds)}, not run · ${time}`;
}

/** Draw this device and the targets side by side, once there is a target. @param {Store} store */
export function drawTargetTable(store) {
  const { measured, queries } = store;
  const targets = Object.entries(queries.listFindings(measured).targets);
  if (!targets.length) return null;
  const { executed } = measured?.light ?? {};
  const { kernels, platform } = measured?.heavy ?? {};
  const local = kernels && {
    name: platform ?? "here",
    kernels,
    time: executed?.step ? `${formatTime(executed.step)} measured` : "not measured",
  };
  const rows = [
    ...(local ? [local] : []),
    ...targets.map(([name, result]) => ({
      name,
      kernels: result.kernels,
      time: result.estimate ? `${formatTime(result.estimate)} estimated` : "not estimated",
    })),
  ];
  const sumBytesMoved = (/** @type {Kernel[]} */ all) =>
    all.reduce((sum, kernel) => sum + kernel.read + kernel.written, 0);
  return el(
    "table",
    { class: "xs-sides xs-small" },
    el("caption", { class: "xs-muted" }, explainTerms("side by side (bytes: roofline estimates)")),
    el(
      "tr",
      {},
      ["", "kernels", "read, written", "a call"].map((word) => el("th", {}, word)),
    ),
    rows.map((row) =>
      el(
        "tr",
        {},
        [row.name, formatInt(row.kernels.length), formatBytes(sumBytesMoved(row.kernels)), row.time].map((word) =>
          el("td", {}, word),
        ),
      ),
    ),
  );
}
