// @ts-check
/** Static picture: strip, graph with its hulls, kernels and timeline, as one self-contained SVG. */

import { drawScene } from "../graph/draw_svg.js";
import { el, SVG, toMarkup } from "../ground/element.js";
import { formatTime, pluralize, round, shorten, wrapText } from "../ground/format.js";
import { layoutProgram, PAD } from "../layout/layout.js";
import { openAtFirst } from "../layout/initial_expansion.js";
import { hatch } from "../program/hatching.js";
import { isGroupId } from "../program/groups.js";
import { Program } from "../program/program.js";
import {
  formatKernels,
  formatStage,
  formatStrip,
  listStages,
  sortKernelsByTime,
  labelKernel,
} from "../program/stage_labels.js";
import { describeTimeline, drawTimeline, findStepEnd } from "../time/draw_timeline.js";
/** @typedef {import("../ground/element.js").Tree} Tree */
/** @typedef {import("../ground/wire.js").Heavy} Heavy */
/** @typedef {import("../ground/wire.js").Light} Light */
/** @typedef {import("../ground/element.js").Child} Child */

const MARGIN = 14;
const TABLE_WIDTH = 300;
const MOST_TABLE_ROWS = 24;
/** Equations of which a picture shows each, if it is no larger than can be read on a page then. */
const DRAWN_WHOLE = 300,
  MOST_WIDE = 1500,
  MOST_HIGH = 2400;
/** The width of a letter of a note, and the height of its line. */
const [NOTE_LETTER, NOTE_LINE] = [6.7, 14];

export const PALETTE = {
  bg: "#ffffff",
  bg2: "#f7f8fa",
  line: "#e3e6eb",
  line2: "#d3d8e0",
  ink: "#1d2330",
  ink2: "#5a6575",
  fwd: "#2f6fde",
  bwd: "#c0541b",
  upd: "#54309c",
  again: "#0f7b83",
  ok: "#1a7f4b",
  bad: "#b3261e",
  hull: "#eef1f6",
  onbar: "#ffffff",
  onheat: "#ffffff",
  heat0: "#fdf1f3",
  heat1: "#f8ccd5",
  heat2: "#ee94a7",
  heat3: "#cb4567",
  heat4: "#8e1f49",
  mono: "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  ui: "system-ui, -apple-system, 'Segoe UI', sans-serif",
};

/**
 * `most` equations of one level are drawn; `lean` leaves out what an image in a page cannot show or say (tooltips,
 * roles).
 * @typedef {{css: string, open: string[], most: number, lean: boolean, grouping: string}} PictureOptions
 */

/** @param {Heavy} heavy @param {Light} light @param {PictureOptions} options @returns {string} SVG */
export function drawPicture(heavy, light, options) {
  const program = new Program(heavy, light);
  const graph = drawGraphPart(program, options);
  const beside = graph.width > 0 && graph.width <= 760;
  const strip = drawStripLine(program);
  const width = Math.max(720, strip.width, graph.width + (beside ? TABLE_WIDTH : 0) + 3 * MARGIN);
  const table = drawKernelTable(program, beside ? 1 : Math.max(1, Math.floor((width - MARGIN) / TABLE_WIDTH)));
  const parts = [
    translate(MARGIN, 6, strip.parts),
    graph.tree && translate(MARGIN, 40, graph.tree),
    translate(beside ? graph.width + 2 * MARGIN : MARGIN, beside ? 40 : graph.height + 48, table.tree),
  ];
  let height = beside ? Math.max(graph.height, table.height) + 48 : graph.height + table.height + 64;
  const timeline = drawTimeline(program, width - 2 * MARGIN);
  const lines = drawNoteLines([`timeline · ${describeTimeline(program)}`], width - 2 * MARGIN);
  parts.push(translate(MARGIN, height + 12 - NOTE_LINE, lines));
  height += (lines.length - 1) * NOTE_LINE;
  parts.push(translate(MARGIN, height + 22, timeline.tree));
  height += timeline.height + 32;
  const unread = findStepEnd(program) ? [] : drawNoteLines(program.light.executed?.notes, width - 2 * MARGIN);
  parts.push(translate(MARGIN, height - 10, unread));
  height += unread.length * NOTE_LINE;
  const svg = el(
    "svg",
    {
      xmlns: SVG,
      viewBox: `0 0 ${round(width)} ${round(height)}`,
      width: round(width),
      height: round(height),
      role: "img",
      "aria-label": formatStrip(program),
    },
    el("title", {}, formatStrip(program)),
    el("style", {}, inlineVariables(options.css)),
    el("rect", { width: "100%", height: "100%", rx: 8, fill: PALETTE.bg, stroke: PALETTE.line }),
    parts,
  );
  return toMarkup(options.lean ? { ...svg, children: svg.children.map(simplifyTree) } : svg);
}

/** @typedef {import("../ground/element.js").Tree|string|number} Part */

/** @param {Part} tree @returns {Part} */
function simplifyTree(tree) {
  if (typeof tree === "string" || typeof tree === "number") return tree;
  const visible = Object.entries(tree.attributes).filter(([name]) => !/^(aria|data|role|tabindex)/.test(name));
  const attributes = Object.fromEntries(visible.map(([name, value]) => [name, simplifyValue(name, value)]));
  const children = tree.children
    .filter((child) => typeof child !== "object" || child.tag !== "title")
    .map(simplifyTree);
  return { tag: tree.tag, attributes, children };
}

/** @param {string} css */
export function inlineVariables(css) {
  // Image viewers other than browsers do not support CSS variables.
  return css
    .replace(/\/\*[^]*?\*\//g, "")
    .replace(/calc\((\d+px) \* var\(--xs-up, 1\)\)/g, "$1")
    .replace(/var\(--xs-(\w+)\)/g, (_, name) => PALETTE[/** @type {"bg"} */ (name)])
    .replace(/\s+/g, " ");
}

/** @param {number} x @param {number} y @param {Child} tree */
function translate(x, y, tree) {
  return el("g", { transform: `translate(${round(x)},${round(y)})` }, tree);
}

/** Round to whole pixels, and drop classes without a style. @param {string} name @param {string|number} value */
function simplifyValue(name, value) {
  if (name === "class") return String(value).replace(/ (equation|input|output|holds|near|pass-given)\b/g, "");
  return name === "style" || name === "fill" ? value : String(value).replace(/(\d)\.\d+/g, "$1");
}

/** @param {Program} program @param {PictureOptions} options */
function drawGraphPart(program, options) {
  if (!program.heavy.jaxpr) return { width: 0, height: 0 };
  // Boxes of a picture cannot be opened: draw every equation where all of them fit.
  const fits = program.heavy.jaxpr.equations.length <= DRAWN_WHOLE && !options.open.some(isGroupId);
  program.groupBy(options.grouping === "auto" && fits ? "none" : options.grouping);
  if (options.grouping === "auto" && fits && !options.open.length && !fitsPage(program)) program.groupBy("auto");
  const count = program.groupedLevel(program.heavy.jaxpr).equations.length;
  if (count > options.most) {
    const words = `${pluralize(program.equations.size, "equation")}: too many for a picture; open the panel for the outline.`;
    return { width: 420, height: 30, tree: el("text", { class: "xs-title", y: 18 }, words) };
  }
  const open = program.grouping === "auto" && !options.open.length ? openAtFirst(program) : new Set(options.open);
  const scene = layoutProgram(program, open);
  const keys = translate(PAD, scene.height + 8, drawLegendLine(program));
  return {
    width: scene.width,
    height: scene.height + 18,
    tree: [drawScene(program, scene, { heat: "pass", still: true }), keys],
  };
}

/** @param {Program} program */
function fitsPage(program) {
  const { width, height } = layoutProgram(program, new Set());
  return width <= MOST_WIDE && height <= MOST_HIGH;
}

/** Draw the meaning of the colours. @param {Program} program */
function drawLegendLine(program) {
  const passes = new Set(program.passes.values());
  const keys = [
    ["forward", "forward ↓", "fwd"],
    ["backward", program.secondPass, "bwd"],
    ["update", "update ↓", "upd"],
    ["recomputed", "computed again ↓", "again"],
  ];
  let x = 0;
  const parts = keys
    .filter(([pass]) => passes.has(pass))
    .map(([pass, words, colour]) => {
      const part = [
        el("rect", { x, y: -8, width: 14, height: 8, rx: 2, fill: PALETTE[/** @type {"fwd"} */ (colour)] }),
        el("path", { class: "xs-hatch", d: hatch(pass, x, -8, 14, 8) }),
        el("text", { class: "xs-sub", x: x + 19, y: 0 }, words),
      ];
      x += 40 + words.length * 6.7;
      return part;
    });
  const hull = program.heavy.kernels && [
    el("rect", { x, y: -9, width: 16, height: 10, rx: 4, fill: PALETTE.hull, stroke: PALETTE.line2 }),
    el("text", { class: "xs-sub", x: x + 21, y: 0 }, "one kernel"),
  ];
  return [parts, hull];
}

/** @param {Program} program */
function drawStripLine(program) {
  const colours = { done: PALETTE.ok, run: PALETTE.fwd, bad: PALETTE.bad };
  let x = 4;
  const parts = listStages(program).map((stage) => {
    const text = formatStage(stage);
    const part = [
      el("circle", { cx: x, cy: 12, r: 4, fill: colours[/** @type {"done"} */ (stage.kind)] }),
      el(
        "text",
        { x: x + 9, y: 16, style: `font: 12px ${PALETTE.ui}; fill: ${PALETTE.ink2}` },
        `${stage.name} `,
        el("tspan", { style: `fill: ${PALETTE.ink}; font-weight: 600` }, stage.strong),
        ` ${stage.pieces.map((piece) => piece.text).join("")}`,
      ),
    ];
    x += text.length * 6.6 + 36;
    return part;
  });
  return { parts, width: x };
}

/** @param {Program} program @param {number} columns */
function drawKernelTable(program, columns) {
  const kernels = sortKernelsByTime(program);
  if (!kernels.length) {
    const unread = drawNoteLines(program.heavy.notes, columns * TABLE_WIDTH - MARGIN);
    return { tree: unread, height: unread.length * NOTE_LINE };
  }
  const rows = kernels.slice(0, MOST_TABLE_ROWS).map((kernel, i) => {
    const { title, origin, facts, pass, time } = labelKernel(program, kernel);
    const [type, lines] = origin.split(" · ");
    return translate((i % columns) * TABLE_WIDTH, 26 + Math.floor(i / columns) * 34, [
      el("rect", { class: `xs-bar pass-${pass}`, x: 0, y: 0, width: 6, height: 26, rx: 2 }),
      el("path", { class: "xs-hatch", d: hatch(pass, 0, 0, 6, 26) }),
      el("text", { class: "xs-title", x: 12, y: 10 }, shorten(`${title} ${type}`, 30)),
      time != null &&
        el("text", { class: "xs-title", x: TABLE_WIDTH - 24, y: 10, "text-anchor": "end" }, formatTime(time)),
      el("text", { class: "xs-sub", x: 12, y: 23 }, shorten([lines, ...facts].filter(Boolean).join(" · "), 41)),
    ]);
  });
  const more = kernels.length - rows.length;
  const high = Math.ceil(rows.length / columns);
  if (more > 0) rows.push(el("text", { class: "xs-sub", x: 12, y: 38 + high * 34 }, `${more} more`));
  const [words, note] = formatKernels(program).split(/ · (.*)/);
  const heading = columns > 1 ? [[words, note].filter(Boolean).join(" · ")] : [words, note];
  const lines = heading
    .filter(Boolean)
    .map((text, i, all) => el("text", { class: "xs-lane-note", y: 12 * (i + 2 - all.length) }, text));
  return { tree: [...lines, ...rows], height: 30 + (high + (more > 0 ? 1 : 0)) * 34 };
}

/**
 * Draw notes about input that could not be read, wrapped to a width.
 * @param {string[]|undefined} notes
 * @param {number} width
 */
function drawNoteLines(notes, width) {
  const lines = (notes ?? []).flatMap((note) => wrapText(note, Math.floor(width / NOTE_LETTER)));
  return lines.map((line, i) => el("text", { class: "xs-lane-note", y: NOTE_LINE * (i + 1) }, line));
}
