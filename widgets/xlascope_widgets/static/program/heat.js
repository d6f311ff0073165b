// @ts-check
/** Numbers on nodes: the meaning of colour and second line, and rooflines. */

import { formatBytes, formatFlops, formatTime } from "../ground/format.js";
/** What words and colours need of a node of the graph; `inner` says that it is open.
 * @typedef {object} DrawnNode
 * @property {"equation"|"input"|"output"} kind
 * @property {string} path
 * @property {string} name
 * @property {string} title
 * @property {string} sub
 * @property {number} w
 * @property {number} [index]
 * @property {number} [last] of a bundle of results without gaps
 * @property {string[]} [bundle]
 * @property {{name: string, count: number}} [type]
 * @property {unknown[]} [inner] */
/** @typedef {import("./program.js").Program} Program */
/** @typedef {import("./unpack.js").Equation} Equation */

/** What a colour may mean; the last three where the values of a call are known. */
export const HEATS = ["pass", "time", "flops", "bytes", "size", "zeros", "limits"];

const HEAT_STEPS = 5;

/** What the colours of a heat mean, and whose number it is. */
export const HEAT_WORDS = {
  time: "little to much time (measured, a kernel's shared by estimated work)",
  flops: "few to many floating-point operations (roofline estimate, steps of loops included)",
  bytes: "few to many bytes read and written (roofline estimate)",
  size: "small to large values: log2 of root mean square (measured, of one call)",
  zeros: "few to many zeros (measured, of one call)",
  limits: "far from to near the dtype’s limits (measured, of one call)",
};

/** @param {Program|undefined} program @returns {string[]} */
export const listHeats = (program) => (program?.values.heat ? HEATS : HEATS.slice(0, 4));

/**
 * Return the step and the words of a colour about values; of a box the highest step inside.
 * @param {Program} program
 * @param {Equation} equation
 * @param {string} heat
 * @returns {[number|null, string]}
 */
function findValueStep(program, { path, bodies, members }, heat) {
  const at = HEATS.indexOf(heat) - 4;
  const all = bodies || members ? program.listInside(path) : [path];
  const known = all.map((inside) => program.values.heat?.[inside]?.[at]).filter((entry) => entry?.[0] != null);
  return known.reduce((most, entry) => (entry[0] > most[0] ? entry : most), known[0] ?? [null, "not measured"]);
}

/**
 * Return the number that a heat stands for, or null where it is not known.
 * @param {Program} program
 * @param {Equation} equation
 * @param {string} heat
 * @returns {number|null}
 */
export function getHeat(program, equation, heat) {
  if (heat === "time") return program.getSeconds(equation.path);
  if (program.byNames) return null;
  if (heat === "flops") return equation.flops ?? 0;
  return heat === "bytes" ? program.countBytes(equation) : null;
}

/**
 * Format the number that a heat stands for.
 * @param {Program} program
 * @param {Equation} equation
 * @param {string} heat
 */
export function formatHeat(program, equation, heat) {
  if (HEATS.indexOf(heat) > 3) return findValueStep(program, equation, heat)[1];
  const value = getHeat(program, equation, heat);
  if (value == null) return heat === "pass" ? "" : heat === "time" ? "not measured" : "not known";
  return heat === "time" ? formatTime(value) : heat === "flops" ? formatFlops(value) : formatBytes(value);
}

/**
 * Return the function from nodes to heat in steps 0..4 (square root of the share of the largest); null for passes.
 * @param {Program} program
 * @param {string} heat
 * @param {DrawnNode[]} nodes
 * @returns {(node: DrawnNode) => number|null}
 */
export function buildHeatScale(program, heat, nodes) {
  if (heat === "pass") return () => null;
  if (HEATS.indexOf(heat) > 3)
    return ({ path, inner }) => {
      const equation = program.at(path);
      return equation && !inner ? findValueStep(program, equation, heat)[0] : null;
    };
  const values = new Map();
  for (const node of nodes) {
    const equation = program.at(node.path);
    if (equation && !node.inner) values.set(node, getHeat(program, equation, heat));
  }
  let largest = 1e-15;
  for (const value of values.values()) largest = Math.max(largest, value ?? 0);
  return (node) => {
    const value = values.get(node);
    return value == null ? null : Math.min(HEAT_STEPS - 1, Math.floor((value / largest) ** 0.5 * HEAT_STEPS));
  };
}

/**
 * Return the shortest time in which a machine can run an equation alone, and what limits it.
 * @param {Program} program
 * @param {Equation} equation
 * @param {{flops_per_s: number, bytes_per_s: number}|undefined} ceilings
 * @returns {{time: number, limit: "compute"|"memory"}|null}
 */
export function computeRoofline(program, equation, ceilings) {
  if (!ceilings || !(ceilings.flops_per_s > 0) || !(ceilings.bytes_per_s > 0)) return null;
  const compute = (equation.flops ?? 0) / ceilings.flops_per_s;
  const memory = program.countBytes(equation) / ceilings.bytes_per_s;
  return { time: Math.max(compute, memory), limit: compute > memory ? "compute" : "memory" };
}

/**
 * Return how often a loop runs its body: null for a `while`, 1 for other equations.
 * @param {Equation} equation
 * @returns {number|null}
 */
export function getTripCount(equation) {
  if (equation.op === "while") return null;
  const length = equation.op === "scan" && /\blength=(\d+)/.exec(equation.params ?? "");
  return length ? Number(length[1]) : 1;
}
