"""Updates at an index: ``x.at[index].set(y)`` and related methods, which return a new array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..control.flow.loops import while_loop
from ..dtypes import canonical, kind_of
from ..errors import see
from ..ir.avals import shaped
from ..operations import indexing, scattering
from ..operations.conversion import convert_element_type
from ..operations.dynamic_slicing import dynamic_update_slice
from ..operations.out_shardings import lying_so
from ..operations.random_keys import fill_of
from ..operations.shapes import expand_dims, reshape, squeeze, transpose
from ..operations.slicing import rev
from ..runtime import boot
from ..trace.bind import bind1
from ..trace.source import compose_message, here
from ..trace.state import STATE
from ..trace.values import aval_of, is_value
from . import creation, logic, reductions, ufuncs
from .index_forms import At, Form, Item, New, Rows, Scalar, parse
from .indexing import (
    backwards,
    bounds_of,
    coordinates,
    index_rows,
    new_axes,
    sliced,
    taken,
    window_axes,
    within,
)
from .promotion import as_dtype, common_dtype
from .shaping import broadcast_to
from .together import together


class IndexUpdate:
    """Value of ``x.at``: index it, then call an update method."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> IndexUpdateAt:
        return IndexUpdateAt(self._array, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        fix = "Instead of x.at[index] = y write x = x.at[index].set(y)."
        raise TypeError(compose_message("arrays cannot be changed in place.", fix) + see("in-place-update"))

    def __call__(self, *index: Any) -> None:
        raise TypeError(f"x.at takes its index in brackets: x.at[index].set(y){here()}")

    def __repr__(self) -> str:
        return f"{self._array!r}.at"


class IndexUpdateAt:
    """Array and index; the methods return new arrays.

    Indices out of bounds are dropped, or with ``mode="clip"`` clipped. If an index array names an element several
    times, all its values are applied in unspecified order; ``set`` applies one of them.
    """

    __slots__ = ("_array", "_index")

    def __init__(self, array: Any, index: Any) -> None:
        self._array = array
        self._index = index

    def get(self, *, mode: Any = None, fill_value: Any = None, **hints: Any) -> Any:
        """Return the elements; out of bounds ``fill_value`` (NaN) with ``mode="fill"``, else the last element."""
        if hints.get("out_sharding") is not None:
            options = {**hints, "mode": mode, "fill_value": fill_value, "out_sharding": None}
            return lying_so(
                "get", hints["out_sharding"], lambda x: IndexUpdateAt(x, self._index).get(**options), [self._array]
            )
        index_mode = _mode_of({**hints, "mode": mode})
        is_filled = _name_of(mode) in ("fill", "drop")
        index = self._index if index_mode.wrap else _from_front(self._index, _NOWHERE if is_filled else 0)
        return get_filled(self._array, index, fill_value) if is_filled else self._array[index]

    def set(self, values: Any, **hints: Any) -> Any:
        """Return the array with ``values`` at the index.

        >>> import xlascope.numpy as jnp
        >>> print(jnp.zeros(3).at[1].set(5.0))
        [0. 5. 0.]
        """
        return self._changed("set", values, hints)

    def add(self, values: Any, **hints: Any) -> Any:
        """Return the array with ``values`` added at the index.

        >>> import xlascope.numpy as jnp
        >>> print(jnp.zeros(3).at[jnp.array([0, 0])].add(1.0))
        [2. 0. 0.]
        """
        return self._changed("add", values, hints)

    def subtract(self, values: Any, **hints: Any) -> Any:
        """Return the array with ``values`` subtracted at the index."""
        return self._changed("subtract", values, hints)

    def multiply(self, values: Any, **hints: Any) -> Any:
        """Return the array with the elements at the index multiplied by ``values``."""
        return self._changed("multiply", values, hints)

    mul = multiply

    def divide(self, values: Any, **hints: Any) -> Any:
        """Return the array with the elements at the index divided by ``values``.

        The result is floating also for integers, as for any division.

        >>> import xlascope.numpy as jnp
        >>> print(jnp.ones(3).at[jnp.array([0, 0])].divide(2.0))
        [0.25 1.   1.  ]
        """
        return self._by_all(ufuncs.true_divide, values, hints)

    def power(self, values: Any, **hints: Any) -> Any:
        """Return the array with the elements at the index raised to the power ``values``."""
        return self._by_all(ufuncs.power, values, hints)

    def min(self, values: Any, **hints: Any) -> Any:
        """Return the array with the smaller of element and value at the index."""
        return self._changed("min", values, hints)

    def max(self, values: Any, **hints: Any) -> Any:
        """Return the array with the larger of element and value at the index."""
        return self._changed("max", values, hints)

    def apply(self, ufunc: Callable[[Any], Any], **hints: Any) -> Any:
        """Return the array with ``ufunc`` applied to the elements at the index, once for each occurrence.

        Reverse-mode differentiation requires an index without duplicates, or ``unique_indices=True``.

        >>> import xlascope.numpy as jnp
        >>> print(jnp.ones(3).at[jnp.array([0, 0, 1])].apply(lambda x: 2 * x))
        [4. 2. 1.]
        """
        if not callable(ufunc):
            raise TypeError(f"at[…].apply takes a function of the elements, got {ufunc!r}{here()}")
        values = self._array[self._index]
        if hints.get("unique_indices") or not self._may_repeat():
            return self.set(ufunc(values), **hints)
        zeros = creation.zeros_like(self._array, dtype=np.int32)
        counts = IndexUpdateAt(zeros, self._index).add(1, **hints)[self._index]

        def apply_where_repeated(state: tuple[Any, Any]) -> tuple[Any, Any]:
            step, old = state
            return ufuncs.add(step, 1), logic.where(logic.greater(counts, step), as_dtype(ufunc(old), old.dtype), old)

        limit = reductions.max(counts, initial=0)
        _, values = while_loop(lambda state: logic.less(state[0], limit), apply_where_repeated, (np.int32(0), values))
        return self.set(values, **hints)

    def _may_repeat(self) -> bool:
        """Return whether the index may contain an element twice."""
        _, operands = parse(self._array.shape, self._index, eager=False, updates=True)
        return max((aval_of(operand).size for operand in operands), default=1) > 1

    def _by_all(self, combine: Callable[[Any, Any], Any], values: Any, hints: dict[str, Any]) -> Any:
        """Combine each element with the product of all values at its index; other elements with one."""
        x = self._array
        ones = IndexUpdateAt(creation.ones_like(x), self._index)
        return combine(x, ones._changed("multiply", values, hints))

    def _changed(self, how: str, values: Any, hints: dict[str, Any]) -> Any:
        x = self._array
        mode = _mode_of(hints)
        if isinstance(values, (list, tuple, range)):
            values = creation.asarray(values)
        if hints.get("out_sharding") is not None:
            options = {**hints, "out_sharding": None}
            return lying_so(
                how,
                hints["out_sharding"],
                lambda x, y: IndexUpdateAt(x, self._index)._changed(how, y, options),
                [x, values],
            )
        index = self._index if mode.wrap else _from_front(self._index, 0 if mode.clip else _NOWHERE)
        form, operands = parse(x.shape, index, eager=False, updates=True)
        if STATE.trace is not None:
            return changed(x, operands, values, form, how, mode)
        if not mode.clip:
            operands, form = _moved_out(form, operands)
        return _changed(x, operands, values, form=form, how=how, mode=mode)


class Mode(NamedTuple):
    """How the indices of an update are interpreted: clipping, promises about them, and negative indices."""

    clip: bool
    indices_are_sorted: bool
    unique_indices: bool
    wrap: bool


def _name_of(mode: Any) -> Any:
    """Return the name of a mode, which may be a member of ``lax.GatherScatterMode``."""
    return getattr(mode, "value", mode)


def _mode_of(hints: dict[str, Any]) -> Mode:
    """Return the index mode of an update's hints; raise an error for unknown hints."""
    unknown = hints.keys() - {"indices_are_sorted", "unique_indices", "wrap_negative_indices", "out_sharding", "mode"}
    if unknown:
        raise TypeError(f"an update at an index got the unexpected argument {min(unknown)}")
    mode = _name_of(hints.get("mode"))
    if mode not in (None, "clip", "drop", "fill", "promise_in_bounds"):
        raise ValueError(f'the mode of an update is "clip", "drop", "fill" or "promise_in_bounds", got {mode!r}')
    sorted_, unique = (bool(hints.get(name)) for name in ("indices_are_sorted", "unique_indices"))
    return Mode(mode == "clip", sorted_, unique, bool(hints.get("wrap_negative_indices", True)))


#: An index that is out of bounds for every axis.
_NOWHERE = 2**31 - 1


def _from_front(index: Any, replacement: int) -> Any:
    """Return an index whose negative integers are replaced instead of counted from the end."""
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(_not_negative(part, replacement) for part in parts)


def _not_negative(part: Any, replacement: int) -> Any:
    if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
        return replacement if part < 0 else part
    if is_value(part) and kind_of(aval_of(part).dtype) == "i":
        return logic.where(logic.less(part, 0), replacement, as_dtype(part, canonical(int)))
    return part


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda old, new: new,
    "add": ufuncs.add,
    "subtract": ufuncs.subtract,
    "multiply": ufuncs.multiply,
    "min": ufuncs.minimum,
    "max": ufuncs.maximum,
}
_OPERATIONS: dict[str, type[indexing.ScatterFamily]] = {
    "set": indexing.Scatter,
    "add": indexing.ScatterAdd,
    "subtract": scattering.ScatterSub,
    "multiply": scattering.ScatterMul,
    "min": scattering.ScatterMin,
    "max": scattering.ScatterMax,
}


def _moved_out(form: Form, operands: Sequence[Any]) -> tuple[list[Any], Form]:
    """Return the operands and form with static indices lifted to operands, so that programs are shared."""
    remaining_operands = iter(operands)
    lifted: list[Any] = []
    items: list[Item] = []
    for item in form:
        if isinstance(item, At):
            lifted.append(item.place if item.place >= 0 else _NOWHERE)
            items.append(Scalar())
        else:
            items.append(item)
            lifted.extend([next(remaining_operands)] if isinstance(item, (Rows, Scalar)) else [])
    return lifted, tuple(items)


def changed(x: Any, operands: Sequence[Any], values: Any, form: Form, how: str, mode: Mode) -> Any:
    """Return ``x`` with the elements at an index combined with ``values``, weakly typed if ``x`` is."""
    new, aval = _combined(x, operands, values, form, how, mode), aval_of(x)
    return convert_element_type(new, aval.dtype, True) if aval.weak_type and not aval_of(new).weak_type else new


def _combined(x: Any, operands: Sequence[Any], values: Any, form: Form, how: str, mode: Mode) -> Any:
    shape = x.shape
    items = [item for item in form if not isinstance(item, New)]
    if not mode.clip and any(isinstance(i, At) and not 0 <= i.place < n for i, n in zip(items, shape, strict=True)):
        return x
    if not operands:
        old = None if how == "set" else taken(x, (), form)
        result_shape = _result_shape(form, shape)
        return _put_back(x, form, _new_values(how, old, values, result_shape, x.dtype), whole=False)
    part = expand_dims(sliced(x, form), new_axes(form))
    indices, axes, result_axis = index_rows(part, operands, form)
    updated = _scattered(part, indices, axes, result_axis, values, how, mode)
    return _put_back(x, form, squeeze(updated, new_axes(form)), whole=True)


_changed = together("how", "form", "mode")(changed)


def _new_values(how: str, old: Any, values: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    if boot.trace_settings.value:  # raises under strict dtype promotion
        common_dtype([shaped((), dtype), aval_of(values)])
    new = as_dtype(_COMBINE[how](old, values), dtype)
    if aval_of(new).size == 1 and len(aval_of(new).shape) > len(shape):
        new = reshape(new, ())
    return broadcast_to(new, shape)


def _result_shape(form: Form, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of ``x[index]`` for a form without operands."""
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


def _scattered(x: Any, indices: Any, axes: tuple[int, ...], result_axis: int, values: Any, how: str, mode: Mode) -> Any:
    aval = aval_of(x)
    window = window_axes(aval.ndim, indices, axes, result_axis)
    numbers = indexing.ScatterDimensionNumbers(window, axes, axes)
    window_sizes = iter([size for axis, size in enumerate(aval.shape) if axis not in axes])
    lead = iter(aval_of(indices).shape[:-1])
    total = len(window) + len(aval_of(indices).shape) - 1
    updates_shape = tuple(next(window_sizes) if axis in window else next(lead) for axis in range(total))
    dtype = aval.dtype if how == "set" else common_dtype([aval, aval_of(values)])[0]
    updates = _new_values("set", None, values, updates_shape, dtype)
    operation = _OPERATIONS[how](numbers, "clip" if mode.clip else "drop", mode.indices_are_sorted, mode.unique_indices)
    if dtype == aval.dtype:
        return bind1(operation, x, indices, updates)
    widened = as_dtype(x, dtype)  # compute in the promoted dtype, as x[index] + y does
    scattered = bind1(operation, widened, indices, updates)
    result = as_dtype(scattered, aval.dtype)
    if kind_of(aval.dtype) in "iu" and kind_of(dtype) in "fc":  # the conversion may round unchanged integers
        return logic.where(logic.equal(widened, scattered), x, result)
    return result


def _put_back(x: Any, form: Form, part: Any, *, has_all_axes: bool) -> Any:
    """Return ``x`` with the static part of a form replaced.

    ``has_all_axes`` says that ``part`` has all axes of ``x`` and no new ones.
    """
    shape = x.shape
    items = [item for item in form if not isinstance(item, New)]
    if not has_all_axes:
        part = squeeze(part, tuple(i for i, item in enumerate(_with_axes(form)) if isinstance(item, New)))
        part = expand_dims(part, tuple(i for i, item in enumerate(items) if isinstance(item, At)))
    flipped = backwards(form)
    part = rev(part, flipped) if flipped else part
    bounds = [bounds_of(item, size) for item, size in zip(items, shape, strict=True)]
    if aval_of(part).shape == shape:
        return part
    if not aval_of(part).size:
        return x
    if all(step == 1 for _, _, step in bounds):
        return dynamic_update_slice(x, part, [first for first, _, _ in bounds])
    return _put_spread(x, part, bounds)


def _with_axes(form: Form) -> Form:
    """Return the items that keep an axis in the result."""
    return tuple(item for item in form if not isinstance(item, At))


def _put_spread(x: Any, part: Any, bounds: Sequence[tuple[int, int, int]]) -> Any:
    """Return ``x`` with ``part`` at strided positions, by a scatter over the axes that are not fully covered."""
    shape = x.shape
    axes = tuple(i for i, (bound, size) in enumerate(zip(bounds, shape, strict=True)) if bound != (0, size, 1))
    columns = [
        np.arange(*bounds[axis], dtype=np.int32).reshape([-1 if i == j else 1 for j in range(len(axes))])
        for i, axis in enumerate(axes)
    ]
    indices = coordinates(columns)
    remaining_axes = tuple(i for i in range(len(shape)) if i not in axes)
    numbers = indexing.ScatterDimensionNumbers(window_axes(len(shape), indices, axes, 0), axes, axes)
    return bind1(indexing.Scatter(numbers, "drop"), x, indices, transpose(part, (*axes, *remaining_axes)))


# Out of bounds ------------------------------------------------------------------------------------------------------


def get_filled(x: Any, index: Any, fill_value: Any = None) -> Any:
    """Return ``x[index]`` with ``fill_value`` where an index is out of bounds."""
    form, operands = parse(x.shape, index, eager=False)
    lifted, form = _moved_out(form, operands)
    return _get_filled(x, lifted, fill_value, form=form)


@together("form")
def _get_filled(x: Any, operands: list[Any], fill_value: Any, form: Form) -> Any:
    elements = taken(x, operands, form)
    if not operands:
        return elements
    dtype = aval_of(x).dtype
    value = fill_of(dtype) if fill_value is None else as_dtype(fill_value, dtype)
    return logic.where(_inside(x, operands, form), elements, value)


def _inside(x: Any, operands: list[Any], form: Form) -> Any:
    """Return whether each element of ``x[index]`` is in bounds; trailing window axes have size 1."""
    sizes = iter(x.shape)
    remaining_operands = iter(operands)
    mask: Any = True
    index_positions, window_positions = [], []
    for position, item in enumerate(form):
        size = 1 if isinstance(item, New) else next(sizes)
        if isinstance(item, (Rows, Scalar)):
            i = next(remaining_operands)
            index_positions.append(position)
            in_bounds = within(i, size)
            mask = in_bounds if mask is True else logic.bitwise_and(mask, in_bounds)
        else:
            window_positions.append(position)
    is_contiguous = index_positions == list(range(index_positions[0], index_positions[-1] + 1))
    trailing = [position for position in window_positions if not is_contiguous or position > index_positions[0]]
    rank = len(aval_of(mask).shape)
    return expand_dims(mask, tuple(range(rank, rank + len(trailing))))
