// @ts-check
/**
 * The path of an equation: where it stands in its program, and its identity wherever it is spoken of.
 *
 * It is the text `3/1.0/4`: indices of equations from the outermost program inwards; where the equation above holds
 * several bodies, an index in a later one has that body's number in front. `""` is the program itself. Groups are no
 * equations, and their ids (`groups.js`) no paths.
 */

/** @typedef {string} Path */
/** One step inwards: which equation of which body. @typedef {{body: number, index: number}} PathStep */

/** The path of the program itself. @type {Path} */
export const WHOLE_PROGRAM = "";

/** Return the steps to an equation, from the outermost program. @param {Path} path @returns {PathStep[]} */
export function parsePath(path) {
  if (path === WHOLE_PROGRAM) return [];
  return path.split("/").map((step) => {
    const dot = step.indexOf(".");
    return { body: dot < 0 ? 0 : Number(step.slice(0, dot)), index: Number(step.slice(dot + 1)) };
  });
}

/**
 * Return the path of an equation in a body of the one at `holder`.
 * @param {Path} holder
 * @param {number} body
 * @param {number} index
 * @returns {Path}
 */
export function buildInnerPath(holder, body, index) {
  return joinPaths(holder, body ? `${body}.${index}` : String(index));
}

/**
 * Return a path below another.
 * @param {Path} outer
 * @param {Path} inner
 * @returns {Path}
 */
export function joinPaths(outer, inner) {
  return outer && inner ? `${outer}/${inner}` : outer || inner;
}

/** Return the equation that holds a path; the program, for an outermost one. @param {Path} path @returns {Path} */
export function getParentPath(path) {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/**
 * Return the equations around a path, the outermost first, and the path itself.
 * @param {Path} path
 * @returns {Path[]}
 */
export function listAncestors(path) {
  return path ? [...listAncestors(getParentPath(path)), path] : [];
}

/** Return whether a path is inside another or equal to it. @param {Path} path @param {Path} outer */
export function isWithin(path, outer) {
  return outer === WHOLE_PROGRAM || path === outer || path.startsWith(`${outer}/`);
}

/**
 * Return a path relative to one that holds it: `""` for the same.
 * @param {Path} path
 * @param {Path} outer
 * @returns {Path}
 */
export function toRelativePath(path, outer) {
  return outer ? path.slice(outer.length + 1) : path;
}

/**
 * Compare paths in program order, for sorting: by body and index, an equation before what it holds.
 * @param {Path} a
 * @param {Path} b
 * @returns {number}
 */
export function comparePaths(a, b) {
  const [left, right] = [parsePath(a), parsePath(b)];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = left[i].body - right[i].body || left[i].index - right[i].index;
    if (difference) return difference;
  }
  return left.length - right.length;
}
