// @ts-check
/** The strip: one line under the running cell with its state. */

import { buildValuesQuestion } from "../cards/values_pane.js";
import { drawWhyButton } from "../cards/recompiles_pane.js";
import { el } from "../ground/element.js";
import { formatInt, formatPercent, formatTime, pluralize, shorten } from "../ground/format.js";
import { listStages } from "../program/stage_labels.js";
import { drawAccountBar } from "./account.js";
import { getDock } from "./library.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../program/stage_labels.js").Stage} Stage */
/** @typedef {import("../ground/wire.js").Light} Light */
/** @typedef {import("../ground/wire.js").Live} Live */

const RUNNING = { trace: "tracing", lower: "lowering", compile: "compiling", run: "running" };

/** @param {Store} store @param {boolean} open */
export function drawStrip(store, open) {
  const { measured: program, live } = store;
  const stages = program ? listStages(program) : [];
  const running = !live.finished && program?.light.executed;
  const items = stages.map((stage) =>
    drawStage(stage.kind === "run" && running ? { ...stage, name: "running" } : stage, Boolean(running)),
  );
  items.push(
    ...[drawEditSummary(store) ?? []].flat(),
    ...drawFinding(store),
    ...drawActiveStages(store),
    ...drawCompiling(store),
    ...drawProcesses(store),
  );
  for (const failure of [...listOtherFailures(store), ...live.failures])
    items.push(
      drawStage(
        {
          kind: "bad",
          name: failure.stage === "results" ? "results hold" : "failed",
          strong: shorten(failure.error, 48),
          pieces: [{ text: formatLocation(failure) }],
        },
        false,
      ),
      ...(failure.stage === "results" && store.queries.canAsk("values") ? [drawQuestionOfBirth(store)] : []),
    );
  if (!items.length)
    items.push(el("span", { class: "xs-muted" }, live.finished ? "nothing was traced, compiled or run" : "watching"));
  if (live.cell) items.unshift(el("span", { class: "xs-muted xs-mono" }, live.cell));
  return [...items, drawRuns(store), ...drawBusyBars(program), drawAccountBar(store), drawAsides(store, open)];
}

/** Draw the button that asks where a NaN of the results was born. @param {Store} store */
function drawQuestionOfBirth(store) {
  const question = JSON.stringify(buildValuesQuestion(store));
  return el("button", { class: "xs-diff-button", type: "button", "data-ask": question }, "where was it born?");
}

/** Return the failures of functions other than the one shown, which reports its own. @param {Store} store */
export function listOtherFailures({ measured, live }) {
  return live.programs.filter((light) => light.number !== measured?.number).flatMap((light) => light.failure ?? []);
}

/** Format where a failure was: "in update, line 9". @param {import("../ground/wire.js").Failure} failure */
function formatLocation(failure) {
  return `in ${shorten(failure.function, 48)}` + (failure.line ? `, line ${failure.line}` : "");
}

/** @param {Stage} stage @param {boolean} running */
function drawStage(stage, running) {
  const beat = stage.kind === "run" && running ? "live" : "";
  return el(
    "span",
    { class: "xs-stage", title: stage.tip },
    el("i", { class: `xs-dot ${stage.kind} ${beat}` }),
    el("span", {}, stage.name),
    stage.strong && el("b", {}, stage.strong),
    el(
      "span",
      { class: "xs-muted" },
      stage.pieces.map((piece) => el("span", { class: piece.least && `xs-${piece.least}` }, piece.text)),
    ),
  );
}

/** Draw the running stages; the browser's clock advances their times. @param {Store} store */
function drawActiveStages(store) {
  const active = store.live.programs.filter((light) => light.stage && !light.failure);
  if (store.live.finished) return active.filter((light) => light.stage !== "run").map(drawStoppedStage);
  return active
    .slice(0, 2)
    .map((light) =>
      el(
        "span",
        { class: "xs-stage" },
        el("i", { class: "xs-dot run live" }),
        el("span", {}, RUNNING[/** @type {"run"} */ (light.stage)] ?? light.stage),
        el("b", {}, shorten(light.function, 24)),
        el(
          "span",
          { class: "xs-muted", "data-since": light.since },
          formatTime(Math.max(0, store.now - (light.since ?? store.now))),
        ),
      ),
    );
}

/** Draw how many processes ran the cell, and for whom the others wait. @param {Store} store */
function drawProcesses({ live }) {
  if (!live.job) return [];
  const [count, ...lines] = live.job.lines;
  return [
    el(
      "span",
      { class: "xs-stage", title: [...live.job.lines, "More: the tab processes of the open panel"].join(". ") },
      el("i", { class: `xs-dot ${live.job.slow ? "bad" : "run"}` }),
      el("b", {}, count),
      lines.length > 0 && el("span", { class: "xs-muted xs-medium" }, shorten(lines[0], 90)),
    ),
  ];
}

/** Findings that the strip shows: the first word, before how often it is. @type {Record<string, string>} */
const FINDINGS = { "computed again": "computed", "fetched in a loop": "waits for a value" };

/** Draw a finding of the doctor's: computed in many kernels, or fetched in each iteration. @param {Store} store */
function drawFinding({ live, measured }) {
  const finding = live.doctor?.[String(measured?.number)]?.findings.find((item) => FINDINGS[item.rule]);
  if (!finding) return [];
  return [
    el(
      "span",
      { class: "xs-stage", title: `${finding.says}. Do: ${finding.action}` },
      el("i", { class: "xs-dot bad" }),
      el("span", {}, FINDINGS[finding.rule]),
      el("b", {}, `${finding.evidence[0][1]} times`),
      el("span", { class: "xs-muted xs-medium" }, finding.where ?? ""),
    ),
  ];
}

/**
 * Draw the compilations in the background: of an interrupted call, or of the optimized version of a program.
 * @param {Store} store
 */
function drawCompiling(store) {
  const going = store.live.programs.filter((light) => light.continued);
  return going
    .slice(0, 2)
    .map((light) =>
      el(
        "span",
        { class: "xs-stage" },
        el("i", { class: `xs-dot run ${store.live.finished ? "" : "live"}` }),
        el("span", {}, "still compiling"),
        el("b", {}, shorten(light.function, 24)),
        el("span", { class: "xs-muted" }, "in the background"),
      ),
    );
}

/** Draw a stage that was running when the cell ended, by an interrupt for example. @param {Light} light */
function drawStoppedStage(light) {
  const words = `${RUNNING[/** @type {"run"} */ (light.stage)] ?? light.stage} ${shorten(light.function, 24)}`;
  return drawStage({ kind: "bad", name: "stopped while", strong: "", pieces: [{ text: words }] }, false);
}

/** @param {Program|undefined} program */
function drawBusyBars(program) {
  const { devices = [], observed = 0 } = program?.light.executed ?? {};
  if (!observed) return devices.some((device) => device.spans.length) ? [drawPartialStepNote()] : [];
  const bars = devices.slice(0, devices.length > 3 ? 1 : 2).map((device, i) => {
    const shares = /** @type {Program} */ (program).computePassShares(device);
    const parts = shares.map(([pass, share]) =>
      el("i", {
        class: `xs-share pass-${pass}`,
        style: `width:${(Number(share) * Math.min(1, device.busy) * 100).toFixed(1)}%`,
      }),
    );
    const tip = `${device.name}: busy ${formatPercent(device.busy)} of the time of a call (measured by the profiler, in whole calls); by phase: plain blue forward, slanted orange backward, upright violet update`;
    return el(
      "span",
      { class: `xs-stage xs-busy${i ? " xs-wide" : ""}`, title: tip },
      el("span", { class: "xs-lanebar" }, parts),
      el(
        "span",
        { class: "xs-muted" },
        el("span", { class: "xs-wide" }, `${device.name} `),
        `${formatPercent(device.busy)} busy`,
      ),
    );
  });
  if (devices.length > bars.length)
    bars.push(el("span", { class: "xs-muted" }, `and ${pluralize(devices.length - bars.length, "other device")}`));
  return bars;
}

/** Draw the note that no profiling window held a whole call. */
function drawPartialStepNote() {
  const tip =
    "The profiler’s windows have not held a whole call yet: what the timeline shows is a part of a step, and nothing is ranked by it. Windows grow until a call fits.";
  return el("span", { class: "xs-stage xs-muted xs-wide", title: tip }, "part of a step seen");
}

/** Draw what changed since the cell's previous run: "was 5.40 ms (one kernel fewer: diff)". @param {Store} store */
function drawEditSummary(store) {
  const { measured: program, queries } = store;
  const edited = program?.light.edited;
  if (!program || !edited) return null;
  const { was, words, differs, runs } = edited;
  const tip = `Compared with this cell’s previous run: ${was ? "a call took so long then, by the same clock (measured)" : "times are compared where both are whole, of 8 calls or more, and apart by more than a quarter: less may be chance"}`;
  const button = differs &&
    queries.questions.includes("diff") && [
      ": ",
      el(
        "button",
        {
          class: "xs-diff-button",
          type: "button",
          "data-compare": runs,
          "aria-label": "show what has changed since the run before",
        },
        store.comparing?.to === runs ? "close diff" : "diff",
      ),
    ];
  return el(
    "span",
    { class: "xs-stage", title: tip },
    el(
      "span",
      { class: "xs-muted" },
      was ? `was ${formatTime(was)} (` : "since the last run: ",
      words.join(", "),
      button,
      was ? ")" : "",
    ),
  );
}

/** Draw the times of the cell's runs; a click compares one with the latest. @param {Store} store */
function drawRuns({ measured, comparing }) {
  const runs = measured?.light.runs;
  if (!runs) return false;
  const longest = Math.max(...runs.map(([, , , high, , isComparable]) => Number(isComparable) * high));
  const last = runs[runs.length - 1][0];
  const toShare = (/** @type {number} */ time) => `${Math.min(100, (100 * time) / longest).toFixed(1)}%`;
  return el(
    "span",
    { class: "xs-stage xs-runs", role: "group", "aria-label": "times of this cell’s runs" },
    runs.map(([title, median, low, high, words, isComparable]) => {
      const scale = isComparable ? "" : ", not comparable with the latest";
      const click = title === last ? "The latest" : `Click: compare with ${last}`;
      const tip = `${words}${scale}. ${click}; Shift and click: with the one chosen before`;
      const isCompared = comparing?.to?.split(" ").includes(title);
      return el("button", {
        class: ["xs-run", !isComparable && "apart", isCompared && "on"].filter(Boolean).join(" "),
        type: "button",
        title: tip,
        "aria-label": tip,
        "data-run": title,
        style: `--low:${toShare(low)};--high:${toShare(high)};--mid:${toShare(median)}`,
      });
    }),
  );
}

/** @param {Store} store @param {boolean} open */
function drawAsides(store, open) {
  const { measured: program, live } = store;
  const others = live.programs.length - 1 + live.more;
  return el(
    "span",
    { class: "xs-asides" },
    drawWhyButton(store),
    live.pin &&
      (live.pin === "unpin" || getDock()) &&
      el(
        "button",
        {
          class: "xs-pin",
          type: "button",
          "data-pin": live.pin,
          title:
            live.pin === "pin"
              ? "one panel beside the notebook, which follows the cells that run (%scope pin)"
              : "a strip under each cell again (%scope on)",
        },
        live.pin,
      ),
    others > 0 &&
      el(
        "span",
        { class: "xs-muted", title: listOtherPrograms(live, program, others) },
        `and ${pluralize(others, "other program")}`,
      ),
    el(
      "button",
      {
        class: "xs-open",
        type: "button",
        "aria-expanded": String(open),
        "aria-label": open ? "close the panel" : "open the panel",
      },
      el("span", { class: "xs-medium" }, open ? "close " : "open "),
      open ? "▴" : "▾",
    ),
  );
}

/**
 * List the names of the programs that are not shown, the largest first, as the kernel sends them.
 * @param {Live} live
 * @param {Program|undefined} program
 * @param {number} count
 */
function listOtherPrograms(live, program, count) {
  const others = live.programs.filter((light) => light.number !== program?.number);
  const names = [...new Set(others.map((light) => shorten(light.function, 40)))].slice(0, 12);
  const named = others.filter((light) => names.includes(shorten(light.function, 40))).length;
  const more = count > named ? `, and ${formatInt(count - named)} more` : "";
  return `The largest first: ${names.join(", ")}${more}. Choose one in the open panel`;
}

/**
 * Announce the stages to a screen reader, without the numbers, which change all the time.
 * @param {Element} part
 * @param {Store} store
 */
export function announceStages(part, { live }) {
  const active = live.finished ? [] : live.programs.filter((light) => light.stage && !light.failure).slice(0, 2);
  const failures = [...live.programs.flatMap((light) => light.failure ?? []), ...live.failures];
  const words = [
    ...active.map(
      (light) => `${RUNNING[/** @type {"run"} */ (light.stage)] ?? light.stage} ${shorten(light.function, 40)}`,
    ),
    ...failures.slice(0, 3).map((failure) => `${failure.error} in ${shorten(failure.function, 40)}`),
    live.finished && "ended",
  ]
    .filter(Boolean)
    .join(", ");
  if (part.textContent !== words) part.textContent = words;
}

/** Advance the running times. @param {Element} root @param {Store} store */
export function updateTimes(root, store) {
  for (const clock of root.querySelectorAll("[data-since]"))
    clock.textContent = formatTime(Math.max(0, store.now - Number(clock.getAttribute("data-since"))));
}
