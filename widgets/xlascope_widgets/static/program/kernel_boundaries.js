// @ts-check
/** Kernel boundaries: the values that one kernel writes to memory and others read. */

/** @typedef {import("./program.js").Program} Program */
/** @typedef {import("../ground/wire.js").Kernel} Kernel */

/** @typedef {{from: string, result: number, type: string, bytes: number, to: string[]}} Crossing */

/** @type {WeakMap<Kernel[], Crossing[]>} */
const boundariesByKernels = new WeakMap();

/** Return the values passed between kernels, the largest first. @param {Program} program @returns {Crossing[]} */
export function listBoundaries(program) {
  const kernels = program.heavy.kernels ?? [];
  const cached = boundariesByKernels.get(kernels);
  if (cached) return cached;
  /** @type {Map<string, Crossing>} */ const boundaries = new Map();
  for (const kernel of kernels)
    for (const [from, result, type, bytes] of kernel.reads ?? []) {
      const key = `${result} ${from}`;
      if (!boundaries.has(key)) boundaries.set(key, { from, result, type, bytes, to: [] });
      boundaries.get(key)?.to.push(kernel.name);
    }
  const sorted = [...boundaries.values()].sort((a, b) => b.bytes - a.bytes);
  boundariesByKernels.set(kernels, sorted);
  return sorted;
}

/**
 * Return the values passed directly from one kernel to another.
 * @param {Program} program
 * @param {string} from
 * @param {string} to
 */
export function filterBoundaries(program, from, to) {
  return listBoundaries(program).filter((boundary) => boundary.from === from && boundary.to.includes(to));
}

/**
 * Return the two kernels of an edge between equations: those between which most is passed, or else the first of each.
 * null for an end that is in no kernel.
 * @param {Program} program
 * @param {string} from
 * @param {string} to
 * @returns {[string|null, string|null]}
 */
export function findEdgeKernels(program, from, to) {
  const [writers, readers] = [from, to].map((path) => program.listKernels(path).map((kernel) => kernel.name));
  const common = writers.find((name) => readers.includes(name));
  if (common) return [common, common];
  const boundary = listBoundaries(program).find(
    (candidate) => writers.includes(candidate.from) && candidate.to.some((name) => readers.includes(name)),
  );
  if (boundary) return [boundary.from, boundary.to.find((name) => readers.includes(name)) ?? null];
  return [writers[0] ?? null, readers[0] ?? null];
}
