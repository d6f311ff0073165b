// @ts-check
/** One program with the questions that the views ask of it: who holds an equation, which kernels, which line, how long. */

import { groupLevel } from "../graph/group.js";
import { append, phasesOf } from "../graph/phases.js";
import { chainOfPaths, isWithin, joinPaths, parentPath, relativePath } from "./path.js";
import { unpackJaxpr } from "./unpack.js";

/** @typedef {import("./unpack.js").Jaxpr} Jaxpr */
/** @typedef {import("./unpack.js").Equation} Equation */
/** @typedef {import("./wire.js").Device} Device */
/** @typedef {import("./wire.js").Ceilings} Ceilings */
/** @typedef {import("./wire.js").Line} Line */
/** @typedef {import("./wire.js").Target} Target */
/** @typedef {import("./wire.js").VariableType} VariableType */
/** @typedef {import("./wire.js").Heavy} Heavy */
/** @typedef {import("./wire.js").Light} Light */
/** @typedef {import("./wire.js").Kernel} Kernel */
/** @typedef {Omit<import("./wire.js").Heavy, "jaxpr"> & {jaxpr?: Jaxpr}} Known what was sent of a program, its jaxpr unpacked */

/** @param {Heavy} heavy @returns {Light} */
function nothingMoved(heavy) {
  return { number: heavy.number, function: heavy.function, traces: 0 };
}

export class Program {
  /** @param {Heavy} heavy @param {Light} [light] */
  constructor(heavy, light = nothingMoved(heavy)) {
    this.number = heavy.number;
    this.function = heavy.function;
    /** Groups that were made so far, by their place in the graph. @type {Map<string, Equation>} */ this.groups = new Map();
    /** How levels are grouped: one of GROUPINGS. */ this.grouping = "auto";
    /** Levels with their groups. @type {Map<Jaxpr, Jaxpr>} */ this.grouped = new Map();
    /** Of a level as it is drawn, the box that each equation is in. @type {WeakMap<Jaxpr, Map<string, Equation>>} */ this.owners = new WeakMap();
    /** All equations in a group, as far as asked. @type {WeakMap<Equation, string[]>} */ this.inGroups = new WeakMap();
    /** Groups that share no kernel with others, as far as asked. @type {WeakMap<Equation, boolean>} */ this.aloneGroups = new WeakMap();
    /** @type {Map<string, Equation>} */ this.equations = new Map();
    /** @type {Map<string, VariableType>} */ this.variables = new Map();
    /** The phase of each equation of a level. @type {Map<Jaxpr, number[]>} */ this.phases = new Map();
    /** Paths, an equation before its bodies, and where the inside of one with bodies begins and ends in that order. */
    /** @type {string[]} */ this.order = [];
    /** @type {Map<string, [number, number]>} */ this.extents = new Map();
    /** @type {Map<string, string>} */ this.passes = new Map();
    /** Paths by what is one object for all equations of a line. @type {Map<Line, string[]>} */ this.bySource = new Map();
    /** The forward equation that each one transposes. @type {Map<string, string>} */ this.origins = new Map();
    /** @type {Map<string, Kernel[]>} */ this.kernelsOf = new Map();
    /** The kernels of what holds others, as far as asked. @type {Map<string, Kernel[]>} */ this.kernelsIn = new Map();
    /** @type {Map<string, Kernel>} */ this.kernels = new Map();
    /** How many equations each kernel is made of. @type {Map<Kernel, number>} */ this.sizes = new Map();
    /** The lines of each source file. @type {Map<number, string[]>} */ this.texts = new Map();
    /** What a search looks at. @type {Map<Equation, string>} */ this.searched = new Map();
    /** Seconds per call of each kernel, the mean over the devices that ran it. @type {Map<string, number>} */
    this.times = new Map();
    /** Seconds per call of all kernels together. */
    this.step = 0;
    /** What the machine can do at most, where that was measured. @type {Ceilings|undefined} */ this.ceilings = undefined;
    /** In a comparison, what it says of the equations that are not alike. @type {Map<string, string>|undefined} */ this.signs = undefined;
    /** The target whose kernels these are, and what its compiler says; nothing of what ran here. */ this.target = "";
    /** @type {Target|undefined} */ this.estimated = undefined;
    /** @type {Known} */ this.heavy = { ...heavy, jaxpr: heavy.jaxpr && unpackJaxpr(heavy.jaxpr, this.variables) };
    if (this.heavy.jaxpr) this.indexLevel(this.heavy.jaxpr, "", "");
    for (const kernel of heavy.kernels ?? []) this.indexKernel(kernel);
    this.light = light;
    this.update(light);
  }

  /** @param {Jaxpr} jaxpr @param {string} parent @param {string} pass */
  indexLevel(jaxpr, parent, pass) {
    const phases = phasesOf(jaxpr);
    this.phases.set(jaxpr, phases);
    // What a checkpoint computes again on the way back is a pass of its own.
    const again = pass === "recomputed" || (pass === "backward" && /^(remat|checkpoint)/.test(this.equations.get(parent)?.op ?? ""));
    jaxpr.equations.forEach((equation, i) => {
      const { path } = equation;
      const own = phases[i] % 2 ? "backward" : phases[i] > 0 ? "update" : "forward";
      this.equations.set(path, equation);
      this.passes.set(path, again && !phases[i] ? "recomputed" : pass === "update" ? pass : own === "update" && parent ? "forward" : own);
      if (equation.src) append(this.bySource, equation.src, path);
      this.originOf(equation, parent);
      const start = this.order.push(path) - 1;
      if (!equation.bodies) return;
      for (const body of equation.bodies) this.indexLevel(body, path, this.passes.get(path) ?? "forward");
      this.extents.set(path, [start, this.order.length]);
    });
  }

  /** The forward equation that one transposes. A body that several calls share names the one in the first call: here it is
   * the one in the call that this call transposes. @param {Equation} equation @param {string} parent @returns {string|undefined} */
  originOf(equation, parent) {
    const outer = this.origins.get(parent);
    let of = equation.of;
    if (of && outer && !isWithin(of, outer)) {
      // The call in the first place, as deep as this one.
      const call = chainOfPaths(of)[chainOfPaths(outer).length - 1];
      const own = call ? joinPaths(outer, relativePath(of, call)) : outer;
      if (this.equations.get(own)?.op === this.equations.get(of)?.op) of = own;
    }
    if (of) this.origins.set(equation.path, of);
    return of;
  }

  /** @param {Kernel} kernel */
  indexKernel(kernel) {
    this.kernels.set(kernel.name, kernel);
    const distinct = new Set(kernel.eqns);
    this.sizes.set(kernel, distinct.size);
    for (const path of distinct) append(this.kernelsOf, path, kernel);
  }

  /** What the second colour means here: a gradient runs up, tangents run down. */
  get secondPass() {
    for (const equation of this.equations.values()) if (equation.role === "backward") return "backward ↑";
    return "tangent ↓";
  }

  /** Paths by file and line ("0:9"). @returns {Map<string, string[]>} */
  get lines() {
    if (this.byLine) return this.byLine;
    /** @type {Map<string, string[]>} */ this.byLine = new Map();
    for (const [src, paths] of this.bySource)
      for (const path of paths) append(this.byLine, `${src[0]}:${src[1]}`, path);
    return this.byLine;
  }

  /** The equations that transpose each one. @returns {Map<string, string[]>} */
  get transposed() {
    if (this.backwards) return this.backwards;
    /** @type {Map<string, string[]>} */ this.backwards = new Map();
    for (const [path, of] of this.origins) append(this.backwards, of, path);
    return this.backwards;
  }

  /** An equation or a group, by its place. @param {string} path @returns {Equation|undefined} */
  at(path) {
    return this.equations.get(path) ?? this.groups.get(path);
  }

  /** A level as it is drawn: with groups, where there are any. @param {Jaxpr} jaxpr @returns {Jaxpr} */
  shown(jaxpr) {
    if ("grouped" in jaxpr) return jaxpr;
    let found = this.grouped.get(jaxpr);
    if (!found) this.grouped.set(jaxpr, (found = groupLevel(this, jaxpr, this.grouping)));
    return found;
  }

  /** @param {string} grouping one of GROUPINGS */
  groupBy(grouping) {
    this.grouping = grouping;
    this.grouped.clear();
    this.groups.clear();
  }

  /** What is opened to see an equation or a group: everything that holds it, from the outside in, and itself.
   * @param {string} path @returns {string[]} */
  chainTo(path) {
    const first = this.groups.get(path)?.members?.[0].path ?? path;
    if (!this.equations.has(first)) return [];
    const outer = parentPath(first);
    const chain = outer ? this.chainTo(outer) : [];
    let levels = outer ? (this.equations.get(outer)?.bodies ?? []) : this.heavy.jaxpr ? [this.heavy.jaxpr] : [];
    for (;;) {
      const item = levels.map((level) => this.itemWith(level, first)).find(Boolean);
      if (!item) return chain;
      chain.push(item.path);
      if (item.path === path || !item.members) return chain;
      levels = item.bodies ?? [];
    }
  }

  /** The box of a level that is an equation, or a group with it. @param {Jaxpr} jaxpr @param {string} path @returns {Equation|undefined} */
  itemWith(jaxpr, path) {
    const shown = this.shown(jaxpr);
    let owners = this.owners.get(shown);
    if (!owners) {
      this.owners.set(shown, (owners = new Map()));
      for (const item of shown.equations) for (const member of item.members ?? [item]) owners.set(member.path, item);
    }
    return owners.get(path);
  }

  /** The pass of an equation or of a group. @param {string} path @returns {string} */
  passOf(path) {
    return this.passes.get(this.groups.get(path)?.members?.[0].path ?? path) ?? "forward";
  }

  /** Take in the numbers that move. @param {Light} light */
  update(light) {
    this.light = light;
    this.times = new Map();
    const sums = new Map();
    for (const device of light.executed?.devices ?? [])
      for (const [name, [calls, total]] of Object.entries(device.kernels)) {
        if (!calls) continue;
        const known = sums.get(name) ?? [0, 0];
        sums.set(name, [known[0] + total / calls, known[1] + 1]);
      }
    for (const [name, [total, devices]] of sums) this.times.set(name, total / devices);
    this.step = Math.max(1e-12, [...this.times.values()].reduce((a, b) => a + b, 0));
  }

  /** The equations inside a path, itself included. @param {string} path */
  inside(path) {
    const group = this.groups.get(path);
    if (group) return this.insideGroup(group);
    const extent = this.extents.get(path);
    if (!extent) return this.equations.has(path) ? [path] : [];
    return this.order.slice(extent[0], extent[1]);
  }

  /** @param {Equation} group @returns {string[]} */
  insideGroup(group) {
    const known = this.inGroups.get(group);
    if (known) return known;
    const all = (group.members ?? []).flatMap((member) => this.inside(member.path));
    this.inGroups.set(group, all);
    return all;
  }

  /** The kernels that an equation, or anything in it, ended up in. @param {string} path @returns {Kernel[]} */
  kernelsWith(path) {
    const bodies = this.at(path)?.bodies;
    if (!bodies) return this.kernelsOf.get(path) ?? [];
    const known = this.kernelsIn.get(path);
    if (known) return known;
    const found = new Set();
    for (const inner of this.inside(path)) for (const kernel of this.kernelsOf.get(inner) ?? []) found.add(kernel);
    this.kernelsIn.set(path, [...found]);
    return [...found];
  }

  /** Seconds per call measured for an equation: those of its kernels, each split equally over the kernel's equations.
   * null where nothing was measured. @param {string} path @returns {number|null} */
  share(path) {
    let total = null;
    for (const inner of this.inside(path))
      for (const kernel of this.kernelsOf.get(inner) ?? []) {
        const time = this.times.get(kernel.name);
        if (time != null) total = (total ?? 0) + time / (this.sizes.get(kernel) ?? 1);
      }
    return total;
  }

  /** Seconds of an equation that is a whole kernel by itself: the only time that was measured for it alone. @param {string} path */
  ownTime(path) {
    // Asked of every node at every news: nothing is looked up before there are times.
    const kernels = this.times.size ? this.kernelsWith(path) : [];
    const alone = kernels.length > 0 && this.areAlone(path, kernels);
    const times = kernels.map((k) => this.times.get(k.name));
    if (!alone || times.some((time) => time == null)) return null;
    return times.reduce((a, b) => (a ?? 0) + (b ?? 0), 0) ?? null;
  }

  /** Are kernels made of nothing but what is inside of a path? @param {string} path @param {Kernel[]} kernels */
  areAlone(path, kernels) {
    const group = this.groups.get(path);
    if (!group) return kernels.every((kernel) => kernel.eqns.every((other) => isWithin(other, path)));
    const known = this.aloneGroups.get(group);
    if (known != null) return known;
    const own = new Set(this.inside(path));
    const alone = kernels.every((kernel) => kernel.eqns.every((other) => own.has(other)));
    this.aloneGroups.set(group, alone);
    return alone;
  }

  /** The pass of a kernel: that of most of its equations. @param {string} name */
  passOfKernel(name) {
    const counts = new Map();
    for (const path of this.kernels.get(name)?.eqns ?? []) {
      const pass = this.passes.get(path) ?? "forward";
      counts.set(pass, (counts.get(pass) ?? 0) + 1);
    }
    return [...counts.entries()].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "unknown";
  }

  /** The share of measured device time in kernels that an equation is known for, or null. */
  coverage() {
    let known = 0, all = 0;
    for (const device of this.light.executed?.devices ?? []) {
      let own = 0;
      for (const [name, [, total]] of Object.entries(device.kernels)) {
        own += total;
        if (this.kernels.get(name)?.eqns.length) known += total;
      }
      // Where kernels run side by side their times add up to more than the device was busy.
      all += Math.max(own, device.seconds ?? 0);
    }
    return all ? known / all : null;
  }

  /** Share of each pass in a device's measured time. @param {Device} device */
  passShares(device) {
    const shares = new Map();
    let all = 0;
    for (const [name, [, total]] of Object.entries(device.kernels)) {
      all += total;
      const pass = this.passOfKernel(name);
      shares.set(pass, (shares.get(pass) ?? 0) + total);
    }
    return [...shares].map(([pass, total]) => [pass, all ? total / all : 0]);
  }

  /** @param {string} name a variable or a literal */
  typeOf(name) {
    return this.variables.get(name)?.[0] ?? "";
  }

  /** Bytes that an equation reads and writes, by our count. @param {Equation} equation */
  bytesOf(equation) {
    return [...equation.in, ...equation.out].reduce((sum, name) => sum + (this.variables.get(name)?.[1] ?? 0), 0);
  }

  /** What the user calls the line of an equation: "line 9", or null. @param {string} path */
  lineOf(path) {
    const src = this.equations.get(path)?.src;
    return src ? `line ${src[1]}` : null;
  }

  /** Where an equation comes from, in words. @param {string} path */
  sourceWords(path) {
    const src = this.equations.get(path)?.src;
    if (!src) return "no source known";
    const text = (this.heavy.sources ?? []).find((s) => s.file === src[0]);
    return `${text?.title ?? this.heavy.files?.[src[0]]}, line ${src[1]}`;
  }

  /** Everything about an equation that a search looks at. @param {Equation} equation */
  searchText(equation) {
    let text = this.searched.get(equation);
    if (text != null) return text;
    const types = [...equation.in, ...equation.out].map((name) => `${name} ${(this.variables.get(name) ?? []).join(" ")}`);
    const code = equation.src ? this.sourceLine(equation.src[0], equation.src[1]) : "";
    text = [equation.op, equation.name, equation.params, equation.scope, ...types, code].join(" ").toLowerCase();
    this.searched.set(equation, text);
    return text;
  }

  /** @param {number} file @param {number} line */
  sourceLine(file, line) {
    let lines = this.texts.get(file);
    const source = (this.heavy.sources ?? []).find((s) => s.file === file);
    if (!lines) this.texts.set(file, (lines = source?.text.split("\n") ?? []));
    return /** @type {string[]} */ (lines)[line - (source?.first ?? 1)] ?? "";
  }
}
