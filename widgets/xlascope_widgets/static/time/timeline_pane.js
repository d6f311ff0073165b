// @ts-check
/** The pane below the graph: the timeline to zoom and to walk through, the hottest operations, and memory. */

import { el, fill } from "../ground/element.js";
import { seconds } from "../ground/format.js";
import { drawUnread } from "../program/unread.js";
import { TIME_LEFT, TIME_RIGHT, drawTimeline, stepEnd, timelineWords } from "./draw_timeline.js";
import { drawHottest, hottestWords } from "./hottest.js";
import { drawMemory, memoryWords } from "./memory_pane.js";
/** @typedef {import("../store/store.js").Store} Store */
/** @typedef {import("../program/program.js").Program} Program */

/** @typedef {"timeline"|"hottest"|"memory"} TimeTab */

/** @type {Record<TimeTab, string>} */
const TIME_TABS = {
  timeline: "one step on every device, and how it was built",
  hottest: "kernels, equations and lines by time",
  memory: "what needs memory, and when",
};
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

/**
 * What a user made of the pane: kept beside the store, so that a view that is drawn again finds it as it was.
 * @typedef {{tab: TimeTab, colour: "pass"|"kind", views: Map<number, [number, number]>, by: string, order: string, at:
 * Map<number, number>}} TimeState
 */
/** @type {WeakMap<Store, TimeState>} */
const timeStates = new WeakMap();

/** @param {Store} store @returns {TimeState} */
export function timeState(store) {
  const known = timeStates.get(store);
  if (known) return known;
  const wanted = /** @type {TimeTab[]} */ (Object.keys(TIME_TABS)).find((tab) => tab === store.live.tab);
  /** @type {TimeState} */ const state = {
    tab: wanted ?? "timeline",
    colour: "pass",
    views: new Map(),
    by: "kernels",
    order: "time",
    at: new Map(),
  };
  timeStates.set(store, state);
  return state;
}

export class TimePane {
  /** @param {HTMLElement} pane @param {Store} store */
  constructor(pane, store) {
    this.pane = pane;
    this.store = store;
    this.width = 0;
    this.frame = 0;
    pane.addEventListener("click", (event) => this.click(event), true);
    pane.addEventListener("keydown", (event) => this.key(event));
    pane.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    pane.addEventListener("pointerdown", (event) => this.press(event));
  }

  get state() {
    return timeState(this.store);
  }

  /** What of the step is seen, or null for all of it. @returns {[number, number]|null} */
  get view() {
    const { program } = this.store;
    return (program && this.state.views.get(program.number)) ?? null;
  }

  draw() {
    const { pane, store, state } = this;
    const { program } = store;
    this.width = Math.max(320, pane.clientWidth - 24);
    if (pane.clientWidth <= 24) return;
    const focus = pane.contains(pane.ownerDocument.activeElement) ? pane.ownerDocument.activeElement : null;
    const key = ["data-bar", "data-time", "data-kernel", "data-row"]
      .map((name) => [name, focus?.getAttribute(name)])
      .find(([, value]) => value);
    const list = pane.querySelector(".xs-time-list");
    const top = list?.scrollTop ?? 0;
    const body = {
      timeline: () => this.timeline(),
      hottest: () => drawHottest(store, state),
      memory: () => drawMemory(store, state, this.width),
    }[state.tab];
    fill(pane, this.head(), program && body?.());
    const again = pane.querySelector(".xs-time-list");
    if (again) again.scrollTop = top;
    if (focus)
      /** @type {HTMLElement|null} */ (
        key
          ? pane.querySelector(`[${key[0]}="${CSS.escape(String(key[1]))}"]`)
          : pane.querySelector(focus === list ? ".xs-time-list" : "svg")
      )?.focus({ preventScroll: true });
    this.mark();
  }

  head() {
    const { state, store } = this;
    const { program } = store;
    const words =
      program && { timeline: timelineWords, hottest: hottestWords, memory: memoryWords }[state.tab]?.(program);
    const tabs = Object.entries(TIME_TABS).map(([name, tip]) =>
      el(
        "button",
        {
          class: `xs-tab${state.tab === name ? " on" : ""}`,
          type: "button",
          role: "tab",
          "aria-selected": String(state.tab === name),
          title: tip,
          "data-time": `tab ${name}`,
        },
        name,
      ),
    );
    return el(
      "div",
      { class: "xs-time-head" },
      el("span", { class: "xs-time-tabs", role: "tablist" }, tabs),
      el("span", { class: "xs-muted xs-time-words" }, words),
      state.tab === "timeline" && program && this.tools(),
    );
  }

  tools() {
    const { state, view } = this;
    const end = stepEnd(/** @type {Program} */ (this.store.program));
    if (!end) return null;
    const pill = (/** @type {string} */ command, /** @type {string} */ text, /** @type {string} */ title, on = false) =>
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
      view && el("span", { class: "xs-muted" }, `${seconds(view[1] - view[0])} of ${seconds(end)}`),
      ["pass", "kind"].map((name) =>
        pill(
          `colour ${name}`,
          name,
          `colour bars by ${name === "pass" ? "pass" : "XLA's kind of kernel"}`,
          state.colour === name,
        ),
      ),
      pill("zoom in", "+", "zoom in (+, or Ctrl and the wheel)"),
      pill("zoom out", "−", "zoom out (-)"),
      pill("zoom fit", "fit", "the whole step (0)"),
    );
  }

  timeline() {
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
      !stepEnd(program) && drawUnread(program.light.executed?.notes),
      state.colour === "kind" &&
        stepEnd(program) > 0 &&
        el(
          "div",
          { class: "xs-legend" },
          KIND_WORDS.map(([kind, text]) =>
            el("span", { class: "xs-key" }, el("i", { class: `xs-chip kind-${kind}` }), text),
          ),
        ),
    ];
  }

  /** Selection, drawn on what is there. */
  mark() {
    const { kernels, paths, lines } = this.store.selection;
    for (const part of this.pane.querySelectorAll("[data-kernel]"))
      part.classList.toggle("selected", kernels.has(part.getAttribute("data-kernel") ?? ""));
    for (const row of this.pane.querySelectorAll("[data-row]")) {
      const [kind, ...id] = (row.getAttribute("data-row") ?? "").split(" ");
      row.classList.toggle("selected", (kind === "line" ? lines : paths).has(id.join(" ")));
    }
  }

  /** The selection has changed: memory shows the lives of what is selected. */
  markOrDraw() {
    if (this.state.tab === "memory") this.draw();
    else this.mark();
  }

  redraw() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** @param {MouseEvent} event */
  click(event) {
    if (this.dragged) {
      this.dragged = false;
      event.stopPropagation();
      return;
    }
    const target = /** @type {Element} */ (event.target);
    const find = (/** @type {string} */ name) => target.closest(`[${name}]`)?.getAttribute(name);
    const [command, zoom, program, row] = ["data-time", "data-zoom", "data-program", "data-row"].map(find);
    if (command) this.command(command);
    else if (zoom) this.zoomTo(.../** @type {[number, number]} */ (zoom.split(" ").map(Number)));
    else if (program) this.store.pick(Number(program));
    else if (row) {
      const [kind, ...id] = row.split(" ");
      this.store.select(/** @type {"equation"|"line"} */ (kind), id.join(" "));
    } else if (target.closest(".xs-memory-svg")) this.pickMoment(event);
  }

  /** @param {string} command */
  command(command) {
    const [what, value] = [command.split(" ")[0], command.slice(command.indexOf(" ") + 1)];
    if (what === "tab" || what === "colour" || what === "by" || what === "order")
      Object.assign(this.state, { [what]: value });
    if (command === "zoom in") this.zoom(0.5);
    else if (command === "zoom out") this.zoom(2);
    else if (command === "zoom fit") this.zoomTo(0, Infinity);
    else if (command === "moment peak") this.state.at.delete(this.store.program?.number ?? 0);
    this.draw();
  }

  /** A click on the curve of memory: what is held at that moment. @param {MouseEvent} event */
  pickMoment(event) {
    const { program } = this.store;
    const plan = program?.heavy.memory;
    if (!plan || !program) return;
    const box = /** @type {Element} */ (this.pane.querySelector(".xs-memory-svg")).getBoundingClientRect();
    const share = (event.clientX - box.left - TIME_LEFT) / (this.width - TIME_LEFT - TIME_RIGHT);
    this.moment(Math.floor(share * (program.heavy.kernels?.length ?? 1)));
  }

  /** @param {number} position */
  moment(position) {
    const { program } = this.store;
    if (!program) return;
    this.state.at.set(program.number, Math.max(0, Math.min((program.heavy.kernels?.length ?? 1) - 1, position)));
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inside = target.closest(".xs-timeline-svg");
    const memory = target.closest(".xs-memory-svg");
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const { program } = this.store;
    if (memory && step) this.moment((this.state.at.get(program?.number ?? 0) ?? program?.heavy.memory?.at ?? 0) + step);
    else if (inside && "+=-0".includes(event.key))
      this.command({ "-": "zoom out", 0: "zoom fit" }[event.key] ?? "zoom in");
    else if (inside && event.key.startsWith("Arrow")) this.walk(target, event.key);
    else if ((event.key === "Enter" || event.key === " ") && target.matches("[data-bar], [data-row], tr[data-kernel]"))
      target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    else if (target.matches(".xs-time-list") && event.key === "ArrowDown")
      /** @type {HTMLElement|null} */ (target.querySelector("tbody tr"))?.focus();
    else if (target.matches("tr") && (event.key === "ArrowDown" || event.key === "ArrowUp"))
      /** @type {HTMLElement|null} */ (
        event.key === "ArrowDown" ? target.nextElementSibling : target.previousElementSibling
      )?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * From bar to bar: left and right in order of time, up and down to the bar above or below.
   * @param {Element} from
   * @param {string} key
   */
  walk(from, key) {
    const bars = /** @type {SVGRectElement[]} */ ([...this.pane.querySelectorAll("rect[data-bar]")]);
    if (!bars.length) return;
    const place = (/** @type {Element} */ bar) => ["x", "y", "width"].map((name) => Number(bar.getAttribute(name)));
    let next = bars[0];
    if (from.matches("rect[data-bar]")) {
      const [x, y, w] = place(from);
      const vertical = key === "ArrowUp" || key === "ArrowDown";
      const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
      const distance = (/** @type {Element} */ bar) => {
        const [bx, by, bw] = place(bar);
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

  /** At the last bar that is seen, an arrow goes on to what is not. @param {string} key */
  pan(key) {
    const { view } = this;
    const step = { ArrowLeft: -0.5, ArrowRight: 0.5 }[key];
    if (view && step) this.zoomTo(view[0] + step * (view[1] - view[0]), view[1] + step * (view[1] - view[0]));
  }

  /** @param {number} x in the window's pixels @returns {number} seconds from the start of the step */
  timeAt(x) {
    const [from, to] = this.view ?? [0, stepEnd(/** @type {Program} */ (this.store.program))];
    const left = this.pane.querySelector(".xs-timeline-svg")?.getBoundingClientRect().left ?? 0;
    return from + ((x - left - TIME_LEFT) / (this.width - TIME_LEFT - TIME_RIGHT)) * (to - from);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    if (
      !this.store.program ||
      !(/** @type {Element} */ (event.target).closest(".xs-timeline-svg")) ||
      !stepEnd(this.store.program)
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
    const [from, to] = this.view ?? [0, stepEnd(/** @type {Program} */ (this.store.program))];
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
    const end = stepEnd(program);
    const length = Math.max(end / MOST_ZOOM, to - from);
    const start = Math.max(0, Math.min(from, end - length));
    if (length >= end) this.state.views.delete(program.number);
    else this.state.views.set(program.number, [start, start + length]);
    this.redraw();
  }

  /** Drag a zoomed timeline. @param {PointerEvent} event */
  press(event) {
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
      // The click that follows a drag selects nothing; none follows where the bar was drawn anew.
      setTimeout(() => (this.dragged = false));
    };
    page.addEventListener("pointermove", move);
    page.addEventListener("pointerup", stop);
    page.addEventListener("pointercancel", stop);
  }
}
