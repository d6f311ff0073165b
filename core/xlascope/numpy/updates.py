"""``x.at[index].set(y)`` and its relatives: an array like ``x`` with some elements changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import is_floating
from ..operations import indexing as ix
from ..operations import shapes
from ..trace.bind import bind1
from ..trace.state import STATE
from ..trace.values import aval_of
from . import logic, ufuncs
from .indexing import (
    At,
    Form,
    Item,
    New,
    Rows,
    Scalar,
    backwards,
    bounds_of,
    coordinates,
    gathered,
    index_rows,
    new_axes,
    parse,
    sliced,
    taken,
    window_axes,
)
from .promotion import as_dtype
from .shaping import broadcast_to
from .together import together


class IndexUpdate:
    """What ``x.at`` gives: index it, then say what to do there."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> IndexUpdateAt:
        return IndexUpdateAt(self._array, index)

    def __repr__(self) -> str:
        return f"{self._array!r}.at"


class IndexUpdateAt:
    """An array and an index; the methods give new arrays, the given one stays as it is.

    Indices beyond the end change nothing, or with ``mode="clip"`` the last element. Where an index array names an
    element several times, ``add`` adds all its values; the other methods use one of them.
    """

    __slots__ = ("_array", "_index")

    def __init__(self, array: Any, index: Any) -> None:
        self._array = array
        self._index = index

    def get(self, *, mode: str | None = None, fill_value: Any = None, **hints: Any) -> Any:
        """The elements; beyond the end, with ``mode="fill"``, ``fill_value`` (NaN), else the last one."""
        if mode in ("fill", "drop"):
            return get_filled(self._array, self._index, fill_value)
        return self._array[self._index]

    def set(self, values: Any, **hints: Any) -> Any:
        """The array with ``values`` at the index.

        >>> import xlascope.numpy as jnp
        >>> print(jnp.zeros(3).at[1].set(5.0))
        [0. 5. 0.]
        """
        return self._changed("set", values, hints)

    def add(self, values: Any, **hints: Any) -> Any:
        """The array with ``values`` added at the index.

        >>> import xlascope.numpy as jnp
        >>> print(jnp.zeros(3).at[jnp.array([0, 0])].add(1.0))
        [2. 0. 0.]
        """
        return self._changed("add", values, hints)

    def subtract(self, values: Any, **hints: Any) -> Any:
        """The array with ``values`` subtracted at the index."""
        return self._changed("add", ufuncs.negative(values), hints)

    def multiply(self, values: Any, **hints: Any) -> Any:
        """The array with the elements at the index multiplied by ``values``."""
        return self._changed("multiply", values, hints)

    mul = multiply

    def divide(self, values: Any, **hints: Any) -> Any:
        """The array with the elements at the index divided by ``values``."""
        return self._changed("divide", values, hints)

    def power(self, values: Any, **hints: Any) -> Any:
        """The array with the elements at the index raised to the power ``values``."""
        return self._changed("power", values, hints)

    def min(self, values: Any, **hints: Any) -> Any:
        """The array with the smaller of element and value at the index."""
        return self._changed("min", values, hints)

    def max(self, values: Any, **hints: Any) -> Any:
        """The array with the larger of element and value at the index."""
        return self._changed("max", values, hints)

    def apply(self, ufunc: Callable[[Any], Any], **hints: Any) -> Any:
        """The array with ``ufunc`` applied to the elements at the index."""
        return self.set(ufunc(self._array[self._index]), **hints)

    def _changed(self, how: str, values: Any, hints: dict[str, Any]) -> Any:
        x = self._array
        clip = _clips(hints)
        form, operands = parse(x.shape, self._index, eager=False)
        if STATE.trace is not None:
            return changed(x, operands, values, form, how, clip)
        if not clip:
            operands, form = _moved_out(form, operands)
        return _changed(x, operands, values, form=form, how=how, clip=clip)


def _clips(hints: dict[str, Any]) -> bool:
    """Whether indices beyond the end stand for the last element; raises for hints that nobody knows."""
    unknown = hints.keys() - {"indices_are_sorted", "unique_indices", "wrap_negative_indices", "out_sharding", "mode"}
    if unknown:
        raise TypeError(f"an update at an index got the unexpected argument {min(unknown)}")
    mode = hints.get("mode")
    if mode not in (None, "clip", "drop", "fill", "promise_in_bounds"):
        raise ValueError(f'the mode of an update is "clip", "drop" or "promise_in_bounds", got {mode!r}')
    return mode == "clip"


#: An index that is beyond the end of every axis.
_NOWHERE = 2**31 - 1

_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda old, new: new,
    "add": ufuncs.add,
    "multiply": ufuncs.multiply,
    "divide": ufuncs.true_divide,
    "power": ufuncs.power,
    "min": ufuncs.minimum,
    "max": ufuncs.maximum,
}


def _moved_out(form: Form, operands: Sequence[Any]) -> tuple[list[Any], Form]:
    """Static places as operands, so that one compiled program serves all of them."""
    given = iter(operands)
    out: list[Any] = []
    items: list[Item] = []
    for item in form:
        if isinstance(item, At):
            out.append(item.place if item.place >= 0 else _NOWHERE)
            items.append(Scalar())
        else:
            items.append(item)
            out.extend([next(given)] if isinstance(item, (Rows, Scalar)) else [])
    return out, tuple(items)


def changed(x: Any, operands: Sequence[Any], values: Any, form: Form, how: str, clip: bool) -> Any:
    """``x`` with the elements at an index combined with ``values``."""
    shape = x.shape
    items = [item for item in form if not isinstance(item, New)]
    if not clip and any(isinstance(i, At) and not 0 <= i.place < n for i, n in zip(items, shape, strict=True)):
        return x
    if not operands:
        old = None if how == "set" else taken(x, (), form)
        wanted = _result_shape(form, shape)
        return _put_back(x, form, _new_values(how, old, values, wanted, x.dtype), whole=False)
    part = shapes.expand_dims(sliced(x, form), new_axes(form))
    indices, axes, place = index_rows(part, operands, form)
    made = _scattered(part, indices, axes, place, values, how, "clip" if clip else "drop")
    return _put_back(x, form, shapes.squeeze(made, new_axes(form)), whole=True)


_changed = together("how", "form", "clip")(changed)


def _new_values(how: str, old: Any, values: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    new = as_dtype(_COMBINE[how](old, values), dtype)
    if aval_of(new).size == 1 and len(aval_of(new).shape) > len(shape):
        new = shapes.reshape(new, ())
    return broadcast_to(new, shape)


def _result_shape(form: Form, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of ``x[index]`` for a form without operands."""
    sizes = iter(shape)
    result = []
    for item in form:
        if isinstance(item, New):
            result.append(1)
            continue
        size = next(sizes)
        if not isinstance(item, At):
            first, limit, step = bounds_of(item, size)
            result.append(-(-(limit - first) // step))
    return tuple(result)


def _scattered(x: Any, indices: Any, axes: tuple[int, ...], place: int, values: Any, how: str, mode: str) -> Any:
    aval = aval_of(x)
    window = window_axes(aval.ndim, indices, axes, place)
    numbers = ix.ScatterDimensionNumbers(window, axes, axes)
    kept = iter([size for axis, size in enumerate(aval.shape) if axis not in axes])
    lead = iter(aval_of(indices).shape[:-1])
    total = len(window) + len(aval_of(indices).shape) - 1
    wanted = tuple(next(kept) if axis in window else next(lead) for axis in range(total))
    if how == "add":
        updates = _new_values("set", None, values, wanted, aval.dtype)
        return bind1(ix.ScatterAdd(numbers, mode), x, indices, updates)
    old = None if how == "set" else gathered(x, indices, axes, place)
    return bind1(ix.Scatter(numbers, mode), x, indices, _new_values(how, old, values, wanted, aval.dtype))


def _put_back(x: Any, form: Form, part: Any, *, whole: bool) -> Any:
    """``x`` with the static part of a form replaced; ``whole``: ``part`` has all of ``x``'s axes and no new ones."""
    shape = x.shape
    items = [item for item in form if not isinstance(item, New)]
    if not whole:
        part = shapes.squeeze(part, tuple(i for i, item in enumerate(_with_axes(form)) if isinstance(item, New)))
        part = shapes.expand_dims(part, tuple(i for i, item in enumerate(items) if isinstance(item, At)))
    back = backwards(form)
    part = shapes.rev(part, back) if back else part
    bounds = [bounds_of(item, size) for item, size in zip(items, shape, strict=True)]
    if aval_of(part).shape == shape:
        return part
    if not aval_of(part).size:
        return x
    if all(step == 1 for _, _, step in bounds):
        return ix.dynamic_update_slice(x, part, [first for first, _, _ in bounds])
    return _put_spread(x, part, bounds)


def _with_axes(form: Form) -> Form:
    """The items that leave an axis in the result."""
    return tuple(item for item in form if not isinstance(item, At))


def _put_spread(x: Any, part: Any, bounds: Sequence[tuple[int, int, int]]) -> Any:
    """``x`` with ``part`` at places that lie apart: a scatter with one index column per axis that is not kept whole."""
    shape = x.shape
    axes = tuple(i for i, (bound, size) in enumerate(zip(bounds, shape, strict=True)) if bound != (0, size, 1))
    columns = [
        np.arange(*bounds[axis], dtype=np.int32).reshape([-1 if i == j else 1 for j in range(len(axes))])
        for i, axis in enumerate(axes)
    ]
    indices = coordinates(columns)
    rest = tuple(i for i in range(len(shape)) if i not in axes)
    numbers = ix.ScatterDimensionNumbers(window_axes(len(shape), indices, axes, 0), axes, axes)
    return bind1(ix.Scatter(numbers, "drop"), x, indices, shapes.transpose(part, (*axes, *rest)))


# Out of bounds ------------------------------------------------------------------------------------------------------


def get_filled(x: Any, index: Any, fill_value: Any = None) -> Any:
    """``x[index]`` with ``fill_value`` where an index is beyond the end."""
    form, operands = parse(x.shape, index, eager=False)
    out, form = _moved_out(form, operands)
    return _get_filled(x, out, fill_value, form=form)


@together("form")
def _get_filled(x: Any, operands: list[Any], fill_value: Any, form: Form) -> Any:
    found = taken(x, operands, form)
    if not operands:
        return found
    dtype = aval_of(x).dtype
    value = default_fill(dtype) if fill_value is None else as_dtype(fill_value, dtype)
    return logic.where(_inside(x, operands, form), found, value)


def _inside(x: Any, operands: list[Any], form: Form) -> Any:
    """Whether each element of ``x[index]`` is inside the array; slices behind the indices have axes of size 1."""
    sizes = iter(x.shape)
    given = iter(operands)
    inside: Any = True
    places, kept = [], []
    for position, item in enumerate(form):
        size = 1 if isinstance(item, New) else next(sizes)
        if isinstance(item, (Rows, Scalar)):
            i = next(given)
            places.append(position)
            here = logic.bitwise_and(logic.greater_equal(i, -size), logic.less(i, size))
            inside = here if inside is True else logic.bitwise_and(inside, here)
        else:
            kept.append(position)
    neighbours = places == list(range(places[0], places[-1] + 1))
    behind = [position for position in kept if not neighbours or position > places[0]]
    rank = len(aval_of(inside).shape)
    return shapes.expand_dims(inside, tuple(range(rank, rank + len(behind))))


def default_fill(dtype: np.dtype[Any]) -> Any:
    """What stands for no value: NaN, the smallest of the signed integers, the largest of the unsigned ones, true."""
    if is_floating(dtype):
        return np.asarray(np.nan).astype(dtype)[()]
    if dtype.kind == "b":
        return np.True_
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if dtype.kind == "u" else limits.min)
