// @ts-check
/** Timeline of one step on every device, and of its compilation, with zoom and keyboard control. */

import { el } from "../ground/element.js";
import { formatTime } from "../ground/format.js";
import { registerPane } from "../parts/panes.js";
import { drawUnreadable } from "../program/unreadable_notes.js";
import { describeTimeline, drawTimeline, findStepEnd, TIME_LEFT, TIME_RIGHT } from "./draw_timeline.js";
import { getTimeState } from "./time_state.js";
/** @typedef {import("../parts/panes.js").Space} Space */
/** @typedef {import("../program/program.js").Program} Program */
/** @typedef {import("../store/store.js").Store} Store */

const KIND_WORDS = [
  ["loop", "loop"],
  ["input", "input"],
  ["output", "output"],
  ["custom", "custom"],
  ["library", "library call"],
  ["call", "holds kernels"],
  ["single", "single"],
];
const MOST_ZOOM = 20000;

/** The timeline in a space: what is seen of it, and how it is moved. */
class Timeline {
  /** @param {Space} space */
  constructor(space) {
    this.space = space;
    this.pane = space.pane;
    this.store = space.store;
    /** Whether the pointer has dragged it. */ this.dragged = false;
  }

  get state() {
    return getTimeState(this.store);
  }

  get width() {
    return this.space.width;
  }

  /** Return the visible part of the step, or null for all of it. @returns {[number, number]|null} */
  get view() {
    const { program } = this.store;
    return (program && this.state.views.get(program.number)) ?? null;
  }

  listen() {
    this.pane.addEventListener("click", (event) => this.handleClick(event), true);
    this.pane.addEventListener("keydown", (event) => this.handleKey(event));
    this.pane.addEventListener("wheel", (event) => this.handleWheel(event), { passive: false });
    this.pane.addEventListener("pointerdown", (event) => this.handlePress(event));
  }

  drawTools() {
    const { state, view } = this;
    const end = findStepEnd(/** @type {Program} */ (this.store.program));
    if (!end) return null;
    const drawPill = (
      /** @type {string} */ command,
      /** @type {string} */ text,
      /** @type {string} */ title,
      on = false,
    ) =>
      el(
        "button",
        {
          class: `xs-pill${on ? " on" : ""}`,
          type: "button",
          "data-time": command,
          title,
          "aria-label": title,
          "aria-pressed": command.startsWith("colour") ? String(on) : null,
        },
        text,
      );
    return el(
      "span",
      { class: "xs-time-tools" },
      view && el("span", { class: "xs-muted" }, `${formatTime(view[1] - view[0])} of ${formatTime(end)}`),
      ["pass", "kind"].map((name) =>
        drawPill(
          `colour ${name}`,
          name === "pass" ? "phase" : name,
          `colour bars by ${name === "pass" ? "phase: forward, backward, update" : "XLA's kind of kernel"}`,
          state.colour === name,
        ),
      ),
      drawPill("zoom in", "+", "zoom in (+, or Ctrl and the wheel)"),
      drawPill("zoom out", "−", "zoom out (-)"),
      drawPill("zoom fit", "fit", "the whole step (0)"),
    );
  }

  draw() {
    const { store, state, width } = this;
    const program = /** @type {Program} */ (store.program);
    const lights = store.live.programs.filter((light) => light.stages);
    const { tree, height } = drawTimeline(program, width, {
      view: this.view,
      colour: state.colour,
      lights: program.target ? [] : lights,
    });
    return [
      el(
        "svg",
        {
          class: `xs-timeline-svg${this.view ? " zoomed" : ""}`,
          width,
          height,
          role: "group",
          tabindex: 0,
          "aria-label": "timeline: arrow keys walk from bar to bar, plus and minus zoom, 0 shows all",
        },
        tree,
      ),
      !findStepEnd(program) && drawUnreadable(program.light.executed?.notes),
      state.colour === "kind" &&
        findStepEnd(program) > 0 &&
        el(
          "div",
          { class: "xs-legend" },
          KIND_WORDS.map(([kind, text]) =>
            el("span", { class: "xs-key" }, el("i", { class: `xs-chip kind-${kind}` }), text),
          ),
        ),
    ];
  }

  /** @param {string} name @param {string} value */
  runCommand(name, value) {
    if (name === "colour") this.state.colour = /** @type {"pass"|"kind"} */ (value);
    if (name !== "zoom") return;
    if (value === "fit") this.zoomTo(0, Infinity);
    else this.zoom(value === "in" ? 0.5 : 2);
  }

  /** Handle a click; after a drag it selects nothing. @param {MouseEvent} event */
  handleClick(event) {
    if (this.dragged) event.stopImmediatePropagation();
    else {
      const zoom = /** @type {Element} */ (event.target).closest("[data-zoom]")?.getAttribute("data-zoom");
      if (zoom) this.zoomTo(.../** @type {[number, number]} */ (zoom.split(" ").map(Number)));
    }
    this.dragged = false;
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    const target = /** @type {Element} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || !target.closest(".xs-timeline-svg")) return;
    if ("+=-0".includes(event.key)) this.runCommand("zoom", { "-": "out", 0: "fit" }[event.key] ?? "in");
    else if (event.key.startsWith("Arrow")) this.moveFocus(target, event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * Move the focus from bar to bar: left and right in time, up and down between rows.
   * @param {Element} from
   * @param {string} key
   */
  moveFocus(from, key) {
    const bars = /** @type {SVGRectElement[]} */ ([...this.pane.querySelectorAll("rect[data-bar]")]);
    if (!bars.length) return;
    const box = (/** @type {Element} */ bar) => ["x", "y", "width"].map((name) => Number(bar.getAttribute(name)));
    let next = bars[0];
    if (from.matches("rect[data-bar]")) {
      const [x, y, w] = box(from);
      const vertical = key === "ArrowUp" || key === "ArrowDown";
      const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
      const distance = (/** @type {Element} */ bar) => {
        const [bx, by, bw] = box(bar);
        if (vertical)
          return (by - y) * sign > 0 ? (by - y) * sign * 1e4 + Math.max(0, bx - x, x - bx - bw, bx - x - w) : Infinity;
        return by === y && (bx - x) * sign > 0 ? (bx - x) * sign : Infinity;
      };
      const near = bars
        .map((bar) => [distance(bar), bar])
        .filter(([d]) => d !== Infinity)
        .sort((a, b) => Number(a[0]) - Number(b[0]))[0];
      if (!near) return this.pan(key);
      next = /** @type {SVGRectElement} */ (near[1]);
    }
    next.focus({ preventScroll: true });
  }

  /** Move on where an arrow leaves the visible bars. @param {string} key */
  pan(key) {
    const { view } = this;
    const step = { ArrowLeft: -0.5, ArrowRight: 0.5 }[key];
    if (view && step) this.zoomTo(view[0] + step * (view[1] - view[0]), view[1] + step * (view[1] - view[0]));
  }

  /** @param {number} x in the window's pixels @returns {number} seconds from the start of the step */
  timeAt(x) {
    const [from, to] = this.view ?? [0, findStepEnd(/** @type {Program} */ (this.store.program))];
    const left = this.pane.querySelector(".xs-timeline-svg")?.getBoundingClientRect().left ?? 0;
    return from + ((x - left - TIME_LEFT) / (this.width - TIME_LEFT - TIME_RIGHT)) * (to - from);
  }

  /** @param {WheelEvent} event */
  handleWheel(event) {
    if (
      !this.store.program ||
      !(/** @type {Element} */ (event.target).closest(".xs-timeline-svg")) ||
      !findStepEnd(this.store.program)
    )
      return;
    const { view } = this;
    if (event.ctrlKey || event.metaKey)
      this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.01), this.timeAt(event.clientX));
    else if (view && (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))) {
      const by = ((event.deltaX || event.deltaY) / this.width) * (view[1] - view[0]);
      this.zoomTo(view[0] + by, view[1] + by);
    } else return;
    event.preventDefault();
  }

  /**
   * @param {number} factor
   * @param {number} [about] the moment that stays in its place; the focused bar or the middle
   */
  zoom(factor, about) {
    const [from, to] = this.view ?? [0, findStepEnd(/** @type {Program} */ (this.store.program))];
    const { activeElement } = this.pane.ownerDocument;
    const bar =
      activeElement?.matches("rect[data-bar]") && this.pane.contains(activeElement)
        ? activeElement.getBoundingClientRect()
        : null;
    const centre = about ?? (bar ? this.timeAt(bar.left + bar.width / 2) : (from + to) / 2);
    this.zoomTo(centre - (centre - from) * factor, centre + (to - centre) * factor);
  }

  /** @param {number} from @param {number} to */
  zoomTo(from, to) {
    const program = /** @type {Program} */ (this.store.program);
    const end = findStepEnd(program);
    const length = Math.max(end / MOST_ZOOM, to - from);
    const start = Math.max(0, Math.min(from, end - length));
    if (length >= end) this.state.views.delete(program.number);
    else this.state.views.set(program.number, [start, start + length]);
    this.space.redraw();
  }

  /** Drag a zoomed timeline. @param {PointerEvent} event */
  handlePress(event) {
    const { view } = this;
    this.dragged = false;
    if (!view || event.button !== 0 || !(/** @type {Element} */ (event.target).closest(".xs-timeline-svg"))) return;
    const page = this.pane.ownerDocument.defaultView ?? window;
    const perPixel = (view[1] - view[0]) / (this.width - TIME_LEFT - TIME_RIGHT);
    const move = (/** @type {PointerEvent} */ now) => {
      const by = event.clientX - now.clientX;
      if (!this.dragged && Math.abs(by) < 4) return;
      this.dragged = true;
      this.zoomTo(view[0] + by * perPixel, view[1] + by * perPixel);
    };
    const stop = () => {
      page.removeEventListener("pointermove", move);
      page.removeEventListener("pointerup", stop);
      page.removeEventListener("pointercancel", stop);
      // The click after a drag selects nothing; there is none where the bar was redrawn.
      setTimeout(() => (this.dragged = false));
    };
    page.addEventListener("pointermove", move);
    page.addEventListener("pointerup", stop);
    page.addEventListener("pointercancel", stop);
  }
}

/** @type {WeakMap<Space, Timeline>} */
const timelines = new WeakMap();

/** @param {Space} space */
function getTimeline(space) {
  const timeline = timelines.get(space) ?? new Timeline(space);
  timelines.set(space, timeline);
  return timeline;
}

registerPane({
  id: "timeline",
  place: "below",
  order: 1,
  title: "timeline",
  tip: "one step on every device, and how it was built",
  draw: (_, space) => space && getTimeline(space).draw(),
  words: describeTimeline,
  tools: (_, space) => getTimeline(space).drawTools(),
  attach: (space) => getTimeline(space).listen(),
  command: (space, what, value) => getTimeline(space).runCommand(what, value),
});
