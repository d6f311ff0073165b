// @ts-check
/** Colours of numbers: a diverging scale for signed ones, a sequential one for others, linear or logarithmic. */

/** @typedef {[number, number, number]} Colour */

/** @param {string} text six hexadecimal digits */
const parse = (text) => /** @type {Colour} */ ([0, 2, 4].map((at) => parseInt(text.slice(at, at + 2), 16)));

/** From the smallest to the largest, equally far apart. @type {Record<string, Colour[]>} */
const SCALES = {
  "diverging light": ["2166ac", "92c5de", "f7f7f7", "f4a582", "b2182b"].map(parse),
  "diverging dark": ["74b9ff", "2f6296", "232932", "96492f", "ff9a6a"].map(parse),
  "sequential light": ["f2f6fb", "6baed6", "08306b"].map(parse),
  "sequential dark": ["232932", "2f6da8", "c3e4ff"].map(parse),
};
/** Smallest part of the largest magnitude that a logarithmic scale tells from 0. */
const LEAST = 1e-9;

/**
 * A scale of colours for numbers from `low` to `high`; `least` is the smallest magnitude among them that is not 0.
 */
export class ColourScale {
  /** @param {number} low @param {number} high @param {number} least @param {boolean} isLog @param {boolean} isDark */
  constructor(low, high, least, isLog, isDark) {
    this.isDiverging = low < 0;
    const kind = this.isDiverging ? "diverging" : "sequential";
    this.colours = SCALES[`${kind} ${isDark ? "dark" : "light"}`];
    const limit = Math.max(Math.abs(low), Math.abs(high));
    this.low = this.isDiverging ? -limit : isLog ? 0 : low;
    this.high = this.isDiverging ? limit : high;
    this.unit = isLog && limit ? Math.max(least, limit * LEAST) : 0;
    this.top = this.unit ? Math.log1p(limit / this.unit) : 0;
  }

  /** Return where a number is on the scale, from 0 to 1. @param {number} value */
  place(value) {
    if (this.unit) {
      const part = (Math.sign(value) * Math.log1p(Math.abs(value) / this.unit)) / this.top;
      return this.isDiverging ? (part + 1) / 2 : part;
    }
    // Of equal numbers, 0 has the colour of the least.
    return this.high > this.low ? (value - this.low) / (this.high - this.low) : value ? 0.5 : 0;
  }

  /** @param {number} value @returns {Colour} */
  colour(value) {
    const place = Math.min(1, Math.max(0, this.place(value))) * (this.colours.length - 1);
    const at = Math.min(this.colours.length - 2, Math.floor(place));
    const part = place - at;
    const [from, to] = [this.colours[at], this.colours[at + 1]];
    return /** @type {Colour} */ (from.map((least, number) => Math.round(least + (to[number] - least) * part)));
  }

  /** Return the scale as a CSS gradient. */
  get gradient() {
    const colours = this.colours.map((colour) => `rgb(${colour})`);
    return `linear-gradient(90deg,${colours.join()})`;
  }
}

/** Return black or white, whichever is read more easily on a colour. @param {Colour} colour */
export const chooseInk = ([red, green, blue]) => (0.3 * red + 0.59 * green + 0.11 * blue > 140 ? "#10141a" : "#ffffff");
