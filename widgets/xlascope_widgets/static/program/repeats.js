// @ts-check
/** Detection of repeated layers: consecutive runs of one sequence of operations and shapes. */

const GRAM = 3;
const CANDIDATES = 10;
const ROUNDS = 3;

/** @typedef {{start: number, period: number, times: number}} Repeat */

/**
 * Is a run of repeats long enough to be worth a box?
 * @param {number} length
 * @param {number} period
 * @param {number} times
 */
export const isWorthFolding = (length, period, times) => times >= 2 && length >= 12 && (period > 2 || times > 5);

/**
 * Return the repeats to fold in a sequence, in order, without overlaps.
 * @param {number[]} signs equal numbers for equal items
 * @param {() => number[]} countCrossing how many values are alive just before each item: a layer begins where they are
 * fewest
 * @param {(start: number, period: number, times: number) => boolean} [isWorth] which of them to fold
 * @returns {Repeat[]}
 */
export function findRepeats(
  signs,
  countCrossing,
  isWorth = (_, period, times) => isWorthFolding(period * times, period, times),
) {
  /** @type {number[]|undefined} */ let counts;
  const getLiveCounts = () => (counts ??= countCrossing());
  /** @type {Repeat[]} */ let result = [];
  let parts = [[0, signs.length]];
  for (let round = 0; round < ROUNDS; round++) {
    const next = [];
    for (const [from, to] of parts) {
      const repeats = findRepeatsBetween(signs, getLiveCounts, from, to, isWorth);
      result = result.concat(repeats);
      let at = from;
      for (const { start, period, times } of repeats) {
        next.push([at, start]);
        at = start + period * times;
      }
      if (repeats.length) next.push([at, to]);
    }
    parts = next.filter(([from, to]) => to - from > 2 * GRAM);
  }
  return result.sort((a, b) => a.start - b.start);
}

/**
 * Return the repeats of the period that covers most; of nearly equal ones the shortest.
 * @param {number[]} signs
 * @param {() => number[]} crossing
 * @param {number} from
 * @param {number} to
 * @param {(start: number, period: number, times: number) => boolean} isWorth
 * @returns {Repeat[]}
 */
function findRepeatsBetween(signs, crossing, from, to, isWorth) {
  const choices = findLikelyPeriods(signs, from, to).map((period) => {
    const runs = findRuns(signs, period, from, to, isWorth);
    return { period, runs, covered: runs.reduce((sum, [a, b]) => sum + b - a, 0) };
  });
  const most = Math.max(0, ...choices.map((choice) => choice.covered));
  const best = choices.filter((choice) => choice.covered >= 0.9 * most).sort((a, b) => a.period - b.period)[0];
  if (!best) return [];
  const { period } = best;
  return best.runs.map(([a, b]) => {
    const spare = (b - a) % period;
    // Where there are many layers, prefer a start with few live values over one more layer.
    const start = findBestStart(crossing(), period, a, a + ((b - a) / period > 4 ? period - 1 : spare));
    return { start, period, times: Math.floor((b - start) / period) };
  });
}

/**
 * Return the distances at which short sequences recur most often.
 * @param {number[]} signs
 * @param {number} from
 * @param {number} to
 */
function findLikelyPeriods(signs, from, to) {
  const last = new Map(),
    votes = new Map();
  for (let i = from; i + GRAM <= to; i++) {
    const gram = (Math.imul(Math.imul(signs[i], 1000003) + signs[i + 1], 1000003) + signs[i + 2]) | 0;
    const before = last.get(gram);
    if (before != null) votes.set(i - before, (votes.get(i - before) ?? 0) + 1);
    last.set(gram, i);
  }
  return [...votes]
    .sort((a, b) => b[1] - a[1] || a[0] - b[0])
    .slice(0, CANDIDATES)
    .map(([period]) => period);
}

/**
 * Return the runs whose items equal those one period on, long enough to be worth a box.
 * @param {number[]} signs
 * @param {number} period
 * @param {number} from
 * @param {number} to
 * @param {(start: number, period: number, times: number) => boolean} isWorth
 */
function findRuns(signs, period, from, to, isWorth) {
  /** @type {[number, number][]} */ const runs = [];
  let start = from;
  for (let i = from; i <= to - period; i++) {
    if (i < to - period && signs[i] === signs[i + period]) continue;
    const length = i - start + period;
    const times = Math.floor(length / period);
    if (times >= 2 && isWorth(start, period, times)) runs.push([start, start + length]);
    start = i + 1;
  }
  // Two runs of one period overlap when one item differs between them: the second begins where the first ends.
  return runs.filter(([a], i) => !i || a >= runs[i - 1][1]);
}

/**
 * Return the start with the fewest live values, counted one period on: inputs of the first layer may come from outside.
 * @param {number[]} crossing
 * @param {number} period
 * @param {number} first
 * @param {number} last
 */
function findBestStart(crossing, period, first, last) {
  let best = first;
  for (let i = first; i <= last; i++) if (crossing[i + period] < crossing[best + period]) best = i;
  return best;
}
