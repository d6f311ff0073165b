// @ts-check
/**
 * How a level is gathered when nobody chose: into a few boxes that can be read at one sight, each a thing that the user
 * wrote.
 *
 * A box is a line, a function, a named scope, or layers that repeat; of these the finest that gives few enough boxes.
 * Loops and large calls stand by themselves. What has no such structure, or too much of it, is cut into stretches, and
 * these again.
 */

import { getFunctionName } from "./equation_names.js";
import { listVerbs } from "./verbs.js";
/** @typedef {import("./unpack.js").Equation} Equation */
/** @typedef {import("./structure.js").Structure} Structure */
/** @typedef {import("./groups.js").Group} Group */
/** @typedef {import("./groups.js").Item} Item */

/** Equations of one level up to which nothing is gathered. */
const FEW = 14;
/** Boxes of one level, all its passes together. */
export const MOST_AT_SIGHT = 24;
/** Boxes of one pass beside others. */
const MOST_ROWS = 8;
/** Boxes below which a level says too little, if there is more to tell. */
const TOO_FEW = 5;
/** Equations of a call that make it a box of its own among the equations of a line. */
const LARGE_CALL = 24;

/** @param {Item} item @returns {item is Group} */
const isGroup = (item) => "inner" in item;

/** @param {Item} item @param {string} kind */
const isGroupOf = (item, kind) => isGroup(item) && item.kind === kind;

/** @param {Item} item @returns {Equation[]} */
const getMembers = (item) => (isGroup(item) ? item.members : [item]);

/**
 * What the groups of a level are made with: runs of equal keys, repeats folded.
 * @typedef {{runs: (equations: Equation[], key: (equation: Equation, i: number) => string, make: (members: Equation[])
 * => Group) => Item[], fold: (items: Item[]) => Item[]}} Tools
 */

/**
 * The boxes of each pass of a level.
 * @param {Structure} program
 * @param {Equation[][]} streams the equations of each pass, in order
 * @param {number} depth how many scopes around them are said already
 * @param {Tools} tools
 * @returns {Item[][]}
 */
export function buildOverview(program, streams, depth, tools) {
  if (countItems(streams) <= FEW) return streams;
  const isScoped = hasNamedParts(streams, depth);
  const lines = isScoped ? [] : streams.map((equations) => tools.fold(groupByLine(program, equations, tools)));
  // A single line is shown by its equations.
  if (!isScoped && countItems(lines) === 1 && !isGroupOf(lines.flat()[0], "repeat"))
    return streams.map((equations) => listInnerItems(equations, tools));
  if (
    !isScoped &&
    countItems(lines) <= MOST_AT_SIGHT &&
    (streams.length < 2 || lines.every((items) => items.length <= MOST_ROWS + 2))
  )
    return lines;
  const places = streams.map((equations) =>
    disambiguateTitles(tools.fold(groupByScope(program, equations, depth, tools))),
  );
  // A single function is shown by its lines.
  return mergeStreams(isScoped || countItems(places) >= TOO_FEW ? places : lines, MOST_AT_SIGHT);
}

/**
 * Return whether the user named parts of a level. One scope around all of it names no parts.
 * @param {Equation[][]} streams
 * @param {number} depth
 */
function hasNamedParts(streams, depth) {
  let named = 0;
  const names = new Set();
  for (const equation of streams.flat()) {
    const scope = equation.scope?.split("/")[depth];
    names.add(scope);
    if (scope) named++;
  }
  return named > 0.3 * countItems(streams) && names.size > 1;
}

/** @param {Item[][]} streams */
function countItems(streams) {
  return streams.reduce((sum, items) => sum + items.length, 0);
}

/** @param {Structure} program @param {Equation[]} equations @param {Tools} tools */
function groupByLine(program, equations, tools) {
  const keys = equations.map((equation, i) =>
    isBoxByItself(program, equation) || !equation.src
      ? `alone ${i}`
      : `${equation.scope ?? ""} ${equation.src[0]}:${equation.src[1]}`,
  );
  joinConstants(equations, keys);
  return tools.runs(
    equations,
    (_, i) => keys[i],
    (members) => createGroup("line", summarizeMembers(members), members, () => listInnerItems(members, tools)),
  );
}

/**
 * Join lines that have only constants in a phase with their neighbours.
 * @param {Equation[]} equations
 * @param {string[]} keys
 */
function joinConstants(equations, keys) {
  const isConstant = (/** @type {Equation} */ { op, in: names }) =>
    op === "broadcast_in_dim" && names.every((name) => /^[-\d]/.test(name));
  const isJoined = (/** @type {string|undefined} */ key) => key !== undefined && !key.startsWith("alone");
  for (let end = equations.length, start = end; end > 0; end = start) {
    for (start = end - 1; start > 0 && keys[start - 1] === keys[end - 1]; start--);
    const beside = [keys[end], keys[start - 1]].find(isJoined);
    if (beside && equations.slice(start, end).every(isConstant)) keys.fill(beside, start, end);
  }
}

/** Return the items that a line opens to. @param {Equation[]} members @param {Tools} tools */
function listInnerItems(members, tools) {
  return members.length <= MOST_AT_SIGHT ? members : mergeItems(tools.fold(members));
}

/** Add to the titles of equal function names what each box computes. @param {Item[]} items @returns {Item[]} */
function disambiguateTitles(items) {
  const named = items
    .filter(isGroup)
    .filter((item) => item.kind === "function")
    .map((item) => ({ item, name: item.title }));
  // Use one verb where that distinguishes them, or else two.
  for (const length of [1, 2]) {
    const titles = named.map(({ item }) => item.title);
    for (const { item, name } of named)
      if (titles.filter((title) => title === item.title).length > 1)
        item.title = `${name}: ${listVerbs(listNames(item.members), length)}`;
  }
  return items;
}

/**
 * Group by scope, or else by function; equations without a name, by line.
 * @param {Structure} program
 * @param {Equation[]} equations
 * @param {number} depth
 * @param {Tools} tools
 */
function groupByScope(program, equations, depth, tools) {
  const scope = (/** @type {Equation} */ equation) => equation.scope?.split("/")[depth] ?? "";
  const key = (/** @type {Equation} */ equation, /** @type {number} */ i) => {
    if (scope(equation))
      return `scope ${equation.scope
        ?.split("/")
        .slice(0, depth + 1)
        .join("/")}`;
    if (isBoxByItself(program, equation) || !equation.src) return `alone ${i}`;
    const name = getFunctionName(equation);
    return `${equation.src[0]} ${equation.src[3]}${name.startsWith("<") ? equation.src[1] : ""}`;
  };
  return tools.runs(equations, key, (members) => {
    const named = scope(members[0]);
    const inner = () => buildOverview(program, [members], named ? depth + 1 : depth, tools)[0];
    if (named) return createGroup("scope", named, members, inner);
    const name = getFunctionName(members[0]);
    return createGroup(
      name && !name.startsWith("<") ? "function" : "line",
      name && !name.startsWith("<") ? name : summarizeMembers(members),
      members,
      inner,
    );
  });
}

/** Return whether a loop or a large call is a box by itself. @param {Structure} program @param {Equation} equation */
function isBoxByItself(program, equation) {
  if (!equation.bodies) return false;
  return equation.op === "scan" || equation.op === "while" || program.listInside(equation.path).length > LARGE_CALL;
}

/** @param {Equation[]} members */
const listNames = (members) => members.map((equation) => equation.name ?? equation.op);

/** @param {Equation[]} members */
const summarizeMembers = (members) => listVerbs(listNames(members));

/**
 * @param {string} kind
 * @param {string} title
 * @param {Equation[]} members
 * @param {() => Item[]} inner
 * @returns {Group}
 */
function createGroup(kind, title, members, inner) {
  return { kind, title, members, times: 1, inner };
}

/**
 * Merge the boxes of each phase into stretches, each phase by its part of all boxes.
 * @param {Item[][]} streams
 * @param {number} most
 */
function mergeStreams(streams, most) {
  const all = countItems(streams);
  if (all <= most && (streams.length < 2 || streams.every((items) => items.length <= MOST_ROWS + 2))) return streams;
  // Every pass has at least one, and what rounding adds is taken off before. Passes stand beside each other, one alone
  // in columns.
  const free = most - streams.length;
  const high = streams.length > 1 ? MOST_ROWS : most;
  return streams.map((items) => mergeItems(items, Math.min(high, 1 + Math.floor((free * items.length) / all))));
}

/**
 * Merge items in order until there are at most `most`; large items stay alone.
 * @param {Item[]} items
 * @param {number} most
 * @returns {Item[]}
 */
export function mergeItems(items, most = MOST_AT_SIGHT) {
  if (items.length <= most) return items;
  const size = Math.ceil(items.length / most);
  /** @type {Item[]} */ const merged = [];
  for (let start = 0; start < items.length; start += size) {
    const part = items.slice(start, start + size);
    merged.push(part.length === 1 ? part[0] : buildStretch(part));
  }
  return merged;
}

/** @param {Item[]} items @returns {Group} */
function buildStretch(items) {
  const members = items.flatMap(getMembers);
  return createGroup("stretch", formatStretchTitle(items, members), members, () => mergeItems(items));
}

/**
 * Format the title of a stretch: "layer 1–100", "lines 10–18", or its operations.
 * @param {Item[]} items
 * @param {Equation[]} members
 */
function formatStretchTitle(items, members) {
  const [first, last] = [items[0], items[items.length - 1]];
  if (isGroup(first) && isGroup(last) && isGroupOf(first, "layer") && isGroupOf(last, "layer"))
    return `${first.title}–${/\d+$/.exec(last.title)?.[0] ?? ""}`;
  return summarizeMembers(members);
}

/** Arguments from which on those of one name are one node. */
const MANY_INPUTS = 5;
/** Nodes that stand for arguments. */
const MOST_NAMES = 8;

/**
 * Bundle the arguments of a level by their names: `params[0][1]` becomes "params", or "params[0]" where "params" is
 * nearly all.
 * @param {Structure} program
 * @param {string[]} names
 * @returns {Map<string, string[]>|undefined} what stands together with each; nothing where they are few
 */
export function bundleNames(program, names) {
  if (names.length < MANY_INPUTS) return undefined;
  /** @type {Map<string, string[]>} */ let bundles = new Map();
  for (let depth = 1; depth <= 3; depth++) {
    /** @type {Map<string, string[]>} */ const finer = new Map();
    for (const name of names) {
      const root = getLabelRoot(program.variables.get(name)?.[2] ?? name, depth);
      finer.set(root, [...(finer.get(root) ?? []), name]);
    }
    if (depth > 1 && finer.size > MOST_NAMES) break;
    bundles = finer;
    if (finer.size > 2) break;
  }
  return new Map(
    [...bundles.values()].flatMap((bundle) => (bundle.length > 1 ? bundle.map((name) => [name, bundle]) : [])),
  );
}

/**
 * Return the first parts of a label: "state[0]['blocks'][3].bias" at depth 2 gives "state[0]".
 * @param {string} label
 * @param {number} depth
 */
function getLabelRoot(label, depth) {
  return (label.match(/^[^[.]+|\[[^\]]*\]|\.[^[.]+/g) ?? []).slice(0, depth).join("");
}
