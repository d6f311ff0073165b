// @ts-check
/** A program with its measurements: the kernels of its equations, their times, and their source lines. */

import { append } from "../ground/collections.js";
import { getName } from "./equation_names.js";
import { isWithin } from "../ground/path.js";
import { listVerbs } from "./verbs.js";
import { Structure } from "./structure.js";
/** @typedef {import("./unpack.js").Jaxpr} Jaxpr */
/** @typedef {import("./unpack.js").Equation} Equation */
/** @typedef {import("../ground/wire.js").Device} Device */
/** @typedef {import("../ground/wire.js").Ceilings} Ceilings */
/** @typedef {import("../ground/wire.js").Target} Target */
/** @typedef {import("../ground/wire.js").Heavy} Heavy */
/** @typedef {import("../ground/wire.js").Light} Light */
/** @typedef {import("../ground/wire.js").Kernel} Kernel */
/**
 * @typedef {Omit<import("../ground/wire.js").Heavy, "jaxpr"> & {jaxpr?: Jaxpr}} Known what was sent of a program, its
 * jaxpr unpacked
 */

/** @param {Heavy} heavy @returns {Light} */
function createEmptyLight(heavy) {
  return { number: heavy.number, function: heavy.function, traces: 0 };
}

export class Program extends Structure {
  /** @param {Heavy} heavy @param {Light} [light] */
  constructor(heavy, light = createEmptyLight(heavy)) {
    super(heavy.jaxpr);
    /** @type {Known} */ this.heavy = { ...heavy, jaxpr: this.jaxpr };
    this.number = heavy.number;
    this.function = heavy.function;
    /**
     * Groups that share no kernel with others, as far as asked.
     * @type {WeakMap<Equation, boolean>}
     */
    this.aloneGroups = new WeakMap();
    /** @type {Map<string, Kernel[]>} */ this.kernelsOf = new Map();
    /** The kernels of what holds others, as far as asked. @type {Map<string, Kernel[]>} */ this.kernelsIn = new Map();
    /** @type {Map<string, Kernel>} */ this.kernels = new Map();
    /** What kernels do, as far as asked. @type {Map<string, string>} */ this.titles = new Map();
    /** The lines of each source file. @type {Map<number, string[]>} */ this.texts = new Map();
    /** What a search looks at. @type {Map<Equation, string>} */ this.searchTexts = new Map();
    /**
     * Where the time of a call went, once that is known.
     * @type {import("../ground/wire.js").Account|undefined}
     */
    this.account = undefined;
    /** Seconds per call of each kernel, of that account. @type {Map<string, number>} */ this.times = new Map();
    /** What the machine can do at most, where that was measured. @type {Ceilings|undefined} */ this.ceilings =
      undefined;
    /**
     * In a comparison, what it says of the equations that are not alike.
     * @type {Map<string, string>|undefined}
     */
    this.signs = undefined;
    /** The target whose kernels these are, and what its compiler says; nothing of what ran here. */ this.target = "";
    /** @type {Target|undefined} */ this.estimated = undefined;
    /** Whether equations are known by their names alone, without operands: nobody can count their work. */
    this.byNames =
      this.equations.size > 0 &&
      [...this.equations.values()].every((equation) => !equation.in.length && !equation.out.length);
    for (const kernel of heavy.kernels ?? []) this.indexKernel(kernel);
    for (const [name, spec] of Object.entries(heavy.lies ?? {})) {
      const [type, bytes, label] = this.variables.get(name) ?? ["", 0];
      this.variables.set(name, [`${type} ${spec}`, bytes, label]);
    }
    /** Equations whose results are kept in memory, where XLA would compute them again. */ this.materialized = new Set(
      heavy.kept ?? [],
    );
    this.light = light;
    this.update(light);
  }

  /**
   * Return what is known of the values of a call.
   * @returns {{card?: import("../ground/element.js").Tree, heat?: Record<string, any>, born?: string[]}}
   */
  get values() {
    return this.heavy.panes?.values ?? {};
  }

  /** @param {Kernel} kernel */
  indexKernel(kernel) {
    this.kernels.set(kernel.name, kernel);
    for (const path of new Set(kernel.eqns)) append(this.kernelsOf, path, kernel);
  }

  /** Take in new measurements. @param {Light} light */
  update(light) {
    this.light = light;
    this.account = light.executed?.account;
    this.times = new Map(Object.entries(this.account?.kernels ?? {}).map(([name, [time]]) => [name, time]));
  }

  /** Return the kernels that an equation, or anything in it, ended up in. @param {string} path @returns {Kernel[]} */
  listKernels(path) {
    const bodies = this.at(path)?.bodies;
    if (!bodies) return this.kernelsOf.get(path) ?? [];
    const cached = this.kernelsIn.get(path);
    if (cached) return cached;
    const kernels = new Set();
    for (const inner of this.listInside(path))
      for (const kernel of this.kernelsOf.get(inner) ?? []) kernels.add(kernel);
    this.kernelsIn.set(path, [...kernels]);
    return [...kernels];
  }

  /**
   * Return the seconds per call of an equation and of what is inside it; null where nothing was measured.
   * @param {string} path
   * @returns {number|null}
   */
  getSeconds(path) {
    let total = null;
    for (const inner of this.listInside(path)) {
      const time = this.account?.equations[inner];
      if (time != null) total = (total ?? 0) + time;
    }
    return total;
  }

  /**
   * Return the fraction of all kernels' time in an equation and what is inside it; null where no whole call was
   * measured.
   * @param {string} path
   * @returns {number|null}
   */
  getTimeFraction(path) {
    if (!this.times.size) return null;
    let all = 0;
    for (const time of this.times.values()) all += time;
    return all > 0 ? (this.getSeconds(path) ?? 0) / all : null;
  }

  /**
   * Return the seconds of an equation that is a whole kernel by itself, the only time measured for it alone.
   * @param {string} path
   */
  getOwnSeconds(path) {
    // This runs for every node at every update: skip the look-up while there are no times.
    const kernels = this.times.size ? this.listKernels(path) : [];
    const alone = kernels.length > 0 && this.coversKernels(path, kernels);
    const times = kernels.map((k) => this.times.get(k.name));
    if (!alone || times.some((time) => time == null)) return null;
    return times.reduce((a, b) => (a ?? 0) + (b ?? 0), 0) ?? null;
  }

  /** Return whether a path covers all equations of kernels. @param {string} path @param {Kernel[]} kernels */
  coversKernels(path, kernels) {
    const group = this.groups.get(path);
    if (!group) return kernels.every((kernel) => kernel.eqns.every((other) => isWithin(other, path)));
    const cached = this.aloneGroups.get(group);
    if (cached != null) return cached;
    const members = new Set(this.listInside(path));
    const alone = kernels.every((kernel) => kernel.eqns.every((other) => members.has(other)));
    this.aloneGroups.set(group, alone);
    return alone;
  }

  /** Return the pass of a kernel: that of most of its equations. @param {string} name */
  getKernelPass(name) {
    const counts = new Map();
    for (const path of this.kernels.get(name)?.eqns ?? []) {
      const pass = this.passes.get(path) ?? "forward";
      counts.set(pass, (counts.get(pass) ?? 0) + 1);
    }
    return [...counts.entries()].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "unknown";
  }

  /** Return the title of a kernel by its operations, "tanh + add", or else XLA's name. @param {string} name */
  getKernelTitle(name) {
    let title = this.titles.get(name);
    if (title != null) return title;
    const paths = [...new Set(this.kernels.get(name)?.eqns ?? [])];
    title =
      listVerbs(
        paths
          .map((path) => this.equations.get(path))
          .flatMap((equation) => (equation ? [equation.bodies ? getName(equation) : equation.op] : [])),
      ) || name;
    this.titles.set(name, title);
    return title;
  }

  /** Describe equations and their lines: "tanh + add, line 9"; empty for none. @param {string[]} paths */
  describeEquations(paths) {
    const equations = [...new Set(paths)].flatMap((path) => this.equations.get(path) ?? []);
    const verbs = listVerbs(equations.map((equation) => (equation.bodies ? getName(equation) : equation.op)));
    return [verbs, this.formatLines(paths)].filter(Boolean).join(", ");
  }

  /** Format the lines of equations: "line 9", "lines 9, 12", "lines 9–47"; empty for none. @param {string[]} paths */
  formatLines(paths) {
    const sources = paths.map((path) => this.equations.get(path)?.src);
    const lines = [...new Set(sources.flatMap((src) => (src ? src[1] : [])))].sort((a, b) => a - b);
    if (lines.length > 3) return `lines ${lines[0]}–${lines[lines.length - 1]}`;
    return lines.length ? `line${lines.length > 1 ? "s" : ""} ${lines.join(", ")}` : "";
  }

  /** Describe a kernel by its equations and their lines, or else by XLA's name. @param {string|null} name */
  describeKernel(name) {
    return this.describeEquations(this.kernels.get(name ?? "")?.eqns ?? []) || (name ?? "");
  }

  /** Return the share of each pass in a device's measured time. @param {Device} device */
  computePassShares(device) {
    const shares = new Map();
    let all = 0;
    for (const [name, [, total]] of Object.entries(device.kernels)) {
      all += total;
      const pass = this.getKernelPass(name);
      shares.set(pass, (shares.get(pass) ?? 0) + total);
    }
    return [...shares].map(([pass, total]) => [pass, all ? total / all : 0]);
  }

  /** Format the line of an equation: "line 9", or null. @param {string} path */
  formatLine(path) {
    const src = this.equations.get(path)?.src;
    return src ? `line ${src[1]}` : null;
  }

  /** Describe where an equation comes from. @param {string} path */
  describeSource(path) {
    const src = this.equations.get(path)?.src;
    if (!src) return "no source information";
    const text = (this.heavy.sources ?? []).find((s) => s.file === src[0]);
    return `${text?.title ?? this.heavy.files?.[src[0]]}, line ${src[1]}`;
  }

  /** Return the text of an equation that a search looks at. @param {Equation} equation */
  getSearchText(equation) {
    let text = this.searchTexts.get(equation);
    if (text != null) return text;
    const types = [...equation.in, ...equation.out].map(
      (name) => `${name} ${(this.variables.get(name) ?? []).join(" ")}`,
    );
    const code = equation.src ? this.getSourceLine(equation.src[0], equation.src[1]) : "";
    text = [equation.op, equation.name, equation.params, equation.scope, ...types, code].join(" ").toLowerCase();
    this.searchTexts.set(equation, text);
    return text;
  }

  /** @param {number} file @param {number} line */
  getSourceLine(file, line) {
    let lines = this.texts.get(file);
    const source = (this.heavy.sources ?? []).find((s) => s.file === file);
    if (!lines) this.texts.set(file, (lines = source?.text.split("\n") ?? []));
    return /** @type {string[]} */ (lines)[line - (source?.first ?? 1)] ?? "";
  }
}
