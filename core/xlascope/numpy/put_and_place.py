"""NumPy's ``put`` and ``place``, which return a new array."""

from __future__ import annotations

from typing import Any

from ..dtypes import dtype_kind
from ..trace.operand_coercion import pass_through
from ..trace.values import aval_of
from . import logic, reductions, ufuncs
from .creation import asarray
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype
from .ranges import arange
from .shaping import ravel, reshape, shape_of
from .taking import take
from .updates import IndexUpdate


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """Return ``a`` with values at flat indices; the values are repeated as often as needed.

    Indices out of bounds are dropped, clipped with ``mode="clip"``, or wrap around with ``"wrap"``. Arrays are
    immutable, so ``inplace`` has to be False, else this raises ValueError.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.put(jnp.zeros(4), jnp.array([0, 2]), jnp.array([5.0, 6.0]), inplace=False))
    [5. 0. 6. 0.]
    """
    if inplace:
        raise ValueError("put cannot change an array in place: x = put(x, ind, v, inplace=False), or x.at[ind].set(v)")
    if mode == "raise":
        raise NotImplementedError('put with mode="raise": values cannot be looked at while tracing; use "clip"')
    if mode not in (None, "clip", "wrap"):
        raise ValueError(f'put takes mode as "clip", "wrap" or None, got {mode!r}')
    if dtype_kind(aval_of(ind).dtype) not in "iu" and aval_of(ind).size:
        raise TypeError(f"put takes integer places, got {aval_of(ind).dtype.name}; convert with astype(int)")
    if not aval_of(ind).size or not aval_of(v).size or not aval_of(a).size:
        return pass_through(a)
    return _put_flat(a, ind, v, mode=mode)


@jit_wrapped("mode")
def _put_flat(a: Any, ind: Any, v: Any, mode: str | None) -> Any:
    flat, indices, values = ravel(a), ravel(ind), ravel(v)
    size, count = shape_of(flat)[0], shape_of(indices)[0]
    values = take(values, ufuncs.remainder(arange(count), shape_of(values)[0]))
    if mode == "clip":
        indices = reductions.clip(indices, 0, size - 1)
    elif mode == "wrap":
        indices = ufuncs.remainder(indices, size)
    return reshape(IndexUpdate(asarray(flat))[indices].set(values, mode="drop"), shape_of(a))


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """Return ``arr`` with values where the mask holds, in order, repeated as often as needed.

    Arrays are immutable, so ``inplace`` has to be False, else this raises ValueError.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.arange(5)
    >>> print(jnp.place(x, x > 1, jnp.array([7, 8]), inplace=False))
    [0 1 7 8 7]
    """
    if inplace:
        raise ValueError(
            "place cannot change an array in place: x = place(x, mask, vals, inplace=False), or where(mask, vals, x)"
        )
    if aval_of(arr).size != aval_of(mask).size:
        raise ValueError(f"place takes a mask of the array's size, got {aval_of(mask).size} and {aval_of(arr).size}")
    if not aval_of(vals).size:
        raise ValueError("place takes at least one value, got none")
    return _place(arr, mask, vals)


@jit_wrapped()
def _place(arr: Any, mask: Any, vals: Any) -> Any:
    is_set, values = logic.not_equal(ravel(mask), 0), as_dtype(ravel(vals), aval_of(arr).dtype)
    number = ufuncs.subtract(reductions.cumsum(is_set), 1)
    new = take(values, ufuncs.remainder(number, shape_of(values)[0]))
    return reshape(logic.where(is_set, new, ravel(arr)), shape_of(arr))
