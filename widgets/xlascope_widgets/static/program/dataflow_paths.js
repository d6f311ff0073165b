// @ts-check
/** Equations on the paths of values between two equations. */

import { getParentPath, listAncestors } from "../ground/path.js";
/** @typedef {import("./program.js").Program} Program */
/** @typedef {import("./unpack.js").Equation} Equation */

/** @param {Program} program @param {string} a @param {string} b paths of equations or groups, in any order
 * @returns {{ends: [string, string], paths: string[]}|null} null when neither depends on the other */
export function findPathsBetween(program, a, b) {
  const level = findCommonLevel(program, a, b);
  if (!level) return null;
  const forth = listBetween(level.equations, level.ends[0], level.ends[1]);
  const back = forth ?? listBetween(level.equations, level.ends[1], level.ends[0]);
  if (!back) return null;
  const paths = back.flatMap((path) => program.listInside(path));
  return { ends: forth ? [a, b] : [b, a], paths };
}

/**
 * Return the innermost program that holds both, and the part of it that holds each.
 * @param {Program} program
 * @param {string} a
 * @param {string} b
 */
function findCommonLevel(program, a, b) {
  const [first, second] = [a, b].map((path) => program.at(path)?.members?.map((e) => e.path) ?? [path]);
  const outer = listAncestors(getParentPath(first[0]));
  const inner = listAncestors(getParentPath(second[0]));
  let depth = 0;
  while (depth < outer.length && depth < inner.length && outer[depth] === inner[depth]) depth++;
  const liftToLevel = (/** @type {string[]} */ paths, /** @type {string[]} */ chain) =>
    new Set(depth < chain.length ? [chain[depth]] : paths);
  const ends = [liftToLevel(first, outer), liftToLevel(second, inner)];
  if ([...ends[0]].some((path) => ends[1].has(path))) return null;
  const holder = depth && program.equations.get(outer[depth - 1]);
  const bodies = (holder ? holder.bodies : program.heavy.jaxpr && [program.heavy.jaxpr]) ?? [];
  const [start] = ends[0];
  const body = bodies.find((jaxpr) => jaxpr.equations.some((e) => e.path === start));
  return body && { equations: body.equations, ends };
}

/** @param {Equation[]} equations in order @param {Set<string>} from @param {Set<string>} to @returns {string[]|null} */
function listBetween(equations, from, to) {
  const reached = new Set(),
    needed = new Set();
  const after = equations.map((equation) => {
    const depends = from.has(equation.path) || equation.in.some((name) => reached.has(name));
    if (depends) for (const name of equation.out) reached.add(name);
    return depends;
  });
  const before = new Set();
  for (let i = equations.length - 1; i >= 0; i--) {
    const equation = equations[i];
    if (!to.has(equation.path) && !equation.out.some((name) => needed.has(name))) continue;
    before.add(equation.path);
    for (const name of equation.in) needed.add(name);
  }
  if (!equations.some((equation, i) => after[i] && to.has(equation.path))) return null;
  return equations
    .filter(
      (equation, i) => after[i] && before.has(equation.path) && !from.has(equation.path) && !to.has(equation.path),
    )
    .map((e) => e.path);
}
