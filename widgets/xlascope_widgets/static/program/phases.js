// @ts-check
/** Phases of one level: forward, backward, and what comes after. */

/** @typedef {import("./unpack.js").Jaxpr} Jaxpr */

/** Forward, backward, update, backward, forward again, …: which of them each equation of a level belongs to.
 * Even phases run down the page, odd ones up beside them. @param {Jaxpr} jaxpr @returns {number[]} */
export function computePhases(jaxpr) {
  const { equations } = jaxpr;
  // Most levels have a single phase.
  if (!equations.some((equation) => equation.role || equation.updates)) return new Array(equations.length).fill(0);
  const phase = new Map();
  let last = 0;
  const phases = equations.map((equation) => {
    const isOdd = (equation.role ?? "forward") !== "forward";
    const own = isOdd ? 1 : equation.updates ? 2 : 0;
    let latest = Math.max(own, ...equation.in.map((name) => phase.get(name) ?? 0));
    while (isOdd ? latest % 2 === 0 : latest % 4 !== own) latest++;
    for (const name of equation.out) phase.set(name, latest);
    last = Math.max(last, latest);
    return latest;
  });
  if (last > 1) deferPhases(jaxpr, phases);
  return phases;
}

/**
 * Move forward equations that are used only after the gradient (an optimizer's moments) to the phase of their use.
 * @param {Jaxpr} jaxpr
 * @param {number[]} phases
 */
function deferPhases(jaxpr, phases) {
  /**
   * The least phase that uses a variable. A result of the program is used where it is made, unless arguments alone make
   * it, as a counter of steps.
   * @type {Map<string, number>}
   */
  const uses = new Map();
  const computed = new Set(jaxpr.equations.flatMap((equation) => equation.out));
  const results = new Set(jaxpr.outputs);
  for (const equation of jaxpr.equations)
    if (equation.in.some((name) => computed.has(name)))
      for (const name of equation.out) if (results.has(name)) uses.set(name, 0);
  for (let i = phases.length - 1; i >= 0; i--) {
    const equation = jaxpr.equations[i];
    const first = equation.out.reduce((least, name) => Math.min(least, uses.get(name) ?? Infinity), Infinity);
    if (equation.updates == null && phases[i] % 2 === 0 && first % 2 === 0 && first > phases[i]) phases[i] = first;
    // A use by a backward equation is that of a residual and does not move the equation.
    for (const name of equation.in) uses.set(name, Math.min(uses.get(name) ?? Infinity, phases[i]));
  }
}
