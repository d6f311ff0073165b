// @ts-check
/**
 * One selection across source, graph, kernels and timeline: whatever was clicked, it is these paths, kernels and lines.
 */

/** @typedef {import("./program.js").Program} Program */

/**
 * @typedef {{kind: string|null, id: string, paths: Set<string>, related: Set<string>, kernels: Set<string>, lines:
 * Set<string>}} Selection
 */

/** @returns {Selection} */
export function createEmptySelection() {
  return { kind: null, id: "", paths: new Set(), related: new Set(), kernels: new Set(), lines: new Set() };
}

/**
 * `given` names paths and kernels where the kind does not say them: of an edge, two kernels, a step of the replay.
 * @param {Program} program
 * @param {string} kind
 * @param {string} id
 * @param {{paths?: string[], kernels?: string[]}} [given]
 * @returns {Selection}
 */
export function createSelection(program, kind, id, given = {}) {
  const paths = new Set(given.paths ?? listStartingPaths(program, kind, id));
  const kernels = new Set(
    given.kernels ??
      (kind === "kernel" ? [id] : [...paths].flatMap((path) => (program.kernelsOf.get(path) ?? []).map((k) => k.name))),
  );
  const lines = new Set(kind === "line" ? [id] : [...paths].map((path) => getLineKey(program, path)).filter(Boolean));
  return {
    kind,
    id,
    paths,
    related: kind === "equation" ? collectRelated(program, id) : new Set(),
    kernels,
    lines: /** @type {Set<string>} */ (lines),
  };
}

/** @param {Program} program @param {string} kind @param {string} id @returns {string[]} */
function listStartingPaths(program, kind, id) {
  if (kind === "equation") return program.listInside(id);
  if (kind === "kernel") return program.kernels.get(id)?.eqns ?? [];
  return program.lines.get(id) ?? [];
}

/** @param {Program} program @param {string} path */
function getLineKey(program, path) {
  const src = program.equations.get(path)?.src;
  return src ? `${src[0]}:${src[1]}` : "";
}

/**
 * The forward equation that this one transposes, and the backward ones that transpose this one.
 * @param {Program} program
 * @param {string} path
 */
function collectRelated(program, path) {
  return new Set(program.groups.has(path) ? [] : listCounterparts(program, path));
}

/**
 * The forward equation that an equation transposes, then the ones that transpose it; of a group, those of what is in
 * it.
 * @param {Program} program
 * @param {string} path
 * @returns {string[]}
 */
export function listCounterparts(program, path) {
  const of = (/** @type {string} */ one) => [program.origins.get(one) ?? [], program.transposed.get(one) ?? []].flat();
  const found = of(path);
  if (found.length || !program.at(path)?.bodies) return found;
  const own = new Set(program.listInside(path));
  return [...new Set(program.listInside(path).flatMap(of))].filter((one) => !own.has(one));
}

/**
 * Marks on a drawn node: it is selected, or a closed box with something selected in it, or related.
 * @param {Program} program
 * @param {Selection} selection
 * @param {string} path
 * @param {boolean} isOpen
 * @returns {""|"selected"|"related"}
 */
export function getMark(program, selection, path, isOpen) {
  if (selection.kind === "equation" && selection.id === path) return "selected";
  if (isOpen) return "";
  const inner = program.listInside(path);
  if (inner.some((other) => selection.paths.has(other))) return "selected";
  return inner.some((other) => selection.related.has(other)) ? "related" : "";
}
