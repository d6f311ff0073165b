// @ts-check
/** Static picture of a comparison of two programs. */

import { buildDiffRows, countDiffs, DIFF_SHOWN, summarizeKernels } from "../compare/compare_rows.js";
import { el, SVG, toMarkup } from "../ground/element.js";
import { round, shorten } from "../ground/format.js";
import { Program } from "../program/program.js";
import { inlineVariables, PALETTE } from "./picture.js";
/** @typedef {import("../ground/wire.js").Diff} Diff */
/** @typedef {import("../ground/wire.js").Heavy} Heavy */
/** @typedef {import("../ground/element.js").Child} Child */
/** @typedef {import("../ground/wire.js").Sign} Sign */

const DIFF_FILL = { "~": "#e3ecfb", "+": "#dff3e4", "-": "#fbe0dd", "=": "#ffffff" };
const DIFF_WIDTH = 940;
const DIFF_LINE = 18;
/** Rows drawn in a picture; a page has all of them. */
const MOST_DIFF_ROWS = 120;

/** @param {Diff} diff @param {Heavy[]} heavies @param {{css: string}} options @returns {string} SVG */
export function drawDiffPicture(diff, heavies, options) {
  const [before, after] = heavies.map((heavy) => new Program(heavy));
  const column = (DIFF_WIDTH - 40) / 2;
  /** @type {Child[]} */ const parts = [];
  let y = 26;
  /** @param {string} text @param {number} x @param {string} [style] */
  const put = (text, x, style = "xs-title", fill = "") =>
    parts.push(el("text", { class: style, x, y, style: fill && `fill: ${fill}` }, text));
  const next = (step = DIFF_LINE) => (y += step);
  const band = (/** @type {Sign} */ sign) =>
    sign !== "=" &&
    parts.push(
      el("rect", { x: 12, y: y - 13, width: DIFF_WIDTH - 24, height: DIFF_LINE - 1, rx: 3, fill: DIFF_FILL[sign] }),
    );
  put(shorten(diff.labels[0], 62), 36);
  put(shorten(diff.labels[1], 62), 36 + column);
  next(22);
  if (diff.timing) {
    put(`${diff.timing.words[0]} a call`, 36, "xs-sub");
    put(`${diff.timing.words[1]} a call (quartiles, median between them)`, 36 + column, "xs-sub");
    next();
    put(`${shorten(diff.timing.verdict, 150)}`, 36, "xs-title");
    next(14);
    put(`measured: ${diff.timing.source}`, 36, "xs-sub");
    next(22);
  }
  put(countDiffs(diff), 14, "xs-title", PALETTE.ink2);
  next();
  const rows = buildDiffRows(diff, before, after);
  for (const row of rows.slice(0, MOST_DIFF_ROWS)) {
    if ("fold" in row) {
      put(`${row.count} alike`, 36, "xs-sub");
      next();
      continue;
    }
    band(row.sign);
    put(DIFF_SHOWN[row.sign], 18);
    [row.before, row.after].forEach(
      (side, i) => side && put(shorten(`${side.title}  ${side.types}`, 60), 36 + i * column),
    );
    next();
    if (row.sign === "=") continue;
    y -= 3;
    const words = [row.words, row.detail].filter(Boolean).join(": ");
    put(shorten([words, (row.after ?? row.before)?.source].filter(Boolean).join("  ·  "), 150), 36, "xs-sub");
    next();
  }
  if (rows.length > MOST_DIFF_ROWS) {
    put(`${rows.length - MOST_DIFF_ROWS} more rows`, 36, "xs-sub");
    next();
  }
  const kernels = summarizeKernels(diff, before, after);
  if (kernels.heading) {
    next(8);
    put(kernels.heading, 14, "xs-title", PALETTE.ink2);
    next();
  }
  for (const row of kernels.rows.slice(0, MOST_DIFF_ROWS)) {
    band(row.sign);
    put(DIFF_SHOWN[row.sign], 18);
    [row.before, row.after].forEach((names, i) =>
      put(shorten(names.map((name) => name.text).join("; "), 60), 36 + i * column),
    );
    next(15);
    put(shorten([row.word, row.detail].filter(Boolean).join(": "), 150), 36, "xs-sub");
    next();
  }
  next(8);
  for (const [name, old, now, change, source] of diff.numbers) {
    put(name, 14, "xs-title", PALETTE.ink2);
    [old, now, change].forEach((text, i) =>
      parts.push(el("text", { class: "xs-title", x: 330 + i * 110, y, "text-anchor": "end" }, text)),
    );
    put(source, 580, "xs-sub");
    next();
  }
  const label = `${diff.labels[0]} compared with ${diff.labels[1]}: ${countDiffs(diff)}`;
  return toMarkup(
    el(
      "svg",
      {
        xmlns: SVG,
        viewBox: `0 0 ${DIFF_WIDTH} ${round(y)}`,
        width: DIFF_WIDTH,
        height: round(y),
        role: "img",
        "aria-label": label,
      },
      el("title", {}, label),
      el("style", {}, inlineVariables(options.css)),
      el("rect", { width: "100%", height: "100%", rx: 8, fill: PALETTE.bg, stroke: PALETTE.line }),
      parts,
    ),
  );
}
