// @ts-check
/** Labels of nodes, tooltips, and the line that describes a selection. */

import {
  formatBytes,
  formatFlops,
  formatInt,
  formatPercent,
  formatTime,
  pluralize,
  shorten,
} from "../ground/format.js";
import { getName } from "./equation_names.js";
import { computeRoofline, formatHeat, getTripCount } from "./heat.js";
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
  // In a comparison, the sign tells whether the other program has the equation too.
  const sign = program.signs?.get(equation.path);
  const title = `${program.values.born?.includes(equation.path) ? "⚠ " : ""}${countMaterialized(program, equation) ? MATERIALIZED_MARK : ""}${formatTitle(program, equation)}`;
  return { title: sign ? shorten(`${sign} ${title}`, 27) : title, sub: formatSubline(program, equation) };
}

/** Stands before the name of what is kept in memory, where XLA would compute it again. */
export const MATERIALIZED_MARK = "▣ ";

/**
 * Return how many results of an equation, or of a group's members, are kept in memory.
 * @param {Program} program
 * @param {Equation} equation
 */
function countMaterialized(program, equation) {
  if (!program.materialized.size) return 0;
  return (equation.members ?? [equation]).filter((member) => program.materialized.has(member.path)).length;
}

/**
 * Format an operation with its literal operands, "mul 0.1"; of a loop, its trip count: "cell × 100 steps".
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
 * Format the second line of a node; with a heat, the number that the colour stands for.
 * @param {Program} program
 * @param {Equation} equation
 * @param {string} [heat]
 */
export function formatSubline(program, equation, heat = "pass") {
  if (heat !== "pass") return formatHeat(program, equation, heat);
  if (equation.members) return formatGroupSubtitle(program, equation);
  const origin = program.origins.get(equation.path);
  if (equation.bodies)
    return formatBoxSubtitle(
      program,
      equation,
      origin ? formatTransposed(program, origin) : pluralize(program.listInside(equation.path).length - 1, "equation"),
    );
  const time = program.getOwnSeconds(equation.path);
  const parts = [];
  if (origin && time != null) return `${formatTime(time)} · of ${program.formatLine(origin) ?? "an unknown line"}`;
  if (origin) parts.push(formatTransposed(program, origin));
  else if (time == null) parts.push(program.formatLine(equation.path) ?? "no source");
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
 * Format the share of time of a box; where nothing is measured, its work.
 * @param {Program} program
 * @param {Equation} box
 * @param {string} text
 */
function formatBoxSubtitle(program, box, text) {
  const part = formatTimeFraction(program, box.path);
  if (part) return `${part} · ${text}`;
  return box.flops ? `${text} · ${formatFlops(box.flops)}` : text;
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
  return part < 0.01 || program.coversKernels(path, program.listKernels(path)) ? words : `≈ ${words}`;
}

/** @param {Program} program @param {Equation} group */
function findGroupLine(program, group) {
  // Leading constants may belong to another line.
  const first = group.members?.find((member) => member.op !== "broadcast_in_dim") ?? group.members?.[0];
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
function formatBundle(program, { bundle = [], kind, index, last }) {
  const labels = bundle.map((name) => program.variables.get(name)?.[2] || name);
  let common = labels[0];
  for (const label of labels) while (!label.startsWith(common)) common = common.slice(0, -1);
  const name = common.replace(/[[.]['"]?$/, "");
  const words = pluralize(bundle.length, kind === "input" ? "input" : "result");
  const types = [...new Set(bundle.map((variable) => program.getType(variable)))];
  if (kind === "output" && last != null) return { title: `out ${index}–${last}`, sub: formatTypes(types) };
  if (name.length < 2 || kind !== "input") return { title: words, sub: formatTypes(types) };
  return { title: `${shorten(name, 18)} · ${formatInt(bundle.length)}`, sub: formatTypes(types) };
}

/** "f32[64,512] +2". @param {string[]} types */
function formatTypes(types) {
  return types.length > 1 ? `${shorten(types[0], 16)} +${formatInt(types.length - 1)}` : shorten(types[0] ?? "", 20);
}

/**
 * Format the types of a node's results beside its edge, as far as there is room; of a box, those along that edge.
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
 * Return all facts about an equation, each number with its source.
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
  const values = program.values.heat?.[path]?.[3];
  if (values) parts.push(values);
  if (program.materialized.has(path)) parts.push("kept in memory: XLA would compute it again in several kernels");
  parts.push(...describeTime(program, path, kernels));
  if (equation.flops)
    parts.push(
      `${formatFlops(equation.flops)}${(getTripCount(equation) ?? 1) > 1 ? " in all steps" : ""} (roofline estimate)`,
    );
  if (!program.byNames)
    parts.push(`${formatBytes(program.countBytes(equation))} read and written if it ran alone (roofline estimate)`);
  const bound = equation.bodies || program.byNames ? null : computeRoofline(program, equation, program.ceilings);
  if (bound)
    parts.push(
      `at least ${formatTime(bound.time)} alone, by the ceiling of ${bound.limit} (roofline estimate, ceilings ${program.ceilings?.source ?? "measured here"})`,
    );
  return parts;
}

/** Return the facts about a group. @param {Program} program @param {Equation} group */
function describeGroup(program, group) {
  const { kind = "", times = 1 } = group.group ?? {};
  const kindLabel = {
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
  if (kindLabel)
    parts.push(times > 1 ? `${kindLabel} ${formatInt(times)} times, equal in operations and shapes` : kindLabel);
  if (lines.size) parts.push(lines.size > 3 ? "several lines" : [...lines].join(", "));
  const materialized = countMaterialized(program, group);
  if (materialized)
    parts.push(`${formatInt(materialized)} of them kept in memory: XLA would compute them again in several kernels`);
  parts.push(
    program.getPass(group.path),
    `${formatInt(group.in.length)} values in, ${formatInt(group.out.length)} out`,
  );
  return parts;
}

/** @param {Program} program @param {string} path @param {Kernel[]} kernels */
function describeTime(program, path, kernels) {
  const seconds = program.getOwnSeconds(path);
  if (seconds != null) return [`${formatTime(seconds)} a call (measured)`];
  const part = program.at(path)?.bodies && program.getTimeFraction(path);
  if (part)
    return [
      `${formatTime(program.getSeconds(path) ?? 0)} a call, ${formatPercent(part)} of the kernels' time (measured${program.coversKernels(path, kernels) ? "" : "; of kernels that it shares with others, a part by their equations"})`,
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
  const origin = program.origins.get(equation.path);
  return origin ? `${word}, ${formatTransposed(program, origin)}` : word;
}

/** Format an equation as the jaxpr prints it. @param {Program} program @param {Equation} equation */
export function formatJaxprLine(program, equation) {
  const outs = equation.out.map((name) => `${name}:${program.getType(name)}`).join(" ");
  const params = equation.params ? `[${shorten(equation.params, 80)}]` : "";
  return `${outs} = ${equation.op}${params} ${equation.in.join(" ")}`;
}

/** Format the label of a node for screen readers. @param {Program} program @param {DrawnNode} node */
export function formatNodeLabel(program, node) {
  const equation = program.at(node.path);
  if (!equation) return `${node.kind} ${node.title} ${node.sub}`;
  if (equation.members)
    return `${equation.name}, ${program.getPass(node.path)}, ${formatGroupSubtitle(program, equation)}`;
  const types = equation.out.map((name) => program.getType(name)).join(" ");
  return `${formatTitle(program, equation)}, ${shorten(types, 60)}, ${equation.role ?? "forward"}, ${formatSubline(program, equation)}`;
}
