// @ts-check
/** The kernels that XLA made, the slowest first: what each consists of, what it took, what fusing saved. */

import { el } from "./element.js";
import { byteSize, count, percent, plural, seconds } from "./format.js";
import { estimateWords, kernelWords, kernelsByTime, kernelsHeading } from "./picture.js";
import { scrollInside } from "./source_pane.js";
/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./program.js").Program} Program */

const MOST_DRAWN = 400;

/** @param {Store} store */
export function drawKernels(store) {
  const { program } = store;
  if (!program) return [];
  const kernels = kernelsByTime(program);
  const unknown = kernels.filter((kernel) => !kernel.eqns.length).length;
  const single = kernels.filter((kernel) => new Set(kernel.eqns).size === 1).length;
  const tail = [single && `${plural(single, "kernel")} with one equation`, unknown && `${count(unknown)} with no source known`,
    kernels.length > MOST_DRAWN && `${count(kernels.length - MOST_DRAWN)} more not listed`, estimateWords(program)].filter(Boolean);
  return [
    el("h4", {}, "kernels", el("span", {}, kernelsHeading(program))),
    kernels.slice(0, MOST_DRAWN).map((kernel) => drawKernel(program, kernel)),
    tail.length > 0 && el("div", { class: "xs-kernel-tail xs-muted" }, tail.join(" · ")),
  ];
}

/** @param {Program} program @param {any} kernel */
function drawKernel(program, kernel) {
  const { name, facts, pass, time } = kernelWords(program, kernel);
  const share = time == null ? 0 : time / program.step;
  const single = new Set(kernel.eqns).size === 1;
  return el("div", { class: "xs-kernel", "data-kernel": name, role: "button", tabindex: -1 },
    el("div", { class: "xs-kernel-head" }, el("i", { class: `xs-chip pass-${pass}` }), el("b", { class: "xs-mono" }, name),
      time != null && el("span", { class: "xs-num" }, seconds(time))),
    time != null && el("div", { class: "xs-track", title: `${percent(share)} of the step's kernel time (measured)` },
      el("i", { class: `xs-share pass-${pass}`, style: `width:${(share * 100).toFixed(1)}%` })),
    el("div", { class: "xs-muted" }, facts.join(" · "), single && [" · ", el("span", { class: "xs-mono xs-small" }, equationNames(program, kernel))]),
    !single && kernel.eqns.length > 0 && el("div", { class: "xs-mono xs-small xs-names" }, equationNames(program, kernel)),
    el("div", { class: "xs-more xs-muted xs-small" }, [kernel.type, ...sizeFacts(kernel)].join(" · ")));
}

/** @param {any} kernel @returns {string[]} */
function sizeFacts(kernel) {
  const saved = kernel.saved ? `, saved ${byteSize(kernel.saved)} of intermediate results` : "";
  const sizes = `reads ${byteSize(kernel.read)}, writes ${byteSize(kernel.written)}${saved} (our count)`;
  return kernel.unknown ? [sizes, `${kernel.unknown} of ${plural(kernel.instructions, "instruction")} with no source known`] : [sizes];
}

/** What the line about a selected kernel says. @param {Program} program @param {any} kernel @returns {string[]} */
export function kernelFacts(program, kernel) {
  const time = program.times.get(kernel.name);
  const measured = time == null ? [] : [`${seconds(time)} a call, ${percent(time / program.step)} of the kernels' time (measured)`];
  return [kernelWords(program, kernel).facts.slice(0, 2).join(", "), ...measured, ...sizeFacts(kernel)];
}

/** "add ▸ tanh ▸ mul". @param {Program} program @param {any} kernel */
function equationNames(program, kernel) {
  const names = [...new Set(kernel.eqns)].map((path) => program.equations.get(/** @type {string} */ (path))?.op ?? "?");
  const shown = names.slice(0, 8).join(" ▸ ");
  return names.length > 8 ? `${shown} ▸ ${names.length - 8} more` : shown;
}

/** @param {Element} pane @param {Store} store */
export function markKernels(pane, store) {
  let first = null;
  for (const card of pane.querySelectorAll("[data-kernel]")) {
    const on = store.selection.kernels.has(card.getAttribute("data-kernel") ?? "");
    card.classList.toggle("selected", on);
    if (on && !first) first = card;
  }
  if (first) scrollInside(pane, first);
}
