// @ts-check
/** Equations that update: they depend on a gradient, as an optimizer does, wherever it was computed. */

/** @typedef {import("./unpack.js").Jaxpr} Jaxpr */
/** @typedef {import("./unpack.js").Equation} Equation */

/**
 * Mark the equations of a level and of its bodies that update, and return for each result whether it follows from a
 * gradient that is computed within. What is differentiated again, what follows from that, and what only that uses, is
 * forward. A call that computes a gradient itself is looked into.
 * @param {Jaxpr} jaxpr
 * @param {Set<string>} differentiated paths of the equations that others transpose
 * @returns {boolean[]}
 */
export function markUpdates(jaxpr, differentiated) {
  /** Values that follow from a gradient. @type {Set<string>} */ const after = new Set();
  /** @type {Set<Equation>} */ const candidates = new Set();
  for (const equation of jaxpr.equations) {
    const isBackward = equation.role === "backward";
    const isForward = !isBackward && differentiated.has(equation.path);
    const inner = isBackward ? [] : (equation.bodies ?? []).map((body) => markUpdates(body, differentiated));
    const isAfter = isBackward || (!isForward && equation.in.some((name) => after.has(name)));
    equation.out.forEach((name, i) => {
      if (isAfter || inner.some((made) => (made.length === equation.out.length ? made[i] : made.includes(true))))
        after.add(name);
    });
    if (inner.flat().includes(true)) equation.updates = false;
    else if (isAfter && !isBackward) candidates.add(equation);
  }
  if (candidates.size) markUsed(jaxpr, candidates);
  return jaxpr.outputs.map((name) => after.has(name));
}

/**
 * Mark those candidates that other equations do not use alone.
 * @param {Jaxpr} jaxpr
 * @param {Set<Equation>} candidates
 */
function markUsed(jaxpr, candidates) {
  const updating = new Set(jaxpr.outputs);
  const used = new Set();
  for (const equation of [...jaxpr.equations].reverse()) {
    const updates = candidates.has(equation) && equation.out.some((name) => updating.has(name) || !used.has(name));
    if (updates) equation.updates = true;
    for (const name of equation.in) (updates ? updating : used).add(name);
  }
}
