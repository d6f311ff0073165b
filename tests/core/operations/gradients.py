"""Functions with kinks, ties, poles and jumps, and where to differentiate them: for us and, in its own process, for jax."""

from typing import Any

import numpy as np

INF, NAN = np.inf, np.nan

# ruff: noqa: E501 (a function is one line)
# The text of a function of ``op``, the operations under the names of jax.lax, and its operands.
GRADIENTS = {
    "max of equals": ("lambda x, y: op.max(x, y)", [[1.0, 2.0, 3.0]], [[1.0, 3.0, 2.0]]),
    "min of equals": ("lambda x, y: op.min(x, y)", [[1.0, 2.0, 3.0]], [[1.0, 3.0, 2.0]]),
    "max of nan": ("lambda x, y: op.max(x, y)", [NAN, 1.0], [1.0, NAN]),
    "clamp at its bounds": ("lambda x: op.clamp(0.0, x, 1.0)", [-0.5, 0.0, 0.5, 1.0, 1.5]),
    "clamp, bounds moving": ("lambda p, q: op.clamp(p, np.float32([0, 1, 2, 3]), q)", [1.0] * 4, [2.0] * 4),
    "abs at zero": ("lambda x: op.abs(x)", [-1.0, -0.0, 0.0, 1.0]),
    "sign": ("lambda x: op.sign(x)", [-1.0, 0.0, 1.0]),
    "sqrt at zero": ("lambda x: op.sqrt(x)", [0.0, 4.0, INF]),
    "rsqrt at zero": ("lambda x: op.rsqrt(x)", [0.0, 4.0, INF]),
    "cbrt at zero": ("lambda x: op.cbrt(x)", [0.0, 8.0, -8.0]),
    "log at zero": ("lambda x: op.log(x)", [0.0, 1.0, INF]),
    "log of negative": ("lambda x: op.log(x)", [-1.0]),
    "tanh far out": ("lambda x: op.tanh(x)", [-100.0, 100.0, INF]),
    "logistic far out": ("lambda x: op.logistic(x)", [-200.0, 200.0, -INF, INF]),
    "exp overflow": ("lambda x: op.exp(x)", [1000.0, -1000.0]),
    "division by zero": ("lambda x, y: op.div(x, y)", [1.0, 0.0], [0.0, 0.0]),
    "pow, base zero": ("lambda x, y: op.pow(x, y)", [0.0, 0.0, 0.0], [1.0, 2.0, 0.5]),
    "pow, base negative": ("lambda x: op.pow(x, np.float32([2, 3]))", [-2.0, -3.0]),
    "pow, exponent zero": ("lambda x: op.pow(x, np.float32([0, 0]))", [2.0, -3.0]),
    "integer_pow at zero": ("lambda x: op.integer_pow(x, 2) + op.integer_pow(x, 3)", [0.0, 1.0]),
    "integer_pow zero": ("lambda x: op.integer_pow(x, 0)", [0.0, 2.0]),
    "negative power at zero": ("lambda x: op.integer_pow(x, -1)", [0.0, 2.0]),
    "rem by negatives": ("lambda x, y: op.rem(x, y)", [5.3, -5.3, 5.3, -5.3], [2.0, 2.0, -2.0, -2.0]),
    "atan2 at the origin": ("lambda y, x: op.atan2(y, x)", [0.0, 1.0, -1.0], [0.0, 0.0, -1.0]),
    "asin at one": ("lambda x: op.asin(x)", [1.0, -1.0, 0.0]),
    "erf_inv at one": ("lambda x: op.erf_inv(x)", [0.0, 1.0]),
    "reduce_max of equals": ("lambda x: op.reduce_max(x, (1,))", [[1.0, 1.0, 0.0], [2.0, 2.0, 2.0]]),
    "reduce_min of equals": ("lambda x: op.reduce_min(x, (0, 1))", [[1.0, 0.0, 0.0], [2.0, 2.0, 0.0]]),
    "reduce_prod, one zero": ("lambda x: op.reduce_prod(x, (0,))", [2.0, 0.0, 3.0]),
    "reduce_prod, two zeros": ("lambda x: op.reduce_prod(x, (0,))", [0.0, 0.0, 3.0]),
    "cumprod, zeros": ("lambda x: op.cumprod(x, 0)", [2.0, 0.0, 3.0, 0.0, 5.0]),
    "cumprod from behind, zeros": ("lambda x: op.cumprod(x, 0, True)", [2.0, 0.0, 3.0, 0.0, 5.0]),
    "cummax of equals": ("lambda x: op.cummax(x, 0) * np.arange(7.0, dtype='float32')", [1.0, 1.0, 0.0, 1.0, 2.0, 2.0, 2.0]),
    "cummin of equals": ("lambda x: op.cummin(x, 0) * np.arange(6.0, dtype='float32')", [1.0, 1.0, 1.0, 0.0, 1.0, 0.0]),
    "cummax from behind": ("lambda x: op.cummax(x, 0, True) * np.arange(6.0, dtype='float32')", [1.0, 2.0, 2.0, 0.0, 1.0, 1.0]),
    "cummax of nan": ("lambda x: op.cummax(x, 0)", [1.0, NAN, 2.0, 0.0]),
    "cumlogsumexp": ("lambda x: op.cumlogsumexp(x, 0) * np.arange(5.0, dtype='float32')", [1.0, 1.0, -200.0, 200.0, 3.0]),
    "cumlogsumexp, infinite": ("lambda x: op.cumlogsumexp(x, 0)", [-INF, 1.0, INF, 2.0]),
    "cumlogsumexp of -infinity": ("lambda x: op.cumlogsumexp(x, 0, True)", [-INF, -INF, 1.0, -INF]),
    "top_k of equals": ("lambda x: op.top_k(x, 3)[0] * np.float32([1, 2, 3])", [1.0, 2.0, 2.0, 2.0, 0.0]),
    "erfc far out": ("lambda x: op.erfc(x)", [-9.0, 0.0, 9.0]),
    "lgamma": ("lambda x: op.lgamma(x)", [0.5, 3.0, -0.5]),
    "digamma": ("lambda x: op.digamma(x)", [0.5, 3.0]),
    "polygamma": ("lambda x: op.polygamma(np.float32([0, 1]), x)", [0.5, 3.0]),
    "reduce_precision": ("lambda x: op.reduce_precision(x, 5, 3) * x", [0.123, 3.0]),
    "select_n by number": ("lambda x, y, z: op.select_n(np.int32([2, 0, 1, 2]), x, y, z)", [1.0] * 4, [2.0] * 4, [3.0] * 4),
    "floor": ("lambda x: op.floor(x) * x", [0.5, 1.0, -0.5]),
    "to int and back": ("lambda x: op.convert_element_type(op.convert_element_type(x, 'int32'), 'float32') * x", [1.5]),
    "to half and back": ("lambda x: op.convert_element_type(op.convert_element_type(x, 'float16'), 'float32') * x", [1.5]),
    "stop_gradient": ("lambda x: op.stop_gradient(x) * x", [1.5, 2.5]),
    "square of a sum": ("lambda x: op.square(op.reduce_prod(x, (0,)) + op.reduce_max(x, (0,)))", [1.0, 2.0, 2.0]),
    "dynamic_slice outside": ("lambda x: op.dynamic_slice(x, (np.int32(9),), (2,))", [1.0, 2.0, 3.0, 4.0]),
    "dynamic_update_slice outside": (
        "lambda x, u: op.dynamic_update_slice(x, u, (np.int32(9),)) * np.float32([1, 2, 3, 4])",
        [1.0, 2.0, 3.0, 4.0],
        [5.0, 6.0],
    ),
}  # fmt: skip


def gradients(library: Any) -> dict[str, list[Any]]:
    """The gradients of the sums of the functions' results."""
    found = {}
    for name, (text, *operands) in GRADIENTS.items():
        function = eval(text, {"op": library.lax, "np": np})
        values = [np.asarray(x, np.float32) for x in operands]
        whole = library.grad(lambda *xs, f=function: library.numpy.sum(f(*xs)), tuple(range(len(values))))(*values)
        found[name] = [np.asarray(g) for g in whole]
    return found
