// @ts-check
/** Words for a cell of a slice: its index, and its value or what is in its block. */

import { formatInt } from "../ground/format.js";
import { formatExact, formatShort } from "./array_numbers.js";
/** @typedef {import("./array_numbers.js").Cells} Cells */
/** @typedef {import("./array_view.js").ArrayView} ArrayView */

/** @param {number} first @param {number} last */
const range = (first, last) => (first === last ? String(first) : `${first}–${last}`);

/** Describe the cell under the cursor: index and value. @param {ArrayView} view @param {Cells} cells */
export function describeCell(view, cells) {
  const { info } = view;
  const [row, column] = view.cursor;
  const at = row * cells.cells[1] + column;
  const [top, bottom, left, right] = cells.window;
  const first = [top + row * cells.block[0], left + column * cells.block[1]];
  const last = [Math.min(bottom, first[0] + cells.block[0]) - 1, Math.min(right, first[1] + cells.block[1]) - 1];
  const index = info.shape.map((_, axis) =>
    axis === view.rows ? range(first[0], last[0]) : axis === view.columns ? range(first[1], last[1]) : view.at[axis],
  );
  const place = `[${index.join(", ")}]`;
  const part =
    info.kind === "complex"
      ? { abs: "magnitude ", real: "real part ", imag: "imaginary part " }[/** @type {"abs"} */ (view.part)]
      : "";
  const write = (/** @type {import("./array_numbers.js").Numbers|undefined} */ numbers) =>
    formatExact(/** @type {number} */ (numbers?.[at]), info.digits);
  if (!cells.maximum) {
    const value = cells.minimum[at];
    if (info.kind === "bool") return `${place} = ${value ? "True" : "False"}`;
    if (info.kind === "key") return `${place} = 0x${Number(value).toString(16).padStart(8, "0")}`;
    return `${place}: ${part}${write(cells.minimum)}`;
  }
  const marks = [
    cells.nans?.[at] && `${formatInt(Number(cells.nans[at]))} NaN`,
    cells.infs?.[at] && `${formatInt(Number(cells.infs[at]))} infinite`,
  ].filter(Boolean);
  const numbers = Number.isNaN(Number(cells.minimum[at]))
    ? ["no finite element"]
    : [`${write(cells.minimum)} to ${write(cells.maximum)}`, `mean ${formatShort(Number(cells.mean?.[at]))}`];
  return `${place}: ${part}${[...numbers, ...marks].join(", ")}`;
}
