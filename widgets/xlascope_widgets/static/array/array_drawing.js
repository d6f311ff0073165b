// @ts-check
/** Elements of the view of an array: head, statistics, choices and legend. */

import { el } from "../ground/element.js";
import { formatBytes, formatInt, formatPercent, pluralize } from "../ground/format.js";
import { formatShort, getMark } from "./array_numbers.js";
import { MARKS } from "./heat_map.js";
/** @typedef {import("./array_numbers.js").Info} Info */
/** @typedef {import("./array_numbers.js").Facts} Facts */
/** @typedef {import("./array_numbers.js").Cells} Cells */
/** @typedef {import("./array_view.js").ArrayView} ArrayView */
/** @typedef {import("./heat_map.js").HeatMap} HeatMap */

/** What is shown of a block, by its words. */
const OF_BLOCKS = { extreme: "largest magnitude", mean: "mean", minimum: "minimum", maximum: "maximum" };

/** Draw the empty elements of a view. @param {Info} info @param {boolean} canClose */
export function drawFrame(info, canClose) {
  return el(
    "div",
    { class: "xs-array-body" },
    el(
      "div",
      { class: "xs-array-head" },
      el("b", {}, info.name || "array"),
      el("code", {}, info.type),
      el("span", { class: "xs-muted" }, [formatBytes(info.bytes), info.sharding].filter(Boolean).join(" · ")),
      canClose && el("button", { class: "xs-close", type: "button", "data-do": "close", "aria-label": "close" }, "×"),
    ),
    el("div", { class: "xs-array-facts xs-muted", "aria-live": "polite" }, "measuring …"),
    el("div", { class: "xs-array-controls" }),
    el("div", { class: "xs-array-note xs-muted" }),
    el(
      "div",
      { class: "xs-heat-frame" },
      el("canvas", {
        class: "xs-heat",
        tabindex: 0,
        role: "img",
        "aria-label": `heat map of ${info.name || "array"}: arrow keys point at cells, Enter shows a block's elements`,
      }),
      el("div", { class: "xs-heat-cursor", hidden: "" }),
    ),
    el("div", { class: "xs-array-readout", role: "status" }),
    el("div", { class: "xs-array-legend" }),
  );
}

/** Draw the choices of axes, indices, iterations, part and scale. @param {ArrayView} view */
export function drawControls(view) {
  const { info } = view;
  const inner = info.shape.map((_, axis) => axis).filter((axis) => axis !== view.rows && axis !== view.columns);
  return [
    info.shape.length > 1 && [drawAxisChoice(view, "rows"), drawAxisChoice(view, "columns")],
    inner.map((axis) => drawIndex(view, axis)),
    (info.loops ?? []).map((length, number) => drawIteration(view, length, number)),
    info.kind === "complex" && drawChoice(view, "part", "part", { abs: "magnitude", real: "real", imag: "imaginary" }),
    info.kind !== "bool" && drawChoice(view, "scale", "scale", { linear: "linear", log: "log" }),
    view.cells?.maximum && drawChoice(view, "shown", "of a block", OF_BLOCKS),
    view.window && el("button", { class: "xs-pill", type: "button", "data-do": "all" }, "all of the slice"),
  ];
}

/** @param {ArrayView} view @param {"rows"|"columns"} name */
function drawAxisChoice(view, name) {
  const options = view.info.shape.map((size, axis) => [axis, `${nameAxis(view.info, axis)} (${formatInt(size)})`]);
  return drawChoice(view, name, name, Object.fromEntries(options));
}

/** @param {Info} info @param {number} axis */
function nameAxis({ devices = 1, kind, shape }, axis) {
  if (devices > 1 && axis === 0) return "device";
  return kind === "key" && axis === shape.length - 1 ? "word" : `axis ${axis}`;
}

/**
 * @param {ArrayView} view
 * @param {"rows"|"columns"|"part"|"scale"|"shown"} name
 * @param {string} label
 * @param {Record<string, string>} options
 */
function drawChoice(view, name, label, options) {
  return el(
    "label",
    {},
    `${label} `,
    el(
      "select",
      { "data-choice": name },
      Object.entries(options).map(([value, words]) =>
        el("option", { value, selected: String(view[name]) === value ? "" : null }, words),
      ),
    ),
  );
}

/** @param {ArrayView} view @param {number} axis */
function drawIndex(view, axis) {
  const field = { min: 0, max: view.info.shape[axis] - 1, value: view.at[axis], "data-axis": axis };
  const name = nameAxis(view.info, axis);
  return el(
    "label",
    {},
    `${name} `,
    el("input", { type: "range", ...field, "aria-label": `index along ${name}` }),
    el("input", { type: "number", ...field, "aria-label": `index along ${name}, as a number` }),
  );
}

/** @param {ArrayView} view @param {number} length @param {number} number */
function drawIteration(view, length, number) {
  return el(
    "label",
    { title: "each iteration is computed again, by a program of its own" },
    "iteration ",
    el("input", {
      type: "number",
      min: 0,
      max: length >= 0 ? length - 1 : null,
      value: view.info.iterations?.[number] ?? "",
      placeholder: "last",
      "data-loop": number,
      "aria-label": "iteration of the loop around it",
    }),
    length >= 0 ? ` of ${formatInt(length)}` : "",
  );
}

/** Draw the statistics of an array, and what one can go to. @param {Info} info @param {Facts} facts */
export function drawFacts(info, facts) {
  const jump = (/** @type {string} */ what, /** @type {string} */ words) =>
    facts.at[what] &&
    el(
      "button",
      { class: "xs-pill", type: "button", "data-jump": what, title: `[${facts.at[what]?.join(", ")}]` },
      words,
    );
  const part = (/** @type {number} */ count, /** @type {string} */ words) =>
    count ? `${formatPercent(count / facts.elements)} ${words}` : null;
  const noun = info.kind === "complex" ? "part" : info.kind === "key" ? "key" : "element";
  const parts =
    info.kind === "key"
      ? [facts.distinct != null && `${formatInt(facts.distinct)} different`]
      : info.kind === "bool"
        ? [`${formatInt(facts.elements - facts.zeros)} True`, `${formatInt(facts.zeros)} False`]
        : [
            facts.minimum != null && `${formatShort(facts.minimum)} to ${formatShort(facts.maximum)}`,
            facts.mean != null && facts.elements > 1 && `mean ${formatShort(facts.mean)}`,
            facts.root_mean_square != null &&
              facts.elements > 1 &&
              `root mean square ${formatShort(facts.root_mean_square)}`,
            part(facts.zeros, "zeros"),
            part(facts.negatives, "negative"),
            part(facts.subnormals, "subnormal"),
            facts.nans > 0 && `${formatInt(facts.nans)} NaN`,
            facts.infs > 0 && `${formatInt(facts.infs)} infinite`,
          ];
  return [
    [pluralize(facts.elements, noun), ...parts].filter(Boolean).map((words) => el("span", {}, words)),
    facts.exponents.length > 1 && drawHistogram(facts),
    jump("nan", "first NaN"),
    jump("inf", "first infinity"),
    facts.elements > 1 && jump("largest", "largest magnitude"),
  ];
}

/** Draw the scale of colours, and the marks that are shown. @param {Cells} cells @param {HeatMap} map */
export function drawLegend(cells, map) {
  const { scale } = map;
  const marks = new Set(Array.from({ length: cells.minimum.length }, (_, at) => getMark(cells, at)));
  return [
    scale.low === scale.high ? "all" : formatShort(scale.low),
    el("i", { class: "xs-heat-scale", style: `background:${scale.gradient}` }),
    `${scale.isDiverging ? "0 in the middle, " : ""}${formatShort(scale.high)}`,
    /** @type {("nan"|"inf")[]} */ (["nan", "inf"])
      .filter((mark) => marks.has(mark))
      .map((mark) =>
        el(
          "span",
          {},
          el("i", {
            class: "xs-heat-mark",
            style: `background:repeating-linear-gradient(${mark === "nan" ? -45 : 45}deg,${MARKS[mark][0]} 0 3px,${MARKS[mark][1]} 3px 4px)`,
          }),
          ` ${mark === "nan" ? "NaN" : "infinity"}${cells.maximum ? " in the block" : ""}`,
        ),
      ),
  ];
}

/** Draw how many elements have which exponent. @param {Facts} facts */
function drawHistogram({ exponents, strided }) {
  const [low, high] = [exponents[0][0], exponents[exponents.length - 1][0]];
  const most = Math.max(...exponents.map(([, count]) => count));
  const step = 64 / (high - low + 1);
  const words = `exponents 2^${low} to 2^${high}${strided ? ", of every eighth element" : ""}`;
  return el(
    "span",
    { title: words },
    `2^${low} `,
    el(
      "svg",
      { width: 64, height: 14, role: "img", "aria-label": `histogram of ${words}` },
      exponents.map(([exponent, count]) => {
        const height = Math.max(1, (14 * count) / most);
        return el("rect", { x: (exponent - low) * step, y: 14 - height, width: Math.max(0.8, step - 0.5), height });
      }),
    ),
    ` 2^${high}`,
  );
}
