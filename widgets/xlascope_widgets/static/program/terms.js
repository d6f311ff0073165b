// @ts-check
/** Table of the terms of the panel, each explained on hovering. */

import { el } from "../ground/element.js";
/** @typedef {import("../ground/element.js").Child} Child */

/** What each term means. @type {Record<string, string>} */
export const TERMS = {
  phase: "forward: the function itself; backward: its derivative; update: what uses the gradient, an optimizer's step",
  forward: "the phase that computes the function itself, from top to bottom",
  backward: "the phase that computes the gradient, from bottom to top, beside what it transposes",
  tangent: "what forward-mode differentiation computes beside the function itself",
  update: "the phase that uses the gradient: an optimizer's step",
  recomputed: "forward equations that a checkpoint runs once more in the backward phase, instead of storing results",
  kernel: "one program for the device, made by XLA of one or several operations (fusion) and launched as a whole",
  materialized: "stored by xlascope's own rule: XLA alone would compute it again in several kernels",
  measured: "taken by the profiler in whole calls, or by the host's clock around them",
  "roofline estimate":
    "operations and bytes counted from shapes, and times from these at the peak rates of the device: not measured",
  "roofline estimates": "operations and bytes counted from shapes: not measured",
  "XLA's estimate": "computed by XLA's own cost model: not measured",
  "no source information": "XLA made it without the name of an equation, and its content proves none",
  "kernel boundary": "a value that one kernel writes to memory and another reads back, because they are not fused",
  "compile time": "trace + lower + compile: Python to a jaxpr, that to StableHLO, that to kernels by XLA (measured)",
  "trace + lower + compile": "compile time: Python to a jaxpr, that to StableHLO, that to kernels by XLA (measured)",
  "time attributable": "the part of the time spent that a finding accounts for: the most that its action can save",
  finding: "what a rule of the doctor recognized, by numbers: with the time attributable to it, and one action",
};

/** Terms that are explained inside of a text; the longer of two that begin alike comes first. */
const IN_TEXT = new RegExp(
  `(${[
    "roofline estimates",
    "roofline estimate",
    "XLA's estimate",
    "no source information",
    "kernel boundary",
    "(?<=\\()measured",
  ].join("|")})`,
);

/**
 * Return a text whose terms have their explanations on hovering, as children of an element.
 * @param {string} text
 * @returns {Child}
 */
export function explainTerms(text) {
  return text
    .split(IN_TEXT)
    .map((part, i) => (i % 2 ? el("span", { class: "xs-term", title: TERMS[part] }, part) : part));
}
