"""Compiled operations at which XLA for CPUs is slow, and which xlascope writes out in others, on both sides.

``python -m bench written_out`` prints the table; ``core/xlascope/operations/README.md`` says how each is written.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import paired
from .sides import Side, side

_CHANNELS_LAST = ("NHWC", "HWIO", "NHWC")


def _convolution(of: Side, groups: int) -> Callable[[Any, Any], Any]:
    return lambda x, w: of.xs.lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=_CHANNELS_LAST, feature_group_count=groups
    )


def _pool(of: Side, size: int, stride: int) -> Callable[[Any], Any]:
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    return lambda x: of.xs.lax.reduce_window(x, -np.inf, of.xs.lax.max, window, strides, "VALID")


def _derivative(of: Side, function: Callable[..., Any], argument: int = 0) -> Callable[..., Any]:
    return of.xs.grad(lambda *xs: of.jnp.sum(of.jnp.sin(function(*xs))), argument)  # type: ignore[no-any-return]


_IMAGE = (16, 32, 32, 64)

#: What makes the function of each case, and the shapes of its operands.
_PROGRAMS: dict[str, tuple[Callable[[Side], Callable[..., Any]], tuple[tuple[int, ...], ...]]] = {
    "gradient of max pooling, 2 × 2": (lambda of: _derivative(of, _pool(of, 2, 2)), (_IMAGE,)),
    "gradient of max pooling, 3 × 3 by 2": (lambda of: _derivative(of, _pool(of, 3, 2)), (_IMAGE,)),
    "depthwise convolution": (lambda of: _convolution(of, 64), (_IMAGE, (3, 3, 1, 64))),
    "its derivative by the image": (lambda of: _derivative(of, _convolution(of, 64)), (_IMAGE, (3, 3, 1, 64))),
    "its derivative by the kernel": (lambda of: _derivative(of, _convolution(of, 64), 1), (_IMAGE, (3, 3, 1, 64))),
    "convolution in four groups": (lambda of: _convolution(of, 4), (_IMAGE, (3, 3, 16, 64))),
    "derivative by the kernel of groups": (
        lambda of: _derivative(of, _convolution(of, 4), 1),
        (_IMAGE, (3, 3, 16, 64)),
    ),
    "sort": (lambda of: of.jnp.sort, ((10**6,),)),
    "sort of rows": (lambda of: lambda x: of.jnp.sort(x, -1), ((1000, 1000),)),
    "argsort": (lambda of: of.jnp.argsort, ((10**6,),)),
    "median of rows": (lambda of: lambda x: of.jnp.median(x, -1), ((1000, 1000),)),
    "argmax": (lambda of: of.jnp.argmax, ((10**6,),)),
    "argmax of columns": (lambda of: lambda x: of.jnp.argmax(x, 0), ((1000, 1000),)),
    "permutation": (lambda of: lambda x: of.xs.random.permutation(of.xs.random.key(0), x), ((10**5,),)),
}
CASES = list(_PROGRAMS)


def _call(name: str, case: str) -> Callable[[], Any]:
    """A compiled call of a case on a side."""
    of = side(name)
    make, shapes = _PROGRAMS[case]
    random = np.random.default_rng(0)
    operands = [of.jnp.asarray(random.standard_normal(shape).astype(np.float32)) for shape in shapes]
    compiled, wait = of.xs.jit(make(of)), of.xs.block_until_ready
    return lambda: wait(compiled(*operands))


if __name__ == "__main__":
    paired.serve(functools.partial(_call, sys.argv[1]))
