// @ts-check
/**
 * Rows of a comparison of two programs, for the panel and for pictures. Signs and text repeat the meaning of colours.
 */

import { pluralize, shorten } from "../ground/format.js";
import { formatLiteral } from "../program/labels.js";
import { formatKernelOrigin } from "../program/stage_labels.js";

/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../program/unpack.js").Equation} Equation */
/** @typedef {import("../ground/wire.js").Diff} Diff */
/** @typedef {import("../ground/wire.js").Sign} Sign */
/** A kernel by what it does, and what hovering says. @typedef {{text: string, tip: string}} KernelName */
/** What is said of one equation. @typedef {{path: string, title: string, types: string, source: string}} DiffSide */
/** @typedef {{sign: Sign, before: DiffSide|null, after: DiffSide|null, words: string, detail: string}} DiffRow */
/**
 * A run of equations that are alike: where it begins, and how many.
 * @typedef {{fold: number, count: number}} DiffFold
 */

/** Equations that are alike around those that are not. */
const DIFF_AROUND = 1;
/** Kernels that are the same are counted rather than listed. */
/** @type {Record<string, Sign>} */
const DIFF_KERNEL_SIGNS = { same: "=", appeared: "+", vanished: "-" };
export const DIFF_WORDS = { "=": "alike", "~": "changed", "+": "added", "-": "removed" };
/** How signs are written. */
export const DIFF_SHOWN = { "=": "", "~": "~", "+": "+", "-": "−" };

/** @param {Program} program @param {string|null} path @returns {DiffSide|null} */
function describeSide(program, path) {
  const equation = path == null ? undefined : program.equations.get(path);
  if (path == null || !equation) return null;
  const literals = equation.in.filter((name) => !program.variables.has(name)).map(formatLiteral);
  const types = equation.out.map((name) => program.getType(name)).join(" ");
  const title = shorten([equation.name ?? equation.op, ...literals].join(" "), 36);
  return { path, title, types: shorten(types, 40), source: findSourceText(program, equation) };
}

/** Return the text of the line that made an equation. @param {Program} program @param {Equation} equation */
function findSourceText(program, equation) {
  if (!equation.src) return "";
  const [file, line] = equation.src;
  const source = program.heavy.sources?.find((entry) => entry.file === file);
  const text = source?.text.split("\n", line - source.first + 1)[line - source.first] ?? "";
  return shorten(text.trim(), 80);
}

/**
 * Return the equations of both programs in order, runs of equal ones folded. `opened` holds the starts of folds that
 * are open.
 * @param {Diff} diff
 * @param {Program} before
 * @param {Program} after
 * @param {Set<number>} [opened]
 * @returns {(DiffRow|DiffFold)[]}
 */
export function buildDiffRows(diff, before, after, opened = new Set()) {
  const near = new Set();
  diff.equations.forEach(([sign], i) => {
    if (sign !== "=") for (let at = i - DIFF_AROUND; at <= i + DIFF_AROUND; at++) near.add(at);
  });
  const rows = [];
  for (let i = 0; i < diff.equations.length; i++) {
    let end = i;
    while (end < diff.equations.length && !near.has(end)) end++;
    if (end - i > 1 && !opened.has(i)) {
      rows.push({ fold: i, count: end - i });
      i = end - 1;
      continue;
    }
    for (const stop = Math.max(end, i + 1); i < stop; i++) {
      const [sign, old, now, words, detail] = diff.equations[i];
      rows.push({
        sign,
        before: describeSide(before, old),
        after: describeSide(after, now),
        words: words || DIFF_WORDS[sign],
        detail,
      });
    }
    i--;
  }
  return rows;
}

/** Return the numbers of equations in words: "12 alike, 3 changed, 1 added". @param {Diff} diff */
export function countDiffs(diff) {
  const parts = Object.entries(DIFF_WORDS).map(([sign, word]) => {
    const number = diff.equations.filter((row) => row[0] === sign).length;
    return number ? `${number} ${word}` : "";
  });
  return `equations: ${parts.filter(Boolean).join(", ") || "none"}`;
}

/**
 * Return what changed in the kernels; those that are the same are only counted.
 * @param {Diff} diff
 * @param {Program} old
 * @param {Program} now
 * @returns {{heading: string, rows: {sign: Sign, word: string, before: KernelName[], after: KernelName[], detail:
 * string}[]}}
 */
export function summarizeKernels(diff, old, now) {
  const same = diff.kernels.filter((row) => row[0] === "same").length;
  const others = diff.kernels.filter((row) => row[0] !== "same");
  const rows = others.map(([kind, before, after, detail]) => ({
    sign: DIFF_KERNEL_SIGNS[kind] ?? "~",
    word: kind,
    before: listKernelNames(old, before),
    after: listKernelNames(now, after),
    detail,
  }));
  return {
    heading: diff.kernels.length
      ? `kernels: ${pluralize(same, "alike", "alike")}, ${pluralize(others.length, "other", "others")}`
      : "",
    rows,
  };
}

/**
 * Name kernels as their list does: "tanh + add f32[128,512] · line 9".
 * @param {Program} program
 * @param {string[]} names
 */
function listKernelNames(program, names) {
  const listed = names.slice(0, 4).map((name) => {
    const kernel = program.kernels.get(name);
    const origin = kernel ? ` ${formatKernelOrigin(program, kernel)}` : "";
    return { text: shorten(program.getKernelTitle(name), 48) + origin, tip: `XLA's name: ${name}` };
  });
  return names.length > 4 ? [...listed, { text: `${names.length - 4} more`, tip: "" }] : listed;
}

/**
 * Return the function that places the seconds of a round between the least and the most of both.
 * @param {number[][]} sides
 * @returns {(value: number) => number} from 0 to 1
 */
export function buildScale(sides) {
  const all = sides.flat();
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return (value) => (high > low ? (value - low) / (high - low) : 0.5);
}
