// @ts-check
/** Initial expansion: which boxes of a program are open at first, and which when everything is to be opened. */

import { computeRoom, layoutProgram } from "./layout.js";
import { READABLE } from "./viewport.js";
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../program/unpack.js").Equation} Equation */
/** @typedef {{width: number, height: number}} Screen */

const MOST_OPENED = 3000;

/** Boxes that one sight should have, and those that it may have. */
const WANTED = 14,
  MOST = 30;
/** Below so many boxes layers that are all alike are opened, too. */
const FEW = 6;
/** A part of all time below which opening a box tells nothing. */
const LITTLE = 0.1;

/** What a picture, or a panel that nobody has measured yet, has room for. @type {Screen} */
export const USUAL_SCREEN = { width: 760, height: 560 };

/**
 * Open boxes, outer ones first, until there is as much to draw as can be drawn.
 * @param {Program} program
 * @param {Set<string>} open
 */
export function openAll(program, open) {
  if (!program.heavy.jaxpr) return;
  const boxes = [...program.groupedLevel(program.heavy.jaxpr).equations];
  let count = boxes.length;
  // The list grows during iteration: the contents of a box come after everything outside it.
  for (const box of boxes) {
    const inner = listShownInside(program, box);
    if (!box.bodies || count + inner.length > MOST_OPENED) continue;
    open.add(box.path);
    count += inner.length;
    boxes.push(...inner);
  }
}

/**
 * Open the boxes that matter most, as long as everything can be seen at once.
 * @param {Program} program
 * @param {Screen} [screen]
 * @returns {Set<string>}
 */
export function openAtFirst(program, screen = USUAL_SCREEN) {
  /** @type {Set<string>} */ const open = new Set();
  if (!program.heavy.jaxpr) return open;
  const boxes = [...program.groupedLevel(program.heavy.jaxpr).equations];
  // With a grouping that the user chose, open a single call only.
  const isGrouped = program.grouping !== "auto";
  /** Looked at and left closed. @type {Set<Equation>} */ const closed = new Set();
  for (
    let count = boxes.length;
    isGrouped ? count === 1 && boxes[0].bodies?.length === 1 && !boxes[0].members : count < WANTED;
  ) {
    const next = findHeaviest(
      program,
      boxes.filter((box) => box.bodies && !closed.has(box) && !open.has(box.path)),
      count < FEW,
    );
    if (!next) break;
    const inner = listShownInside(program, next);
    open.add(next.path);
    // A program that is a single call is shown by the contents of that call.
    const only = boxes.length === 1;
    if ((count + inner.length > MOST && !only) || !inner.length || !(only || fitsScreen(program, open, screen))) {
      open.delete(next.path);
      closed.add(next);
      continue;
    }
    count += inner.length - 1;
    boxes.splice(boxes.indexOf(next), 1, ...inner);
  }
  return open;
}

/**
 * Return what a box shows when it is open.
 * @param {Program} program
 * @param {Equation} box
 * @returns {Equation[]}
 */
function listShownInside(program, box) {
  return (box.bodies ?? []).flatMap((body) => program.groupedLevel(body).equations);
}

/**
 * Return the box with most time, or most equations; boxes of equal layers only if `alike`.
 * @param {Program} program
 * @param {Equation[]} boxes
 * @param {boolean} alike
 * @returns {Equation|undefined}
 */
function findHeaviest(program, boxes, alike) {
  const weight = (/** @type {Equation} */ box) =>
    program.getTimeFraction(box.path) ?? program.listInside(box.path).length / program.equations.size;
  const weights = new Map(
    boxes.filter((box) => alike || (box.group?.times ?? 1) === 1).map((box) => [box, weight(box)]),
  );
  let best;
  for (const [box, boxWeight] of weights)
    if (boxWeight > (best ? (weights.get(best) ?? 0) : alike ? 0 : LITTLE)) best = box;
  return best;
}

/**
 * Return whether everything can be seen at once.
 * @param {Program} program
 * @param {Set<string>} open
 * @param {Screen} screen
 */
function fitsScreen(program, open, screen) {
  const { width, height } = layoutProgram(program, open, computeRoom(program, open, screen.width / READABLE));
  return width * READABLE <= screen.width && height * READABLE <= screen.height;
}
