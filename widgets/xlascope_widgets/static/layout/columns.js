// @ts-check
/**
 * Order and horizontal place of the nodes of one phase: barycentre sweeps, then the closest places that do not overlap.
 * Near-linear: an edge over up to six rows is led around by stand-ins, a longer one is left out and drawn lightly.
 */

/** @typedef {import("./level.js").Edge} Edge */
/** @typedef {import("./level.js").GraphNode} GraphNode */

/**
 * A place in a row: a node's, or one through which an edge is led.
 * @typedef {{node: GraphNode|null, x: number, w: number, row: number, order: number, above: Slot[], below: Slot[]}}
 * Slot
 */

const GAP = 18;
const LONGEST_LED = 6;
const SWEEPS = 4;

/**
 * Place the rows of one phase; x of every node is its center.
 * @param {GraphNode[][]} rows nodes from top to bottom
 * @param {Edge[]} edges
 * @returns {{width: number, leads: Map<Edge, Slot[]>}} the stand-ins of each edge that was led around
 */
export function placeColumn(rows, edges) {
  const { slots, leads } = makeSlots(rows, edges);
  for (const row of slots) row.forEach((slot, i) => (slot.order = i));
  for (let sweep = 0; sweep < SWEEPS; sweep++) orderSweep(slots, sweep % 2 === 0);
  for (const row of slots) spreadRow(row);
  for (let sweep = 0; sweep < SWEEPS; sweep++) placeSweep(slots, sweep % 2 === 0);
  return { width: shiftToZero(slots), leads };
}

/** @param {GraphNode[][]} rows @param {Edge[]} edges */
function makeSlots(rows, edges) {
  /** @type {Map<GraphNode, Slot>} */ const slotOf = new Map();
  const rowOf = new Map();
  const slots = rows.map((row, i) =>
    row.map((node) => {
      const slot = createSlot(node, node.w, i);
      slotOf.set(node, slot);
      rowOf.set(node, i);
      return slot;
    }),
  );
  const leads = new Map();
  for (const edge of edges) {
    const [from, to] = [rowOf.get(edge.from), rowOf.get(edge.to)];
    const step = Math.sign(to - from);
    if (step === 0 || Math.abs(to - from) > LONGEST_LED || !hasRoom(slots, rows, from + step, to, step)) continue;
    let last = /** @type {Slot} */ (slotOf.get(edge.from));
    const led = [];
    for (let row = from + step; row !== to; row += step) {
      const slot = createSlot(null, 10, row);
      slots[row].push(slot);
      led.push(slot);
      linkSlots(last, slot, step);
      last = slot;
    }
    linkSlots(last, /** @type {Slot} */ (slotOf.get(edge.to)), step);
    if (led.length) leads.set(edge, led);
  }
  return { slots, leads };
}

/**
 * Return whether stand-ins fit: no row takes many more of them than it has nodes, or they would push nodes apart.
 * @param {Slot[][]} slots
 * @param {GraphNode[][]} rows
 * @param {number} from
 * @param {number} to
 * @param {number} step
 */
function hasRoom(slots, rows, from, to, step) {
  for (let row = from; row !== to; row += step) if (slots[row].length > rows[row].length * 1.5 + 3) return false;
  return true;
}

/** @param {GraphNode|null} node @param {number} w @param {number} row @returns {Slot} */
function createSlot(node, w, row) {
  return { node, w, row, x: 0, order: 0, above: [], below: [] };
}

/** @param {Slot} from @param {Slot} to @param {number} step 1 when `to` is below */
function linkSlots(from, to, step) {
  (step > 0 ? from.below : from.above).push(to);
  (step > 0 ? to.above : to.below).push(from);
}

/** @param {Slot[][]} slots @param {boolean} down */
function orderSweep(slots, down) {
  const rows = down ? slots : [...slots].reverse();
  for (const row of rows) {
    const key = new Map(row.map((slot) => [slot, computeMeanOrder(down ? slot.above : slot.below, slot)]));
    row.sort((a, b) => (key.get(a) ?? 0) - (key.get(b) ?? 0) || a.order - b.order);
    // Orders are fractions of the row's length, so that short and long rows are comparable.
    row.forEach((slot, i) => (slot.order = (i + 0.5) / row.length));
  }
}

/** @param {Slot[]} others @param {Slot} slot */
function computeMeanOrder(others, slot) {
  if (!others.length) return slot.order;
  return others.reduce((sum, other) => sum + other.order, 0) / others.length;
}

/** Place a row side by side around zero, as the first guess. @param {Slot[]} row */
function spreadRow(row) {
  let x = 0;
  for (const slot of row) {
    slot.x = x + slot.w / 2;
    x += slot.w + GAP;
  }
  for (const slot of row) slot.x -= (x - GAP) / 2;
}

/** @param {Slot[][]} slots @param {boolean} down */
function placeSweep(slots, down) {
  for (const row of down ? slots : [...slots].reverse())
    resolveOverlaps(row, row.map(computeTargetX), row.map(computeWeight));
}

/** Return the mean position of a node's neighbours. @param {Slot} slot */
function computeTargetX(slot) {
  const others = [...slot.above, ...slot.below];
  return others.length ? others.reduce((sum, other) => sum + other.x, 0) / others.length : slot.x;
}

/** @param {Slot} slot */
function computeWeight(slot) {
  return slot.node ? 1 + slot.above.length + slot.below.length : 4;
}

/**
 * Return the places closest to the targets (least squares) that keep order and gaps; pooled neighbours share an offset.
 * @param {Slot[]} row
 * @param {number[]} targets
 * @param {number[]} weights
 */
function resolveOverlaps(row, targets, weights) {
  /** @type {{sum: number, weight: number, size: number}[]} */ const pools = [];
  /** @type {number[]} */ const offsets = [];
  let offset = 0;
  row.forEach((slot, i) => {
    if (i) offset += (row[i - 1].w + slot.w) / 2 + GAP;
    offsets.push(offset);
    pools.push({ sum: (targets[i] - offset) * weights[i], weight: weights[i], size: 1 });
    while (pools.length > 1 && computeMean(pools[pools.length - 2]) > computeMean(pools[pools.length - 1])) {
      const right = /** @type {{sum: number, weight: number, size: number}} */ (pools.pop());
      const left = pools[pools.length - 1];
      left.sum += right.sum;
      left.weight += right.weight;
      left.size += right.size;
    }
  });
  let i = 0;
  for (const pool of pools) for (let k = 0; k < pool.size; k++, i++) row[i].x = computeMean(pool) + offsets[i];
}

/** @param {{sum: number, weight: number}} pool */
function computeMean(pool) {
  return pool.sum / pool.weight;
}

/** @param {Slot[][]} slots */
function shiftToZero(slots) {
  let left = Infinity,
    right = -Infinity;
  for (const row of slots)
    for (const slot of row) {
      left = Math.min(left, slot.x - slot.w / 2);
      right = Math.max(right, slot.x + slot.w / 2);
    }
  for (const row of slots)
    for (const slot of row) {
      slot.x -= left;
      if (slot.node) slot.node.x = slot.x;
    }
  return Math.max(0, right - left);
}
