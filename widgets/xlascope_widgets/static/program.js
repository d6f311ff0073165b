// @ts-check
/** One program with the questions that the views ask of it: who holds an equation, which kernels, which line, how long. */

/** @typedef {{name: string, constants: string[], inputs: string[], outputs: string[], variables: Record<string, [string, number, string?]>, equations: Equation[]}} Jaxpr */
/** @typedef {{path: string, op: string, name?: string, params?: string, in: string[], out: string[], role?: string, src?: [number, number, number], of?: string, flops?: number, bodies?: Jaxpr[]}} Equation */
/** @typedef {{name: string, kind: string, type: string, eqns: string[], instructions: number, unknown: number, read: number, written: number, saved: number}} Kernel */

/** Forward, backward, forward again (an optimizer): which of them each equation of a level belongs to.
 * Even phases run down the page, odd ones up beside them. @param {Jaxpr} jaxpr @returns {number[]} */
export function phasesOf(jaxpr) {
  const phase = new Map();
  const phases = jaxpr.equations.map((equation) => {
    const odd = (equation.role ?? "forward") === "forward" ? 0 : 1;
    let latest = odd;
    for (const name of equation.in) {
      const before = phase.get(name) ?? 0;
      latest = Math.max(latest, before % 2 === odd ? before : before + 1);
    }
    for (const name of equation.out) phase.set(name, latest);
    return latest;
  });
  deferPhases(jaxpr, phases);
  return phases;
}

/** What is forward by its operands but used only after the gradient (an optimizer's moments) belongs to what uses it.
 * @param {Jaxpr} jaxpr @param {number[]} phases */
function deferPhases(jaxpr, phases) {
  /** The least phase that uses a variable; a result of the program is used where it is made. @type {Map<string, number>} */
  const uses = new Map(jaxpr.outputs.map((name) => [name, 0]));
  for (let i = phases.length - 1; i >= 0; i--) {
    const equation = jaxpr.equations[i];
    const first = Math.min(...equation.out.map((name) => uses.get(name) ?? Infinity));
    if (phases[i] % 2 === 0 && first % 2 === 0 && first > phases[i]) phases[i] = first;
    // A use by a backward equation is that of a residual, and keeps it here.
    for (const name of equation.in) uses.set(name, Math.min(uses.get(name) ?? Infinity, phases[i]));
  }
}

export class Program {
  /** @param {any} heavy @param {any} [light] */
  constructor(heavy, light = {}) {
    this.number = heavy.number;
    this.function = heavy.function;
    this.heavy = heavy;
    /** @type {Map<string, Equation>} */ this.equations = new Map();
    /** @type {Map<string, [string, number, string?]>} */ this.variables = new Map();
    /** Paths, an equation before its bodies, and where each one's inside ends in that order. */
    /** @type {string[]} */ this.order = [];
    /** @type {Map<string, [number, number]>} */ this.extents = new Map();
    /** @type {Map<string, string>} */ this.parents = new Map();
    /** @type {Map<string, string>} */ this.passes = new Map();
    /** @type {Map<string, string[]>} */ this.lines = new Map();
    /** The forward equation that each one transposes. @type {Map<string, string>} */ this.origins = new Map();
    /** And the other way round. @type {Map<string, string[]>} */ this.transposed = new Map();
    /** @type {Map<string, Kernel[]>} */ this.kernelsOf = new Map();
    /** @type {Map<string, Kernel>} */ this.kernels = new Map();
    /** Seconds per call of each kernel, the mean over the devices that ran it. @type {Map<string, number>} */
    this.times = new Map();
    /** Seconds per call of all kernels together. */
    this.step = 0;
    if (heavy.jaxpr) this.indexLevel(heavy.jaxpr, "", "");
    for (const kernel of heavy.kernels ?? []) this.indexKernel(kernel);
    this.update(light);
  }

  /** @param {Jaxpr} jaxpr @param {string} parent @param {string} pass */
  indexLevel(jaxpr, parent, pass) {
    for (const [name, variable] of Object.entries(jaxpr.variables)) this.variables.set(name, variable);
    const phases = phasesOf(jaxpr);
    jaxpr.equations.forEach((equation, i) => {
      const { path } = equation;
      const own = phases[i] % 2 ? "backward" : phases[i] > 0 ? "update" : "forward";
      this.equations.set(path, equation);
      if (parent) this.parents.set(path, parent);
      this.passes.set(path, pass === "update" ? pass : own === "update" && parent ? "forward" : own);
      if (equation.src) push(this.lines, `${equation.src[0]}:${equation.src[1]}`, path);
      const of = this.originOf(equation, parent);
      if (of) push(this.transposed, of, path);
      const start = this.order.push(path) - 1;
      for (const body of equation.bodies ?? []) this.indexLevel(body, path, this.passes.get(path) ?? "forward");
      this.extents.set(path, [start, this.order.length]);
    });
  }

  /** The forward equation that one transposes. A body that several calls share names the one in the first call: here it is
   * the one in the call that this call transposes. @param {Equation} equation @param {string} parent @returns {string|undefined} */
  originOf(equation, parent) {
    const outer = this.origins.get(parent);
    let of = equation.of;
    if (of && outer && !Program.within(of, outer)) {
      const own = [outer, ...of.split("/").slice(outer.split("/").length)].join("/");
      if (this.equations.get(own)?.op === this.equations.get(of)?.op) of = own;
    }
    if (of) this.origins.set(equation.path, of);
    return of;
  }

  /** @param {Kernel} kernel */
  indexKernel(kernel) {
    this.kernels.set(kernel.name, kernel);
    for (const path of new Set(kernel.eqns)) push(this.kernelsOf, path, kernel);
  }

  /** What the second colour means here: a gradient runs up, tangents run down. */
  get secondPass() {
    return [...this.equations.values()].some((equation) => equation.role === "backward") ? "backward ↑" : "tangent ↓";
  }

  /** Take in the numbers that move. @param {any} light */
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

  /** Is a path inside (or equal to) another? @param {string} path @param {string} outer */
  static within(path, outer) {
    return path === outer || path.startsWith(`${outer}/`);
  }

  /** The equations inside a path, itself included. @param {string} path */
  inside(path) {
    const [start, end] = this.extents.get(path) ?? [0, 0];
    return this.order.slice(start, end);
  }

  /** The kernels that an equation, or anything in it, ended up in. @param {string} path @returns {Kernel[]} */
  kernelsWith(path) {
    const bodies = this.equations.get(path)?.bodies;
    if (!bodies) return this.kernelsOf.get(path) ?? [];
    const found = new Set(this.inside(path).flatMap((inner) => this.kernelsOf.get(inner) ?? []));
    return [...found];
  }

  /** Seconds per call measured for an equation: those of its kernels, each split equally over the kernel's equations.
   * null where nothing was measured. @param {string} path @returns {number|null} */
  share(path) {
    let total = null;
    for (const inner of this.inside(path))
      for (const kernel of this.kernelsOf.get(inner) ?? []) {
        const time = this.times.get(kernel.name);
        if (time != null) total = (total ?? 0) + time / new Set(kernel.eqns).size;
      }
    return total;
  }

  /** Seconds of an equation that is a whole kernel by itself: the only time that was measured for it alone. @param {string} path */
  ownTime(path) {
    const kernels = this.kernelsWith(path);
    const alone = kernels.length > 0 && kernels.every((k) => k.eqns.every((other) => Program.within(other, path)));
    const times = kernels.map((k) => this.times.get(k.name));
    if (!alone || times.some((time) => time == null)) return null;
    return times.reduce((a, b) => (a ?? 0) + (b ?? 0), 0) ?? null;
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
    for (const device of this.light.executed?.devices ?? [])
      for (const [name, [, total]] of Object.entries(device.kernels)) {
        all += total;
        if (this.kernels.get(name)?.eqns.length) known += total;
      }
    return all ? known / all : null;
  }

  /** Share of each pass in a device's measured time. @param {any} device */
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
    const text = (this.heavy.sources ?? []).find((/** @type {any} */ s) => s.file === src[0]);
    return `${text?.title ?? this.heavy.files[src[0]]}, line ${src[1]}`;
  }

  /** Everything about an equation that a search looks at. @param {Equation} equation */
  searchText(equation) {
    const types = [...equation.in, ...equation.out].map((name) => `${name} ${this.typeOf(name)}`);
    const code = equation.src ? this.sourceLine(equation.src[0], equation.src[1]) : "";
    return [equation.op, equation.name, equation.params, ...types, code].join(" ").toLowerCase();
  }

  /** @param {number} file @param {number} line */
  sourceLine(file, line) {
    const source = (this.heavy.sources ?? []).find((/** @type {any} */ s) => s.file === file);
    return source?.text.split("\n")[line - source.first] ?? "";
  }
}

/** @template K,V @param {Map<K, V[]>} map @param {K} key @param {V} value */
function push(map, key, value) {
  const known = map.get(key);
  if (known) known.push(value);
  else map.set(key, [value]);
}
