"""Integer functions: common divisors and multiples, and bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..control.flow.loop_api import while_loop
from ..dtypes import dtype_bits, dtype_kind
from ..operations import bits
from ..operations.conversion import to_dtype
from ..operations.shapes import expand_dims, reshape
from ..trace.values import aval_of
from . import logic, reductions, ufuncs
from .axes import axis_of, whole_number
from .jit_wrapped import jit_wrapped
from .padding import pad
from .promotion import as_dtype, promote_pair, strengthen_unless_scalar
from .shaping import broadcast_arrays, moveaxis, ravel, shape_of

_BYTE = np.dtype("uint8")


def gcd(x1: Any, x2: Any) -> Any:
    """Return the greatest common divisor, elementwise; of 0 and x it is the absolute value of x.

    ``x1`` and ``x2`` are integers of shapes that broadcast together; the result is an array of that shape, in
    their promoted dtype. Raises ValueError for other dtypes.

    Computed by Euclid's algorithm, all elements at once until the last is done.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.gcd(jnp.array([12, 18, 0]), 8))
    [4 2 8]
    """
    return _gcd(*_require_integers("gcd", x1, x2))


@jit_wrapped()
def _gcd(x: Any, y: Any) -> Any:
    return _euclid_gcd(*broadcast_arrays(ufuncs.abs(x), ufuncs.abs(y)))


def _euclid_gcd(x: Any, y: Any) -> Any:
    """Return the greatest common divisors of two nonnegative integer operands of one shape and dtype.

    Euclid's algorithm runs until the last element is done; elements that are done stay unchanged.
    """

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        x, y = state
        is_active = logic.not_equal(y, 0)
        remainder = ufuncs.fmod(x, logic.where(is_active, y, 1))
        return logic.where(is_active, y, x), logic.where(is_active, remainder, 0)

    if not aval_of(x).size:  # XLA's CPU compiler crashes on this loop over an empty array
        return x
    aval = aval_of(x)
    x, y = (as_dtype(v, aval.dtype) for v in (x, y))
    divisor = while_loop(lambda state: reductions.any(logic.not_equal(state[1], 0)), step, (x, y))[0]
    return to_dtype(divisor, aval.dtype, aval.weak_type)


def lcm(x1: Any, x2: Any) -> Any:
    """Return the least common multiple, elementwise; 0 where one operand is 0.

    Operands, result and error are as for :func:`gcd`. Values that overflow the dtype wrap around.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.lcm(jnp.array([4, 6, 0]), 10))
    [20 30  0]
    """
    return _lcm(*_require_integers("lcm", x1, x2))


@jit_wrapped()
def _lcm(x: Any, y: Any) -> Any:
    x, y = broadcast_arrays(ufuncs.abs(x), ufuncs.abs(y))
    divisor = _euclid_gcd(x, y)
    product = ufuncs.multiply(x, ufuncs.floor_divide(y, logic.where(logic.equal(divisor, 0), 1, divisor)))
    return product


def _require_integers(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    x, y = promote_pair(x, y)
    if dtype_kind(aval_of(x).dtype) not in "iu":
        raise ValueError(f"{name} takes integers, got operands of {aval_of(x).dtype.name}; convert with astype(int)")
    return strengthen_unless_scalar(x), strengthen_unless_scalar(y)


@jit_wrapped()
def bitwise_count(x: Any, /) -> Any:
    """Return the number of bits set in the absolute values of integers, as uint8.

    Raises TypeError for other dtypes.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.bitwise_count(jnp.array([0, 5, -7])))
    [0 2 3]
    """
    if dtype_kind(aval_of(x).dtype) == "b":
        return as_dtype(x, _BYTE)
    if dtype_kind(aval_of(x).dtype) not in "iu":
        raise TypeError(f"bitwise_count takes integers, got {aval_of(x).dtype.name}; see view")
    return as_dtype(bits.population_count(ufuncs.abs(x)), _BYTE)


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Return booleans packed as the bits of uint8, eight to a byte along an axis (None: flattened).

    ``a`` holds booleans or integers (a bit is set where they are not 0); an axis whose size is not a multiple of
    8 is zero-padded. ``bitorder`` is "big" for a byte whose first bit is its highest, or "little". Raises
    TypeError for other dtypes, ValueError for another order.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.packbits(jnp.array([1, 0, 1, 0, 0, 0, 0, 0, 1])))
    [160 128]
    """
    if dtype_kind(aval_of(a).dtype) not in "biu":
        raise TypeError(f"packbits takes integers or truth values, got {aval_of(a).dtype.name}")
    _require_bitorder("packbits", bitorder)
    return _packbits(a, axis=axis, bitorder=bitorder)


@jit_wrapped("axis", "bitorder")
def _packbits(a: Any, axis: int | None, bitorder: str) -> Any:
    a, axis = (ravel(a), 0) if axis is None else (a, axis_of(axis, len(shape_of(a))))
    x = moveaxis(as_dtype(logic.to_bool(a), _BYTE), axis, -1)
    *lead, size = shape_of(x)
    x = reshape(pad(x, [(0, 0)] * len(lead) + [(0, -size % 8)]), (*lead, -(-size // 8), 8))
    return moveaxis(reductions.sum(ufuncs.multiply(x, _bit_values(bitorder, len(lead) + 2)), -1, _BYTE), -1, axis)


def unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Any:
    """Return the bits of uint8 as 0 and 1 (uint8), eight for each element along an axis (None: flattened).

    ``count`` is the number of bits in the result, truncated or zero-padded; a negative count removes bits at the
    end. ``bitorder`` is as for :func:`packbits`. Raises TypeError for other dtypes than uint8.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.unpackbits(jnp.array([160], jnp.uint8)))
    [1 0 1 0 0 0 0 0]
    """
    if aval_of(a).dtype != _BYTE:
        raise TypeError(f"unpackbits takes uint8, got {aval_of(a).dtype.name}; convert with astype or view")
    _require_bitorder("unpackbits", bitorder)
    bit_count = None if count is None else whole_number(count, "count")
    return _unpackbits(a, axis=axis, count=bit_count, bitorder=bitorder)


@jit_wrapped("axis", "count", "bitorder")
def _unpackbits(a: Any, axis: int | None, count: int | None, bitorder: str) -> Any:
    a, axis = (ravel(a), 0) if axis is None else (a, axis_of(axis, len(shape_of(a))))
    x = moveaxis(a, axis, -1)
    *lead, size = shape_of(x)
    masked_bits = logic.bitwise_and(expand_dims(x, (len(lead) + 1,)), _bit_values(bitorder, len(lead) + 2))
    x = reshape(as_dtype(logic.to_bool(masked_bits), _BYTE), (*lead, 8 * size))
    if count is not None:
        missing = count - 8 * size if count >= 0 else count
        x = pad(x, [(0, 0)] * len(lead) + [(0, missing)]) if missing > 0 else x[..., : 8 * size + missing]
    return moveaxis(x, -1, axis)


def _bit_values(bitorder: str, rank: int) -> np.ndarray[Any, Any]:
    """Return the values of the bits of a byte in the order ``bitorder``, uint8 along the last of ``rank`` axes."""
    values = 1 << np.arange(dtype_bits(_BYTE))
    ordered = (values[::-1] if bitorder == "big" else values).astype(_BYTE)
    return ordered.reshape((1,) * (rank - 1) + ordered.shape)


def _require_bitorder(name: str, bitorder: Any) -> None:
    if bitorder not in ("big", "little"):
        raise ValueError(f'{name} takes bitorder as "big" or "little", got {bitorder!r}')
