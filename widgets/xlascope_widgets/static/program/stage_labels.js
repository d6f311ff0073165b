// @ts-check
/** Labels of a program's stages and kernels, for the strip, the panel and pictures. */

import { formatBytes, formatFlops, formatInt, formatTime, pluralize, shorten } from "../ground/format.js";
/** @typedef {import("./program.js").Program} Program */
/** @typedef {import("../ground/wire.js").Executed} Executed */
/** @typedef {import("../ground/wire.js").Failure} Failure */
/** @typedef {import("../ground/wire.js").Kernel} Kernel */
/** @typedef {import("../ground/wire.js").Light} Light */

/** A piece of the strip; `least` is how much room it needs: nothing, "medium" or "wide".
 * @typedef {{text: string, least?: string}} Piece */
/** @typedef {{kind: string, name: string, strong: string, pieces: Piece[], tip?: string}} Stage */

/** "traced update 58 equations · 1.40 ms; compiled 310 ms → 9 kernels; …" @param {Program} program */
export function formatStrip(program) {
  return listStages(program).map(formatStage).join("; ");
}

/** @param {Stage} stage */
export function formatStage(stage) {
  return [stage.name, stage.strong, stage.pieces.map((piece) => piece.text).join("")].filter(Boolean).join(" ");
}

/** Return the stages that a program has reached, for the strip. @param {Program} program @returns {Stage[]} */
export function listStages(program) {
  const { light } = program;
  const stages = [
    light.traced != null && buildTracedStage(program),
    light.compiled != null && buildCompiledStage(light),
    light.executed && buildRunStage(light.executed),
    light.failure && buildFailedStage(light.failure),
  ];
  return stages.filter((stage) => stage != null && stage !== false);
}

/** @param {Program} program @returns {Stage} */
function buildTracedStage(program) {
  const { light } = program;
  if (light.traced === 0)
    return {
      kind: "done",
      name: "operation",
      strong: shorten(program.function, 48),
      tip: "Run outside of jit: an operation, or a function of the library",
      pieces: [],
    };
  const retraces = light.traces > 1 ? ` · trace ${light.traces}` : "";
  return {
    kind: "done",
    name: "traced",
    strong: shorten(program.function, 48),
    tip: `Traced because: ${light.reason} (time measured)`,
    pieces: [
      { text: pluralize(light.equations ?? 0, "eqn") },
      { text: ` · ${formatTime(light.traced ?? 0)}${retraces}`, least: "wide" },
    ],
  };
}

/** @param {Light} light @returns {Stage} */
function buildCompiledStage(light) {
  const hit = light.cache === "hit" ? " from the cache" : "";
  const quickly = light.quick !== undefined && !light.optimized;
  const before = light.optimized ? `, quickly in ${formatTime(light.quick ?? 0)} before` : "";
  const tip =
    light.quick === undefined
      ? ""
      : quickly
        ? "; calls run this version until the optimized one is there"
        : "; the first calls ran the version compiled quickly";
  return {
    kind: "done",
    name: quickly ? "compiled quickly" : "compiled",
    strong: "",
    tip: `XLA's compile time (measured); kernels counted in the optimized program${tip}`,
    pieces: [
      { text: `${formatTime(light.compiled ?? 0)}${hit}${before} → `, least: "medium" },
      { text: light.kernels === undefined ? "kernels unknown" : pluralize(light.kernels, "kernel") },
    ],
  };
}

/** @param {Executed} executed @returns {Stage} */
function buildRunStage(executed) {
  const { calls, times } = executed;
  const [time, clock, period] = times;
  return {
    kind: "run",
    name: "ran",
    strong: formatInt(calls),
    tip: formatRunTooltip(executed),
    pieces: [
      { text: calls === 1 ? "call" : "calls" },
      { text: time ? ` · ${time}` : "" },
      { text: clock && clock !== "measured" ? ` (${clock})` : "", least: "wide" },
      { text: period ? `, ${period}` : "" },
    ],
  };
}

/** Format what the numbers of a run mean, and what they cost. @param {Executed} executed */
function formatRunTooltip({ times, observed, profiling }) {
  const windows = observed ? ` The profiler saw ${pluralize(observed, "whole call")}` : "";
  const cost = profiling ? `, the first for ${formatTime(profiling)} of a processor, once` : "";
  return `Calls counted. ${times[3]}${windows}${cost}${windows && "."}`;
}

/** When a failure was. @type {Record<string, string>} */
const FAILED = { trace: "while tracing", lower: "while lowering", compile: "while compiling", run: "while running" };

/** @param {Failure} failure @returns {Stage} */
function buildFailedStage(failure) {
  const when = FAILED[failure.stage] ?? `in ${shorten(failure.stage, 24)}`;
  return {
    kind: "bad",
    name: "failed",
    strong: shorten(failure.error, 48),
    pieces: [{ text: when + (failure.line ? `, line ${failure.line}` : "") }],
  };
}

/**
 * Return the kernels, the slowest first where they were measured, or by another measure.
 * @param {Program} program
 * @param {(kernel: Kernel) => number} [measure]
 * @returns {Kernel[]}
 */
export function sortKernelsByTime(
  program,
  measure = (kernel) => program.times.get(kernel.name) ?? rankUnmeasured(kernel),
) {
  return [...(program.heavy.kernels ?? [])].sort((a, b) => measure(b) - measure(a));
}

/** Return a number below zero, larger for a kernel of the user's operations. @param {Kernel} kernel */
export const rankUnmeasured = (kernel) => (kernel.eqns.length ? -1 : -2);

/** @param {Program} program */
export function formatKernels(program) {
  const kernels = program.heavy.kernels;
  if (!kernels) return "not compiled yet";
  const measured = program.times.size
    ? ` · time a call measured, bytes: roofline estimates${formatOverlap(program)}`
    : "";
  const elsewhere = program.heavy.target ? ` · compiled for ${program.heavy.target}, not run` : "";
  return `${pluralize(kernels.length, "kernel")} for ${pluralize(program.equations.size, "equation")}${measured}${elsewhere}`;
}

/** Format XLA's estimates for the whole program, or return "". @param {Program} program */
export function formatEstimates(program) {
  const { flops = 0, accessed = 0, peak = 0 } = program.heavy;
  const parts = [
    flops > 0 && formatFlops(flops),
    accessed > 0 && `${formatBytes(accessed)} accessed`,
    peak > 0 && `${formatBytes(peak)} of memory at peak`,
  ];
  const present = parts.filter(Boolean);
  return present.length ? `${present.join(", ")} (XLA's estimate)` : "";
}

/** "f32[128,512] · line 14": what a kernel writes, of which lines. @param {Program} program @param {Kernel} kernel */
export function formatKernelOrigin(program, kernel) {
  const types = kernel.type.startsWith("(") ? kernel.type.slice(1, -1).split(/, (?![^[]*\])/) : [kernel.type];
  const more = types.length > 1 ? ` +${types.length - 1}` : "";
  return [`${shorten(types[0], 24)}${more}`, program.formatLines(kernel.eqns)].filter(Boolean).join(" · ");
}

/** @param {Program} program @param {Kernel} kernel */
export function labelKernel(program, kernel) {
  const time = program.times.get(kernel.name);
  const equations = new Set(kernel.eqns).size;
  const facts = [kernel.kind, equations ? pluralize(equations, "equation") : describeOrigin(program, kernel)];
  if (kernel.repeats) facts.push(`one of ${kernel.repeats} repeats a run, compiled once`);
  if (kernel.across) facts.push(`${kernel.across[0]} between ${kernel.across[1]}`);
  if (kernel.saved) facts.push(`saved ${formatBytes(kernel.saved)}`);
  const { name } = kernel;
  const origin = formatKernelOrigin(program, kernel);
  return { title: program.getKernelTitle(name), origin, facts, pass: program.getKernelPass(name), time };
}

/**
 * Describe a kernel without equations: what it copies, if known.
 * @param {Program} program
 * @param {Kernel} [kernel]
 */
export function describeOrigin(program, kernel) {
  const ops = [...new Set((kernel?.moves ?? []).map((path) => program.equations.get(path)?.op).filter(Boolean))];
  if (!ops.length && kernel?.kind === "call") return "runs what is within";
  if (kernel?.copies) return `copies ${shorten(kernel.copies, 40)}`;
  return ops.length ? `copies what ${shorten(ops.join(", "), 40)} made` : "no source information";
}

/** Format both sums of times, where kernels overlap. @param {Program} program */
export function formatOverlap(program) {
  const sums = program.account?.sums;
  return sums
    ? ` · kernels overlap: their times add up to ${formatTime(sums[0])}, at least one ran for ${formatTime(sums[1])}`
    : "";
}

/** Format the clock that measured a call. @param {Executed} run */
export function formatClock(run) {
  return { host: "host clock", profile: "profiler", "": "measured" }[run.clock ?? ""];
}

/** @param {import("../ground/wire.js").Kernel} kernel @returns {string[]} */
export function describeCollective({ across }) {
  if (!across) return [];
  const [kind, devices, bytesIn, bytesOut] = across;
  return [
    `${kind} between ${pluralize(devices, "device")}: ${formatBytes(bytesIn)} in, ${formatBytes(bytesOut)} out on each`,
  ];
}
