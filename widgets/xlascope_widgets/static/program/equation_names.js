// @ts-check
/** Names that the program's author gave to functions and equations. */

/** @typedef {import("./unpack.js").Equation} Equation */

/** "rnn.<locals>.cell" -> "cell". @param {Equation} equation */
export function getFunctionName(equation) {
  return (equation.src?.[3] ?? "").split(".").pop() ?? "";
}

/**
 * Return the name of a box; for a lambda, the function that most of its equations are in.
 * @param {Equation} equation
 */
export function getName(equation) {
  const name = equation.name?.replace(/^_+/, "") || equation.op;
  if (!name.startsWith("<")) return name;
  const counts = new Map();
  for (const inner of (equation.bodies ?? []).flatMap((body) => body.equations))
    counts.set(getFunctionName(inner), (counts.get(getFunctionName(inner)) ?? 0) + 1);
  const [most = ""] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [];
  return most && !most.startsWith("<") ? most : name;
}
