// @ts-check
/** Picture of a slice on a canvas: cells in the colours of a scale, NaN and infinity in others and hatched as well. */

import { chooseInk, ColourScale } from "./colour_scale.js";
import { formatShort, getCellNumber, getMark } from "./array_numbers.js";
/** @typedef {import("./array_numbers.js").Cells} Cells */

/** Space left of and above the cells, in pixels, for the marks of rows and columns. */
const MARGIN = 8;
const MOST_HEIGHT = 400;
/** Largest size of a cell, and the smallest in which its number is written. */
const CELL_WIDTH = 84,
  CELL_HEIGHT = 26,
  TEXT_WIDTH = 46,
  TEXT_HEIGHT = 15;
/** Colours of what is no finite number: their ground and their hatch. */
export const MARKS = { nan: ["#c026d3", "#ffffff"], inf: ["#15803d", "#d9f99d"] };

/**
 * How a slice is drawn.
 * @typedef {{shown: string, isLog: boolean, isDark: boolean, isKey: boolean, width: number}} Look
 */

export class HeatMap {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    /** @type {Cells|undefined} */ this.cells = undefined;
    this.cellWidth = this.cellHeight = 1;
    this.scale = new ColourScale(0, 1, 1, false, false);
  }

  /** Draw cells. @param {Cells} cells @param {Look} look */
  draw(cells, look) {
    this.cells = cells;
    const [rows, columns] = cells.cells;
    this.scale = buildScale(cells, look);
    const room = (look.width - MARGIN - 1) / Math.max(1, columns);
    this.cellWidth = Math.min(CELL_WIDTH, room);
    this.cellHeight = rows === 1 ? CELL_HEIGHT : Math.min(CELL_HEIGHT, MOST_HEIGHT / Math.max(1, rows));
    // Cells without numbers are not much wider than high.
    if (rows > 1 && this.cellWidth < TEXT_WIDTH) {
      this.cellWidth = Math.min(this.cellWidth, 2 * this.cellHeight);
      this.cellHeight = Math.min(this.cellHeight, 2 * this.cellWidth);
    }
    const [width, height] = [MARGIN + columns * this.cellWidth, MARGIN + rows * this.cellHeight];
    const ratio = this.canvas.ownerDocument.defaultView?.devicePixelRatio ?? 1;
    this.canvas.width = Math.ceil(width * ratio);
    this.canvas.height = Math.ceil(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) this.drawCell(pen, row, column, look);
  }

  /** @param {CanvasRenderingContext2D} pen @param {number} row @param {number} column @param {Look} look */
  drawCell(pen, row, column, { shown, isKey }) {
    const cells = /** @type {Cells} */ (this.cells);
    const at = row * cells.cells[1] + column;
    const mark = getMark(cells, at);
    const [x, y, right, bottom] = this.boxOf(row, column);
    const value = getCellNumber(cells, at, shown);
    if (mark) {
      fillHatched(pen, /** @type {"nan"} */ (mark), x, y, right - x, bottom - y);
      this.drawEdgeMarks(pen, mark, x, y, right, bottom);
    } else {
      pen.fillStyle = `rgb(${this.scale.colour(value)})`;
      pen.fillRect(x, y, right - x, bottom - y);
    }
    if (this.cellWidth < TEXT_WIDTH || this.cellHeight < TEXT_HEIGHT) return;
    const words = mark && cells.maximum ? (mark === "nan" ? "NaN" : "∞") : formatCell(value, isKey);
    pen.font = "11px ui-monospace, Menlo, Consolas, monospace";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const middle = (x + right) / 2;
    if (mark) {
      pen.fillStyle = MARKS[/** @type {"nan"} */ (mark)][0];
      const half = pen.measureText(words).width / 2 + 3;
      pen.fillRect(middle - half, y + 3, 2 * half, bottom - y - 6);
    }
    pen.fillStyle = mark ? "#ffffff" : chooseInk(this.scale.colour(value));
    pen.fillText(words, middle, (y + bottom) / 2 + 0.5);
  }

  /**
   * Mark the row and the column of a cell at the edges, where a single small cell would be missed.
   * @param {CanvasRenderingContext2D} pen
   * @param {string} mark
   * @param {number} x
   * @param {number} y
   * @param {number} right
   * @param {number} bottom
   */
  drawEdgeMarks(pen, mark, x, y, right, bottom) {
    pen.fillStyle = MARKS[/** @type {"nan"} */ (mark)][0];
    const [middleX, middleY] = [(x + right) / 2, (y + bottom) / 2];
    for (const [across, down, turn] of [
      [middleX, MARGIN - 1, 0],
      [MARGIN - 1, middleY, 1],
    ]) {
      pen.beginPath();
      pen.moveTo(across, down);
      pen.lineTo(turn ? across - 6 : across - 3, turn ? down - 3 : down - 6);
      pen.lineTo(turn ? across - 6 : across + 3, turn ? down + 3 : down - 6);
      pen.fill();
    }
  }

  /** Return left, top, right and bottom of a cell in whole pixels. @param {number} row @param {number} column */
  boxOf(row, column) {
    return [
      MARGIN + Math.round(column * this.cellWidth),
      MARGIN + Math.round(row * this.cellHeight),
      MARGIN + Math.round((column + 1) * this.cellWidth),
      MARGIN + Math.round((row + 1) * this.cellHeight),
    ];
  }

  /** Return the cell at a point of the canvas, null outside. @param {number} x @param {number} y */
  findCell(x, y) {
    const [rows, columns] = this.cells?.cells ?? [0, 0];
    const [row, column] = [Math.floor((y - MARGIN) / this.cellHeight), Math.floor((x - MARGIN) / this.cellWidth)];
    return row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null;
  }
}

/** Write a number into a cell: a word of a key as hexadecimal digits. @param {number} value @param {boolean} isKey */
function formatCell(value, isKey) {
  if (isKey) return value.toString(16).padStart(8, "0");
  return Math.abs(value) >= 1e6 && Number.isFinite(value)
    ? value.toExponential(1).replace("+", "")
    : formatShort(Number.isInteger(value) ? value : Number(value.toPrecision(3)));
}

/** @param {Cells} cells @param {Look} look */
function buildScale(cells, { shown, isLog, isDark }) {
  let [low, high, least] = [Infinity, -Infinity, Infinity];
  for (let at = 0; at < cells.minimum.length; at++) {
    const value = getCellNumber(cells, at, shown);
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
    if (value) least = Math.min(least, Math.abs(value));
  }
  return low > high ? new ColourScale(0, 0, 1, false, isDark) : new ColourScale(low, high, least, isLog, isDark);
}

/**
 * Fill a cell that is no finite number: NaN is hatched to the right, infinity to the left.
 * @param {CanvasRenderingContext2D} pen
 * @param {"nan"|"inf"} mark
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
function fillHatched(pen, mark, x, y, width, height) {
  const [ground, ink] = MARKS[mark];
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.fillStyle = ground;
  pen.fillRect(x, y, width, height);
  pen.strokeStyle = ink;
  pen.lineWidth = 1;
  const step = width < 8 ? 3 : 5;
  pen.beginPath();
  for (let start = -height; start < width; start += step) {
    const [from, to] = mark === "nan" ? [height, 0] : [0, height];
    pen.moveTo(x + start, y + from);
    pen.lineTo(x + start + height, y + to);
  }
  pen.stroke();
  pen.restore();
}
