// @ts-check
/**
 * The fusion decisions of one compilation, in order, each with the equations that its two sides stood for at that
 * moment.
 */

/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../ground/wire.js").Explained} Explained */

/**
 * @typedef {{at: number, pass: string, fused: boolean, a: string, b: string, result: string, reason: string, plain:
 * string, fusedSeconds: number|null, apartSeconds: number|null, from: string[], to: string[]}} Step
 */

/** @type {WeakMap<Explained["steps"], Step[]>} */
const stepsOfExplained = new WeakMap();

/** @param {Explained} explained as sent @returns {Step[]} */
export function decodeSteps(explained) {
  const known = stepsOfExplained.get(explained.steps);
  if (known) return known;
  const { texts, nodes } = explained;
  /** The equations behind a name now: a fusion stands for those of both that went in. @type {Map<string, string[]>} */
  const members = new Map();
  /**
   * What a fusion without a name stands for: the next name of a fusion that nobody knows is its own.
   * @type {string[]|null}
   */
  let unnamed = null;
  const equationsBehind = (/** @type {string} */ name) => {
    if (unnamed && !members.has(name) && !nodes[name] && name.split(".")[0].endsWith("fusion")) {
      members.set(name, unnamed);
      unnamed = null;
    }
    return members.get(name) ?? nodes[name]?.[1] ?? [];
  };
  const steps = explained.steps.map(
    ([pass, fused, a, b, result, reason, plain, fusedSeconds = null, apartSeconds = null], at) => {
      const step = {
        at,
        pass: texts[pass],
        fused: Boolean(fused),
        a: texts[a],
        b: texts[b],
        result: texts[result],
        reason: texts[reason],
        plain: texts[plain],
        fusedSeconds,
        apartSeconds,
        from: equationsBehind(texts[a]),
        to: equationsBehind(texts[b]),
      };
      if (!fused) return step;
      const both = [...new Set([...step.from, ...step.to])];
      members.set(step.result || step.b, both);
      if (!step.result) unnamed = both;
      return step;
    },
  );
  stepsOfExplained.set(explained.steps, steps);
  return steps;
}

/** Those of some answers that are about what is shown, the latest first.
 * @template {{target: string}} Told @param {Store} store @param {Told[]} all @returns {Told[]} */
export function filterForTarget(store, all) {
  const { measured, aimed } = store;
  const here = measured?.heavy.platform ?? "cpu";
  const mine = all.filter((each) => (aimed ? each.target === aimed : !each.target || each.target === here));
  // Of a program that was only asked about there is nothing else to show.
  return (mine.length || aimed || measured?.heavy.kernels ? mine : [...all]).reverse();
}

/**
 * Everything heard about the decisions for what is shown, the latest first.
 * @param {Store} store
 * @returns {Explained[]}
 */
export function listExplanations(store) {
  return filterForTarget(store, store.queries.listFindings(store.measured).explained);
}

/**
 * What was decided about two sides, each a set of equations: that they were fused, or else the last refusal. A refusal
 * may be of a producer as such, whoever reads it. undefined when the two were never met.
 * @param {Step[]} steps
 * @param {Set<string>} from
 * @param {Set<string>} to
 * @returns {Step|undefined}
 */
export function findDecision(steps, from, to) {
  const intersects = (/** @type {string[]} */ paths, /** @type {Set<string>} */ side) =>
    paths.some((path) => side.has(path));
  const about = steps.filter(
    (step) =>
      (intersects(step.from, from) && (!step.b || intersects(step.to, to))) ||
      (step.b && intersects(step.from, to) && intersects(step.to, from)),
  );
  return about.find((step) => step.fused) ?? about[about.length - 1];
}
