"""Products of arrays: dot, matmul and related functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_bits, dtype_kind
from ..errors import see
from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations import shapes
from ..operations.contraction_errors import unequal_sizes_error
from ..operations.conversion import convert_element_type
from ..operations.dot_product import dot_general_in_dtype
from ..operations.out_shardings import with_out_sharding
from ..operations.shapes import reshape
from ..trace.source import compose_message, here
from ..trace.trace_cache import cache_trace
from ..trace.values import aval_of
from .axes import axes_of, number_or_traced, reject_out, whole_number
from .jit_wrapped import Conversion, jit_wrapped
from .joining import stack
from .matrices import keep_diagonal
from .promotion import as_dtype, promote_dtypes
from .reductions import sum
from .repeating import diagonal
from .shaping import broadcast_to, expand_dims, moveaxis, ravel, shape_of, squeeze
from .ufuncs import conjugate


def promote_operands(operands: Sequence[Any], dtype: Any = None) -> list[Any]:
    """Return the operands of a product in their common dtype.

    ``dtype`` is the requested dtype of the result, or None. Integers narrower than a byte do not promote with
    other dtypes; if ``dtype`` is given, they are converted to int8 or uint8.
    """
    if dtype is not None and len({aval_of(x).dtype for x in operands}) > 1:
        operands = [_widen_sub_byte(x) for x in operands]
    return promote_dtypes(list(operands))


def _widen_sub_byte(x: Any) -> Any:
    dtype = aval_of(x).dtype
    if dtype_kind(dtype) not in "iu" or dtype_bits(dtype) >= 8:
        return x
    return as_dtype(x, np.dtype("int8" if dtype_kind(dtype) == "i" else "uint8"))


def _promote_pair(x: Any, y: Any, dtype: Any = None) -> tuple[Any, Any]:
    first, second = promote_operands((x, y), dtype)
    return first, second


def _scale(x: Any, y: Any, dtype: Any) -> Any:
    """Return the elementwise product of operands of which one has no axes, in ``dtype`` (None: their own)."""
    return x * y if dtype is None else convert_element_type(x, dtype) * convert_element_type(y, dtype)


def _contract(x: Any, y: Any, contract: Any, batch: Any, precision: Any, dtype: Any) -> Any:
    operand_dtype = aval_of(x).dtype
    if dtype is None:
        return dot_general_in_dtype(x, y, (contract, batch), precision, operand_dtype)
    target = _result_dtype(operand_dtype, dtype)
    return dot_general_in_dtype(
        as_dtype(x, operand_dtype), as_dtype(y, operand_dtype), (contract, batch), precision, target
    )


def _result_dtype(base: np.dtype[Any], preferred: Any) -> np.dtype[Any]:
    """Return the requested dtype ``preferred`` of a product of operands of dtype ``base``.

    Raises TypeError if it has fewer bits than ``base``, unless both are floats.
    """
    target = resolve_requested_dtype(preferred)
    min_bits = dtype_bits(base) // (2 if dtype_kind(base) == "c" else 1)
    if dtype_bits(target) < min_bits and not dtype_kind(base) == dtype_kind(target) == "f":
        raise TypeError(
            f"preferred_element_type={target.name} is narrower than {base.name}, the type of the products; convert the "
            "result with astype"
        )
    return target


@with_out_sharding
@jit_wrapped("precision", "preferred_element_type")
def dot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the product over the last axis of ``a`` and the second to last of ``b`` (of a vector, the only one).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.dot(jnp.arange(3), jnp.arange(3)))
    5
    """
    x, y = _promote_pair(a, b, preferred_element_type)
    rank_x, rank_y = len(shape_of(x)), len(shape_of(y))
    if rank_x == 0 or rank_y == 0:
        return _scale(x, y, preferred_element_type)
    contract = (rank_x - 1,), (0 if rank_y == 1 else rank_y - 2,)
    if shape_of(x)[contract[0][0]] != shape_of(y)[contract[1][0]]:
        raise unequal_sizes_error("dot", shape_of(x), shape_of(y))
    return _contract(x, y, contract, ((), ()), precision, preferred_element_type)


@with_out_sharding
@jit_wrapped("precision", "preferred_element_type")
def matmul(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the matrix product; leading axes broadcast.

    A vector is a row on the left and a column on the right.

    >>> import xlascope.numpy as jnp
    >>> jnp.matmul(jnp.ones((5, 2, 3)), jnp.ones((3, 4))).shape
    (5, 2, 4)
    """
    x, y = _promote_pair(a, b, preferred_element_type)
    shape_x, shape_y = shape_of(x), shape_of(y)
    if not shape_x or not shape_y:
        raise ValueError(f"matmul takes operands with axes, got shapes {shape_x} and {shape_y}; use multiply")
    inner_y = 0 if len(shape_y) == 1 else len(shape_y) - 2
    if shape_x[-1] != shape_y[inner_y]:
        raise unequal_sizes_error("matmul", shape_x, shape_y)
    lead_x, lead_y = shape_x[:-2], shape_y[:-2]
    if not lead_y:  # the axes of x stay where they are
        contract = (len(shape_x) - 1,), (inner_y,)
        return _contract(x, y, contract, ((), ()), precision, preferred_element_type)
    lead = np.broadcast_shapes(lead_x, lead_y)
    return _batched_matmul(x, y, lead, precision, preferred_element_type)


def _batched_matmul(x: Any, y: Any, lead: tuple[int, ...], precision: Any, dtype: Any) -> Any:
    """Return the matrix product if ``y``, and possibly ``x``, has leading axes.

    ``lead`` is the broadcast shape of the leading axes, ``dtype`` the requested dtype of the result, or None.
    """
    shape_x, shape_y = shape_of(x), shape_of(y)
    if not shape_x[:-2]:  # the result has x's rows first: move them behind y's leading axes
        product = _contract(x, y, ((len(shape_x) - 1,), (len(shape_y) - 2,)), ((), ()), precision, dtype)
        return moveaxis(product, 0, -2) if len(shape_x) == 2 else product
    x, y = broadcast_to(x, (*lead, *shape_x[-2:])), broadcast_to(y, (*lead, *shape_y[-2:]))
    axes = tuple(range(len(lead)))
    return _contract(x, y, ((len(lead) + 1,), (len(lead),)), (axes, axes), precision, dtype)


@jit_wrapped("precision", "preferred_element_type")
def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the product of two arrays as flat vectors, the first conjugated."""
    return dot(conjugate(ravel(a)), ravel(b), precision=precision, preferred_element_type=preferred_element_type)


@jit_wrapped("axis", "precision", "preferred_element_type")
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the product of vectors along an axis, the first conjugated, the other axes broadcast."""
    x, y = _promote_pair(x1, x2, preferred_element_type)
    x, y = (moveaxis(v, whole_number(axis, "axis"), -1) for v in (x, y))
    if shape_of(x)[-1] != shape_of(y)[-1]:
        raise ValueError(
            f"vecdot takes vectors of one length, got shapes {shape_of(x1)} and {shape_of(x2)}, axis {axis}"
        )
    shape = np.broadcast_shapes(shape_of(x), shape_of(y))
    x, y = conjugate(broadcast_to(x, shape)), broadcast_to(y, shape)
    last, lead = len(shape) - 1, tuple(range(len(shape) - 1))
    return _contract(x, y, ((last,), (last,)), (lead, lead), precision, preferred_element_type)


@jit_wrapped("precision", "preferred_element_type")
def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the product over the last axes of both."""
    x, y = _promote_pair(a, b, preferred_element_type)
    if not shape_of(x) or not shape_of(y):
        return _scale(x, y, preferred_element_type)
    contract = (len(shape_of(x)) - 1,), (len(shape_of(y)) - 1,)
    return _contract(x, y, contract, ((), ()), precision, preferred_element_type)


@jit_wrapped()
def outer(a: Any, b: Any, out: None = None) -> Any:
    """Return the products of every element of ``a`` with every element of ``b``."""
    if out is not None:
        raise reject_out("outer")
    x, y = _promote_pair(a, b)
    return shapes.expand_dims(ravel(x), (1,)) * shapes.expand_dims(ravel(y), (0,))


@with_out_sharding
@cache_trace
def tensordot(a: Any, b: Any, axes: Any = 2, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the product over pairs of axes: the last and first ``axes`` axes, or those listed in two lists."""
    shape_a, shape_b = shape_of(a), shape_of(b)
    if not isinstance(axes, (tuple, list)) and not getattr(axes, "ndim", 0):
        axes = whole_number(axes, "axes")
        if not 0 <= axes <= min(len(shape_a), len(shape_b)):
            raise TypeError(
                f"tensordot: axes={axes} takes the last {axes} axes of the first operand and the first {axes} of the "
                f"second, got shapes {shape_a} and {shape_b}{here()}.{see('shape-mismatch')}"
            )
        contract = tuple(range(len(shape_a) - axes, len(shape_a))), tuple(range(axes))
    else:
        contract = axes_of(axes[0], len(shape_a)), axes_of(axes[1], len(shape_b))
    sizes = tuple([tuple([shape[i] for i in dims]) for shape, dims in zip((shape_a, shape_b), contract, strict=True)])
    if sizes[0] != sizes[1]:
        problem = (
            f"tensordot: axes={axes} takes axes {contract[0]} of shape {shape_a} with axes {contract[1]} of shape "
            f"{shape_b}, whose sizes {sizes[0]} and {sizes[1]} have to be equal."
        )
        fix = "axes=(axes of a, axes of b) says which go together, such as axes=((1,), (1,))."
        raise TypeError(compose_message(problem, fix) + see("shape-mismatch"))
    requested = None if preferred_element_type is None else resolve_requested_dtype(preferred_element_type)
    return _tensordot(a, b, contract=contract, precision=precision, preferred_element_type=requested)


@jit_wrapped("contract", "precision", "preferred_element_type")
def _tensordot(a: Any, b: Any, contract: Any, precision: Any, preferred_element_type: Any) -> Any:
    x, y = _promote_pair(a, b, preferred_element_type)
    return _contract(x, y, contract, ((), ()), precision, preferred_element_type)


@jit_wrapped("axis1", "axis2", "dtype", offset=Conversion(whole_number))
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None) -> Any:
    """Return the sum of the diagonal."""
    if out is not None:
        raise reject_out("trace")
    number = number_or_traced(offset, "offset")
    if number.__class__ is int:
        return sum(diagonal(a, number, axis1, axis2), -1, dtype)
    return sum(keep_diagonal(moveaxis(a, (axis1, axis2), (-2, -1)), number), (-2, -1), dtype)


@cache_trace
def matvec(x1: Any, x2: Any, /) -> Any:
    """Return the products of matrices with vectors, leading axes broadcast."""
    _require_axes("matvec", (x1, 2), (x2, 1))
    return squeeze(matmul(x1, expand_dims(x2, -1)), -1)


@cache_trace
def vecmat(x1: Any, x2: Any, /) -> Any:
    """Return the products of conjugated vectors with matrices, leading axes broadcast."""
    _require_axes("vecmat", (x1, 1), (x2, 2))
    return squeeze(matmul(expand_dims(conjugate(x1), -2), x2), -2)


def _require_axes(name: str, *operands: tuple[Any, int]) -> None:
    """Raise ValueError unless each operand has at least its required number of axes.

    ``operands`` are pairs of an array and that number; ``name`` is the calling function.
    """
    if any(len(shape_of(x)) < rank for x, rank in operands):
        ranks, shapes = (
            (" and ".join(map(str, values))) for values in zip(*((n, shape_of(x)) for x, n in operands), strict=True)
        )
        raise ValueError(f"{name} takes operands of at least {ranks} axes, got shapes {shapes}")


@jit_wrapped()
def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product: every element of ``a`` times the array ``b``, as blocks.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.kron(jnp.eye(2), jnp.ones((1, 2))))
    [[1. 1. 0. 0.]
     [0. 0. 1. 1.]]
    """
    x, y = _promote_pair(a, b)
    rank = max(len(shape_of(x)), len(shape_of(y)))
    x, y = (reshape(v, (1,) * (rank - len(shape_of(v))) + shape_of(v)) for v in (x, y))
    sizes = [m * n for m, n in zip(shape_of(x), shape_of(y), strict=True)]
    x = shapes.expand_dims(x, tuple(range(1, 2 * rank, 2)))
    y = shapes.expand_dims(y, tuple(range(0, 2 * rank, 2)))
    return reshape(x * y, sizes)


@jit_wrapped("axisa", "axisb", "axisc", "axis")
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Return the cross product of vectors of three elements; for two elements, its only nonzero component.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0])))
    [0 0 1]
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = _promote_pair(moveaxis(a, axisa, 0), moveaxis(b, axisb, 0))
    if shape_of(x)[0] not in (2, 3) or shape_of(y)[0] not in (2, 3):
        raise ValueError(f"cross takes vectors of two or three elements, got shapes {shape_of(a)} and {shape_of(b)}")
    if shape_of(x)[0] == shape_of(y)[0] == 2:
        return x[0] * y[1] - x[1] * y[0]
    (x0, x1, x2), (y0, y1, y2) = (_three_components(v) for v in (x, y))
    parts = [x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0]
    return moveaxis(stack(parts), 0, axisc)


def _three_components(x: Any) -> list[Any]:
    return [x[0], x[1], x[2] if shape_of(x)[0] == 3 else 0 * x[0]]
