"""Arrays from values, and arrays made from nothing but a shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import canonical
from ..ir.avals import shaped
from ..operations import exponentials
from ..operations.arithmetic import add, div, mul, sub
from ..operations.comparisons import eq, ge
from ..operations.conversion import convert_element_type
from ..operations.exponentials import exp, log
from ..operations.rounding import floor
from ..operations.selection import select
from ..operations.shapes import broadcast_in_dim, broadcasted_iota, expand_dims, reshape
from ..operations.slicing import pad
from ..operations.values import typed_scalar
from ..trace.tracer import Tracer
from ..trace.values import aval_of, is_value, not_an_array
from ..xla.backend import ArrayImpl
from ..xla.dispatch import put
from . import joining, repeating, shaping
from .promotion import as_dtype, common_dtype, inexact, to_common_dtype, to_inexact
from .together import together


def array(
    object: Any,
    dtype: Any = None,
    copy: bool | None = True,
    order: str | None = None,
    ndmin: int = 0,
    *,
    device: Any = None,
) -> Any:
    """An array with the values of a number, an array, or nested lists of them; a copy unless ``copy`` is False.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.array([[1, 2], [3, 4.5]]))
    [[1.  2. ]
     [3.  4.5]]
    """
    wanted = None if dtype is None else canonical(dtype)
    made = _converted(object, wanted, copy=bool(copy))
    if device is not None and not isinstance(made, Tracer):
        made = put(made, made.aval, device)
    missing = ndmin - len(made.shape)
    return expand_dims(made, tuple(range(missing))) if missing > 0 else made


def asarray(
    a: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None, device: Any = None
) -> Any:
    """Like :func:`array`, but an array of the right dtype is given back as it is."""
    return array(a, dtype, copy=bool(copy), order=order, device=device)


def _converted(x: Any, dtype: np.dtype[Any] | None, *, copy: bool) -> Any:
    if isinstance(x, Tracer):
        return x if dtype is None else convert_element_type(x, dtype)
    if isinstance(x, ArrayImpl):
        if dtype is not None and (x.dtype != dtype or x.weak_type):
            return convert_element_type(x, dtype)
        return _copied(x) if copy else x
    if isinstance(x, (list, tuple)):
        return _from_list(x, dtype)
    if hasattr(x, "__jax_array__"):
        return _converted(x.__jax_array__(), dtype, copy=copy)
    if not is_value(x):
        if not hasattr(x, "__array__"):
            raise not_an_array(x)
        x = np.asarray(x)
    aval = aval_of(x)
    wanted = aval if dtype is None else shaped(aval.shape, dtype)
    if isinstance(x, int) and not isinstance(x, bool) and wanted.dtype.kind in "iu":
        x = np.array(x, wanted.dtype)  # OverflowError where it does not fit
    return put(x, wanted, copy=copy or not isinstance(x, np.ndarray))


def _copied(x: Any) -> Any:
    return put(np.asarray(x), x.aval, x._sharding._device if x._committed else None)


def _from_list(x: Sequence[Any], dtype: np.dtype[Any] | None) -> Any:
    leaves = list(_leaves(x))
    if not any(isinstance(leaf, Tracer) for leaf in leaves):
        return _from_values(x, leaves, dtype)
    rows = [_converted(part, None, copy=False) for part in x]
    return _as(joining.stack(rows), dtype)


def _from_values(x: Sequence[Any], leaves: list[Any], dtype: np.dtype[Any] | None) -> Any:
    """Nested lists of concrete values: NumPy makes the array, the lattice its dtype."""
    if dtype is None:
        dtype = common_dtype([aval_of(leaf) for leaf in leaves])[0] if leaves else canonical(float)
    value = np.array(x if not any(isinstance(leaf, ArrayImpl) for leaf in leaves) else _to_numpy(x))
    if value.dtype.kind == "O":
        raise ValueError("the nested lists given to xlascope.numpy.array differ in length")
    return put(value, shaped(value.shape, dtype))


def _leaves(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        for part in x:
            yield from _leaves(part)
    else:
        yield x


def _to_numpy(x: Any) -> Any:
    return [_to_numpy(part) for part in x] if isinstance(x, (list, tuple)) else np.asarray(x)


def _as(x: Any, dtype: np.dtype[Any] | None) -> Any:
    return x if dtype is None else convert_element_type(x, dtype)


def copy(a: Any, order: str | None = None) -> Any:
    """A copy of an array."""
    return array(a, copy=True)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """The elements in another dtype (None: the default float).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.astype(jnp.array([1.7, -1.7]), int))
    [ 1 -1]
    """
    return convert_element_type(x, float if dtype is None else dtype)


# From a shape -------------------------------------------------------------------------------------------------------


def _shape(shape: Any) -> tuple[int, ...]:
    """A shape from an integer or a sequence of them; raises TypeError for a traced one."""
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    if isinstance(shape, Tracer) and not shape.shape:
        return (shape.__index__(),)
    try:
        sizes = tuple(size.__index__() for size in (shape if isinstance(shape, Sequence) else np.atleast_1d(shape)))
    except AttributeError:
        raise TypeError(f"a shape is made of integers, got {shape!r}") from None
    if any(size < 0 for size in sizes):
        raise ValueError(f"a shape has no negative sizes, got {sizes}")
    return sizes


def _filled(shape: Any, value: float, dtype: Any) -> Any:
    scalar = typed_scalar(value, canonical(float if dtype is None else dtype))
    return broadcast_in_dim(scalar, _shape(shape), ())


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of zeros.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.zeros((2, 2), int))
    [[0 0]
     [0 0]]
    """
    return _filled(shape, 0, dtype)


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array of ones."""
    return _filled(shape, 1, dtype)


empty = zeros


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """An array with one value everywhere, or with ``fill_value`` broadcast to ``shape``."""
    sizes = _shape(shape)
    value = fill_value if dtype is None else as_dtype(fill_value, canonical(dtype))
    if isinstance(fill_value, (list, tuple)):
        raise not_an_array(fill_value)
    return shaping.broadcast_to(value, sizes) if aval_of(value).shape else broadcast_in_dim(value, sizes, ())


def _like(x: Any, dtype: Any, shape: Any) -> tuple[Any, Any]:
    aval = aval_of(x)
    return aval.shape if shape is None else shape, aval.dtype if dtype is None else dtype


def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Zeros with the shape and dtype of ``a``."""
    sizes, dtype = _like(a, dtype, shape)
    return zeros(sizes, dtype)


def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Ones with the shape and dtype of ``a``."""
    sizes, dtype = _like(a, dtype, shape)
    return ones(sizes, dtype)


empty_like = zeros_like


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """One value everywhere, with the shape and dtype of ``a``."""
    sizes, dtype = _like(a, dtype, shape)
    return full(sizes, fill_value, dtype)


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None) -> Any:
    """start, start + step, … below stop; with one argument, 0, 1, … below it.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.arange(3), jnp.arange(0, 1, 0.25))
    [0 1 2] [0.   0.25 0.5  0.75]
    """
    for name, x in (("start", start), ("stop", stop), ("step", step)):
        if isinstance(x, Tracer) and x.concrete() is None:
            raise _size_error(name, x)
    if stop is None:
        start, stop = 0, start
    given: list[Any] = [
        np.asarray(x)[()] if hasattr(x, "aval") else x for x in (start, stop, 1 if step is None else step)
    ]
    wanted = common_dtype([aval_of(x) for x in given])[0] if dtype is None else canonical(dtype)
    if given[0] == 0 and given[2] == 1 and wanted.kind in "iuf":
        size = max(0, math.ceil(given[1]))
        return broadcasted_iota(wanted, (size,), 0)
    values = np.arange(given[0], given[1], given[2])
    return put(values, shaped(values.shape, wanted))


def _size_error(name: str, x: Tracer) -> Exception:
    try:
        x.__index__()
    except TypeError as error:
        return type(error)(f"arange: {name} determines the size of the result. {error}")
    raise AssertionError


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """``num`` evenly spaced values from start to stop.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linspace(0, 1, 5))
    [0.   0.25 0.5  0.75 1.  ]
    """
    values, step = _linspace(start, stop, num=int(num), endpoint=endpoint, dtype=dtype, axis=axis)
    return (values, step) if retstep else values


@together("num", "endpoint", "dtype", "axis")
def _linspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> tuple[Any, Any]:
    start, stop = to_common_dtype((start, stop))
    computed = to_inexact(aval_of(start).dtype)
    start, stop = as_dtype(start, computed), as_dtype(stop, computed)
    parts = num - 1 if endpoint else num
    shape = np.broadcast_shapes(aval_of(start).shape, aval_of(stop).shape)
    start, stop = shaping.broadcast_to(start, shape), shaping.broadcast_to(stop, shape)
    step = div(sub(stop, start), float(parts)) if parts > 0 else mul(start, math.nan)
    # (1 - t) start + t stop is exact at both ends
    where = div(broadcasted_iota(computed, (num, *[1] * len(shape)), 0), float(max(parts, 1)))
    first, last = expand_dims(start, (0,)), expand_dims(stop, (0,))
    values = add(mul(first, sub(1.0, where)), mul(last, where))
    if dtype is not None and canonical(dtype).kind in "iu":
        values = floor(values)
    values = convert_element_type(values, computed if dtype is None else dtype)
    return shaping.moveaxis(values, 0, axis), step


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None) -> Any:
    """``num`` values from base**start to base**stop whose logarithms are evenly spaced."""
    exponents = linspace(start, stop, num, endpoint)
    values = exponentials.pow(as_dtype(base, exponents.dtype), exponents)
    return values if dtype is None else astype(values, dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None) -> Any:
    """``num`` values from start to stop, each the same multiple of the one before; both positive."""
    values = exp(
        _linspace(
            log(inexact(start)),
            log(inexact(stop)),
            num=num,
            endpoint=endpoint,
            dtype=None,
            axis=0,
        )[0]
    )
    return values if dtype is None else astype(values, dtype)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """Ones on diagonal ``k``, zeros elsewhere.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.eye(2))
    [[1. 0.]
     [0. 1.]]
    """
    return _eye(
        rows=int(N), columns=int(N if M is None else M), k=k, dtype=canonical(float if dtype is None else dtype)
    )


@together("rows", "columns", "k", "dtype")
def _eye(rows: int, columns: int, k: int, dtype: Any) -> Any:
    return convert_element_type(eq(*_row_and_column(rows, columns, k)), dtype)


def _row_and_column(rows: int, columns: int, k: int) -> tuple[Any, Any]:
    """The row number moved by ``k`` and the column number of each element of a matrix."""
    row = broadcasted_iota(np.int32, (rows, columns), 0)
    return (add(row, k) if k else row), broadcasted_iota(np.int32, (rows, columns), 1)


def identity(n: int, dtype: Any = None) -> Any:
    """The identity matrix."""
    return eye(n, dtype=dtype)


@together("N", "M", "k", "dtype")
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones on and below diagonal ``k``, zeros above."""
    return convert_element_type(ge(*_row_and_column(N, N if M is None else M, k)), float if dtype is None else dtype)


@together("k")
def tril(m: Any, k: int = 0) -> Any:
    """The elements on and below diagonal ``k``, zeros above."""
    return _triangle(m, k, True)


@together("k")
def triu(m: Any, k: int = 0) -> Any:
    """The elements on and above diagonal ``k``, zeros below."""
    return _triangle(m, k - 1, False)


def _triangle(m: Any, k: int, lower: bool) -> Any:
    aval = aval_of(m)
    if aval.ndim < 2:
        raise ValueError(f"tril and triu take arrays of at least two axes, got shape {aval.shape}")
    below = ge(*_row_and_column(aval.shape[-2], aval.shape[-1], k))
    below = shaping.broadcast_to(below, aval.shape)
    zero = np.zeros((), aval.dtype)[()]
    return select(below, m, zero) if lower else select(below, zero, m)


@together("k")
def diag(v: Any, k: int = 0) -> Any:
    """The diagonal of a matrix, or the matrix with a vector on its diagonal.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.diag(jnp.array([1, 2])))
    [[1 0]
     [0 2]]
    """
    aval = aval_of(v)
    if aval.ndim == 2:
        return repeating.diagonal(v, k)
    if aval.ndim != 1:
        raise ValueError(f"diag takes one or two axes, got shape {aval.shape}")
    size = aval.shape[0] + abs(k)
    row = pad(v, np.zeros((), aval.dtype)[()], [(max(k, 0), max(-k, 0), 0)])
    onto = eq(*_row_and_column(size, size, k))
    return select(onto, shaping.broadcast_to(row, (size, size)), np.zeros((), aval.dtype)[()])


def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix with all elements on a diagonal."""
    return diag(shaping.ravel(v), k)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """The matrix with a value on its diagonal; as arrays cannot be changed, it takes ``inplace=False``."""
    if inplace:
        raise NotImplementedError("arrays cannot be changed in place; pass inplace=False and use the result")
    if wrap or len(aval_of(a).shape) != 2:
        raise NotImplementedError("fill_diagonal of anything but one matrix")
    return _with_diagonal(a, val)


@together()
def _with_diagonal(m: Any, value: Any) -> Any:
    aval = aval_of(m)
    onto = eq(*_row_and_column(aval.shape[0], aval.shape[1], 0))
    value = as_dtype(value, aval.dtype)
    columns = value if not aval_of(value).shape else shaping.broadcast_to(expand_dims(value, (1,)), aval.shape)
    return select(onto, columns, m)


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """Coordinate arrays from coordinate vectors.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.meshgrid(jnp.arange(3), jnp.arange(2))[0])
    [[0 1 2]
     [0 1 2]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid: indexing is "xy" or "ij", got {indexing!r}')
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[:2] = [1, 0]
    sizes = [math.prod(aval_of(x).shape) for x in xi]
    shape = [0] * len(xi)
    for size, place in zip(sizes, places, strict=True):
        shape[place] = size
    grids = []
    for x, size, place in zip(xi, sizes, places, strict=True):
        own = [size if i == place else 1 for i in range(len(xi))]
        grid = reshape(x, own)
        grids.append(grid if sparse else shaping.broadcast_to(grid, tuple(shape)))
    return grids


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """``function`` of the indices of all elements at once."""
    sizes = _shape(shape)
    return function(*(broadcasted_iota(canonical(dtype), sizes, i) for i in range(len(sizes))), **kwargs)
