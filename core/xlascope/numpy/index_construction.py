"""Construction of indices: ``s_``, ``ix_``, index grids and triangles, and positions that depend on values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import dtype_kind, to_canonical_dtype
from ..errors import ConcretizationTypeError
from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations.conversion import convert_element_type
from ..operations.shapes import broadcasted_iota, reshape
from ..trace.provenance import traced_function_name
from ..trace.scopes import ensure_compile_time_eval
from ..trace.source import compose_message
from ..trace.tracer import TracerBase
from ..trace.values import aval_of
from . import creation, joining, logic, ranges, reductions, shaping, ufuncs
from .axes import is_several, sizes_of, whole_number
from .jit_wrapped import jit_wrapped


class _GridBuilder:
    """Builder of coordinate grids from index expressions, as NumPy's ``mgrid``: ``mgrid[0:3, 0:1:5j]``.

    It calls NumPy's builder, ``np.mgrid`` or ``np.ogrid``, and converts the results to arrays.
    """

    __slots__ = ("_grid",)

    def __init__(self, grid: Any) -> None:
        self._grid = grid

    def __getitem__(self, key: Any) -> Any:
        grid = self._grid[key]
        return [creation.array(x) for x in grid] if isinstance(grid, (list, tuple)) else creation.array(grid)


class _JoinLayout(NamedTuple):
    """How ``r_`` and ``c_`` join their items, which is NumPy's directive ``"axis,rank,position"``.

    Items of a lower rank get axes of size 1: ``position`` of them before the item's own, the others behind; -1 puts
    all before it.
    """

    axis: int
    rank: int
    position: int


class _ConcatenationBuilder:
    """Builder that concatenates the values and slices of an index expression: ``r_[1, 2, 3:5]``, ``c_[x, y]``.

    The first item may be a directive as in NumPy: integers that replace those of the layout, or ``"r"`` or ``"c"`` for
    a matrix of one row or column.
    """

    __slots__ = ("_layout",)

    def __init__(self, layout: _JoinLayout) -> None:
        self._layout = layout

    def __getitem__(self, key: Any) -> Any:
        parts = list(key) if isinstance(key, tuple) else [key]
        directive = parts.pop(0) if parts and isinstance(parts[0], str) else ""
        layout = self._layout if directive in ("", "r", "c") else _parse_layout(directive, self._layout)
        joined = joining.concatenate([_to_part(part, layout) for part in parts], layout.axis)
        if directive in ("r", "c") and len(shaping.shape_of(joined)) == 1:
            return shaping.reshape(joined, (1, -1) if directive == "r" else (-1, 1))
        return joined


def _parse_layout(directive: str, layout: _JoinLayout) -> _JoinLayout:
    """Return ``layout`` with the integers of a directive: ``"0,2"`` replaces the axis and the rank."""
    try:
        return _JoinLayout(*map(int, directive.split(",")), *layout[directive.count(",") + 1 :])
    except (TypeError, ValueError):
        raise ValueError(
            f"a directive of r_ or c_ is 'r', 'c' or one to three integers, as '0,2'; got {directive!r}"
        ) from None


def _to_part(part: Any, layout: _JoinLayout) -> Any:
    """Return an item of ``r_`` or ``c_`` as an array of at least the layout's rank."""
    if isinstance(part, str):
        raise ValueError(f"the directive {part!r} of r_ or c_ has to be its first item")
    x = _to_range(part) if isinstance(part, slice) else creation.asarray(part)
    shape = shaping.shape_of(x)
    missing = layout.rank - len(shape)
    if missing <= 0:
        return x
    before = missing if layout.position == -1 or not shape else layout.position % (missing + 1)
    return shaping.reshape(x, (1,) * before + shape + (1,) * (missing - before))


def _to_range(part: slice) -> Any:
    """Return the numbers of a slice; an imaginary step is their number, as in NumPy."""
    if isinstance(part.step, complex):
        return ranges.linspace(part.start or 0, part.stop, int(abs(part.step)))
    return ranges.arange(part.start or 0, part.stop, part.step)


mgrid, ogrid = _GridBuilder(np.mgrid), _GridBuilder(np.ogrid)
r_, c_ = _ConcatenationBuilder(_JoinLayout(0, 1, -1)), _ConcatenationBuilder(_JoinLayout(-1, 2, 0))
s_ = np.s_
index_exp = np.index_exp


def where(condition: Any, x: Any = None, y: Any = None, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return ``x`` where the condition holds, else ``y``; for a condition alone the indices where it holds.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.where(jnp.arange(3) > 1, 10.0, jnp.arange(3)))
    [ 0.  1. 10.]
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("where takes the condition alone, or the condition and both x and y")
    if size is not None or fill_value is not None:
        raise ValueError("where takes size and fill_value with the condition alone, as the places are not counted else")
    return logic.where(condition, x, y)


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """Return the indices of the nonzero elements, one array per axis.

    ``size`` is the number of indices, required while tracing: excess indices are dropped, missing ones are
    ``fill_value`` (0, or one value for each axis).

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.jit(lambda x: jnp.nonzero(x, size=3)[0])(jnp.array([0, 5, 0, 7])))
    [1 3 0]
    """
    shape = shaping.shape_of(a)
    if not shape:
        raise ValueError("nonzero takes an array with axes, got one without; use atleast_1d")
    fills = _fill_value_per_axis(fill_value, len(shape))
    if size is None:
        positions = np.nonzero(_nonzero_mask(a, "nonzero"))
        axis_indices = [creation.array(p.astype(to_canonical_dtype(int))) for p in positions]
        return tuple(
            p if fill is None else _promote_with_fill(fill, p) for p, fill in zip(axis_indices, fills, strict=True)
        )
    return _nonzero(a, fills, size=to_result_size(size))


def _fill_value_per_axis(fill_value: Any, rank: int) -> tuple[Any, ...]:
    """Return for each axis the index that fills up the result of ``nonzero`` where there are too few elements.

    ``fill_value`` is the user's argument: a number or None for all ``rank`` axes, or a tuple or list of ``rank`` of
    these. None stands for the default. Raises ValueError for anything else.
    """
    fills = tuple(fill_value) if isinstance(fill_value, (tuple, list)) else (fill_value,) * rank
    if len(fills) != rank or any(fill is not None and shaping.shape_of(fill) for fill in fills):
        raise ValueError(f"fill_value is one number, or a tuple of {rank}, one for each axis; got {fill_value!r}")
    return fills


def to_result_size(size: Any) -> int:
    """Return ``size``, the number of elements of a result, as an integer.

    Raises TypeError for a non-integer or a negative number.
    """
    number = whole_number(size, "size")
    if number < 0:
        raise TypeError(f"size is how many elements the result has, at least 0; got {number}")
    return number


@jit_wrapped()
def _promote_with_fill(fill: Any, indices: Any) -> Any:
    """Return ``indices`` unchanged, but in the dtype to which they and ``fill`` promote."""
    return logic.where(True, indices, fill)


@jit_wrapped("size")
def _nonzero(a: Any, fills: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    """Return the indices of the first ``size`` nonzero elements, one array for each axis.

    ``fills`` has for each axis the index that stands for missing elements (None: 0). An element's position in the
    result is the number of nonzero elements before it.
    """
    mask = logic.to_bool(shaping.ravel(a))
    count = reductions.cumsum(mask)
    (total,) = shaping.shape_of(count)
    targets = logic.where(mask, ufuncs.minimum(count - 1, size), size)  # others go to an extra position, cut off
    flat = creation.zeros(size + 1, int).at[targets].set(ranges.arange(total))[:size]
    is_valid = logic.less(ranges.arange(size), count[-1] if total else 0)
    coords = unravel_index(flat, shaping.shape_of(a))
    return tuple(logic.where(is_valid, p, 0 if fill is None else fill) for p, fill in zip(coords, fills, strict=True))


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the indices of the nonzero elements in the flattened array."""
    return nonzero(shaping.ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the indices of the nonzero elements, a row for each element."""
    if not shaping.shape_of(a):  # one empty row if the scalar is nonzero
        count = int(_nonzero_mask(a, "argwhere")) if size is None else to_result_size(size)
        rows = creation.zeros((count, 0), int)
        return rows if fill_value is None else logic.where(True, rows, fill_value)
    return joining.stack(list(nonzero(a, size=size, fill_value=fill_value)), 1)


def _require_concrete(a: Any, name: str) -> Any:
    """Return the concrete value of ``a``; raise ConcretizationTypeError if it is not known while tracing.

    ``name`` is the calling function, for the message.
    """
    value = a.concrete() if isinstance(a, TracerBase) else a
    if value is None:
        raise ConcretizationTypeError(
            compose_message(
                f"{name} of {a!r}: the size of the result depends on values that are not known while "
                f"{traced_function_name(a)} is traced.",
                "In a reduction use where=: a.prod(where=a != 0). Otherwise xlascope.numpy.where(a != 0, a, 1) keeps "
                f"the shape. {name}(a, size=n) works for n known beforehand; missing entries are filled with index 0 "
                "unless fill_value is given.",
            )
        )
    aval_of(value)
    return value


def _nonzero_mask(a: Any, name: str) -> np.ndarray[Any, Any]:
    """Return the mask of the nonzero elements of a concrete array, as a NumPy array.

    XLA computes it, and treats subnormal numbers as zero. A tracer raises ConcretizationTypeError, which names
    the calling function ``name``.
    """
    with ensure_compile_time_eval():
        return np.asarray(logic.to_bool(_require_concrete(a, name)))


def ix_(*args: Any) -> tuple[Any, ...]:
    """Return index arrays that together select a block: argument i along axis i."""
    return tuple(_reshape_along(x, axis, len(args)) for axis, x in enumerate(args))


def _reshape_along(x: Any, axis: int, rank: int) -> Any:
    """Reshape a vector of indices to ``rank`` axes, all of size 1 except ``axis``.

    Raises ValueError for an array of another rank, NotImplementedError for booleans.
    """
    aval = aval_of(x)
    if len(aval.shape) != 1:
        raise ValueError(f"ix_ takes arrays of one axis, got shape {aval.shape} for axis {axis}")
    if dtype_kind(aval.dtype) == "b":
        raise NotImplementedError(f"ix_ takes indices, got truth values for axis {axis}; give nonzero(x)[0]")
    indices = creation.asarray(x, None if aval.size else int)  # an empty list becomes a float array otherwise
    return reshape(indices, [aval.size if i == axis else 1 for i in range(rank)])


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """Return for each axis of a shape the index of every element along it, stacked along a new first axis.

    ``sparse`` returns a tuple of arrays instead, each of size 1 along the other axes.
    """
    requested = resolve_requested_dtype(int if dtype is None else dtype)
    if not is_several(dimensions):
        raise TypeError(f"dimensions is a sequence of sizes, as (n,) for one axis; got {dimensions!r}")
    sizes = sizes_of(dimensions)
    if not sizes:
        return () if sparse else creation.zeros((0,), requested)
    if sparse:
        sparse_shapes = [tuple(n if i == axis else 1 for i in range(len(sizes))) for axis, n in enumerate(sizes)]
        return tuple(broadcasted_iota(requested, shape, axis) for axis, shape in enumerate(sparse_shapes))
    return joining.stack([broadcasted_iota(requested, sizes, axis) for axis in range(len(sizes))])


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Return the indices on and below diagonal ``k`` of an n × m matrix."""
    return _to_index_pair(np.tril_indices(*_triangle_arguments(n, k, m)))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Return the indices on and above diagonal ``k`` of an n × m matrix."""
    return _to_index_pair(np.triu_indices(*_triangle_arguments(n, k, m)))


def _triangle_arguments(n: Any, k: Any, m: Any) -> tuple[int, int, int | None]:
    """Return the arguments of ``tril_indices`` as integers: rows, diagonal, columns."""
    return whole_number(n, "n"), whole_number(k, "k"), None if m is None else whole_number(m, "m")


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """Return the indices of the diagonal of an array with ``ndim`` axes of size n."""
    sizes = whole_number(n, "n"), whole_number(ndim, "ndim")
    for name, size in zip(("n", "ndim"), sizes, strict=True):
        if size < 0:
            raise ValueError(f"diag_indices: {name} is a number that is at least 0, got {size}")
    return (ranges.arange(sizes[0]),) * sizes[1]


def _to_index_pair(index_arrays: Any) -> tuple[Any, Any]:
    rows, columns = (creation.array(p.astype(to_canonical_dtype(int))) for p in index_arrays)
    return rows, columns


def unravel_index(indices: Any, shape: Sequence[int]) -> tuple[Any, ...]:
    """Return the coordinates of flat indices.

    Negative indices count from the end; indices out of bounds are clipped.
    """
    sizes = sizes_of(shape)
    count = math.prod(sizes)
    from_front = logic.where(logic.less(indices, 0), ufuncs.add(indices, count), indices)
    indices = ufuncs.minimum(ufuncs.maximum(from_front, 0), max(count - 1, 0))
    coordinates: list[Any] = []
    for size in reversed(sizes):
        indices, coordinate = ufuncs.divmod(indices, size)
        coordinates.append(coordinate)
    return tuple(reversed(coordinates))


def ravel_multi_index(
    multi_index: Sequence[Any], dims: Sequence[int], mode: str = "raise", order: str = "C", *, dtype: Any = None
) -> Any:
    """Return the flat indices of coordinates.

    Coordinates out of bounds raise ValueError with ``mode="raise"`` (which needs concrete values), are clipped
    with "clip", wrap around with "wrap", and are used unchanged with "ignore". With ``order="F"`` the first axis
    changes fastest. The result has ``dtype``, an integer type, or the promoted dtype of the coordinates.
    """
    if mode not in ("raise", "wrap", "clip", "ignore") or order not in ("C", "F"):
        raise ValueError(f'mode is "raise", "wrap", "clip" or "ignore", order "C" or "F"; got {mode!r}, {order!r}')
    sizes = sizes_of(dims)
    if not is_several(multi_index):
        raise TypeError(f"multi_index is a tuple of index arrays, one for each axis, got {multi_index!r}")
    if len(multi_index) != len(sizes):
        raise ValueError(
            f"ravel_multi_index takes {len(sizes)} index arrays, one for each axis, got {len(multi_index)}"
        )
    for index in multi_index:
        if dtype_kind(aval_of(index).dtype) not in "iu":
            raise TypeError(f"ravel_multi_index takes integers as coordinates, got {aval_of(index).str_short()}")
    result_dtype = None if dtype is None else resolve_requested_dtype(dtype)
    if result_dtype is not None and dtype_kind(result_dtype) not in "iu":
        raise ValueError(f"ravel_multi_index gives places as integers, got dtype={result_dtype.name}")
    flat_index: Any = 0
    pairs = list(zip(multi_index, sizes, strict=True))
    for index, size in pairs if order == "C" else reversed(pairs):
        if mode == "raise":
            _require_in_bounds(index, size)
        elif mode == "wrap":
            index = ufuncs.remainder(index, size)
        elif mode == "clip":
            index = reductions.clip(index, 0, size - 1)
        flat_index = ufuncs.add(ufuncs.multiply(flat_index, size), index)
    return flat_index if result_dtype is None else convert_element_type(flat_index, result_dtype)


def _require_in_bounds(index: Any, size: int) -> None:
    values = index.concrete() if isinstance(index, TracerBase) else np.asarray(index)
    if values is None:
        raise ConcretizationTypeError(
            f'ravel_multi_index with mode="raise" looks at the indices, and {index!r} is not known while tracing. '
            'Pass mode="clip" or mode="wrap".'
        )
    if ((values < 0) | (values >= size)).any():
        raise ValueError(f"ravel_multi_index: an index is outside of an axis of size {size}; see mode")


def mask_indices(n: int, mask_func: Any, k: int = 0, *, size: int | None = None) -> tuple[Any, ...]:
    """Return the indices at which ``mask_func`` of an n × n matrix of ones is nonzero.

    ``size`` is the number of indices, as for :func:`nonzero`.
    """
    return nonzero(mask_func(creation.ones((n, n)), k), size=size)


def iterable(y: Any) -> bool:
    """Return whether an object is iterable."""
    return bool(np.iterable(y))
