// @ts-check
/** Marks of nodes in the graph: selected, on the paths between two, or faint because a search does not match. */

import { getMark } from "../program/selection.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {{selected: boolean, related: boolean, between: boolean, start: boolean, faint: boolean}} Mark */

/**
 * The marks of what is drawn, by path; none where nothing stands out.
 * @param {Store} store
 * @param {{path: string}[]} nodes
 * @returns {Map<string, Mark>}
 */
export function computeMarks(store, nodes) {
  const { program, selection, open, query, matches, start } = store;
  /** @type {Map<string, Mark>} */ const marks = new Map();
  const results = query ? matches : null;
  if (!program || (!selection.kind && !results && !start)) return marks;
  const between = selection.kind === "between";
  const ends = between ? JSON.parse(selection.id) : [];
  for (const { path } of nodes) {
    if (!path || marks.has(path)) continue;
    const mark = getMark(program, selection, path, open.has(path));
    const faint = Boolean(results && !program.listInside(path).some((inner) => results.has(inner)));
    marks.set(path, {
      selected: mark === "selected" && !between,
      related: mark === "related",
      between: between && mark === "selected",
      start: path === start || ends.includes(path),
      faint,
    });
  }
  return marks;
}
