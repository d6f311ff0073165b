// @ts-check
/** What one widget shows: the data that came from Python, and what the user made of it (opened, selected, zoomed).
 * A store belongs to the model, not to a view, so that a view which is drawn again finds everything as it was. */

import { Program } from "./program.js";
import { nothingSelected, selected } from "./select.js";

/** @typedef {"data"|"live"|"open"|"selection"|"graph"|"look"|"search"} Change */

const LARGE = 60;

export class Store {
  constructor() {
    /** @type {Map<number, Program>} */ this.programs = new Map();
    /** @type {any} */ this.live = { programs: [], failures: [], main: null, finished: false, more: 0 };
    this.offset = 0;
    /** @type {number|null} */ this.picked = null;
    /** @type {Map<number, Set<string>>} */ this.opened = new Map();
    /** @type {Map<number, {x: number, y: number, k: number}>} */ this.zooms = new Map();
    this.selection = nothingSelected();
    /** @type {"pass"|"time"|"bytes"} */ this.heat = "pass";
    this.query = "";
    /** @type {Set<string>} */ this.found = new Set();
    /** @type {(() => void)|undefined} */ this.stop = undefined;
    /** @type {Set<(change: Change) => void>} */ this.listeners = new Set();
    this.seq = -1;
  }

  /** @param {any} heavies programs by number, as sent */
  takePrograms(heavies) {
    for (const heavy of Object.values(heavies ?? {})) {
      const known = this.programs.get(heavy.number);
      const grown = !known || Boolean(heavy.jaxpr) !== Boolean(known.heavy.jaxpr) || Boolean(heavy.kernels) !== Boolean(known.heavy.kernels);
      if (grown) this.programs.set(heavy.number, new Program(heavy, this.lightOf(heavy.number)));
    }
    this.tell("data");
  }

  /** @param {any} live the numbers that move; an older one than the last is dropped */
  takeLive(live) {
    if (!live || live.seq == null || live.seq < this.seq) return;
    this.seq = live.seq;
    this.live = live;
    this.offset = Date.now() / 1000 - live.now;
    for (const light of live.programs) this.programs.get(light.number)?.update(light);
    this.tell("live");
  }

  /** @param {number} number */
  lightOf(number) {
    return this.live.programs.find((/** @type {any} */ light) => light.number === number) ?? {};
  }

  /** The program shown: the one picked, or the one with most to see. @returns {Program|undefined} */
  get program() {
    return this.programs.get(this.picked ?? this.live.main) ?? [...this.programs.values()][0];
  }

  /** The kernel's clock, as well as the browser knows it. */
  get now() {
    return Date.now() / 1000 - this.offset;
  }

  /** Paths opened in place in the program shown. */
  get open() {
    const program = this.program;
    if (!program) return new Set();
    const known = this.opened.get(program.number);
    if (known) return known;
    const open = openAtFirst(program);
    // Only a program that has been traced has something to remember.
    if (program.heavy.jaxpr) this.opened.set(program.number, open);
    return open;
  }

  /** @param {string} path */
  toggle(path) {
    const open = this.open;
    if (!open.delete(path)) open.add(path);
    this.tell("graph");
  }

  /** Open everything, or close everything. @param {boolean} all */
  toggleAll(all) {
    const open = this.open;
    open.clear();
    if (all) for (const [path, equation] of this.program?.equations ?? []) if (equation.bodies) open.add(path);
    this.tell("graph");
  }

  /** Open what holds a path. @param {string} path */
  reveal(path) {
    const program = this.program;
    let changed = false;
    for (let outer = program?.parents.get(path); outer; outer = program?.parents.get(outer)) {
      changed = changed || !this.open.has(outer);
      this.open.add(outer);
    }
    if (changed) this.tell("graph");
  }

  /** Paths that a query finds: every word of it in operation, parameters, types or source line. @param {string} query */
  search(query) {
    this.query = query.trim().toLowerCase();
    const words = this.query.split(/\s+/);
    const { program } = this;
    this.found = new Set();
    for (const [path, equation] of this.query && program ? program.equations : []) {
      const text = /** @type {Program} */ (program).searchText(equation);
      if (words.every((word) => text.includes(word))) this.found.add(path);
    }
    this.tell("search");
  }

  /** The path found after the selected one, in order, round and round. @returns {string|undefined} */
  nextFound() {
    const paths = [...this.found];
    return paths[(paths.indexOf(this.selection.id) + 1) % paths.length];
  }

  /** @param {"pass"|"time"|"bytes"} heat */
  paint(heat) {
    this.heat = heat;
    this.tell("look");
  }

  /** @param {"equation"|"kernel"|"line"|null} kind @param {string} [id] */
  select(kind, id = "") {
    const same = this.selection.kind === kind && this.selection.id === id;
    this.selection = kind && this.program && !same ? selected(this.program, kind, id) : nothingSelected();
    this.tell("selection");
  }

  /** @param {number} number */
  pick(number) {
    this.picked = number;
    this.selection = nothingSelected();
    this.tell("data");
  }

  /** @param {Change} change */
  tell(change) {
    for (const listener of [...this.listeners]) listener(change);
  }
}

/** A program that is one call, opens it; nothing else is open at first. @param {Program} program */
function openAtFirst(program) {
  const open = new Set();
  let equations = program.heavy.jaxpr?.equations ?? [];
  while (equations.length === 1 && equations[0].bodies?.length === 1 && equations[0].bodies[0].equations.length < LARGE * 10) {
    open.add(equations[0].path);
    equations = equations[0].bodies[0].equations;
  }
  return open;
}

/** The store of a model, the same for every view and every reload of this code. @param {any} model @returns {Store} */
export function storeOf(model) {
  const stores = (/** @type {any} */ (globalThis).__xlascope_stores ??= new Map());
  const uid = model.get("uid");
  if (!stores.has(uid)) stores.set(uid, new Store());
  return stores.get(uid);
}

/** The model is gone. @param {any} model */
export function forget(model) {
  storeOf(model).stop?.();
  /** @type {any} */ (globalThis).__xlascope_stores.delete(model.get("uid"));
}

/** Follow a model: what it has now and every change. @param {any} model @param {Store} store */
export function follow(model, store) {
  const programs = () => store.takePrograms(model.get("programs"));
  const live = () => store.takeLive(model.get("live"));
  const open = () => store.tell("open");
  const changes = { "change:programs": programs, "change:live": live, "change:opened": open };
  for (const [name, handler] of Object.entries(changes)) model.on(name, handler);
  live();
  programs();
  return () => {
    for (const [name, handler] of Object.entries(changes)) model.off(name, handler);
  };
}
