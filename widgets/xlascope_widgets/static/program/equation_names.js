// @ts-check
/** What a program's author calls things. */

/** @typedef {import("./unpack.js").Equation} Equation */

/** "rnn.<locals>.cell" -> "cell". @param {Equation} equation */
export function functionName(equation) {
  return (equation.src?.[3] ?? "").split(".").pop() ?? "";
}

/** What a box is called; a lambda, by the function that most of it is in. @param {Equation} equation */
export function nameOf(equation) {
  const name = equation.name?.replace(/^_+/, "") || equation.op;
  if (!name.startsWith("<")) return name;
  const counts = new Map();
  for (const each of (equation.bodies ?? []).flatMap((body) => body.equations))
    counts.set(functionName(each), (counts.get(functionName(each)) ?? 0) + 1);
  const [most = ""] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [];
  return most && !most.startsWith("<") ? most : name;
}
