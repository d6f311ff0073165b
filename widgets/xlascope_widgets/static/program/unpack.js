// @ts-check
/** Decoder of the jaxprs that `encoding.py` sends: an equation for each list, a path for each position. */

import { buildInnerPath, WHOLE_PROGRAM } from "../ground/path.js";
/** @typedef {import("../ground/path.js").Path} Path */

/**
 * A level of a program; with groups in the place of equations where it is `grouped`, and `quiet` where its inputs and
 * results are not drawn; an `overview` where nobody chose how it is grouped; with `bundles`, those inputs that are
 * drawn together.
 * @typedef {{name: string, constants: string[], inputs: string[], outputs: string[], equations: Equation[], grouped?:
 * boolean, quiet?: boolean, overview?: boolean, bundles?: Map<string, string[]>}} Jaxpr
 */
/**
 * An equation, or a group of them: `members`; `updates` is true in an optimizer, false where a body
 * computes a gradient.
 * @typedef {{path: Path, op: string, name?: string, params?: string, in: string[], out: string[], role?: string, src?:
 * import("../ground/wire.js").Line, sign: number, of?: string, flops?: number, scope?: string, bodies?: Jaxpr[],
 * members?: Equation[], group?: {kind: string, times: number}, updates?: boolean}} Equation
 */

const ROLES = ["forward", "tangent", "backward"];

/** @param {number} sum @param {number} value */
export function mixHash(sum, value) {
  const mixed = Math.imul(sum ^ (value + 0x9e3779b9), 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) | 0;
}

/**
 * @param {import("../ground/wire.js").PackedJaxpr} wire
 * @param {Map<string, import("../ground/wire.js").VariableType>} variables gets every variable: its type, its bytes,
 * and its label if it has one
 * @returns {Jaxpr}
 */
export function unpackJaxpr(wire, variables) {
  const { texts, types, lines } = wire;

  /**
   * @param {import("../ground/wire.js").PackedLevel} level
   * @param {Path} holder
   * @param {number} body
   * @returns {Jaxpr}
   */
  function unpackLevel(level, holder, body) {
    for (const [name, type] of level.given) variables.set(name, types[type]);
    const equations = level.packed.map((packed, i) => unpackEquation(packed, buildInnerPath(holder, body, i)));
    for (const [name, label] of Object.entries(level.labels)) {
      const [type, bytes] = variables.get(name) ?? ["", 0];
      variables.set(name, [type, bytes, label]);
    }
    return { name: level.name, constants: level.constants, inputs: level.inputs, outputs: level.outputs, equations };
  }

  /** @param {import("../ground/wire.js").PackedEquation} packed @param {Path} path @returns {Equation} */
  function unpackEquation([op, inputs, out, kinds, role, line, scope, params, flops, origin, name, bodies], path) {
    // Equal operations, parameters, names, roles and types give equal signatures.
    let sign = mixHash(mixHash(mixHash(op, params ?? 0), name ?? 0), role ?? 0);
    for (let i = 0; i < out.length; i++) {
      variables.set(out[i], types[kinds[i]]);
      sign = mixHash(sign, kinds[i]);
    }
    // All equations have the same properties, so that the engine allocates them fast.
    /** @type {Equation} */ const equation = {
      path,
      op: texts[op],
      in: inputs,
      out,
      role: role ? ROLES[role] : undefined,
      src: line ? lines[line] : undefined,
      scope: scope ? texts[scope] : undefined,
      params: params ? texts[params] : undefined,
      flops: flops || undefined,
      of: origin || undefined,
      name: name ? texts[name] : undefined,
      bodies: undefined,
      updates: undefined,
      sign,
    };
    if (bodies) equation.bodies = bodies.map((body, b) => unpackLevel(body, path, b));
    return equation;
  }

  return unpackLevel(wire, WHOLE_PROGRAM, 0);
}
