// @ts-check
/** One selection across source, graph, kernels and timeline: any click becomes paths, kernels and lines. */

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
 * Create a selection. `explicit` gives paths and kernels where the kind does not imply them: edges, two kernels, a step
 * of the replay.
 * @param {Program} program
 * @param {string} kind
 * @param {string} id
 * @param {{paths?: string[], kernels?: string[]}} [explicit]
 * @returns {Selection}
 */
export function createSelection(program, kind, id, explicit = {}) {
  const paths = new Set(explicit.paths ?? listStartingPaths(program, kind, id));
  const kernels = new Set(
    explicit.kernels ??
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

/**
 * Return a selection of one program in another, empty where that has not the same equations or kernels.
 * @param {Program} old
 * @param {Selection} selection
 * @param {Program} program
 */
export function recreateSelection(old, { kind, id, paths, kernels }, program) {
  const isAlike = (/** @type {string} */ path) => program.at(path)?.sign === old.at(path)?.sign;
  const isThere =
    kind === "line" ? program.lines.has(id) : kind === "equation" ? program.at(id) : !kind || program.kernels.size;
  if (!kind || !isThere || ![...paths].every(isAlike) || (kind === "kernel" && !program.kernels.has(id)))
    return createEmptySelection();
  const isPlain = ["equation", "kernel", "line"].includes(kind);
  return createSelection(program, kind, id, isPlain ? {} : { paths: [...paths], kernels: [...kernels] });
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
 * Return the forward equation that a path transposes, and the backward ones that transpose it.
 * @param {Program} program
 * @param {string} path
 */
function collectRelated(program, path) {
  return new Set(program.groups.has(path) ? [] : listCounterparts(program, path));
}

/**
 * Return the forward equation that an equation transposes, then those that transpose it; of a group, those of its
 * members.
 * @param {Program} program
 * @param {string} path
 * @returns {string[]}
 */
export function listCounterparts(program, path) {
  const linked = (/** @type {string} */ other) =>
    [program.origins.get(other) ?? [], program.transposed.get(other) ?? []].flat();
  const direct = linked(path);
  if (direct.length || !program.at(path)?.bodies) return direct;
  const inner = new Set(program.listInside(path));
  return [...new Set(program.listInside(path).flatMap(linked))].filter((other) => !inner.has(other));
}

/**
 * Return the mark of a drawn node: selected, a closed box with something selected in it, or related.
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
