// @ts-check
/** What of XLA's words could not be read: said where the view it is about would have been. */

import { el } from "../ground/element.js";
/** @typedef {import("./program.js").Program} Program */

/** In place of numbers that a profile did not give. */
export const UNREAD_PROFILE = "what the profiler saw cannot be read";

/** All that could not be read of a program, each once. @param {Program|undefined} program */
export function listUnreadableNotes(program) {
  return [...new Set([...(program?.heavy.notes ?? []), ...(program?.light.executed?.notes ?? [])])];
}

/** In the place of an empty view, or nothing where nothing is amiss. @param {string[]|undefined} notes */
export function drawUnreadable(notes) {
  return notes?.length
    ? el(
        "div",
        { class: "xs-empty xs-unread" },
        notes.map((note) => el("p", {}, note)),
      )
    : null;
}

/** The same for a compiled program whose kernels are not known. @param {Program} program */
export function drawUnreadableKernels({ heavy }) {
  return heavy.kernels?.length ? null : drawUnreadable(heavy.notes);
}
