// @ts-check
/** What went wrong, what could not be read, and what is not listed. */

import { el } from "../ground/element.js";
import { plural } from "../ground/format.js";
import { banner } from "../parts/banners.js";
import { unreadNotes } from "../program/unreadable_notes.js";
import { failureKey } from "./failure_card.js";
import { otherFailures } from "./strip.js";
/** @typedef {import("../store/store.js").Store} Store */

/** Failures of all functions, in full; what could not be read of the one shown. @param {Store} store */
export function drawNotes(store) {
  const { live } = store;
  const failures = [...live.failures, ...otherFailures(store), store.measured?.light.failure ?? []].flat();
  /** @type {(import("../ground/element.js").Tree|null)[]} */
  const found = failures
    .filter((failure) => !failure.text)
    .map((failure) =>
      banner(
        failureKey(store, failure),
        { class: "xs-note bad" },
        el("b", {}, failure.error),
        ` in ${failure.stage} of ${failure.function}`,
        failure.line ? `, line ${failure.line}` : "",
        el("pre", {}, failure.message),
      ),
    );
  found.push(...unreadNotes(store.program).map((note) => banner(note, {}, note)));
  if (live.more) found.push(banner(`${store.uid} more`, {}, `${plural(live.more, "small program")} more, not listed`));
  return found;
}
