// @ts-check
/** Notes about compiler output that could not be read, drawn in place of the view that needs it. */

import { el } from "../ground/element.js";
/** @typedef {import("./program.js").Program} Program */

/** In place of numbers that a profile did not give. */
export const UNREAD_PROFILE = "what the profiler saw cannot be read";

/** Return the notes of a program, without duplicates. @param {Program|undefined} program */
export function listNotes(program) {
  return [...new Set([...(program?.heavy.notes ?? []), ...(program?.light.executed?.notes ?? [])])];
}

/** Draw notes in place of an empty view, or nothing where there are none. @param {string[]|undefined} notes */
export function drawUnreadable(notes) {
  return notes?.length
    ? el(
        "div",
        { class: "xs-empty xs-unread" },
        notes.map((note) => el("p", {}, note)),
      )
    : null;
}

/** Draw the notes of a compiled program whose kernels are not known. @param {Program} program */
export function drawNoKernels({ heavy }) {
  return heavy.kernels?.length ? null : drawUnreadable(heavy.notes);
}
