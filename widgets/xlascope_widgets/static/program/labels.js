// @ts-check
/** The words on a node, in a tooltip, and in the line that describes a selection. */

import {
  formatBytes,
  formatInt,
  formatFlops,
  formatPercent,
  pluralize,
  formatTime,
  shorten,
} from "../ground/format.js";
import { getName } from "./equation_names.js";
import { formatHeat, computeRoofline, getTripCount } from "./heat.js";
/** @typedef {import("./heat.js").DrawnNode} DrawnNode */
/** @typedef {import("./program.js").Program} Program */
/** @typedef {import("./unpack.js").Equation} Equation */
/** @typedef {import("../ground/wire.js").Kernel} Kernel */

const INLINE = 14;
/** How wide a letter is of the first line of a node, and of everything else; in a usual monospaced face. */
export const TITLE_LETTER = 7.25;
export const SUB_LETTER = 6.65;

/** @param {Program} program @param {Equation} equation @returns {{title: string, sub: string}} */
export function formatEquation(program, equation) {
  // In a comparison: whether the other program has it too.
  const sign = program.signs?.get(equation.path);
  const title = `${countMaterialized(program, equation) ? MATERIALIZED_MARK : ""}${formatTitle(program, equation)}`;
  return { title: sign ? shorten(`${sign} ${title}`, 27) : title, sub: formatEquationSubtitle(program, equation) };
}

/** Stands before the name of what is kept in memory, where XLA would compute it again. */
export const MATERIALIZED_MARK = "▣ ";

/**
 * How many results of an equation, or of those in a group, are kept.
 * @param {Program} program
 * @param {Equation} equation
 */
function countMaterialized(program, equation) {
  if (!program.materialized.size) return 0;
  return (equation.members ?? [equation]).filter((each) => program.materialized.has(each.path)).length;
}

/**
 * The operation with its literal operands: "mul 0.1"; of a loop, how often: "cell × 100 steps".
 * @param {Program} program
 * @param {Equation} equation
 */
function formatTitle(program, equation) {
  const name = getName(equation);
  const trips = getTripCount(equation);
  if (trips !== 1) return `${shorten(name, 14)} × ${trips == null ? "? steps" : pluralize(trips, "step")}`;
  if (equation.bodies) return shorten(name, 25);
  const literals = equation.in.filter((operand) => !program.variables.has(operand)).map(formatLiteral);
  const text = [name, ...literals.map((t) => shorten(t, INLINE))].join(" ");
  return shorten(text, 25);
}

/** "1.0:f32[]" -> "1.0". @param {string} text */
export function formatLiteral(text) {
  return text.split(":")[0];
}

/**
 * The second line of a node; with a heat, the number that the colour stands for.
 * @param {Program} program
 * @param {Equation} equation
 * @param {string} [heat]
 */
export function formatEquationSubtitle(program, equation, heat = "pass") {
  if (heat !== "pass") return formatHeat(program, equation, heat);
  if (equation.members) return formatGroupSubtitle(program, equation);
  const of = program.origins.get(equation.path);
  if (equation.bodies)
    return formatBoxSubtitle(
      program,
      equation,
      of ? formatTransposed(program, of) : pluralize(program.listInside(equation.path).length - 1, "equation"),
    );
  const time = program.getOwnSeconds(equation.path);
  const parts = [];
  if (of && time != null) return `${formatTime(time)} · of ${program.formatLine(of) ?? "an unknown line"}`;
  if (of) parts.push(formatTransposed(program, of));
  else if (time == null) parts.push(program.formatLine(equation.path) ?? "no source known");
  if (time != null) parts.push(formatTime(time));
  if (time != null && equation.flops) parts.push(formatFlops(equation.flops));
  return parts.join(" · ");
}

/** "41 % · 124 equations", or of one line "≈ 12 % · line 9". @param {Program} program @param {Equation} group */
function formatGroupSubtitle(program, group) {
  const inside = pluralize(program.listInside(group.path).length, "equation");
  return formatBoxSubtitle(
    program,
    group,
    group.group?.kind === "line" ? (findGroupLine(program, group) ?? inside) : inside,
  );
}

/**
 * What a box has of the time, and what it is; where nothing is measured, its work.
 * @param {Program} program
 * @param {Equation} box
 * @param {string} what
 */
function formatBoxSubtitle(program, box, what) {
  const part = formatTimeFraction(program, box.path);
  if (part) return `${part} · ${what}`;
  return box.flops ? `${what} · ${formatFlops(box.flops)}` : what;
}

/**
 * "41 %" of all kernels' time; "≈ 12 %" where kernels are shared with what is outside, and their time is split over
 * their equations.
 * @param {Program} program
 * @param {string} path
 */
export function formatTimeFraction(program, path) {
  const part = program.getTimeFraction(path);
  if (part == null) return "";
  const words = formatPercent(part);
  return part < 0.01 || program.haveOnlyEquationsOf(path, program.listKernels(path)) ? words : `≈ ${words}`;
}

/** @param {Program} program @param {Equation} group */
function findGroupLine(program, group) {
  // Constants that stand in front may be another line's.
  const first = group.members?.find((each) => each.op !== "broadcast_in_dim") ?? group.members?.[0];
  return program.formatLine(first?.path ?? "");
}

/** "of tanh, line 9". @param {Program} program @param {string} path */
function formatTransposed(program, path) {
  const forward = program.equations.get(path);
  const line = program.formatLine(path);
  return [`of ${shorten(forward ? getName(forward) : path, 16)}`, line].filter(Boolean).join(", ");
}

/** @param {Program} program @param {DrawnNode} node */
export function formatVariable(program, node) {
  if (node.bundle) return formatBundle(program, node);
  const [type, , label] = program.variables.get(node.name) ?? ["", 0, ""];
  const title = label || (node.kind === "output" ? `out ${node.index}` : node.name);
  return { title: shorten(title, 26), sub: type };
}

/** "params · 66"; the types, where there is room for them. @param {Program} program @param {DrawnNode} node */
function formatBundle(program, { bundle = [], kind }) {
  const labels = bundle.map((name) => program.variables.get(name)?.[2] || name);
  let common = labels[0];
  for (const label of labels) while (!label.startsWith(common)) common = common.slice(0, -1);
  const name = common.replace(/[[.]['"]?$/, "");
  const words = pluralize(bundle.length, kind === "input" ? "input" : "result");
  const types = [...new Set(bundle.map((each) => program.getType(each)))];
  if (name.length < 2 || kind !== "input") return { title: words, sub: formatTypes(types) };
  return { title: `${shorten(name, 18)} · ${formatInt(bundle.length)}`, sub: formatTypes(types) };
}

/** "f32[64,512] +2". @param {string[]} types */
function formatTypes(types) {
  return types.length > 1 ? `${shorten(types[0], 16)} +${formatInt(types.length - 1)}` : shorten(types[0] ?? "", 20);
}

/**
 * The types that a node gives, for the edge that leaves it, as far as there is room; of a box, of what goes along that
 * edge.
 * @param {Program} program
 * @param {Equation} equation
 * @param {DrawnNode} node
 */
export function formatOutTypes(program, equation, node) {
  const types = equation.out.map((name) => program.getType(name)).filter(Boolean);
  const [first = ""] = equation.bodies && node.type ? [program.getType(node.type.name)] : types;
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
export function describeEquation(program, path) {
  const equation = program.at(path);
  if (!equation) return [];
  const parts = equation.members
    ? describeGroup(program, equation)
    : [formatJaxprLine(program, equation), program.describeSource(path), describePass(program, equation)];
  if (equation.scope) parts.push(`scope ${shorten(equation.scope, 60)}`);
  if (getTripCount(equation) == null) parts.push("number of steps not known before it runs: counted as one");
  const kernels = program.listKernels(path);
  if (kernels.length > 3) parts.push(`in ${pluralize(kernels.length, "kernel")}`);
  else if (kernels.length) parts.push(`in ${shorten(kernels.map((k) => k.name).join(", "), 60)}`);
  else if (program.heavy.kernels) parts.push("in no kernel (folded away, or its kernel is not known)");
  if (program.materialized.has(path)) parts.push("kept in memory: XLA would compute it again in several kernels");
  parts.push(...describeTime(program, path, kernels));
  if (equation.flops)
    parts.push(`${formatFlops(equation.flops)}${(getTripCount(equation) ?? 1) > 1 ? " in all steps" : ""} (our count)`);
  if (!program.byNames)
    parts.push(`${formatBytes(program.countBytes(equation))} read and written if it ran alone (our count)`);
  const bound = equation.bodies || program.byNames ? null : computeRoofline(program, equation, program.ceilings);
  if (bound)
    parts.push(
      `at least ${formatTime(bound.time)} alone, by the ceiling of ${bound.limit} (our count over ceilings ${program.ceilings?.source ?? "measured here"})`,
    );
  return parts;
}

/** What a group is. @param {Program} program @param {Equation} group */
function describeGroup(program, group) {
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
  const parts = [`${group.name}: ${pluralize(program.listInside(group.path).length, "equation")}`];
  if (what) parts.push(times > 1 ? `${what} ${formatInt(times)} times, equal in operations and shapes` : what);
  if (lines.size) parts.push(lines.size > 3 ? "several lines" : [...lines].join(", "));
  const kept = countMaterialized(program, group);
  if (kept) parts.push(`${formatInt(kept)} of them kept in memory: XLA would compute them again in several kernels`);
  parts.push(
    program.getPass(group.path),
    `${formatInt(group.in.length)} values in, ${formatInt(group.out.length)} out`,
  );
  return parts;
}

/** @param {Program} program @param {string} path @param {Kernel[]} kernels */
function describeTime(program, path, kernels) {
  const own = program.getOwnSeconds(path);
  if (own != null) return [`${formatTime(own)} a call (measured)`];
  const part = program.at(path)?.bodies && program.getTimeFraction(path);
  if (part)
    return [
      `${formatTime(program.getSeconds(path) ?? 0)} a call, ${formatPercent(part)} of the kernels' time (measured${program.haveOnlyEquationsOf(path, kernels) ? "" : "; of kernels that it shares with others, a part by their equations"})`,
    ];
  if (kernels.length !== 1) return [];
  const time = program.times.get(kernels[0].name);
  return time == null ? [] : [`${formatTime(time)} a call for the whole kernel (measured)`];
}

/** @param {Program} program @param {Equation} equation */
function describePass(program, equation) {
  const pass = program.getPass(equation.path);
  const word =
    pass === "recomputed"
      ? "forward, computed again on the way back"
      : pass === "update"
        ? pass
        : (equation.role ?? "forward");
  const of = program.origins.get(equation.path);
  return of ? `${word}, ${formatTransposed(program, of)}` : word;
}

/** The equation as the jaxpr prints it. @param {Program} program @param {Equation} equation */
export function formatJaxprLine(program, equation) {
  const outs = equation.out.map((name) => `${name}:${program.getType(name)}`).join(" ");
  const params = equation.params ? `[${shorten(equation.params, 80)}]` : "";
  return `${outs} = ${equation.op}${params} ${equation.in.join(" ")}`;
}

/** What a screen reader says for a node. @param {Program} program @param {DrawnNode} node */
export function formatNodeLabel(program, node) {
  const equation = program.at(node.path);
  if (!equation) return `${node.kind} ${node.title} ${node.sub}`;
  if (equation.members)
    return `${equation.name}, ${program.getPass(node.path)}, ${formatGroupSubtitle(program, equation)}`;
  const types = equation.out.map((name) => program.getType(name)).join(" ");
  return `${formatTitle(program, equation)}, ${shorten(types, 60)}, ${equation.role ?? "forward"}, ${formatEquationSubtitle(program, equation)}`;
}
