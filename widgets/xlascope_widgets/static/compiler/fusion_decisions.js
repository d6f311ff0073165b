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
  const cached = stepsOfExplained.get(explained.steps);
  if (cached) return cached;
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

/**
 * Return the answers about the target shown, the latest first.
 * @template {{target: string}} Told
 * @param {Store} store
 * @param {Told[]} all
 * @returns {Told[]}
 */
export function filterForTarget(store, all) {
  const { measured, aimed } = store;
  const platform = measured?.heavy.platform ?? "cpu";
  const mine = all.filter((answer) => (aimed ? answer.target === aimed : !answer.target || answer.target === platform));
  // For a program that was not compiled here, show all answers.
  return (mine.length || aimed || measured?.heavy.kernels ? mine : [...all]).reverse();
}

/**
 * Return all explanations of the decisions for the target shown, the latest first.
 * @param {Store} store
 * @returns {Explained[]}
 */
export function listExplanations(store) {
  return filterForTarget(store, store.queries.listFindings(store.measured).explained);
}

/**
 * Return the decision about two sets of equations: their fusion, or else the last refusal. A refusal may name a
 * producer only, whoever reads it. undefined when XLA never considered the two.
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
