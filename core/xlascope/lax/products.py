"""Products over axes: dot, dot_general and batch_matmul."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import NARROWED_DTYPES, promote_dtypes
from ..errors import see
from ..ir.user_frames import user_line, where_text
from ..operations import dot_product
from ..operations.contraction_errors import unequal_sizes_error
from ..operations.dot_algorithms import DotAlgorithm, DotAlgorithmPreset
from ..operations.out_shardings import with_out_sharding
from ..operations.precision import Precision
from ..runtime.boot import enable_x64
from ..trace.source import compose_message
from ..trace.values import aval_of

dot_general = with_out_sharding(dot_product.dot_general)
_AxisPair = tuple[Sequence[int], Sequence[int]]
#: ((contracted axes of both), (batch axes of both)), for annotations.
DotDimensionNumbers = tuple[_AxisPair, _AxisPair]
#: What ``precision`` may be, for annotations.
PrecisionLike = (
    None | str | Precision | tuple[str, str] | tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset
)


@with_out_sharding
def dot(
    lhs: Any, rhs: Any, *, dimension_numbers: Any = None, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """Multiply vectors and matrices: the last axis of ``lhs`` with the first of ``rhs``.

    With ``dimension_numbers``, those of :func:`dot_general`, the product over the axes that they name.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.dot(jnp.arange(3.0), jnp.arange(3.0)))
    5.0
    """
    if dimension_numbers is not None:
        return _dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
    x, y = aval_of(lhs).shape, aval_of(rhs).shape
    if not (1 <= len(x) <= 2 and 1 <= len(y) <= 2 and x[-1] == y[0]):
        if 1 <= len(x) <= 2 and 1 <= len(y) <= 2:
            raise unequal_sizes_error("dot", x, y)
        problem = f"dot takes two arrays of 1 or 2 axes, got shapes {x} and {y}."
        raise TypeError(compose_message(problem, "Use matmul or dot_general.") + see("shape-mismatch"))
    numbers = ((len(x) - 1,), (0,)), ((), ())
    return _dot_general(lhs, rhs, numbers, precision, preferred_element_type)


def _dot_general(lhs: Any, rhs: Any, numbers: Any, precision: Any, dtype: Any) -> Any:
    """Return the product in the requested dtype; for None in that of the operands, which stays where it has 64 bits."""
    common = _common_dtype(lhs, rhs)
    keeps_width = dtype is None and common in NARROWED_DTYPES and not enable_x64.value
    return dot_general(lhs, rhs, numbers, precision, None if keeps_width else dtype or common)


def _common_dtype(lhs: Any, rhs: Any) -> np.dtype[Any]:
    return promote_dtypes(tuple((aval.dtype, aval.weak_type) for aval in (aval_of(lhs), aval_of(rhs))))[0]


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Multiply two stacks of matrices with the same leading axes."""
    x, y = aval_of(lhs).shape, aval_of(rhs).shape
    rank = len(x)
    if rank != len(y) or rank < 2:
        raise ValueError(
            f"batch_matmul takes stacks of matrices, of one rank of at least 2, got shapes {x} and {y}"
            + where_text(user_line())
        )
    lead = tuple(range(rank - 2))
    return _dot_general(lhs, rhs, (((rank - 1,), (rank - 2,)), (lead, lead)), precision, None)
