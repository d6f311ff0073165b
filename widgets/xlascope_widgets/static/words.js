// @ts-check
/** The words on a node, in a tooltip, and in the line that describes a selection. */

import { byteSize, count, flopCount, plural, seconds, shorten } from "./format.js";

const INLINE = 14;

/** @param {any} program @param {any} equation @returns {{title: string, sub: string}} */
export function equationWords(program, equation) {
  return { title: equationTitle(program, equation), sub: equationSub(program, equation) };
}

/** The operation with its literal operands: "mul 0.1". @param {any} program @param {any} equation */
function equationTitle(program, equation) {
  const literals = equation.in.filter((/** @type {string} */ name) => !program.variables.has(name)).map(literalText);
  const text = [equation.name ?? equation.op, ...literals.map((/** @type {string} */ t) => shorten(t, INLINE))].join(" ");
  return shorten(text, 25);
}

/** "1.0:f32[]" -> "1.0". @param {string} text */
export function literalText(text) {
  return text.split(":")[0];
}

/** @param {any} program @param {any} equation */
export function equationSub(program, equation) {
  const time = program.ownTime(equation.path);
  const of = program.origins.get(equation.path);
  const parts = [];
  if (of && time != null) return `${seconds(time)} · of ${program.lineOf(of) ?? "an unknown line"}`;
  if (of) parts.push(transposedWords(program, of));
  else if (equation.bodies) parts.push(plural(program.inside(equation.path).length - 1, "equation"));
  else if (time == null) parts.push(program.lineOf(equation.path) ?? "no source known");
  if (time != null) parts.push(seconds(time));
  if (time != null && equation.flops) parts.push(flopCount(equation.flops));
  return parts.join(" · ");
}

/** "of tanh, line 9". @param {any} program @param {string} path */
function transposedWords(program, path) {
  const forward = program.equations.get(path);
  const line = program.lineOf(path);
  return `of ${shorten(forward?.name ?? forward?.op ?? path, 16)}${line ? `, ${line}` : ""}`;
}

/** @param {any} program @param {any} node */
export function variableWords(program, node) {
  const [type, , label] = program.variables.get(node.name) ?? ["", 0, ""];
  const title = label || (node.kind === "output" ? `out ${node.index}` : node.name);
  return { title: shorten(title, 26), sub: type };
}

/** The types an equation makes, for the edge that leaves it. @param {any} program @param {any} equation */
export function outTypes(program, equation) {
  return shorten(equation.out.map((/** @type {string} */ name) => program.typeOf(name)).filter(Boolean).join(" "), 22);
}

/** One line that says everything known of an equation, each number with its source. @param {any} program @param {string} path @returns {string[]} */
export function describe(program, path) {
  const equation = program.equations.get(path);
  if (!equation) return [];
  const parts = [jaxprLine(program, equation), program.sourceWords(path), passWords(program, equation)];
  const kernels = program.kernelsWith(path);
  if (kernels.length) parts.push(`in ${shorten(kernels.map((/** @type {any} */ k) => k.name).join(", "), 60)}`);
  else if (program.heavy.kernels) parts.push("in no kernel (folded away, or its kernel is not known)");
  parts.push(...timeWords(program, path, kernels));
  if (equation.flops) parts.push(`${flopCount(equation.flops)} (our count)`);
  parts.push(`${byteSize(program.bytesOf(equation))} read and written if it ran alone (our count)`);
  return parts;
}

/** @param {any} program @param {string} path @param {any[]} kernels */
function timeWords(program, path, kernels) {
  const own = program.ownTime(path);
  if (own != null) return [`${seconds(own)} a call (measured)`];
  if (kernels.length !== 1) return [];
  const time = program.times.get(kernels[0].name);
  return time == null ? [] : [`${seconds(time)} a call for the whole kernel (measured)`];
}

/** @param {any} program @param {any} equation */
function passWords(program, equation) {
  const role = equation.role ?? "forward";
  const word = role === "forward" && program.passes.get(equation.path) === "update" ? "update" : role;
  const of = program.origins.get(equation.path);
  return of ? `${word}, ${transposedWords(program, of)}` : word;
}

/** The equation as the jaxpr prints it. @param {any} program @param {any} equation */
export function jaxprLine(program, equation) {
  const outs = equation.out.map((/** @type {string} */ name) => `${name}:${program.typeOf(name)}`).join(" ");
  const params = equation.params ? `[${shorten(equation.params, 80)}]` : "";
  return `${outs} = ${equation.op}${params} ${equation.in.join(" ")}`;
}

/** What a screen reader says for a node. @param {any} program @param {any} node */
export function nodeLabel(program, node) {
  const equation = program.equations.get(node.path);
  if (!equation) return `${node.kind} ${node.title} ${node.sub}`;
  const types = equation.out.map((/** @type {string} */ name) => program.typeOf(name)).join(" ");
  return `${equationTitle(program, equation)}, ${types}, ${equation.role ?? "forward"}, ${equationSub(program, equation)}`;
}
