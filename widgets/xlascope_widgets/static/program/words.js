// @ts-check
/** The words on a node, in a tooltip, and in the line that describes a selection. */

import { byteSize, count, flopCount, plural, seconds, shorten } from "./format.js";
import { heatText, rooflineOf, tripsOf } from "../graph/heat.js";
/** @typedef {import("../graph/level.js").GraphNode} GraphNode */
/** @typedef {import("./program.js").Program} Program */
/** @typedef {import("./unpack.js").Equation} Equation */
/** @typedef {import("./wire.js").Kernel} Kernel */

const INLINE = 14;

/** @param {Program} program @param {Equation} equation @returns {{title: string, sub: string}} */
export function equationWords(program, equation) {
  // In a comparison: whether the other program has it too.
  const sign = program.signs?.get(equation.path);
  const title = equationTitle(program, equation);
  return { title: sign ? shorten(`${sign} ${title}`, 27) : title, sub: equationSub(program, equation) };
}

/** The operation with its literal operands: "mul 0.1"; of a loop, how often: "cell × 100 steps". @param {Program} program @param {Equation} equation */
function equationTitle(program, equation) {
  const name = equation.name ?? equation.op;
  const trips = tripsOf(equation);
  if (trips !== 1) return `${shorten(name, 14)} × ${trips == null ? "? steps" : plural(trips, "step")}`;
  if (equation.bodies) return shorten(name, 25);
  const literals = equation.in.filter((name) => !program.variables.has(name)).map(literalText);
  const text = [equation.name ?? equation.op, ...literals.map((t) => shorten(t, INLINE))].join(" ");
  return shorten(text, 25);
}

/** "1.0:f32[]" -> "1.0". @param {string} text */
export function literalText(text) {
  return text.split(":")[0];
}

/** The second line of a node; with a heat, the number that the colour stands for. @param {Program} program @param {Equation} equation @param {string} [heat] */
export function equationSub(program, equation, heat = "pass") {
  if (heat !== "pass") return heatText(program, equation, heat);
  if (equation.members) return groupSub(program, equation);
  const time = program.ownTime(equation.path);
  const of = program.origins.get(equation.path);
  const parts = [];
  if (of && time != null) return `${seconds(time)} · of ${program.lineOf(of) ?? "an unknown line"}`;
  if (of) parts.push(transposedWords(program, of));
  else if (equation.bodies) parts.push(plural(program.inside(equation.path).length - 1, "equation"));
  else if (time == null) parts.push(program.lineOf(equation.path) ?? "no source known");
  if (time != null) parts.push(seconds(time));
  if ((time != null || (equation.bodies && !of)) && equation.flops) parts.push(flopCount(equation.flops));
  return parts.join(" · ");
}

/** "124 equations · 1.2 MFLOP". @param {Program} program @param {Equation} group */
function groupSub(program, group) {
  const time = program.ownTime(group.path);
  const parts = [plural(program.inside(group.path).length, "equation")];
  if (time != null) parts.push(seconds(time));
  if (group.flops) parts.push(flopCount(group.flops));
  return parts.join(" · ");
}

/** "of tanh, line 9". @param {Program} program @param {string} path */
function transposedWords(program, path) {
  const forward = program.equations.get(path);
  const line = program.lineOf(path);
  return [`of ${shorten(forward?.name ?? forward?.op ?? path, 16)}`, line].filter(Boolean).join(", ");
}

/** @param {Program} program @param {GraphNode} node */
export function variableWords(program, node) {
  if (node.bundle) return bundleWords(program, node);
  const [type, , label] = program.variables.get(node.name) ?? ["", 0, ""];
  const title = label || (node.kind === "output" ? `out ${node.index}` : node.name);
  return { title: shorten(title, 26), sub: type };
}

/** "params … · 66 inputs". @param {Program} program @param {GraphNode} node */
function bundleWords(program, { bundle = [], kind }) {
  const labels = bundle.map((name) => program.variables.get(name)?.[2] || name);
  let common = labels[0];
  for (const label of labels) while (!label.startsWith(common)) common = common.slice(0, -1);
  const words = plural(bundle.length, kind === "input" ? "input" : "result");
  const types = [...new Set(bundle.map((name) => program.typeOf(name)))].join(" ");
  return { title: common.length > 1 ? shorten(`${common.replace(/[[.]$/, "")} · ${words}`, 28) : words, sub: shorten(types, 30) };
}

/** The types an equation makes, for the edge that leaves it. @param {Program} program @param {Equation} equation */
export function outTypes(program, equation) {
  return shorten(equation.out.map((name) => program.typeOf(name)).filter(Boolean).join(" "), 22);
}

/** One line that says everything known of an equation, each number with its source. @param {Program} program @param {string} path @returns {string[]} */
export function describe(program, path) {
  const equation = program.at(path);
  if (!equation) return [];
  const parts = equation.members ? groupFacts(program, equation) : [jaxprLine(program, equation), program.sourceWords(path), passWords(program, equation)];
  if (equation.scope) parts.push(`scope ${shorten(equation.scope, 60)}`);
  if (tripsOf(equation) == null) parts.push("number of steps not known before it runs: counted as one");
  const kernels = program.kernelsWith(path);
  if (kernels.length > 3) parts.push(`in ${plural(kernels.length, "kernel")}`);
  else if (kernels.length) parts.push(`in ${shorten(kernels.map((k) => k.name).join(", "), 60)}`);
  else if (program.heavy.kernels) parts.push("in no kernel (folded away, or its kernel is not known)");
  parts.push(...timeWords(program, path, kernels));
  if (equation.flops) parts.push(`${flopCount(equation.flops)}${(tripsOf(equation) ?? 1) > 1 ? " in all steps" : ""} (our count)`);
  if (!program.byNames) parts.push(`${byteSize(program.bytesOf(equation))} read and written if it ran alone (our count)`);
  const bound = equation.bodies || program.byNames ? null : rooflineOf(program, equation, program.ceilings);
  if (bound) parts.push(`at least ${seconds(bound.time)} alone, by the ceiling of ${bound.limit} (our count over ceilings ${program.ceilings?.source ?? "measured here"})`);
  return parts;
}

/** What a group is. @param {Program} program @param {Equation} group */
function groupFacts(program, group) {
  const { kind = "", times = 1 } = group.group ?? {};
  const what = { scope: "scope", function: "function", line: "", repeat: "repeated", layer: "one of the repeats", stretch: "in order" }[/** @type {"scope"} */ (kind)];
  const lines = new Set();
  for (const { src } of group.members ?? []) if (src && lines.size < 4) lines.add(`line ${src[1]}`);
  const parts = [`${group.name}: ${plural(program.inside(group.path).length, "equation")}`];
  if (what) parts.push(times > 1 ? `${what} ${count(times)} times, equal in operations and shapes` : what);
  if (lines.size) parts.push(lines.size > 3 ? "several lines" : [...lines].join(", "));
  parts.push(program.passOf(group.path), `${count(group.in.length)} values in, ${count(group.out.length)} out`);
  return parts;
}

/** @param {Program} program @param {string} path @param {Kernel[]} kernels */
function timeWords(program, path, kernels) {
  const own = program.ownTime(path);
  if (own != null) return [`${seconds(own)} a call (measured)`];
  if (kernels.length !== 1) return [];
  const time = program.times.get(kernels[0].name);
  return time == null ? [] : [`${seconds(time)} a call for the whole kernel (measured)`];
}

/** @param {Program} program @param {Equation} equation */
function passWords(program, equation) {
  const pass = program.passOf(equation.path);
  const word = pass === "recomputed" ? "forward, computed again on the way back" : pass === "update" ? pass : (equation.role ?? "forward");
  const of = program.origins.get(equation.path);
  return of ? `${word}, ${transposedWords(program, of)}` : word;
}

/** The equation as the jaxpr prints it. @param {Program} program @param {Equation} equation */
export function jaxprLine(program, equation) {
  const outs = equation.out.map((name) => `${name}:${program.typeOf(name)}`).join(" ");
  const params = equation.params ? `[${shorten(equation.params, 80)}]` : "";
  return `${outs} = ${equation.op}${params} ${equation.in.join(" ")}`;
}

/** What a screen reader says for a node. @param {Program} program @param {GraphNode} node */
export function nodeLabel(program, node) {
  const equation = program.at(node.path);
  if (!equation) return `${node.kind} ${node.title} ${node.sub}`;
  if (equation.members) return `${equation.name}, ${program.passOf(node.path)}, ${groupSub(program, equation)}`;
  const types = equation.out.map((name) => program.typeOf(name)).join(" ");
  return `${equationTitle(program, equation)}, ${shorten(types, 60)}, ${equation.role ?? "forward"}, ${equationSub(program, equation)}`;
}
