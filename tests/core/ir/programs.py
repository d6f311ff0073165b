"""Programs whose jaxprs both libraries print: texts over ``op`` (named as in jax.lax) and ``xs`` (the library)."""

from typing import Any

import numpy as np

X = np.arange(6, dtype=np.float32).reshape(2, 3)
V = np.arange(3, dtype=np.float32)
K = np.int32(1)

PROGRAMS: dict[str, tuple[Any, ...]] = {
    "identity": ("lambda x: x", V),
    "two results": ("lambda x: (op.sin(x), op.neg(x))", V),
    "a literal": ("lambda x: op.mul(x, np.float32(2))", np.float32(3)),
    "a constant": ("lambda x: op.add(x, xs.device_put(np.float32([1, 2, 3])))", V),
    "weak": ("lambda x: op.add(x, 1.5)", 2.0),
    "elementwise": ("lambda x: op.div(op.exp(op.tanh(x)), op.integer_pow(x, 3))", V),
    "reductions": ("lambda x: (op.reduce_max(op.cumsum(x, 1), (1,)), op.argmax(x, 1, 'int32'))", X),
    "shapes": ("lambda x: op.rev(op.transpose(op.reshape(x, (3, 2)), (1, 0)), (0,))", X),
    "slices": ("lambda x: op.pad(op.slice(x, (0, 1), (2, 3)), np.float32(0), ((0, 0, 0), (1, 0, 0)))", X),
    "dynamic": ("lambda x, k: op.dynamic_slice(x, (k, k), (1, 2))", X, K),
    "comparison": ("lambda x: op.select(op.gt(x, np.float32(1)), x, op.neg(x))", np.float32(2)),
    "conversion": ("lambda x: op.convert_element_type(x, 'int32')", V),
    "clamp": ("lambda x: op.clamp(np.float32(0), x, np.float32(1))", V),
    "nested call": ("lambda x: xs.jit(lambda y: op.sin(y))(op.cos(x))", V),
    "nested twice": ("lambda x: xs.jit(lambda y: xs.jit(lambda z: op.neg(z))(op.sin(y)))(x)", V),
    "concatenate": ("lambda x: op.concatenate([x, x], 1)", X),
    "many variables": ("lambda x: [x := op.sin(x) for _ in range(30)][-1]", np.float32(1)),
    "dot": ("lambda x, v: op.dot_general(x, v, (((1,), (0,)), ((), ())), preferred_element_type=np.float32)", X, V),
}  # fmt: skip


def texts(library: Any, op: Any = None) -> dict[str, str]:
    """The jaxprs as printed."""
    found = {}
    for name, (text, *operands) in PROGRAMS.items():
        function = eval(text, {"op": op or library.lax, "xs": library, "np": np})
        found[name] = str(library.make_jaxpr(function)(*operands))
    return found
