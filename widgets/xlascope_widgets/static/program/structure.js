// @ts-check
/** Structure of a program: its equations by path, its levels with their groups, its passes. */

import { append } from "../ground/collections.js";
import { getParentPath, isWithin, joinPaths, listAncestors, toRelativePath, WHOLE_PROGRAM } from "../ground/path.js";
import { groupLevel } from "./groups.js";
import { computePhases } from "./phases.js";
import { unpackJaxpr } from "./unpack.js";
import { markUpdates } from "./updates.js";
/** @typedef {import("./unpack.js").Jaxpr} Jaxpr */
/** @typedef {import("./unpack.js").Equation} Equation */
/** @typedef {import("../ground/wire.js").Line} Line */
/** @typedef {import("../ground/wire.js").VariableType} VariableType */

export class Structure {
  /** @param {import("../ground/wire.js").PackedJaxpr} [packed] nothing of a program that was not traced */
  constructor(packed) {
    /** Groups that were made so far, by their place in the graph. @type {Map<string, Equation>} */ this.groups =
      new Map();
    /** How levels are grouped: one of GROUPINGS. */ this.grouping = "auto";
    /** Levels with their groups. @type {Map<Jaxpr, Jaxpr>} */ this.grouped = new Map();
    /**
     * Of a level as it is drawn, the box that each equation is in.
     * @type {WeakMap<Jaxpr, Map<string, Equation>>}
     */
    this.owners = new WeakMap();
    /** All equations in a group, as far as asked. @type {WeakMap<Equation, string[]>} */ this.inGroups = new WeakMap();
    /** @type {Map<string, Equation>} */ this.equations = new Map();
    /** @type {Map<string, VariableType>} */ this.variables = new Map();
    /** The phase of each equation of a level. @type {Map<Jaxpr, number[]>} */ this.phases = new Map();
    /** Paths, an equation before its bodies, and where the inside of one with bodies begins and ends in that order. */
    /** @type {string[]} */ this.order = [];
    /** @type {Map<string, [number, number]>} */ this.extents = new Map();
    /** @type {Map<string, string>} */ this.passes = new Map();
    /** Paths by what is one object for all equations of a line. @type {Map<Line, string[]>} */ this.bySource =
      new Map();
    /** The forward equation that each one transposes. @type {Map<string, string>} */ this.origins = new Map();
    this.jaxpr = packed && unpackJaxpr(packed, this.variables);
    if (!this.jaxpr) return;
    this.indexLevel(this.jaxpr, WHOLE_PROGRAM);
    markUpdates(this.jaxpr, new Set(this.origins.values()));
    this.assignPasses(this.jaxpr, WHOLE_PROGRAM, "");
  }

  /** @param {Jaxpr} jaxpr @param {string} parent */
  indexLevel(jaxpr, parent) {
    for (const equation of jaxpr.equations) {
      const { path } = equation;
      this.equations.set(path, equation);
      if (equation.src) append(this.bySource, equation.src, path);
      this.findOrigin(equation, parent);
      const start = this.order.push(path) - 1;
      if (!equation.bodies) continue;
      for (const body of equation.bodies) this.indexLevel(body, path);
      this.extents.set(path, [start, this.order.length]);
    }
  }

  /** @param {Jaxpr} jaxpr @param {string} parent @param {string} pass of the parent */
  assignPasses(jaxpr, parent, pass) {
    const phases = computePhases(jaxpr);
    this.phases.set(jaxpr, phases);
    // Equations that a checkpoint recomputes in the backward pass have a pass of their own.
    const recomputed =
      pass === "recomputed" ||
      (pass === "backward" && /^(remat|checkpoint)/.test(this.equations.get(parent)?.op ?? ""));
    jaxpr.equations.forEach(({ path, bodies }, i) => {
      const phase = phases[i];
      const own =
        recomputed && !phase
          ? "recomputed"
          : pass === "update" || phase % 4 === 2
            ? "update"
            : phase % 2 || (phase && pass === "backward")
              ? "backward"
              : "forward";
      this.passes.set(path, own);
      for (const body of bodies ?? []) this.assignPasses(body, path, own);
    });
  }

  /**
   * Return the forward equation that one transposes. A body shared by several calls names the one in the first call;
   * this finds the one in the call that this call transposes.
   * @param {Equation} equation
   * @param {string} parent
   * @returns {string|undefined}
   */
  findOrigin(equation, parent) {
    const outer = this.origins.get(parent);
    let origin = equation.of;
    if (origin && outer && !isWithin(origin, outer)) {
      // The first call, at the same depth as this one.
      const call = listAncestors(origin)[listAncestors(outer).length - 1];
      const local = call ? joinPaths(outer, toRelativePath(origin, call)) : outer;
      if (this.equations.get(local)?.op === this.equations.get(origin)?.op) origin = local;
    }
    if (origin) this.origins.set(equation.path, origin);
    return origin;
  }

  /** Return the label of the second colour: gradients run up, tangents run down. */
  get secondPass() {
    for (const equation of this.equations.values()) if (equation.role === "backward") return "backward ↑";
    return "tangent ↓";
  }

  /** Return paths by file and line ("0:9"). @returns {Map<string, string[]>} */
  get lines() {
    if (this.byLine) return this.byLine;
    /** @type {Map<string, string[]>} */ this.byLine = new Map();
    for (const [src, paths] of this.bySource)
      for (const path of paths) append(this.byLine, `${src[0]}:${src[1]}`, path);
    return this.byLine;
  }

  /** Return the equations that transpose each one. @returns {Map<string, string[]>} */
  get transposed() {
    if (this.backwards) return this.backwards;
    /** @type {Map<string, string[]>} */ this.backwards = new Map();
    for (const [path, origin] of this.origins) append(this.backwards, origin, path);
    return this.backwards;
  }

  /** Return an equation or a group by its path. @param {string} path @returns {Equation|undefined} */
  at(path) {
    return this.equations.get(path) ?? this.groups.get(path);
  }

  /** Return a level as it is drawn: with groups, where there are any. @param {Jaxpr} jaxpr @returns {Jaxpr} */
  groupedLevel(jaxpr) {
    if ("grouped" in jaxpr) return jaxpr;
    let level = this.grouped.get(jaxpr);
    if (!level) this.grouped.set(jaxpr, (level = groupLevel(this, jaxpr, this.grouping)));
    return level;
  }

  /** @param {string} grouping one of GROUPINGS */
  groupBy(grouping) {
    this.grouping = grouping;
    this.grouped.clear();
    this.groups.clear();
  }

  /**
   * Return the boxes that hold an equation or a group, the outermost first, and itself.
   * @param {string} path
   * @returns {string[]}
   */
  listEnclosing(path) {
    const first = this.groups.get(path)?.members?.[0].path ?? path;
    if (!this.equations.has(first)) return [];
    const outer = getParentPath(first);
    const chain = outer ? this.listEnclosing(outer) : [];
    let levels = outer ? (this.equations.get(outer)?.bodies ?? []) : this.jaxpr ? [this.jaxpr] : [];
    for (;;) {
      const item = levels.map((level) => this.findItemWith(level, first)).find(Boolean);
      if (!item) return chain;
      chain.push(item.path);
      if (item.path === path || !item.members) return chain;
      levels = item.bodies ?? [];
    }
  }

  /**
   * Return the box of a level that is an equation, or a group with it.
   * @param {Jaxpr} jaxpr
   * @param {string} path
   * @returns {Equation|undefined}
   */
  findItemWith(jaxpr, path) {
    const level = this.groupedLevel(jaxpr);
    let owners = this.owners.get(level);
    if (!owners) {
      this.owners.set(level, (owners = new Map()));
      for (const item of level.equations) for (const member of item.members ?? [item]) owners.set(member.path, item);
    }
    return owners.get(path);
  }

  /** Return the pass of an equation or of a group. @param {string} path @returns {string} */
  getPass(path) {
    return this.passes.get(this.groups.get(path)?.members?.[0].path ?? path) ?? "forward";
  }

  /** Return the equations inside a path, itself included. @param {string} path */
  listInside(path) {
    const group = this.groups.get(path);
    if (group) return this.listInsideGroup(group);
    const extent = this.extents.get(path);
    if (!extent) return this.equations.has(path) ? [path] : [];
    return this.order.slice(extent[0], extent[1]);
  }

  /** @param {Equation} group @returns {string[]} */
  listInsideGroup(group) {
    const cached = this.inGroups.get(group);
    if (cached) return cached;
    const all = (group.members ?? []).flatMap((member) => this.listInside(member.path));
    this.inGroups.set(group, all);
    return all;
  }

  /** @param {string} name a variable or a literal */
  getType(name) {
    return this.variables.get(name)?.[0] ?? "";
  }

  /** Return the bytes that an equation reads and writes, by the roofline's estimate. @param {Equation} equation */
  countBytes(equation) {
    return [...equation.in, ...equation.out].reduce((sum, name) => sum + (this.variables.get(name)?.[1] ?? 0), 0);
  }
}
