// @ts-check
/** What a program's author calls things. */

/** @typedef {import("./unpack.js").Equation} Equation */

/** "rnn.<locals>.cell" -> "cell". @param {Equation} equation */
export function getFunctionName(equation) {
  return (equation.src?.[3] ?? "").split(".").pop() ?? "";
}

/** What a box is called; a lambda, by the function that most of it is in. @param {Equation} equation */
export function getName(equation) {
  const name = equation.name?.replace(/^_+/, "") || equation.op;
  if (!name.startsWith("<")) return name;
  const counts = new Map();
  for (const each of (equation.bodies ?? []).flatMap((body) => body.equations))
    counts.set(getFunctionName(each), (counts.get(getFunctionName(each)) ?? 0) + 1);
  const [most = ""] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [];
  return most && !most.startsWith("<") ? most : name;
}
