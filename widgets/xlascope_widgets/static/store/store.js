// @ts-check
/** What one widget shows: the data that came from Python, and what the user made of it (opened, selected, zoomed).
 * A store belongs to the model, not to a view, so that a view which is drawn again finds everything as it was. */

import { openAll, openAtFirst, USUAL_SCREEN } from "../layout/initial_expansion.js";
import { findPathsBetween } from "../program/dataflow_paths.js";
import { findEdgeKernels } from "../program/kernel_boundaries.js";
import { isGroupId } from "../program/groups.js";
import { viewForTarget } from "../program/other_target.js";
import { addProfile } from "../program/profile.js";
import { Program } from "../program/program.js";
import { searchEquations } from "../program/search.js";
import { createEmptySelection, createSelection, recreateSelection } from "../program/selection.js";
import { Queries } from "./queries.js";
/** @typedef {import("../ground/wire.js").Heavy} Heavy */
/** @typedef {import("../ground/wire.js").Live} Live */
/** @typedef {import("../layout/initial_expansion.js").Screen} Screen */

/**
 * What the list of kernels shows, and what shares its place: the tab chosen ("" for none), how the kernels are sorted
 * and filtered, the decision that is stepped to, which decisions, the pass that is open and whether all of it is shown,
 * whatever is selected, the operation that passes removed, and the decisions chosen to step through.
 * @typedef {{tab: string, sort: string, filter: string, at: number, only: string, pass: number, whole: boolean, query:
 * string, replayed: unknown[]|null|undefined}} KernelList
 */
/** @typedef {{program: Program, isPicked: boolean, selection: import("../program/selection.js").Selection}} Past */
/** @typedef {"data"|"live"|"open"|"selection"|"graph"|"look"|"search"|"asks"|"list"|"target"} Change */

/** How many functions are remembered that are not shown any more. */
const MOST_PAST = 20;

export class Store {
  constructor() {
    /** @type {Map<number, Program>} */ this.programs = new Map();
    /** @type {Live} */ this.live = { programs: [], failures: [], main: null, finished: false, more: 0 };
    this.offset = 0;
    /** What tells this panel from others. */ this.uid = "";
    /** @type {number|null} */ this.picked = null;
    /** @type {Map<number, Set<string>>} */ this.opened = new Map();
    /** @type {Map<number, {x: number, y: number, k: number}>} */ this.zooms = new Map();
    /** The size of the graph pane in pixels. @type {Screen} */ this.screen = USUAL_SCREEN;
    this.selection = createEmptySelection();
    /** @type {"pass"|"time"|"flops"|"bytes"} */ this.heat = "pass";
    /** How levels are grouped, and whether the graph is shown as a list. */
    this.grouping = "auto";
    this.asList = false;
    /** Where the question "what lies between these two" begins. */ this.start = "";
    this.query = "";
    this.why = false;
    /** Whether all programs of a script are listed. */ this.allPrograms = false;
    /** Whether the account of the cell's time is shown as a table. */ this.accountOpen = false;
    /** Which two runs of the cell are compared. @type {import("../ground/wire.js").Question|null} */ this.comparing =
      null;
    /** How programs that are gone were seen, by function: its next program begins so. @type {Map<string, Past>} */
    this.past = new Map();
    /** @type {Set<string>} */ this.matches = new Set();
    /** @type {(() => void)|undefined} */ this.stop = undefined;
    /** @type {Set<(change: Change) => void>} */ this.listeners = new Set();
    this.seq = -1;
    this.queries = new Queries();
    /** What the program was compiled for; "" is what ran here. */ this.target = "";
    /** The list of kernels, and what shares its place. @type {KernelList} */
    this.list = {
      tab: "",
      sort: "time",
      filter: "",
      at: -1,
      only: "",
      pass: -1,
      whole: false,
      query: "",
      replayed: null,
    };
  }

  /**
   * @param {Record<string, Heavy>|undefined} heavies programs by number, as sent
   * @param {Record<string, import("../ground/wire.js").PackedJaxpr>} [jaxprs] their jaxprs, which are sent once
   */
  takePrograms(heavies, jaxprs) {
    const current = this.program;
    for (const sent of Object.values(heavies ?? {})) {
      const heavy = { ...sent, jaxpr: sent.jaxpr ?? jaxprs?.[sent.number] };
      const existing = this.programs.get(heavy.number);
      const grown =
        !existing ||
        Boolean(heavy.jaxpr) !== Boolean(existing.heavy.jaxpr) ||
        Boolean(heavy.kernels) !== Boolean(existing.heavy.kernels);
      if (existing && heavy.found !== existing.heavy.found)
        Object.assign(existing.heavy, {
          found: heavy.found,
          targets: heavy.targets,
          explained: heavy.explained,
          passes: heavy.passes,
          panes: heavy.panes,
        });
      if (grown) this.programs.set(heavy.number, this.buildProgram(heavy));
    }
    // The message has the whole state: a panel that follows the cells drops earlier programs.
    for (const [number, program] of this.programs)
      if (heavies && !(number in heavies)) this.retire(program, number === current?.number);
    if (this.picked != null && !this.programs.has(this.picked)) this.picked = null;
    if (current && !this.programs.has(current.number)) this.selection = createEmptySelection();
    for (const program of this.programs.values()) this.resume(program);
    if (this.query) this.matches = new Set(this.program ? searchEquations(this.program, this.query) : []);
    this.notify("data");
  }

  /** Begin as another store is seen; its zoom may not fit the place of this one. @param {Store} other */
  adopt({ opened, selection, heat, grouping, picked, list, past }) {
    const copies = { opened: new Map(opened), list: { ...list }, past: new Map(past) };
    Object.assign(this, { selection, heat, grouping, picked }, copies);
  }

  /** Remove a program; remember how it was seen. @param {Program} program @param {boolean} isShown */
  retire(program, isShown) {
    const { number, function: name } = program;
    this.programs.delete(number);
    if (!program.heavy.jaxpr) return;
    this.past.delete(name);
    const selection = isShown ? this.selection : createEmptySelection();
    this.past.set(name, { program, isPicked: this.picked === number, selection });
    if (this.past.size > MOST_PAST) this.past.delete(String([...this.past.keys()][0]));
  }

  /** Show a program as the last one of its function was seen. @param {Program} program */
  resume(program) {
    const { number, equations, heavy } = program;
    const past = this.past.get(program.function);
    if (!past || !heavy.jaxpr) return;
    const { program: old, selection } = past;
    const [opened, zoom] = [this.opened.get(old.number), this.zooms.get(old.number)];
    // Some of its boxes may come to be when it is compiled.
    if (opened && !this.opened.has(number)) this.opened.set(number, new Set(opened));
    if (zoom && !this.zooms.has(number) && old.equations.size === equations.size) this.zooms.set(number, { ...zoom });
    if (past.isPicked) this.picked ??= number;
    const isShown = this.measured === program;
    if (isShown && !this.selection.kind) this.selection = recreateSelection(old, selection, program);
    // What is compiled is complete.
    if ((isShown && this.selection.kind) || heavy.kernels) this.past.delete(program.function);
  }

  /** @param {Heavy} heavy */
  buildProgram(heavy) {
    const program = new Program(heavy, this.findLight(heavy.number));
    program.ceilings = this.live.ceilings;
    program.groupBy(this.grouping);
    return program;
  }

  /**
   * @param {Live|undefined} live the numbers that move; an older one than the last is dropped
   * @param {Record<string, import("../ground/wire.js").Profile>} [profiles] by program what the numbers belong to
   */
  takeLive(live, profiles) {
    if (live?.seq == null || live.now == null || live.seq < this.seq) return;
    this.seq = live.seq;
    const programs = live.programs.map((light) => ({
      ...light,
      executed: addProfile(light.executed, profiles?.[light.number]),
    }));
    this.live = { ...live, programs };
    this.offset = Date.now() / 1000 - live.now;
    for (const light of programs) this.programs.get(light.number)?.update(light);
    for (const program of this.programs.values()) program.ceilings = live.ceilings;
    this.notify("live");
  }

  /** @param {number} number @returns {import("../ground/wire.js").Light|undefined} */
  findLight(number) {
    return this.live.programs.find((light) => light.number === number);
  }

  /** Return the program shown, as it ran here or compiled for another target. @returns {Program|undefined} */
  get program() {
    const { measured, aimed } = this;
    const result = aimed && measured ? this.queries.listFindings(measured).targets[aimed] : null;
    return measured && result ? viewForTarget(measured, result) : measured;
  }

  /** Return the data that a pane was sent of the program shown. @param {string} pane its id @returns {any} */
  sentTo(pane) {
    return this.program?.heavy.panes?.[pane];
  }

  /** Return the target shown: the chosen one, or the first of a program not compiled for this device. */
  get aimed() {
    const names = Object.keys(this.queries.listFindings(this.measured).targets);
    if (names.includes(this.target) || this.measured?.heavy.kernels)
      return names.includes(this.target) ? this.target : "";
    return names[0] ?? "";
  }

  /** Return the program as it ran here: the chosen one, or the main one. @returns {Program|undefined} */
  get measured() {
    return this.programs.get(this.picked ?? this.live.main ?? -1) ?? [...this.programs.values()][0];
  }

  /** Return the kernel's clock, as well as the browser knows it. */
  get now() {
    return Date.now() / 1000 - this.offset;
  }

  /** Return the paths opened in place in the program shown. */
  get open() {
    const program = this.program;
    if (!program) return new Set();
    const opened = this.opened.get(program.number);
    if (opened) return opened;
    const open = openAtFirst(program, this.screen);
    // Only a traced program has boxes to remember.
    if (program.heavy.jaxpr) this.opened.set(program.number, open);
    return open;
  }

  /** @param {string} path */
  toggle(path) {
    const open = this.open;
    if (!open.delete(path)) open.add(path);
    this.notify("graph");
  }

  /** @param {string[]} paths boxes that are open */
  closeAll(paths) {
    for (const path of paths) this.open.delete(path);
    this.notify("graph");
  }

  /** Close everything, or open everything, outer boxes first, as far as it can be drawn. @param {boolean} all */
  toggleAll(all) {
    const { open, program } = this;
    open.clear();
    if (all && program?.heavy.jaxpr) openAll(program, open);
    this.notify("graph");
  }

  /** Open the boxes around a path. @param {string} path */
  reveal(path) {
    const { open, program } = this;
    const closed = (program?.listEnclosing(path) ?? []).filter((outer) => outer !== path && !open.has(outer));
    for (const outer of closed) open.add(outer);
    if (closed.length) this.notify("graph");
  }

  /** @param {string} grouping one of GROUPINGS */
  setGrouping(grouping) {
    this.grouping = grouping;
    for (const program of this.programs.values()) program.groupBy(grouping);
    this.zooms.clear();
    this.opened.clear();
    // Groups of the previous grouping no longer exist.
    if (isGroupId(this.selection.id)) this.selection = createEmptySelection();
    this.start = "";
    this.notify("graph");
  }

  /** Show the graph as a list, or as a graph again. */
  toggleList() {
    this.asList = !this.asList;
    this.notify("graph");
  }

  /**
   * Select the equations on the paths between two equations or groups.
   * @param {string} a
   * @param {string} b
   * @returns {boolean} whether one depends on the other
   */
  selectBetween(a, b) {
    this.start = "";
    const result = this.program ? findPathsBetween(this.program, a, b) : null;
    this.selectPaths("between", JSON.stringify(result?.ends ?? [a, b]), { paths: result?.paths ?? [] });
    return Boolean(result);
  }

  /** Find the paths that match a query, operations of that name first. @param {string} query */
  search(query) {
    this.query = query.trim().toLowerCase();
    this.matches = new Set(this.program ? searchEquations(this.program, this.query) : []);
    this.notify("search");
  }

  /**
   * Return the match after the selected one, or before it, cyclically.
   * @param {number} [step]
   * @returns {string|undefined}
   */
  findNextMatch(step = 1) {
    const paths = [...this.matches];
    const at = paths.indexOf(this.selection.id);
    return paths[(at < 0 && step < 0 ? paths.length - 1 : at + step + paths.length) % paths.length];
  }

  /** @param {"pass"|"time"|"flops"|"bytes"} heat */
  setHeat(heat) {
    this.heat = heat;
    this.notify("look");
  }

  /** Show the program compiled for a target; "" is the local run. @param {string} target */
  setTarget(target) {
    this.target = target;
    this.selection = createEmptySelection();
    this.notify("target");
  }

  /** Change what the list of kernels shows. @param {Partial<KernelList>} change */
  updateList(change) {
    Object.assign(this.list, change);
    this.notify("list");
  }

  /** Select several kernels: two to ask about, or those that one array connects. @param {string[]} names */
  selectKernels(names) {
    const { program } = this;
    this.selectPaths("kernels", JSON.stringify(names), {
      kernels: names,
      paths: names.flatMap((name) => program?.kernels.get(name)?.eqns ?? []),
    });
  }

  /** Select an edge of the graph. @param {string} from @param {string} to paths of equations */
  selectEdge(from, to) {
    const { program } = this;
    const kernels = program ? findEdgeKernels(program, from, to).filter((name) => name != null) : [];
    this.list.tab = "kernels";
    this.selectPaths("edge", JSON.stringify([from, to]), {
      kernels,
      paths: [from, to].flatMap((path) => program?.listInside(path) ?? []),
    });
  }

  /**
   * Select explicit paths and kernels.
   * @param {string} kind
   * @param {string} id
   * @param {{paths?: string[], kernels?: string[]}} explicit
   */
  selectPaths(kind, id, explicit) {
    if (this.program) this.selection = createSelection(this.program, kind, id, explicit);
    this.notify("selection");
  }

  /** @param {"equation"|"kernel"|"line"|null} kind @param {string} [id] */
  select(kind, id = "") {
    const same = this.selection.kind === kind && this.selection.id === id;
    this.selection = kind && this.program && !same ? createSelection(this.program, kind, id) : createEmptySelection();
    this.notify("selection");
  }

  /** @param {number} number */
  pickProgram(number) {
    this.picked = number;
    this.selection = createEmptySelection();
    this.notify("data");
  }

  /** @param {Change} change */
  notify(change) {
    for (const listener of [...this.listeners]) listener(change);
  }
}
