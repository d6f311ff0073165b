// @ts-check
/** A standing picture: strip, graph with its hulls, kernels, timeline, as one SVG that refers to nothing outside itself. */

import { SVG, el, toMarkup } from "./element.js";
import { byteSize, count, flopCount, plural, seconds, shorten } from "./format.js";
import { Program } from "./program.js";
import { PAD, layoutProgram } from "./layout.js";
import { drawScene, r1 } from "./draw_graph.js";
import { drawTimeline, timelineWords } from "./draw_timeline.js";

const MARGIN = 14;
const TABLE_WIDTH = 300;
const MOST_ROWS = 24;

export const PALETTE = {
  bg: "#ffffff", bg2: "#f7f8fa", line: "#e3e6eb", line2: "#d3d8e0", ink: "#1d2330", ink2: "#5d6878",
  fwd: "#2f6fde", bwd: "#c4561c", upd: "#7a5bd1", ok: "#1a7f4b", bad: "#b3261e", hull: "#eef1f6", onbar: "#ffffff", onheat: "#ffffff",
  heat0: "#fdf1f3", heat1: "#f8ccd5", heat2: "#ee94a7", heat3: "#cf4a6b", heat4: "#8e1f49",
  mono: "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace", ui: "system-ui, -apple-system, 'Segoe UI', sans-serif",
};

/** `most` equations of one level are drawn; `lean` leaves out what an image in a page cannot show or say (tooltips, roles).
 * @typedef {{css: string, open: string[], most: number, lean: boolean}} PictureOptions */

/** @param {any} heavy @param {any} light @param {PictureOptions} options @returns {string} SVG */
export function drawPicture(heavy, light, options) {
  const program = new Program(heavy, light);
  const graph = graphPart(program, options);
  const beside = graph.width > 0 && graph.width <= 760;
  const width = Math.max(720, graph.width + (beside ? TABLE_WIDTH : 0) + 3 * MARGIN);
  const table = kernelTable(program, beside ? 1 : Math.max(1, Math.floor((width - MARGIN) / TABLE_WIDTH)));
  const parts = [
    shifted(MARGIN, 6, stripLine(program)),
    graph.tree && shifted(MARGIN, 40, graph.tree),
    shifted(beside ? graph.width + 2 * MARGIN : MARGIN, beside ? 40 : graph.height + 48, table.tree),
  ];
  let height = beside ? Math.max(graph.height, table.height) + 48 : graph.height + table.height + 64;
  const timeline = drawTimeline(program, width - 2 * MARGIN);
  parts.push(shifted(MARGIN, height + 12, el("text", { class: "xs-lane-note", y: 0 }, `timeline · ${timelineWords(program)}`)));
  parts.push(shifted(MARGIN, height + 22, timeline.tree));
  height += timeline.height + 32;
  const svg = el("svg", { xmlns: SVG, viewBox: `0 0 ${r1(width)} ${r1(height)}`, width: r1(width), height: r1(height), role: "img",
    "aria-label": stripWords(program) },
    el("title", {}, stripWords(program)),
    el("style", {}, withoutVariables(options.css)),
    el("rect", { width: "100%", height: "100%", rx: 8, fill: PALETTE.bg, stroke: PALETTE.line }),
    parts);
  return toMarkup(options.lean ? { ...svg, children: svg.children.map(leaner) } : svg);
}

/** @param {import("./element.js").Tree|string} tree @returns {import("./element.js").Tree|string} */
function leaner(tree) {
  if (typeof tree === "string" || typeof tree === "number") return tree;
  const kept = Object.entries(tree.attributes).filter(([name]) => !/^(aria|data|role|tabindex)/.test(name));
  const attributes = Object.fromEntries(kept.map(([name, value]) => [name, leanValue(name, value)]));
  const children = tree.children.filter((child) => typeof child !== "object" || child.tag !== "title").map(leaner);
  return { tag: tree.tag, attributes, children };
}

/** @param {string} css */
function withoutVariables(css) {
  // Drawing programs other than browsers do not know CSS variables.
  return css.replace(/\/\*[^]*?\*\//g, "").replace(/var\(--xs-(\w+)\)/g, (_, name) => PALETTE[/** @type {"bg"} */ (name)]).replace(/\s+/g, " ");
}

/** @param {number} x @param {number} y @param {any} tree */
function shifted(x, y, tree) {
  return el("g", { transform: `translate(${r1(x)},${r1(y)})` }, tree);
}

/** Whole pixels, and only the classes that have a style. @param {string} name @param {string|number} value */
function leanValue(name, value) {
  if (name === "class") return String(value).replace(/ (equation|input|output|holds|near|pass-given)\b/g, "");
  return name === "style" || name === "fill" ? value : String(value).replace(/(\d)\.\d+/g, "$1");
}

/** @param {any} program @param {PictureOptions} options */
function graphPart(program, options) {
  if (!program.heavy.jaxpr) return { width: 0, height: 0 };
  const drawn = program.heavy.jaxpr.equations.length;
  if (drawn > options.most) {
    const words = `${count(drawn)} equations: too many for a picture; open the panel for the outline.`;
    return { width: 420, height: 30, tree: el("text", { class: "xs-title", y: 18 }, words) };
  }
  const scene = layoutProgram(program, new Set(options.open));
  const keys = shifted(PAD, scene.height + 8, legendLine(program));
  return { width: scene.width, height: scene.height + 18, tree: [drawScene(program, scene, { heat: "pass" }), keys] };
}

/** What the colours mean. @param {any} program */
function legendLine(program) {
  const passes = new Set(program.passes.values());
  const keys = [["forward", "forward ↓", "fwd"], ["backward", program.secondPass, "bwd"], ["update", "update ↓", "upd"]];
  let x = 0;
  const parts = keys.filter(([pass]) => passes.has(pass)).map(([, words, colour]) => {
    const part = [el("rect", { x, y: -8, width: 14, height: 8, rx: 2, fill: PALETTE[/** @type {"fwd"} */ (colour)] }),
      el("text", { class: "xs-sub", x: x + 19, y: 0 }, words)];
    x += 40 + words.length * 5.8;
    return part;
  });
  const hull = program.heavy.kernels && [el("rect", { x, y: -9, width: 16, height: 10, rx: 4, fill: PALETTE.hull, stroke: PALETTE.line2 }),
    el("text", { class: "xs-sub", x: x + 21, y: 0 }, "one kernel")];
  return [parts, hull];
}

/** A piece of the strip; `least` is how much room it needs: nothing, "medium" or "wide".
 * @typedef {{text: string, least?: string}} Piece */
/** @typedef {{kind: string, name: string, strong: string, pieces: Piece[], tip?: string}} Stage */

/** "traced update 58 equations · 1.40 ms; compiled 310 ms → 9 kernels; …" @param {any} program */
export function stripWords(program) {
  return stages(program).map(stageWords).join("; ");
}

/** @param {Stage} stage */
function stageWords(stage) {
  return [stage.name, stage.strong, stage.pieces.map((piece) => piece.text).join("")].filter(Boolean).join(" ");
}

/** What the strip says of a program, stage by stage. @param {any} program @returns {Stage[]} */
export function stages(program) {
  const { light } = program;
  return [light.traced != null && tracedStage(program), light.compiled != null && compiledStage(light),
    light.executed && ranStage(light.executed), light.failure && failedStage(light.failure)].filter(Boolean);
}

/** @param {any} program @returns {Stage} */
function tracedStage(program) {
  const { light } = program;
  if (light.traced === 0) return { kind: "done", name: "operation", strong: program.function, tip: "Run outside of jit: one operation, by itself", pieces: [] };
  const again = light.traces > 1 ? ` · trace ${light.traces}` : "";
  return { kind: "done", name: "traced", strong: program.function, tip: `Traced because: ${light.reason} (time measured)`,
    pieces: [{ text: plural(light.equations, "eqn") }, { text: ` · ${seconds(light.traced)}${again}`, least: "wide" }] };
}

/** @param {any} light @returns {Stage} */
function compiledStage(light) {
  const hit = light.cache === "hit" ? " from the cache" : "";
  return { kind: "done", name: "compiled", strong: "", tip: "XLA's compile time (measured); kernels counted in the optimized program",
    pieces: [{ text: `${seconds(light.compiled)}${hit} → `, least: "medium" }, { text: plural(light.kernels, "kernel") }] };
}

/** @param {any} executed @returns {Stage} */
function ranStage({ calls, step }) {
  return { kind: "run", name: "ran", strong: count(calls), tip: "Calls counted; duration is the median of the calls observed (measured)",
    pieces: [{ text: calls === 1 ? "call" : "calls" }, { text: step ? ` · ${seconds(step)} each` : "" }] };
}

/** @param {any} failure @returns {Stage} */
function failedStage(failure) {
  return { kind: "bad", name: "failed", strong: failure.error, pieces: [{ text: `in ${failure.stage}` }] };
}

/** @param {any} program */
function stripLine(program) {
  const colours = { done: PALETTE.ok, run: PALETTE.fwd, bad: PALETTE.bad };
  let x = 4;
  const parts = stages(program).map((stage) => {
    const text = stageWords(stage);
    const part = [
      el("circle", { cx: x, cy: 12, r: 4, fill: colours[/** @type {"done"} */ (stage.kind)] }),
      el("text", { x: x + 9, y: 16, style: `font: 12px ${PALETTE.ui}; fill: ${PALETTE.ink2}` }, `${stage.name} `,
        el("tspan", { style: `fill: ${PALETTE.ink}; font-weight: 600` }, stage.strong), ` ${stage.pieces.map((piece) => piece.text).join("")}`),
    ];
    x += text.length * 6.6 + 36;
    return part;
  });
  return parts;
}

/** @param {any} program @param {number} columns */
function kernelTable(program, columns) {
  const kernels = kernelsByTime(program);
  if (!kernels.length) return { tree: [], height: 0 };
  const rows = kernels.slice(0, MOST_ROWS).map((kernel, i) => {
    const { name, facts, pass, time } = kernelWords(program, kernel);
    return shifted((i % columns) * TABLE_WIDTH, 26 + Math.floor(i / columns) * 34, [
      el("rect", { class: `xs-bar pass-${pass}`, x: 0, y: 0, width: 4, height: 26, rx: 2 }),
      el("text", { class: "xs-title", x: 12, y: 10 }, shorten(name, 30)),
      time != null && el("text", { class: "xs-title", x: TABLE_WIDTH - 24, y: 10, "text-anchor": "end" }, seconds(time)),
      el("text", { class: "xs-sub", x: 12, y: 23 }, shorten(facts.join(" · "), 46)),
    ]);
  });
  const more = kernels.length - rows.length;
  const high = Math.ceil(rows.length / columns);
  if (more > 0) rows.push(el("text", { class: "xs-sub", x: 12, y: 38 + high * 34 }, `${more} more`));
  return { tree: [el("text", { class: "xs-lane-note", y: 12 }, `kernels · ${kernelsHeading(program)}`), ...rows], height: 30 + (high + (more > 0 ? 1 : 0)) * 34 };
}

/** The kernels, the slowest first where they were measured. @param {any} program @returns {any[]} */
export function kernelsByTime(program) {
  const time = (/** @type {any} */ kernel) => program.times.get(kernel.name) ?? -1;
  return [...(program.heavy.kernels ?? [])].sort((a, b) => time(b) - time(a));
}

/** @param {any} program */
export function kernelsHeading(program) {
  const kernels = program.heavy.kernels;
  if (!kernels) return "not compiled yet";
  const measured = program.times.size ? " · time a call measured, bytes our count" : "";
  return `${count(kernels.length)} of ${plural(program.equations.size, "equation")}${measured}`;
}

/** What XLA says of the whole program, or nothing. @param {any} program */
export function estimateWords(program) {
  const { flops, accessed, peak } = program.heavy;
  const parts = [flops > 0 && flopCount(flops), accessed > 0 && `${byteSize(accessed)} accessed`, peak > 0 && `${byteSize(peak)} of memory at peak`];
  const known = parts.filter(Boolean);
  return known.length ? `${known.join(", ")} (XLA's estimate)` : "";
}

/** @param {any} program @param {any} kernel */
export function kernelWords(program, kernel) {
  const time = program.times.get(kernel.name);
  const equations = new Set(kernel.eqns).size;
  const facts = [kernel.kind, equations ? plural(equations, "equation") : "no source known"];
  if (kernel.saved) facts.push(`saved ${byteSize(kernel.saved)}`);
  return { name: kernel.name, facts, pass: program.passOfKernel(kernel.name), time };
}
