// @ts-check
/** Formatting of numbers for people: three significant digits and always a unit. */

/** @param {number} value */
function formatDigits(value) {
  if (value === 0) return "0";
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** @param {number} value @param {[number, string][]} units from large to small */
function formatWithUnit(value, units) {
  const unit = units.find(([size]) => value >= size * 0.9995) ?? units[units.length - 1];
  return `${formatDigits(value / unit[0])} ${unit[1]}`;
}

/** @param {number} value */
export function formatTime(value) {
  if (value === 0) return "0 s";
  return formatWithUnit(value, [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
    [1e-9, "ns"],
  ]);
}

/** @param {number} value */
export function formatBytes(value) {
  if (value < 1000) return `${value} B`;
  return formatWithUnit(value, [
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "kB"],
  ]);
}

/** @param {number} value */
export function formatFlops(value) {
  if (value < 1000) return `${Math.round(value)} FLOP`;
  return formatWithUnit(value, [
    [1e12, "TFLOP"],
    [1e9, "GFLOP"],
    [1e6, "MFLOP"],
    [1e3, "kFLOP"],
  ]);
}

/** Format a round duration on an axis: "1.5 ms", not "1.50 ms". @param {number} value */
export function formatAxisTime(value) {
  return value
    ? formatTime(value)
        .replace(/(\.\d*?)0+ /, "$1 ")
        .replace(". ", " ")
    : "0";
}

/** Format an integer: 3214 becomes "3,214". @param {number} value */
export function formatInt(value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** @param {number} value @param {string} singular @param {string} [many] */
export function pluralize(value, singular, many = `${singular}s`) {
  return `${formatInt(value)} ${value === 1 ? singular : many}`;
}

/** @param {number} share between 0 and 1 */
export function formatPercent(share) {
  const value = share * 100;
  if (value > 0 && value < 1) return "< 1 %";
  // "100 %" is reserved for the whole.
  return `${Math.round(value) === 100 && share < 1 - 1e-9 ? "99" : Math.round(value)} %`;
}

/** @param {string} text @param {number} length */
export function shorten(text, length) {
  return text.length <= length ? text : `${text.slice(0, Math.max(1, length - 1))}…`;
}

/**
 * Wrap a text into lines, at spaces where there are any.
 * @param {string} text
 * @param {number} letters
 * @param {number} [maxLines]
 * @returns {string[]}
 */
export function wrapText(text, letters, maxLines = 8) {
  const lines =
    shorten(text, letters * maxLines).match(new RegExp(`[^]{1,${letters}}(?:\\s+|$)|[^]{${letters}}`, "gu")) ?? [];
  const shown = lines.slice(0, maxLines).map((line) => line.trim());
  if (lines.length > maxLines) shown[maxLines - 1] += " …";
  return shown;
}

/** Return the positions of about `target` round ticks from 0 to `end`. @param {number} end @param {number} target */
export function computeTicks(end, target) {
  if (!(end > 0)) return [0];
  const raw = end / Math.max(1, target);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999) ?? raw;
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, i) => i * step);
}

/** @param {number} value */
export function round(value) {
  return Math.round(value * 10) / 10;
}
