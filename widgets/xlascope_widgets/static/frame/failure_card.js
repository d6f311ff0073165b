// @ts-check
/** Card of a function that failed: the source lines, and the error at its line. */

import { el } from "../ground/element.js";
import { shorten } from "../ground/format.js";
import { drawBanner } from "../parts/banners.js";
import { listOtherFailures } from "./strip.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../ground/wire.js").Failure} Failure */

/** Draw the failures with source lines, under the strip, whether the panel is open or not. @param {Store} store */
export function drawFailures(store) {
  const all = [...store.live.failures, ...listOtherFailures(store), store.measured?.light.failure ?? []].flat();
  return all
    .filter((failure) => failure.text)
    .slice(0, 3)
    .map((failure) => drawFailureCard(store, failure));
}

/** @param {Store} store @param {Failure} failure */
function drawFailureCard(store, failure) {
  const { first = 1, line = 0, text = "", title } = failure;
  const rows = text
    .split("\n")
    .map((code, i) => [
      el(
        "div",
        { class: `xs-line xs-failed-line${first + i === line ? " bad" : ""}` },
        el("span", { class: "xs-n" }, first + i),
        el("span", { class: "xs-text", style: `--xs-in:${code.length - code.trimStart().length}` }, code || " "),
      ),
      first + i === line &&
        el(
          "div",
          { class: "xs-failed-says" },
          el("b", {}, failure.error),
          el("pre", {}, shorten(failure.message, 2000)),
        ),
    ]);
  return drawBanner(
    buildFailureKey(store, failure),
    { class: "xs-note xs-failed", role: "group", "aria-label": `${failure.error} at line ${line}` },
    el(
      "div",
      { class: "xs-failed-head" },
      el("b", {}, shorten(failure.function, 60)),
      failure.stage === "run"
        ? ` failed at line ${line} of ${title}`
        : ` could not be traced: line ${line} of ${title}. Nothing was compiled or run.`,
    ),
    rows,
  );
}

/** @param {Store} store @param {Failure} failure */
export function buildFailureKey(store, failure) {
  return `${store.uid} ${failure.function} ${failure.message}`;
}
