// @ts-check
/** The kernels that XLA made, the slowest first: what each consists of, what it took, what fusing saved. */

import { el } from "./element.js";
import { byteSize, count, percent, plural, seconds } from "./format.js";
import { kernelWords, kernelsByTime, kernelsHeading } from "./picture.js";
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
    kernels.length > MOST_DRAWN && `${count(kernels.length - MOST_DRAWN)} more not listed`].filter(Boolean);
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
  const sizes = `reads ${byteSize(kernel.read)}, writes ${byteSize(kernel.written)}${kernel.saved ? `, saved ${byteSize(kernel.saved)} of intermediate results` : ""} (our count)`;
  const unknown = kernel.unknown ? ` · ${kernel.unknown} of ${plural(kernel.instructions, "instruction")} with no source known` : "";
  return el("div", { class: "xs-kernel", "data-kernel": name, role: "button", tabindex: 0 },
    el("div", { class: "xs-kernel-head" }, el("i", { class: `xs-chip pass-${pass}` }), el("b", { class: "xs-mono" }, name),
      time != null && el("span", { class: "xs-num" }, seconds(time))),
    time != null && el("div", { class: "xs-track", title: `${percent(share)} of the step's kernel time (measured)` },
      el("i", { class: `xs-share pass-${pass}`, style: `width:${(share * 100).toFixed(1)}%` })),
    el("div", { class: "xs-muted" }, facts.join(" · ")),
    kernel.eqns.length > 0 && el("div", { class: "xs-mono xs-small xs-names" }, equationNames(program, kernel)),
    el("div", { class: "xs-more xs-muted xs-small" }, `${kernel.type} · ${sizes}${unknown}`));
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
