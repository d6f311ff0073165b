// @ts-check
/** Where the time of a cell went: a bar in the strip, which opens into a table. */

import { el, fill } from "../ground/element.js";
import { formatPercent, formatTime, pluralize, shorten } from "../ground/format.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../ground/wire.js").Account} Account */

/** Draw the bar of the thread's time; false before there is an account. @param {Store} store */
export function drawAccountBar({ live, accountOpen }) {
  const { account } = live;
  if (!account) return false;
  const longest = rankParts(account)
    .slice(0, 3)
    .map(([, label, time]) => `${formatPercent(time / account.seconds)} ${label}`);
  return el(
    "button",
    {
      class: "xs-time",
      type: "button",
      "aria-expanded": String(Boolean(accountOpen)),
      "aria-label": "where the time of this cell went",
      title: `where ${formatTime(account.seconds)} of this cell’s thread went${live.finished ? "" : " so far"}: ${longest.join(", ")}`,
    },
    drawBar(account.seconds, toSegments(account)),
    el("span", { class: "xs-muted" }, formatTime(account.seconds)),
  );
}

/** Draw the table under the strip, or hide it. @param {HTMLElement} part @param {Store} store */
export function updateAccount(part, { live, accountOpen }) {
  const { account } = live;
  part.hidden = !account || !accountOpen;
  if (!account || part.hidden) return fill(part);
  const rows = rankParts(account);
  rows.push(...account.parts.filter(([kind]) => kind === "unaccounted"));
  const devices = account.devices.map(([, , time]) => /** @type {[string, number]} */ (["device", time]));
  fill(
    part,
    drawBar(account.seconds, toSegments(account)),
    devices.length > 0 && drawBar(account.seconds, devices),
    drawTable(rows.map(([kind, label, time, details]) => [kind, label, time, time / account.seconds, details])),
    account.devices.length > 0 && [
      el("div", { class: "xs-muted" }, "on the devices meanwhile, no part of the above (measured by the profiler)"),
      drawTable(
        account.devices.map(([name, calls, time]) => [
          "device",
          shorten(name, 60),
          time,
          time / account.seconds,
          pluralize(calls, "call"),
        ]),
      ),
    ],
    (account.notes ?? []).map((note) => el("div", { class: "xs-muted" }, note)),
  );
}

/** Return the parts, longest first, without what is unaccounted. @param {Account} account */
function rankParts({ parts }) {
  return parts.filter(([kind]) => kind !== "unaccounted").sort((a, b) => b[2] - a[2]);
}

/** @param {Account} account @returns {[string, number][]} */
function toSegments({ parts }) {
  return parts.map(([kind, , time]) => [kind, time]);
}

/** @param {number} total @param {[string, number][]} segments */
function drawBar(total, segments) {
  return el(
    "span",
    { class: "xs-lanebar" },
    segments.map(([kind, time]) =>
      el("i", { class: `xs-share for-${kind}`, style: `width:${((100 * Math.max(0, time)) / total).toFixed(1)}%` }),
    ),
  );
}

/** @param {[string, string, number, number, string][]} rows */
function drawTable(rows) {
  return el(
    "table",
    { class: "xs-account-table" },
    el(
      "tbody",
      {},
      rows.map(([kind, label, time, share, details]) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, el("i", { class: `xs-chip for-${kind}` }), label),
          el("td", {}, time < 0 ? `−${formatTime(-time)}` : formatTime(time)),
          el("td", {}, formatPercent(Math.max(0, share))),
          el("td", { class: "xs-muted" }, details),
        ),
      ),
    ),
  );
}
