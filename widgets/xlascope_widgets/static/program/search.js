// @ts-check
/**
 * Search in equations: words, and `op:tanh`, `line:9`, `line:3-7`, `shape:128,512`; names of operations rank before
 * other text.
 */

/** @typedef {import("./program.js").Program} Program */
/** @typedef {import("./unpack.js").Equation} Equation */

/**
 * How well a word fits: 0 best, null not at all.
 * @typedef {(program: Program, equation: Equation) => number|null} Fit
 */

/**
 * Paths that fit every word of a query, the best first, in the program's order where they are equal.
 * @param {Program} program
 * @param {string} query in small letters
 * @returns {string[]}
 */
export function searchEquations(program, query) {
  const fits = query.split(/\s+/).filter(Boolean).map(parseTerm);
  if (!fits.length) return [];
  /** @type {[string, number][]} */ const matches = [];
  for (const [path, equation] of program.equations) {
    let worst = 0;
    for (const fit of fits) {
      const rank = fit(program, equation);
      worst = rank == null ? Infinity : Math.max(worst, rank);
    }
    if (worst < Infinity) matches.push([path, worst]);
  }
  return matches.sort((a, b) => a[1] - b[1]).map(([path]) => path);
}

/** @param {string} word @returns {Fit} */
function parseTerm(word) {
  const [, key, value] = word.match(/^(op|line|shape):(.*)$/) ?? [];
  // A term without a value is still being typed and matches everything.
  if (key && !value) return () => 0;
  if (key === "op") return (_, equation) => rankName(equation, value);
  if (key === "line") return matchLine(value);
  if (key === "shape") return matchShape(value);
  return (program, equation) => rankName(equation, word) ?? (program.getSearchText(equation).includes(word) ? 3 : null);
}

/**
 * Return the rank of a name: it equals the word, begins with it, or contains it.
 * @param {Equation} equation
 * @param {string} word
 */
function rankName({ op, name }, word) {
  const names = [op, name ?? ""].map((text) => text.toLowerCase());
  if (names.includes(word)) return 0;
  if (names.some((text) => text.startsWith(word))) return 1;
  return names.some((text) => text.includes(word)) ? 2 : null;
}

/** @param {string} value "9", or "3-7" @returns {Fit} */
function matchLine(value) {
  const [first, last = first] = value.split(/[-–]/).map((text) => (text ? Number(text) : undefined));
  return (_, { src }) => (src && src[1] <= Number(last) && Math.max(src[1], src[2]) >= Number(first) ? 0 : null);
}

/**
 * Match types or shapes; results count before operands.
 * @param {string} value "128,512", "[128,512]", "f32[128", "128x512"
 * @returns {Fit}
 */
function matchShape(value) {
  const shape = value.replace(/(\d)x(?=\d)/g, "$1,");
  const matchesType = (/** @type {string} */ type) => {
    const text = type.toLowerCase();
    return /[[a-z]/.test(shape)
      ? text.includes(shape)
      : `,${text.slice(text.indexOf("[") + 1, -1)},`.includes(`,${shape.replace("]", "")},`);
  };
  return (program, equation) =>
    equation.out.some((name) => matchesType(program.getType(name)))
      ? 0
      : equation.in.some((name) => matchesType(program.getType(name)))
        ? 1
        : null;
}
