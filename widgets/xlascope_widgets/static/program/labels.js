// @ts-check
/** The words on a node, in a tooltip, and in the line that describes a selection. */

import { byteSize, count, flopCount, percent, plural, seconds, shorten } from "../ground/format.js";
import { nameOf } from "./equation_names.js";
import { heatText, rooflineOf, tripsOf } from "./heat.js";
/** @typedef {import("./heat.js").DrawnNode} DrawnNode */
/** @typedef {import("./program.js").Program} Program */
/** @typedef {import("./unpack.js").Equation} Equation */
/** @typedef {import("../ground/wire.js").Kernel} Kernel */

const INLINE = 14;
/** How wide a letter is of the first line of a node, and of everything else; in a usual monospaced face. */
export const TITLE_LETTER = 7.25;
export const SUB_LETTER = 6.65;

/** @param {Program} program @param {Equation} equation @returns {{title: string, sub: string}} */
export function equationWords(program, equation) {
  // In a comparison: whether the other program has it too.
  const sign = program.signs?.get(equation.path);
  const title = `${keptIn(program, equation) ? KEPT : ""}${equationTitle(program, equation)}`;
  return { title: sign ? shorten(`${sign} ${title}`, 27) : title, sub: equationSub(program, equation) };
}

/** Stands before the name of what is kept in memory, where XLA would compute it again. */
export const KEPT = "▣ ";

/**
 * How many results of an equation, or of those in a group, are kept.
 * @param {Program} program
 * @param {Equation} equation
 */
function keptIn(program, equation) {
  if (!program.kept.size) return 0;
  return (equation.members ?? [equation]).filter((each) => program.kept.has(each.path)).length;
}

/**
 * The operation with its literal operands: "mul 0.1"; of a loop, how often: "cell × 100 steps".
 * @param {Program} program
 * @param {Equation} equation
 */
function equationTitle(program, equation) {
  const name = nameOf(equation);
  const trips = tripsOf(equation);
  if (trips !== 1) return `${shorten(name, 14)} × ${trips == null ? "? steps" : plural(trips, "step")}`;
  if (equation.bodies) return shorten(name, 25);
  const literals = equation.in.filter((operand) => !program.variables.has(operand)).map(literalText);
  const text = [name, ...literals.map((t) => shorten(t, INLINE))].join(" ");
  return shorten(text, 25);
}

/** "1.0:f32[]" -> "1.0". @param {string} text */
export function literalText(text) {
  return text.split(":")[0];
}

/**
 * The second line of a node; with a heat, the number that the colour stands for.
 * @param {Program} program
 * @param {Equation} equation
 * @param {string} [heat]
 */
export function equationSub(program, equation, heat = "pass") {
  if (heat !== "pass") return heatText(program, equation, heat);
  if (equation.members) return groupSub(program, equation);
  const of = program.origins.get(equation.path);
  if (equation.bodies)
    return boxSub(
      program,
      equation,
      of ? transposedWords(program, of) : plural(program.inside(equation.path).length - 1, "equation"),
    );
  const time = program.ownTime(equation.path);
  const parts = [];
  if (of && time != null) return `${seconds(time)} · of ${program.lineOf(of) ?? "an unknown line"}`;
  if (of) parts.push(transposedWords(program, of));
  else if (time == null) parts.push(program.lineOf(equation.path) ?? "no source known");
  if (time != null) parts.push(seconds(time));
  if (time != null && equation.flops) parts.push(flopCount(equation.flops));
  return parts.join(" · ");
}

/** "41 % · 124 equations", or of one line "≈ 12 % · line 9". @param {Program} program @param {Equation} group */
function groupSub(program, group) {
  const inside = plural(program.inside(group.path).length, "equation");
  return boxSub(program, group, group.group?.kind === "line" ? (lineOfGroup(program, group) ?? inside) : inside);
}

/**
 * What a box has of the time, and what it is; where nothing is measured, its work.
 * @param {Program} program
 * @param {Equation} box
 * @param {string} what
 */
function boxSub(program, box, what) {
  const part = partWords(program, box.path);
  if (part) return `${part} · ${what}`;
  return box.flops ? `${what} · ${flopCount(box.flops)}` : what;
}

/**
 * "41 %" of all kernels' time; "≈ 12 %" where kernels are shared with what is outside, and their time is split over
 * their equations.
 * @param {Program} program
 * @param {string} path
 */
export function partWords(program, path) {
  const part = program.part(path);
  if (part == null) return "";
  const words = percent(part);
  return part < 0.01 || program.areAlone(path, program.kernelsWith(path)) ? words : `≈ ${words}`;
}

/** @param {Program} program @param {Equation} group */
function lineOfGroup(program, group) {
  // Constants that stand in front may be another line's.
  const first = group.members?.find((each) => each.op !== "broadcast_in_dim") ?? group.members?.[0];
  return program.lineOf(first?.path ?? "");
}

/** "of tanh, line 9". @param {Program} program @param {string} path */
function transposedWords(program, path) {
  const forward = program.equations.get(path);
  const line = program.lineOf(path);
  return [`of ${shorten(forward ? nameOf(forward) : path, 16)}`, line].filter(Boolean).join(", ");
}

/** @param {Program} program @param {DrawnNode} node */
export function variableWords(program, node) {
  if (node.bundle) return bundleWords(program, node);
  const [type, , label] = program.variables.get(node.name) ?? ["", 0, ""];
  const title = label || (node.kind === "output" ? `out ${node.index}` : node.name);
  return { title: shorten(title, 26), sub: type };
}

/** "params · 66"; the types, where there is room for them. @param {Program} program @param {DrawnNode} node */
function bundleWords(program, { bundle = [], kind }) {
  const labels = bundle.map((name) => program.variables.get(name)?.[2] || name);
  let common = labels[0];
  for (const label of labels) while (!label.startsWith(common)) common = common.slice(0, -1);
  const name = common.replace(/[[.]['"]?$/, "");
  const words = plural(bundle.length, kind === "input" ? "input" : "result");
  const types = [...new Set(bundle.map((each) => program.typeOf(each)))];
  if (name.length < 2 || kind !== "input") return { title: words, sub: typesWords(types) };
  return { title: `${shorten(name, 18)} · ${count(bundle.length)}`, sub: typesWords(types) };
}

/** "f32[64,512] +2". @param {string[]} types */
function typesWords(types) {
  return types.length > 1 ? `${shorten(types[0], 16)} +${count(types.length - 1)}` : shorten(types[0] ?? "", 20);
}

/**
 * The types that a node gives, for the edge that leaves it, as far as there is room; of a box, of what goes along that
 * edge.
 * @param {Program} program
 * @param {Equation} equation
 * @param {DrawnNode} node
 */
export function outTypes(program, equation, node) {
  const types = equation.out.map((name) => program.typeOf(name)).filter(Boolean);
  const [first = ""] = equation.bodies && node.type ? [program.typeOf(node.type.name)] : types;
  const room = Math.max(9, Math.floor((node.w / 2 + 12) / SUB_LETTER));
  const more = (equation.bodies ? (node.type?.count ?? 1) : types.length) - 1;
  const all = more > 0 ? `${first} +${more}` : first;
  return all.length <= room ? all : first.length <= room ? first : shorten(first, room);
}

/**
 * One line that says everything known of an equation, each number with its source.
 * @param {Program} program
 * @param {string} path
 * @returns {string[]}
 */
export function describe(program, path) {
  const equation = program.at(path);
  if (!equation) return [];
  const parts = equation.members
    ? groupFacts(program, equation)
    : [jaxprLine(program, equation), program.sourceWords(path), passWords(program, equation)];
  if (equation.scope) parts.push(`scope ${shorten(equation.scope, 60)}`);
  if (tripsOf(equation) == null) parts.push("number of steps not known before it runs: counted as one");
  const kernels = program.kernelsWith(path);
  if (kernels.length > 3) parts.push(`in ${plural(kernels.length, "kernel")}`);
  else if (kernels.length) parts.push(`in ${shorten(kernels.map((k) => k.name).join(", "), 60)}`);
  else if (program.heavy.kernels) parts.push("in no kernel (folded away, or its kernel is not known)");
  if (program.kept.has(path)) parts.push("kept in memory: XLA would compute it again in several kernels");
  parts.push(...timeWords(program, path, kernels));
  if (equation.flops)
    parts.push(`${flopCount(equation.flops)}${(tripsOf(equation) ?? 1) > 1 ? " in all steps" : ""} (our count)`);
  if (!program.byNames)
    parts.push(`${byteSize(program.bytesOf(equation))} read and written if it ran alone (our count)`);
  const bound = equation.bodies || program.byNames ? null : rooflineOf(program, equation, program.ceilings);
  if (bound)
    parts.push(
      `at least ${seconds(bound.time)} alone, by the ceiling of ${bound.limit} (our count over ceilings ${program.ceilings?.source ?? "measured here"})`,
    );
  return parts;
}

/** What a group is. @param {Program} program @param {Equation} group */
function groupFacts(program, group) {
  const { kind = "", times = 1 } = group.group ?? {};
  const what = {
    scope: "scope",
    function: "function",
    line: "",
    repeat: "repeated",
    layer: "one of the repeats",
    stretch: "in order",
  }[/** @type {"scope"} */ (kind)];
  const lines = new Set();
  for (const { src } of group.members ?? []) if (src && lines.size < 4) lines.add(`line ${src[1]}`);
  const parts = [`${group.name}: ${plural(program.inside(group.path).length, "equation")}`];
  if (what) parts.push(times > 1 ? `${what} ${count(times)} times, equal in operations and shapes` : what);
  if (lines.size) parts.push(lines.size > 3 ? "several lines" : [...lines].join(", "));
  const kept = keptIn(program, group);
  if (kept) parts.push(`${count(kept)} of them kept in memory: XLA would compute them again in several kernels`);
  parts.push(program.passOf(group.path), `${count(group.in.length)} values in, ${count(group.out.length)} out`);
  return parts;
}

/** @param {Program} program @param {string} path @param {Kernel[]} kernels */
function timeWords(program, path, kernels) {
  const own = program.ownTime(path);
  if (own != null) return [`${seconds(own)} a call (measured)`];
  const part = program.at(path)?.bodies && program.part(path);
  if (part)
    return [
      `${seconds(program.share(path) ?? 0)} a call, ${percent(part)} of the kernels' time (measured${program.areAlone(path, kernels) ? "" : "; of kernels that it shares with others, a part by their equations"})`,
    ];
  if (kernels.length !== 1) return [];
  const time = program.times.get(kernels[0].name);
  return time == null ? [] : [`${seconds(time)} a call for the whole kernel (measured)`];
}

/** @param {Program} program @param {Equation} equation */
function passWords(program, equation) {
  const pass = program.passOf(equation.path);
  const word =
    pass === "recomputed"
      ? "forward, computed again on the way back"
      : pass === "update"
        ? pass
        : (equation.role ?? "forward");
  const of = program.origins.get(equation.path);
  return of ? `${word}, ${transposedWords(program, of)}` : word;
}

/** The equation as the jaxpr prints it. @param {Program} program @param {Equation} equation */
export function jaxprLine(program, equation) {
  const outs = equation.out.map((name) => `${name}:${program.typeOf(name)}`).join(" ");
  const params = equation.params ? `[${shorten(equation.params, 80)}]` : "";
  return `${outs} = ${equation.op}${params} ${equation.in.join(" ")}`;
}

/** What a screen reader says for a node. @param {Program} program @param {DrawnNode} node */
export function nodeLabel(program, node) {
  const equation = program.at(node.path);
  if (!equation) return `${node.kind} ${node.title} ${node.sub}`;
  if (equation.members) return `${equation.name}, ${program.passOf(node.path)}, ${groupSub(program, equation)}`;
  const types = equation.out.map((name) => program.typeOf(name)).join(" ");
  return `${equationTitle(program, equation)}, ${shorten(types, 60)}, ${equation.role ?? "forward"}, ${equationSub(program, equation)}`;
}
