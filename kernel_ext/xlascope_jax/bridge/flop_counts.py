"""Estimated floating-point operations of a jax equation, counted as xlascope's engine does: 0 for moving data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

#: Operations without floating-point arithmetic.
_ZERO_FLOP_OPERATIONS = frozenset({
    "after_all", "all_gather", "all_to_all", "and", "argmax", "argmin", "axis_index", "bitcast_convert_type",
    "broadcast_in_dim", "concatenate", "convert_element_type", "copy", "create_token", "device_put",
    "dynamic_slice", "dynamic_update_slice", "eq", "gather", "ge", "gt", "iota", "is_finite", "le", "lt", "ne",
    "not", "optimization_barrier", "or", "pad", "pbroadcast", "ppermute", "pvary", "random_bits", "random_fold_in",
    "random_seed", "random_split", "random_unwrap", "random_wrap", "reshape", "reshard", "rev", "scatter",
    "select_and_scatter", "select_n", "sharding_constraint", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "sign", "slice", "sort", "split", "squeeze", "stack", "stage", "threefry2x32", "tile",
    "top_k", "transpose", "unstack", "xor",
})  # fmt: skip
#: Floating-point operations per element of the result, where not 1.
_FLOPS_PER_ELEMENT = {"integer_pow": 2, "clamp": 2, "one_minus_square": 2}


def flops_of(equation: Any, inside: Sequence[int]) -> int:
    """Return the floating-point operations of one run of an equation; ``inside`` are those of one run of its bodies."""
    name = equation.primitive.name
    if inside:
        return _body_flops(equation, inside)
    if name in _ZERO_FLOP_OPERATIONS or not equation.outvars:
        return 0
    rule = _RULES.get(name)
    if rule is not None:
        return rule(equation)
    if name.startswith(("reduce", "cum", "scatter", "psum", "pmax", "pmin")):
        return _size(equation.invars[-1 if name.startswith("scatter") else 0])
    return _FLOPS_PER_ELEMENT.get(name, 1) * _size(equation.outvars[0])


def _body_flops(equation: Any, inside: Sequence[int]) -> int:
    match equation.primitive.name:
        case "scan":
            return int(equation.params["length"]) * sum(inside)
        case "cond":
            return max(inside)
    return sum(inside)


def _size(variable: Any) -> int:
    return math.prod(getattr(variable.aval, "shape", ()))


def _axis_size(variable: Any, axis: int) -> int:
    return int(variable.aval.shape[axis])


def _dot_flops(equation: Any) -> int:
    (contracted, _), _ = equation.params["dimension_numbers"]
    lhs_shape = equation.invars[0].aval.shape
    return 2 * _size(equation.outvars[0]) * math.prod(lhs_shape[axis] for axis in contracted)


def _convolution_flops(equation: Any) -> int:
    kernel = equation.invars[1].aval.shape
    out = equation.params["dimension_numbers"].rhs_spec[0]
    return 2 * _size(equation.outvars[0]) * (math.prod(kernel) // max(kernel[out], 1))


def _window_flops(equation: Any) -> int:
    return _size(equation.outvars[0]) * int(np.prod(equation.params["window_dimensions"]))


_RULES: dict[str, Callable[[Any], int]] = {
    "cholesky": lambda e: _size(e.invars[0]) * _axis_size(e.invars[0], -1) // 3,
    "conv_general_dilated": _convolution_flops,
    "dot_general": _dot_flops,
    "eigh": lambda e: 9 * _size(e.invars[0]) * _axis_size(e.invars[0], -1),
    "lu": lambda e: 2 * _size(e.invars[0]) * min(e.invars[0].aval.shape[-2:]) // 3,
    "polynomial": lambda e: 2 * (len(e.invars) - 2) * _size(e.outvars[0]),
    "qr": lambda e: 4 * _size(e.invars[0]) * min(e.invars[0].aval.shape[-2:]),
    "reduce_window_max": _window_flops,
    "reduce_window_min": _window_flops,
    "reduce_window_sum": _window_flops,
    "svd": lambda e: 14 * _size(e.invars[0]) * min(e.invars[0].aval.shape[-2:]),
    "triangular_solve": lambda e: _size(e.outvars[0]) * _axis_size(e.invars[0], -1),
}
