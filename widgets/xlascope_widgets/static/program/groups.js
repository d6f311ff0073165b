// @ts-check
/**
 * Groups: equations of one scope, function or line, repeated layers, and stretches of what is too long to draw, as one
 * box each. A group looks like an equation that holds a program, so everything that draws or opens bodies works on it.
 *
 * Groups are made of equations that follow one another within one phase, so no group waits for another that waits for
 * it.
 */

import { append } from "../ground/collections.js";
import { getFunctionName } from "./equation_names.js";
import { buildOverview, bundleNames, mergeItems } from "./overview.js";
import { computePhases } from "./phases.js";
import { findRepeats, isWorthFolding } from "./repeats.js";
import { mixHash } from "./unpack.js";
/** @typedef {import("./unpack.js").Equation} Equation */
/** @typedef {import("./unpack.js").Jaxpr} Jaxpr */
/** @typedef {import("./structure.js").Structure} Structure */
/** @typedef {{kind: string, title: string, members: Equation[], times: number, inner: () => Item[]}} Group */
/** @typedef {Equation|Group} Item */

/** Groups have ids where equations have paths: no path has this sign. */
const GROUP_SIGN = "~";

/** Is a group spoken of in what is selected? @param {string} id */
export const isGroupId = (id) => id.includes(GROUP_SIGN);

export const GROUPINGS = ["auto", "none", "scope", "function", "line"];
/** Boxes of one level; more are gathered into stretches. */
const MOST_BOXES = 400;
const STRETCHES = 200;
/** Equations of a group up to which it is looked whether it is nothing but repeats; it opens to them in any case. */
const MOST_UNWRAPPED = 3000;
/** Boxes of a level from which repeats are folded, by scope, function or line. */
const LEAST_FOLDED = 24;
const FEW_ENDS = 40;

/** @param {Item} item @returns {item is Group} */
const isGroup = (item) => "inner" in item;

/** @param {Item} item @returns {Equation[]} */
const getMembers = (item) => (isGroup(item) ? item.members : [item]);

/** The scopes around an equation, the outermost first. @param {Equation} equation @returns {string[]} */
const splitScope = (equation) => (equation.scope ? equation.scope.split("/") : []);

/**
 * Return the key by which an equation is grouped.
 * @param {string} kind
 * @param {number} depth of a scope within scopes
 * @param {Equation} equation
 */
function getGroupKey(kind, depth, equation) {
  const pass = equation.role === "backward" ? "backward " : "";
  if (kind === "scope")
    return (
      pass +
      splitScope(equation)
        .slice(0, depth + 1)
        .join("/")
    );
  if (!equation.src) return pass;
  return kind === "function"
    ? `${pass}${equation.src[0]} ${equation.src[3]}`
    : `${pass}${equation.src[0]}:${equation.src[1]}`;
}

/** @param {string} kind @param {Equation} first */
function getGroupTitle(kind, first, depth = 0) {
  if (kind === "scope") return splitScope(first)[depth];
  return kind === "function" ? getFunctionName(first) : `line ${first.src?.[1]}`;
}

/**
 * Return the level with groups in place of their equations.
 * @param {Structure} program
 * @param {Jaxpr} jaxpr
 * @param {string} choice one of GROUPINGS
 * @returns {Jaxpr}
 */
export function groupLevel(program, jaxpr, choice) {
  if (choice === "none") return jaxpr;
  const streams = new Map();
  const phases = program.phases.get(jaxpr) ?? computePhases(jaxpr);
  jaxpr.equations.forEach((equation, i) => append(streams, phases[i], equation));
  const ordered = [...streams].sort(([a], [b]) => a - b).map(([, equations]) => equations);
  const all =
    choice === "auto"
      ? buildOverview(program, ordered, 0, buildOverviewTools(program)).flat()
      : splitStretches(ordered.map((equations) => groupEquations(equations, choice, 0)));
  if (!all.some(isGroup)) return jaxpr;
  const equations = buildBoxes(program, all, new Set(jaxpr.outputs));
  if (choice !== "auto") return { ...jaxpr, equations };
  // Values that enter or leave a box are labelled at its border.
  return jaxpr === program.jaxpr
    ? { ...jaxpr, equations, overview: true, bundles: bundleNames(program, jaxpr.inputs) }
    : { ...jaxpr, equations, overview: true, quiet: true };
}

/**
 * Return the functions that an overview is built with.
 * @param {Structure} program
 * @returns {import("./overview.js").Tools}
 */
function buildOverviewTools(program) {
  /** @type {import("./overview.js").Tools} */
  const tools = {
    runs: (equations, key, make) =>
      splitIntoRuns(equations, key, (members) => unwrapRepeats(make(members), tools.fold)),
    fold: (items) => foldItems(items, (members) => buildOverview(program, [members.flatMap(getMembers)], 0, tools)[0]),
  };
  return tools;
}

/**
 * Group the equations of one phase by key, and fold repeats.
 * @param {Equation[]} equations
 * @param {string} kind
 * @param {number} depth
 * @returns {Item[]}
 */
function groupEquations(equations, kind, depth) {
  return foldItems(splitByKey(equations, kind, depth));
}

/**
 * Split equations into runs of equal keys, each converted by `make`.
 * @param {Equation[]} equations
 * @param {(equation: Equation, i: number) => string} keyOf
 * @param {(members: Equation[]) => Group|null} make
 * @returns {Item[]}
 */
function splitIntoRuns(equations, keyOf, make) {
  /** @type {Item[]} */ const items = [];
  for (let start = 0, end = 0; start < equations.length; start = end) {
    const key = keyOf(equations[start], start);
    for (end = start + 1; end < equations.length && keyOf(equations[end], end) === key; end++);
    const members = equations.slice(start, end);
    const group = members.length > 1 && make(members);
    if (group) items.push(group);
    else items.push(...members);
  }
  return items;
}

/** @param {Equation[]} equations @param {string} kind @param {number} depth @returns {Item[]} */
function splitByKey(equations, kind, depth) {
  return splitIntoRuns(
    equations,
    (equation) => getGroupKey(kind, depth, equation),
    (members) => {
      const named = kind === "scope" ? splitScope(members[0]).length > depth : members[0].src;
      return named ? buildRunGroup(members, kind, depth) : null;
    },
  );
}

/**
 * Return the repeats of a group that contains nothing else.
 * @param {Group} group
 * @param {(items: Item[]) => Item[]} fold
 * @returns {Group}
 */
function unwrapRepeats(group, fold) {
  if (group.members.length > MOST_UNWRAPPED) return group;
  const items = fold(group.members);
  const [only] = items;
  if (items.length > 1 || !isGroup(only) || only.kind !== "repeat") return group;
  return group.kind === "scope" || only.title.startsWith("layer")
    ? only
    : { ...only, title: `${group.title} × ${only.times}` };
}

/**
 * Build the group of a run of equations; a run that is one repeated sequence becomes that, without a box around it.
 * @param {Equation[]} members
 * @param {string} kind
 * @param {number} depth
 * @returns {Group}
 */
function buildRunGroup(members, kind, depth) {
  const title = getGroupTitle(kind, members[0], depth);
  const items = listInnerItems(members, kind, depth + 1);
  const [only] = items;
  if (items.length > 1 || !isGroup(only) || only.kind !== "repeat")
    return { kind, title, members, times: 1, inner: () => items };
  return kind === "scope" ? only : { ...only, title: `${title} × ${only.times}` };
}

/**
 * Return the items of a group. A scope that holds a single scope opens to the items of that.
 * @param {Equation[]} members
 * @param {string} kind
 * @param {number} depth
 * @returns {Item[]}
 */
function listInnerItems(members, kind, depth) {
  if (kind !== "scope") return foldItems(members);
  const items = splitByKey(members, kind, depth);
  const only = items.length === 1 && items[0];
  return only && isGroup(only) ? listInnerItems(members, kind, depth + 1) : foldItems(items);
}

/**
 * Fold the repeats of a sequence into one item each.
 * @param {Item[]} items
 * @param {(items: Item[]) => Item[]} [view] what is shown of one of the repeats in an overview, in which boxes weigh as
 * much as they hold
 * @returns {Item[]}
 */
function foldItems(items, view) {
  if (items.length < (view ? 4 : LEAST_FOLDED)) return items;
  const repeats = findRepeats(
    computeSignatures(items),
    () => countLiveValues(items),
    view && ((start, period, times) => isWorthBox(items, start, period, times)),
  );
  if (!repeats.length) return items;
  /** @type {Item[]} */ const folded = [];
  let at = 0;
  for (const { start, period, times } of repeats) {
    folded.push(...items.slice(at, start));
    at = start + period * times;
    folded.push(buildLayers(items.slice(start, at), period, times, view));
  }
  return [...folded, ...items.slice(at)];
}

/**
 * Return whether a repeated sequence of boxes is worth a box, by its number of equations.
 * @param {Item[]} items
 * @param {number} start
 * @param {number} period
 * @param {number} times
 */
function isWorthBox(items, start, period, times) {
  const weight = (/** @type {number} */ length) =>
    items.slice(start, start + length).reduce((sum, item) => sum + getMembers(item).length, 0);
  return isWorthFolding(weight(period * times), weight(period), times);
}

/**
 * @param {Item[]} items
 * @param {number} period
 * @param {number} times
 * @param {(items: Item[]) => Item[]} [view]
 * @returns {Group}
 */
function buildLayers(items, period, times, view) {
  const members = items.flatMap(getMembers);
  const name = findCommonName(items, period, members);
  const buildLayer = (/** @type {number} */ i) => {
    const part = items.slice(i * period, (i + 1) * period);
    if (period === 1) return part[0];
    return {
      kind: "layer",
      title: `${name} ${i + 1}`,
      members: part.flatMap(getMembers),
      times: 1,
      inner: () => (view ? view(part) : part),
    };
  };
  const buildAllLayers = () => Array.from({ length: times }, (_, i) => buildLayer(i));
  return {
    kind: "repeat",
    title: `${name} × ${times}`,
    members,
    times,
    inner: () => (view ? mergeItems(buildAllLayers()) : buildAllLayers()),
  };
}

/**
 * Return the common name of repeats: of the single item, a function, a scope, or else "layer".
 * @param {Item[]} items
 * @param {number} period
 * @param {Equation[]} members
 */
function findCommonName(items, period, members) {
  const [first] = items;
  if (period === 1) return isGroup(first) ? first.title.replace(/ ?\d+$/, "") : (first.name ?? first.op);
  const name = getFunctionName(members[0]);
  const same = name && !name.startsWith("<") && members.every((equation) => getFunctionName(equation) === name);
  return same ? name : "layer";
}

/**
 * Return a number for each item, equal when operations, parameters, shapes and passes are.
 * @param {Item[]} items
 * @returns {number[]}
 */
function computeSignatures(items) {
  return items.map((item) =>
    isGroup(item) ? item.members.reduce((sum, member) => mixHash(sum, member.sign), item.members.length) : item.sign,
  );
}

/**
 * Return the number of values alive before each item; at ties, places where the source begins again count less.
 * @param {Item[]} items
 * @returns {number[]}
 */
function countLiveValues(items) {
  const makers = new Map();
  const change = new Array(items.length + 1).fill(0);
  const last = new Map();
  items.forEach((item, i) => {
    for (const equation of getMembers(item)) {
      for (const name of equation.in) if (makers.has(name)) last.set(name, i);
      for (const name of equation.out) makers.set(name, i);
    }
  });
  for (const [name, use] of last) {
    change[(makers.get(name) ?? 0) + 1]++;
    change[use + 1]--;
  }
  let alive = 0;
  const line = (/** @type {number} */ i) => getMembers(items[i])[0].src?.[1] ?? 0;
  return items.map((item, i) => {
    alive += change[i];
    const back = i ? (line(i - 1) - line(i)) * (getMembers(item)[0].role === "backward" ? -1 : 1) : 0;
    return alive - Math.min(0.9, Math.max(0, back) / 1000);
  });
}

/** Split a level with too many boxes into stretches. @param {Item[][]} streams @returns {Item[]} */
function splitStretches(streams) {
  const total = streams.reduce((sum, items) => sum + items.length, 0);
  const size = total > MOST_BOXES ? Math.ceil(total / STRETCHES) : 1;
  return streams.flatMap((items) => {
    /** @type {Item[]} */ const stretches = [];
    for (let start = 0; start < items.length; start += size) {
      const part = items.slice(start, start + size);
      if (part.length === 1) stretches.push(part[0]);
      else stretches.push(buildStretch(part));
    }
    return stretches;
  });
}

/** @param {Item[]} items @returns {Group} */
function buildStretch(items) {
  const members = items.flatMap(getMembers);
  return { kind: "stretch", title: listTopOps(members), members, times: 1, inner: () => items };
}

/** Return the most frequent operations: "dot_general, add, …". @param {Equation[]} members */
function listTopOps(members) {
  const counts = new Map();
  for (const equation of members) counts.set(equation.op, (counts.get(equation.op) ?? 0) + 1);
  const names = [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  return names.slice(0, 2).join(", ") + (names.length > 2 ? ", …" : "");
}

/**
 * Convert items to equations: a group takes the operands of its members and gives the results used outside.
 * @param {Structure} program
 * @param {Item[]} items
 * @param {Set<string>} outputs
 * @returns {Equation[]}
 */
function buildBoxes(program, items, outputs) {
  const owner = new Map();
  items.forEach((item, i) => {
    for (const equation of getMembers(item)) for (const name of equation.out) owner.set(name, i);
  });
  const leaving = new Set();
  const entering = items.map((item, i) => {
    const names = new Set();
    for (const equation of getMembers(item))
      for (const name of equation.in) {
        if (owner.get(name) === i || !program.variables.has(name)) continue;
        names.add(name);
        leaving.add(name);
      }
    return [...names];
  });
  return items.map((item, i) =>
    isGroup(item) ? buildBox(program, item, entering[i], (name) => outputs.has(name) || leaving.has(name)) : item,
  );
}

/**
 * @param {Structure} program
 * @param {Group} group
 * @param {string[]} inputs
 * @param {(name: string) => boolean} isWanted
 * @returns {Equation}
 */
function buildBox(program, group, inputs, isWanted) {
  const { members, kind, title } = group;
  const path = `${GROUP_SIGN}${kind}:${members[0].path}+${members.length}`;
  const outputs = members.flatMap((equation) => equation.out.filter(isWanted));
  /** @type {Equation[]|undefined} */ let inner;
  const body = {
    name: title,
    constants: [],
    inputs,
    outputs,
    grouped: true,
    overview: program.grouping === "auto",
    // Dozens of inputs and outputs would hide the contents of the box.
    quiet: program.grouping === "auto" || inputs.length + outputs.length > FEW_ENDS,
    get equations() {
      return (inner ??= buildBoxes(program, splitStretches([group.inner()]), new Set(outputs)));
    },
  };
  const anchors = members.filter((equation) => equation.of);
  const fields = {
    path,
    op: kind,
    name: title,
    in: inputs,
    out: outputs,
    role: members[0].role,
    updates: members.find((member) => member.updates != null)?.updates,
    of: anchors[anchors.length >> 1]?.of,
    members,
    group: { kind, times: group.times },
    sign: 0,
    flops: members.reduce((sum, equation) => sum + (equation.flops ?? 0), 0) || undefined,
    bodies: [body],
  };
  program.groups.set(path, fields);
  return fields;
}
