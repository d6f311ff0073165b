// @ts-check
/** Numbers of an array: cells that came as buffers, and their text, exact and short. */

/** What an array is, as Python describes it.
 * @typedef {{handle: string, name: string, type: string, kind: "float"|"complex"|"int"|"bool"|"key", shape: number[],
 * bytes: number, sharding: string, digits: number|null, axes: (number|null)[], loops?: number[], iterations?: number[],
 * devices?: number, of?: object}} Info */
/** Statistics of all elements.
 * @typedef {{elements: number, zeros: number, subnormals: number, nans: number, infs: number, negatives: number,
 * minimum: number|string|null, maximum: number|string|null, mean: number|null, root_mean_square: number|null,
 * exponents: [number, number][], at: Record<string, number[]|null>, distinct: number|null, strided: boolean}} Facts */
/** Cells of a slice: elements, or blocks of elements.
 * @typedef {{size: number[], window: number[], block: number[], cells: number[], minimum: Numbers, maximum?: Numbers,
 * mean?: Numbers, nans?: Numbers, infs?: Numbers}} Cells */
/** @typedef {Float32Array|Float64Array|Int32Array|Uint32Array|BigInt64Array|BigUint64Array} Numbers */

/** @type {Record<string, new (buffer: ArrayBuffer) => Numbers>} */
const ENCODINGS = {
  f4: Float32Array,
  f8: Float64Array,
  i4: Int32Array,
  u4: Uint32Array,
  i8: BigInt64Array,
  u8: BigUint64Array,
};

/**
 * Return the cells in an answer.
 * @param {{size: number[], window: number[], block: number[], cells: number[], parts: [string, string][], buffers:
 * DataView[]}} answer
 * @returns {Cells}
 */
export function decodeCells({ size, window, block, cells, parts, buffers }) {
  const arrays = parts.map(([name, encoding], number) => {
    const { buffer, byteOffset, byteLength } = buffers[number];
    // A copy begins at a multiple of the size of its elements.
    return [
      name,
      new ENCODINGS[encoding](/** @type {ArrayBuffer} */ (buffer.slice(byteOffset, byteOffset + byteLength))),
    ];
  });
  return { size, window, block, cells, ...Object.fromEntries(arrays) };
}

/**
 * Write a number such that no other number of its dtype is written so.
 * @param {number|bigint|string} value
 * @param {number|null} digits the bits of the mantissa, null for integers
 */
export function formatExact(value, digits) {
  if (typeof value !== "number" || digits == null) return String(value);
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  if (Object.is(value, -0)) return "-0";
  if (digits >= 52 || value === 0) return String(value);
  // Half of the distance to the next number, and half again at a power of two.
  const near = 2 ** (Math.floor(Math.log2(Math.abs(value))) - digits - 2);
  for (let places = 1; places < 17; places++) {
    const short = Number(value.toPrecision(places));
    if (Math.abs(short - value) < near) return String(short);
  }
  return String(value);
}

/** Write a number with few digits. @param {number|string|null} value */
export function formatShort(value) {
  if (value == null) return "–";
  if (typeof value === "string") return value.replace(/\B(?=(\d{3})+$)/g, ",");
  if (!Number.isFinite(value)) return formatExact(value, 52);
  const short = Number(value.toPrecision(4));
  return Math.abs(short) >= 1e7 ? short.toExponential().replace("+", "") : String(short);
}

/**
 * Return the number that a cell's colour stands for; NaN where it has none that is finite.
 * @param {Cells} cells
 * @param {number} at
 * @param {string} shown what is shown of a block: `extreme`, `mean`, `minimum`, `maximum`
 */
export function getCellNumber(cells, at, shown) {
  const low = Number(cells.minimum[at]);
  if (!cells.maximum || shown === "minimum") return low;
  const high = Number(cells.maximum[at]);
  if (shown === "maximum") return high;
  if (shown === "mean") return Number(/** @type {Numbers} */ (cells.mean)[at]);
  return Math.abs(low) > Math.abs(high) ? low : high;
}

/** Return the mark of a cell: `nan` before `inf`, "" for neither. @param {Cells} cells @param {number} at */
export function getMark(cells, at) {
  if (cells.maximum) return cells.nans?.[at] ? "nan" : cells.infs?.[at] ? "inf" : "";
  const value = Number(cells.minimum[at]);
  return Number.isNaN(value) ? "nan" : Number.isFinite(value) ? "" : "inf";
}
