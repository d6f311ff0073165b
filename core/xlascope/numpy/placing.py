"""``put`` and ``place``: as NumPy's, but the result is a new array."""

from __future__ import annotations

from typing import Any

from ..dtypes import kind_of
from ..trace.gate import unchanged
from ..trace.values import aval_of
from . import logic, reductions, ufuncs
from .creation import asarray
from .promotion import as_dtype
from .ranges import arange
from .shaping import ravel, reshape, shape_of
from .taking import take
from .together import together
from .updates import IndexUpdate


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """``a`` with values at places of its flattened elements; the values are repeated as often as needed.

    Places beyond the ends are left out, or with ``mode="clip"`` are the ends, with ``"wrap"`` counted on from the
    front. Arrays do not change: ``inplace=False`` has to say that the result is wanted, else this is a ValueError.

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
    if kind_of(aval_of(ind).dtype) not in "iu" and aval_of(ind).size:
        raise TypeError(f"put takes integer places, got {aval_of(ind).dtype.name}; convert with astype(int)")
    if not aval_of(ind).size or not aval_of(v).size or not aval_of(a).size:
        return unchanged(a)
    return _put(a, ind, v, mode=mode)


@together("mode")
def _put(a: Any, ind: Any, v: Any, mode: str | None) -> Any:
    flat, places, values = ravel(a), ravel(ind), ravel(v)
    size, count = shape_of(flat)[0], shape_of(places)[0]
    values = take(values, ufuncs.remainder(arange(count), shape_of(values)[0]))
    if mode == "clip":
        places = reductions.clip(places, 0, size - 1)
    elif mode == "wrap":
        places = ufuncs.remainder(places, size)
    return reshape(IndexUpdate(asarray(flat))[places].set(values, mode="drop"), shape_of(a))


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """``arr`` with values where the mask holds, one after the other, repeated as often as needed.

    Arrays do not change: ``inplace=False`` has to say that the result is wanted, else this is a ValueError.

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


@together()
def _place(arr: Any, mask: Any, vals: Any) -> Any:
    holds, values = logic.not_equal(ravel(mask), 0), as_dtype(ravel(vals), aval_of(arr).dtype)
    number = ufuncs.subtract(reductions.cumsum(holds), 1)
    new = take(values, ufuncs.remainder(number, shape_of(values)[0]))
    return reshape(logic.where(holds, new, ravel(arr)), shape_of(arr))
