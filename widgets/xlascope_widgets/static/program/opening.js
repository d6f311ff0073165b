// @ts-check
/** Which boxes of a program are open: at first, and when everything is to be opened. */

/** @typedef {import("./program.js").Program} Program */

const LARGE = 60;
const MOST_OPENED = 3000;

/** Open boxes, outer ones first, until there is as much to draw as can be drawn. @param {Program} program @param {Set<string>} open */
export function openAll(program, open) {
  if (!program.heavy.jaxpr) return;
  const boxes = [...program.shown(program.heavy.jaxpr).equations];
  let drawn = boxes.length;
  // The list grows while it is read: what a box holds is looked at after everything outside of it.
  for (const box of boxes) {
    const inner = (box.bodies ?? []).flatMap((body) => program.shown(body).equations);
    if (!box.bodies || drawn + inner.length > MOST_OPENED) continue;
    open.add(box.path);
    drawn += inner.length;
    boxes.push(...inner);
  }
}

/** A program that is one call, opens it; nothing else is open at first. @param {Program} program */
export function openAtFirst(program) {
  const open = new Set();
  let equations = program.heavy.jaxpr?.equations ?? [];
  while (equations.length === 1 && equations[0].bodies?.length === 1 && equations[0].bodies[0].equations.length < LARGE * 10) {
    open.add(equations[0].path);
    equations = equations[0].bodies[0].equations;
  }
  return open;
}
