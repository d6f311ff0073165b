// @ts-check
/** Folding of a level that is many times as high as wide into columns side by side, as text goes on in the next one. */

/** @typedef {import("./layout.js").Level} Level */
/** @typedef {import("./level.js").GraphNode} GraphNode */

/** From which height on, and how many times as high as wide, a level is folded. */
const LEAST_HEIGHT = 2400,
  LEAST_RATIO = 3,
  /** The width of what is folded, to its height. */ RATIO = 1.5;
const GAP = 96;

/**
 * Cut a level between rows, and place its parts side by side.
 * @param {Level} level
 * @returns {Level}
 */
export function foldLevel(level) {
  const { nodes, edges, leads, width, height } = level;
  if (height < Math.max(LEAST_HEIGHT, LEAST_RATIO * width)) return level;
  const columns = cutRows(nodes, Math.sqrt((height * (width + GAP)) / RATIO));
  /** @type {Map<GraphNode, number>} */ const shifts = new Map();
  let left = 0,
    bottom = 0;
  columns.forEach((column, i) => {
    const top = Math.min(...column.map((node) => node.y - node.h / 2));
    const shift = left - Math.min(...column.map((node) => node.x - node.w / 2));
    for (const node of column) {
      shifts.set(node, shift);
      Object.assign(node, { column: i, x: node.x + shift, y: node.y - top });
      left = Math.max(left, node.x + node.w / 2 + GAP);
      bottom = Math.max(bottom, node.y + node.h / 2);
    }
    for (const edge of edges)
      if (edge.from.column === i && edge.to.column === i)
        for (const lead of leads.get(edge) ?? []) {
          lead.x += shift;
          lead.y -= top;
        }
  });
  for (const edge of edges) if (edge.from.column !== edge.to.column) leads.delete(edge);
  return { ...level, width: left - GAP, height: bottom };
}

/**
 * Cut nodes into columns of about a height, where no node stands across the cut.
 * @param {GraphNode[]} nodes
 * @param {number} height
 * @returns {GraphNode[][]}
 */
function cutRows(nodes, height) {
  /** @type {GraphNode[][]} */ const columns = [];
  let top = -Infinity,
    bottom = -Infinity;
  for (const node of [...nodes].sort((a, b) => a.y - a.h / 2 - (b.y - b.h / 2))) {
    const upper = node.y - node.h / 2;
    if (!columns.length || (upper > bottom && upper > top + height)) {
      columns.push([]);
      top = upper;
    }
    columns[columns.length - 1].push(node);
    bottom = Math.max(bottom, node.y + node.h / 2);
  }
  return columns;
}
