// @ts-check
/** Verbs for operations: "dot + add + tanh". Data movement is named only where nothing else is done. */

/** What people call an operation whose own name is long. @type {Record<string, string>} */
const CALLED = {
  dot_general: "dot",
  conv_general_dilated: "conv",
  reduce_sum: "sum",
  reduce_max: "max of",
  reduce_min: "min of",
  reduce_prod: "product",
  reduce_and: "all",
  reduce_or: "any",
  add_any: "add",
  integer_pow: "power",
  pow: "power",
  select_n: "select",
  broadcast_in_dim: "broadcast",
  convert_element_type: "convert",
  dynamic_slice: "slice",
  dynamic_update_slice: "write slice",
  scatter_add: "scatter add",
  threefry2x32: "random bits",
  reduce_window: "window",
  cumsum: "running sum",
  custom_linear_solve: "solve",
};
/** Operations that only move, shape or convert what is there, or make a constant. */
const MOVES = new Set([
  "broadcast_in_dim",
  "reshape",
  "transpose",
  "convert_element_type",
  "slice",
  "squeeze",
  "expand_dims",
  "copy",
  "copy_p",
  "iota",
  "concatenate",
  "split",
  "pad",
  "stop_gradient",
  "bitcast_convert_type",
  "rev",
  "bitcast",
  "constant",
  "optimization_barrier",
]);
/** What is said first where not all of it can be: it usually takes the time. */
const HEAVY =
  /^(dot_general|ragged_dot|conv_|scan|while|fft|sort|top_k|cholesky|lu|qr|eigh|svd|triangular_solve|custom_linear_solve|gather|scatter|psum|all_)/;

/** Return the verb of an operation, or of a function by its name. @param {string} name */
export function verbFor(name) {
  return CALLED[name] ?? name.replace(/^_+/, "").replace(/_+/g, " ");
}

/**
 * Join the verbs of operations, "dot + add + tanh"; where there are too many, expensive operations have priority.
 * @param {string[]} names operations in order
 * @param {number} [most]
 * @returns {string}
 */
export function listVerbs(names, most = 3) {
  const computing = names.filter((name) => !MOVES.has(name));
  const different = [...new Set(computing.length ? computing : names)];
  // Keep the order, but never drop an expensive operation in favour of a cheap one.
  const getWeight = (/** @type {string} */ name) => (HEAVY.test(name) ? 0 : 1);
  const selected = new Set([...different].sort((a, b) => getWeight(a) - getWeight(b)).slice(0, most));
  const verbs = [...new Set(different.filter((name) => selected.has(name)).map(verbFor))];
  return verbs.join(" + ") + (different.length > most ? " …" : "");
}
