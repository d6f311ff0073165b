// @ts-check
/** What fusing could not keep out of memory: the arrays that one kernel writes and others read. */

/** @typedef {import("./program.js").Program} Program */
/** @typedef {import("../ground/wire.js").Kernel} Kernel */

/** @typedef {{from: string, result: number, type: string, bytes: number, to: string[]}} Crossing */

/** @type {WeakMap<Kernel[], Crossing[]>} */
const boundariesByKernels = new WeakMap();

/** The arrays between kernels, the largest first. @param {Program} program @returns {Crossing[]} */
export function listBoundaries(program) {
  const kernels = program.heavy.kernels ?? [];
  const known = boundariesByKernels.get(kernels);
  if (known) return known;
  /** @type {Map<string, Crossing>} */ const found = new Map();
  for (const kernel of kernels)
    for (const [from, result, type, bytes] of kernel.reads ?? []) {
      const key = `${result} ${from}`;
      if (!found.has(key)) found.set(key, { from, result, type, bytes, to: [] });
      found.get(key)?.to.push(kernel.name);
    }
  const sorted = [...found.values()].sort((a, b) => b.bytes - a.bytes);
  boundariesByKernels.set(kernels, sorted);
  return sorted;
}

/** What passes directly from one kernel to another. @param {Program} program @param {string} from @param {string} to */
export function filterBoundaries(program, from, to) {
  return listBoundaries(program).filter((each) => each.from === from && each.to.includes(to));
}

/**
 * The two kernels of an edge between equations: those between which most is passed, or else the first of each. null for
 * an end that is in no kernel.
 * @param {Program} program
 * @param {string} from
 * @param {string} to
 * @returns {[string|null, string|null]}
 */
export function findKernelsOfEdge(program, from, to) {
  const [writers, readers] = [from, to].map((path) => program.listKernels(path).map((kernel) => kernel.name));
  const common = writers.find((name) => readers.includes(name));
  if (common) return [common, common];
  const passed = listBoundaries(program).find(
    (each) => writers.includes(each.from) && each.to.some((name) => readers.includes(name)),
  );
  if (passed) return [passed.from, passed.to.find((name) => readers.includes(name)) ?? null];
  return [writers[0] ?? null, readers[0] ?? null];
}
