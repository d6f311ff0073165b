// @ts-check
/** Notes about failures, output that could not be read, and programs that are not listed. */

import { el } from "../ground/element.js";
import { pluralize } from "../ground/format.js";
import { drawBanner } from "../parts/banners.js";
import { listNotes } from "../program/unreadable_notes.js";
import { buildFailureKey } from "./failure_card.js";
import { listOtherFailures } from "./strip.js";
/** @typedef {import("../store/store.js").Store} Store */

/** Draw the failures of all functions in full, and the notes of the program shown. @param {Store} store */
export function drawNotes(store) {
  const { live } = store;
  const failures = [...live.failures, ...listOtherFailures(store), store.measured?.light.failure ?? []].flat();
  /** @type {(import("../ground/element.js").Tree|null)[]} */
  const banners = failures
    .filter((failure) => !failure.text)
    .map((failure) =>
      drawBanner(
        buildFailureKey(store, failure),
        { class: "xs-note bad" },
        el("b", {}, failure.error),
        ` in ${failure.stage} of ${failure.function}`,
        failure.line ? `, line ${failure.line}` : "",
        el("pre", {}, failure.message),
      ),
    );
  banners.push(...listNotes(store.program).map((note) => drawBanner(note, {}, note)));
  if (live.more)
    banners.push(drawBanner(`${store.uid} more`, {}, `${pluralize(live.more, "small program")} more, not listed`));
  return banners;
}
