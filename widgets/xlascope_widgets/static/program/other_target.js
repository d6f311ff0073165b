// @ts-check
/** View of a program as compiled for another target. */

/** @typedef {import("./program.js").Program} Program */
/** @typedef {import("../ground/wire.js").Target} Target */

/** @type {WeakMap<Target, Program>} */
const targetViews = new WeakMap();

/**
 * Return the program with a target's kernels in place of the local ones; everything else is shared.
 * @param {Program} program
 * @param {Target} result what was compiled for the target
 * @returns {Program}
 */
export function viewForTarget(program, result) {
  const cached = targetViews.get(result);
  if (cached && Object.getPrototypeOf(cached) === program) return cached;
  const view = Object.create(program);
  const { kernels, flops, accessed, peak, platform, notes, memory } = result;
  Object.assign(view, {
    target: result.target,
    estimated: result,
    heavy: { ...program.heavy, kernels, flops, accessed, peak, platform, notes, memory },
  });
  Object.assign(view, {
    kernels: new Map(),
    kernelsOf: new Map(),
    kernelsIn: new Map(),
    aloneGroups: new WeakMap(),
    times: new Map(),
    account: undefined,
    ceilings: undefined,
  });
  view.light = {
    ...program.light,
    executed: undefined,
    compiled: result.seconds,
    cache: "miss",
    kernels: kernels.length,
  };
  for (const kernel of kernels) view.indexKernel(kernel);
  targetViews.set(result, view);
  return view;
}
