// @ts-check
/** The program as the compiler of another target made it: the same views of either. */

/** @typedef {import("./program.js").Program} Program */
/** @typedef {import("../ground/wire.js").Target} Target */

/** @type {WeakMap<Target, Program>} */
const targetViews = new WeakMap();

/**
 * The program with a target's kernels in place of those that ran here; everything else is shared.
 * @param {Program} program
 * @param {Target} found what was compiled for the target
 * @returns {Program}
 */
export function viewForTarget(program, found) {
  const known = targetViews.get(found);
  if (known && Object.getPrototypeOf(known) === program) return known;
  const view = Object.create(program);
  const { kernels, flops, accessed, peak, platform, notes, memory } = found;
  Object.assign(view, {
    target: found.target,
    estimated: found,
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
    compiled: found.seconds,
    cache: "miss",
    kernels: kernels.length,
  };
  for (const kernel of kernels) view.indexKernel(kernel);
  targetViews.set(found, view);
  return view;
}
