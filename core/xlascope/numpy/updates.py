"""Updates at an index: ``x.at[index].set(y)`` and related methods, which return a new array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..control.flow.loop_api import while_loop
from ..dtypes import dtype_kind, to_canonical_dtype
from ..errors import see
from ..ir.avals import make_aval
from ..operations import indexing, scattering
from ..operations.conversion import to_dtype
from ..operations.dynamic_slicing import dynamic_update_slice
from ..operations.out_shardings import call_with_sharding
from ..operations.random_keys import fill_value_of
from ..operations.shapes import expand_dims, reshape, squeeze, transpose
from ..operations.slicing import rev
from ..runtime import boot
from ..trace.bind import bind1
from ..trace.source import compose_message, here
from ..trace.state import STATE
from ..trace.values import aval_of, is_value
from . import creation, logic, reductions, ufuncs
from .index_parsing import (
    DynamicIndexItem,
    IndexArrayItem,
    IndexForm,
    IndexItem,
    NewAxisItem,
    StaticIndexItem,
    parse_index,
)
from .indexing import (
    apply_static_items,
    bounds_of,
    gather_coordinates,
    is_in_bounds,
    new_axes,
    reversed_axes,
    stack_coordinates,
    take_by_form,
    window_axes,
)
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype, common_dtype
from .shaping import broadcast_to


class IndexUpdate:
    """Value of ``x.at``; indexing it gives an :class:`IndexUpdateAt` with the update methods."""

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
    """Value of ``x.at[index]``: an array and an index, with methods that return updated copies of the array.

    Indices out of bounds are dropped, or with ``mode="clip"`` clipped. If an index array names an element several
    times, all its values are applied in unspecified order; ``set`` applies one of them.
    """

    __slots__ = ("_array", "_index")

    def __init__(self, array: Any, index: Any) -> None:
        self._array = array
        self._index = index

    def get(self, *, mode: Any = None, fill_value: Any = None, **hints: Any) -> Any:
        """Return the elements at the index; indices out of bounds are clamped.

        With ``mode="fill"`` elements out of bounds are ``fill_value`` instead, by default NaN for floats.
        """
        if hints.get("out_sharding") is not None:
            options = {**hints, "mode": mode, "fill_value": fill_value, "out_sharding": None}
            return call_with_sharding(
                "get", hints["out_sharding"], lambda x: IndexUpdateAt(x, self._index).get(**options), [self._array]
            )
        index_mode = _parse_mode({**hints, "mode": mode})
        is_filled = _mode_name(mode) in ("fill", "drop")
        index = (
            self._index
            if index_mode.wrap
            else _disable_negative_indices(self._index, _OUT_OF_BOUNDS_INDEX if is_filled else 0)
        )
        return get_filled(self._array, index, fill_value) if is_filled else self._array[index]

    def set(self, values: Any, **hints: Any) -> Any:
        """Return the array with ``values`` at the index.

        >>> import xlascope.numpy as jnp
        >>> print(jnp.zeros(3).at[1].set(5.0))
        [0. 5. 0.]
        """
        return self._update("set", values, hints)

    def add(self, values: Any, **hints: Any) -> Any:
        """Return the array with ``values`` added at the index.

        >>> import xlascope.numpy as jnp
        >>> print(jnp.zeros(3).at[jnp.array([0, 0])].add(1.0))
        [2. 0. 0.]
        """
        return self._update("add", values, hints)

    def subtract(self, values: Any, **hints: Any) -> Any:
        """Return the array with ``values`` subtracted at the index."""
        return self._update("subtract", values, hints)

    def multiply(self, values: Any, **hints: Any) -> Any:
        """Return the array with the elements at the index multiplied by ``values``."""
        return self._update("multiply", values, hints)

    mul = multiply

    def divide(self, values: Any, **hints: Any) -> Any:
        """Return the array with the elements at the index divided by ``values``.

        The result is always floating-point or complex, as for any division.

        >>> import xlascope.numpy as jnp
        >>> print(jnp.ones(3).at[jnp.array([0, 0])].divide(2.0))
        [0.25 1.   1.  ]
        """
        return self._combine_with_product(ufuncs.true_divide, values, hints)

    def power(self, values: Any, **hints: Any) -> Any:
        """Return the array with the elements at the index raised to the power ``values``."""
        return self._combine_with_product(ufuncs.power, values, hints)

    def min(self, values: Any, **hints: Any) -> Any:
        """Return the array with the smaller of element and value at the index."""
        return self._update("min", values, hints)

    def max(self, values: Any, **hints: Any) -> Any:
        """Return the array with the larger of element and value at the index."""
        return self._update("max", values, hints)

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
        if hints.get("unique_indices") or not self._may_have_duplicates():
            return self.set(ufunc(values), **hints)
        zeros = creation.zeros_like(self._array, dtype=np.int32)
        counts = IndexUpdateAt(zeros, self._index).add(1, **hints)[self._index]

        def apply_where_repeated(state: tuple[Any, Any]) -> tuple[Any, Any]:
            step, old = state
            return ufuncs.add(step, 1), logic.where(logic.greater(counts, step), as_dtype(ufunc(old), old.dtype), old)

        limit = reductions.max(counts, initial=0)
        _, values = while_loop(lambda state: logic.less(state[0], limit), apply_where_repeated, (np.int32(0), values))
        return self.set(values, **hints)

    def _may_have_duplicates(self) -> bool:
        """Return whether the index may select the same element more than once."""
        _, operands = parse_index(self._array.shape, self._index, eager=False, updates=True)
        return max((aval_of(operand).size for operand in operands), default=1) > 1

    def _combine_with_product(self, combine: Callable[[Any, Any], Any], values: Any, hints: dict[str, Any]) -> Any:
        """Return ``combine(element, product)``, with the product of all values at the index of the element.

        For elements that the index does not select the product is 1. ``hints`` are the keyword arguments of the
        method.
        """
        x = self._array
        ones = IndexUpdateAt(creation.ones_like(x), self._index)
        return combine(x, ones._update("multiply", values, hints))

    def _update(self, how: str, values: Any, hints: dict[str, Any]) -> Any:
        """Return the array with the elements at the index combined with ``values``.

        ``how`` is a key of ``_COMBINE_FUNCTIONS``, such as "add"; ``hints`` are the keyword arguments of the method.
        """
        x = self._array
        mode = _parse_mode(hints)
        if isinstance(values, (list, tuple, range)):
            values = creation.asarray(values)
        if hints.get("out_sharding") is not None:
            options = {**hints, "out_sharding": None}
            return call_with_sharding(
                how,
                hints["out_sharding"],
                lambda x, y: IndexUpdateAt(x, self._index)._update(how, y, options),
                [x, values],
            )
        index = (
            self._index
            if mode.wrap
            else _disable_negative_indices(self._index, 0 if mode.clip else _OUT_OF_BOUNDS_INDEX)
        )
        form, operands = parse_index(x.shape, index, eager=False, updates=True)
        if STATE.trace is not None:
            return update_by_form(x, operands, values, form, how, mode)
        if not mode.clip:
            operands, form = _lift_static_indices(form, operands)
        return _jit_update_by_form(x, operands, values, form=form, how=how, mode=mode)


class IndexMode(NamedTuple):
    """Interpretation of the indices of an update.

    ``clip`` says that indices out of bounds are clipped instead of dropped, ``wrap`` that negative ones count
    from the end; ``indices_are_sorted`` and ``unique_indices`` are promises of the caller.
    """

    clip: bool
    indices_are_sorted: bool
    unique_indices: bool
    wrap: bool


def _mode_name(mode: Any) -> Any:
    """Return the name of a mode, which may be an element of the enumeration ``lax.GatherScatterMode``."""
    return getattr(mode, "value", mode)


def _parse_mode(hints: dict[str, Any]) -> IndexMode:
    """Return the index mode for the keyword arguments of an update method.

    Raises TypeError for an unknown argument, ValueError for an unknown mode.
    """
    unknown = hints.keys() - {"indices_are_sorted", "unique_indices", "wrap_negative_indices", "out_sharding", "mode"}
    if unknown:
        raise TypeError(f"an update at an index got the unexpected argument {min(unknown)}")
    mode = _mode_name(hints.get("mode"))
    if mode not in (None, "clip", "drop", "fill", "promise_in_bounds"):
        raise ValueError(f'the mode of an update is "clip", "drop", "fill" or "promise_in_bounds", got {mode!r}')
    sorted_, unique = (bool(hints.get(name)) for name in ("indices_are_sorted", "unique_indices"))
    return IndexMode(mode == "clip", sorted_, unique, bool(hints.get("wrap_negative_indices", True)))


#: An index that is out of bounds for every axis.
_OUT_OF_BOUNDS_INDEX = 2**31 - 1


def _disable_negative_indices(index: Any, replacement: int) -> Any:
    """Return an index whose negative integers are replaced by ``replacement``, not counted from the end."""
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(_replace_negative(part, replacement) for part in parts)


def _replace_negative(part: Any, replacement: int) -> Any:
    if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
        return replacement if part < 0 else part
    if is_value(part) and dtype_kind(aval_of(part).dtype) == "i":
        return logic.where(logic.less(part, 0), replacement, as_dtype(part, to_canonical_dtype(int)))
    return part


_COMBINE_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda old, new: new,
    "add": ufuncs.add,
    "subtract": ufuncs.subtract,
    "multiply": ufuncs.multiply,
    "min": ufuncs.minimum,
    "max": ufuncs.maximum,
}
_SCATTER_OPERATIONS: dict[str, type[indexing.ScatterFamily]] = {
    "set": indexing.Scatter,
    "add": indexing.ScatterAdd,
    "subtract": scattering.ScatterSub,
    "multiply": scattering.ScatterMul,
    "min": scattering.ScatterMin,
    "max": scattering.ScatterMax,
}


def _lift_static_indices(form: IndexForm, operands: Sequence[Any]) -> tuple[list[Any], IndexForm]:
    """Return operands and form of an index with static positions turned into operands, so that programs are shared.

    ``form`` and ``operands`` are the results of :func:`parse_index`. Negative positions are replaced by one out
    of bounds.
    """
    remaining_operands = iter(operands)
    lifted: list[Any] = []
    items: list[IndexItem] = []
    for item in form:
        if isinstance(item, StaticIndexItem):
            lifted.append(item.position if item.position >= 0 else _OUT_OF_BOUNDS_INDEX)
            items.append(DynamicIndexItem())
        else:
            items.append(item)
            lifted.extend([next(remaining_operands)] if isinstance(item, (IndexArrayItem, DynamicIndexItem)) else [])
    return lifted, tuple(items)


def update_by_form(x: Any, operands: Sequence[Any], values: Any, form: IndexForm, how: str, mode: IndexMode) -> Any:
    """Return ``x`` with the elements at an index combined with ``values``, weakly typed if ``x`` is.

    ``form`` and ``operands`` are the results of :func:`parse_index`; ``how`` is a key of ``_COMBINE_FUNCTIONS``,
    such as "add".
    """
    new, aval = _compute_update(x, operands, values, form, how, mode), aval_of(x)
    return to_dtype(new, aval.dtype, True) if aval.weak_type and not aval_of(new).weak_type else new


def _compute_update(x: Any, operands: Sequence[Any], values: Any, form: IndexForm, how: str, mode: IndexMode) -> Any:
    """Return the array that :func:`update_by_form` returns, before the weak type is restored."""
    shape = x.shape
    items = [item for item in form if not isinstance(item, NewAxisItem)]
    if not mode.clip and any(
        isinstance(i, StaticIndexItem) and not 0 <= i.position < n for i, n in zip(items, shape, strict=True)
    ):
        return x
    if not operands:
        old = None if how == "set" else take_by_form(x, (), form)
        result_shape = _result_shape(form, shape)
        return _write_static_part(x, form, _new_values(how, old, values, result_shape, x.dtype), has_all_axes=False)
    part = expand_dims(apply_static_items(x, form), new_axes(form))
    indices, axes, result_axis = gather_coordinates(part, operands, form)
    updated = _scatter(part, indices, axes, result_axis, values, how, mode)
    return _write_static_part(x, form, squeeze(updated, new_axes(form)), has_all_axes=True)


_jit_update_by_form = jit_wrapped("how", "form", "mode")(update_by_form)


def _new_values(how: str, old: Any, values: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    if boot.trace_settings.value:  # raises under strict dtype promotion
        common_dtype([make_aval((), dtype), aval_of(values)])
    new = as_dtype(_COMBINE_FUNCTIONS[how](old, values), dtype)
    if aval_of(new).size == 1 and len(aval_of(new).shape) > len(shape):
        new = reshape(new, ())
    return broadcast_to(new, shape)


def _result_shape(form: IndexForm, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of ``x[index]``, for a form without operands and an ``x`` of the given shape."""
    sizes = iter(shape)
    result = []
    for item in form:
        if isinstance(item, NewAxisItem):
            result.append(1)
            continue
        size = next(sizes)
        if not isinstance(item, StaticIndexItem):
            first, limit, step = bounds_of(item, size)
            result.append(-(-(limit - first) // step))
    return tuple(result)


def _scatter(
    x: Any, indices: Any, axes: tuple[int, ...], result_axis: int, values: Any, how: str, mode: IndexMode
) -> Any:
    """Return ``x`` with ``values`` combined with the elements at coordinates.

    ``indices``, ``axes`` and ``result_axis`` are the results of :func:`gather_coordinates`; ``how`` is a key of
    ``_SCATTER_OPERATIONS``, such as "add".
    """
    aval = aval_of(x)
    window = window_axes(aval.ndim, indices, axes, result_axis)
    numbers = indexing.ScatterDimensionNumbers(window, axes, axes)
    window_sizes = iter([size for axis, size in enumerate(aval.shape) if axis not in axes])
    lead = iter(aval_of(indices).shape[:-1])
    total = len(window) + len(aval_of(indices).shape) - 1
    updates_shape = tuple(next(window_sizes) if axis in window else next(lead) for axis in range(total))
    dtype = aval.dtype if how == "set" else common_dtype([aval, aval_of(values)])[0]
    updates = _new_values("set", None, values, updates_shape, dtype)
    operation = _SCATTER_OPERATIONS[how](
        numbers, "clip" if mode.clip else "drop", mode.indices_are_sorted, mode.unique_indices
    )
    if dtype == aval.dtype:
        return bind1(operation, x, indices, updates)
    widened = as_dtype(x, dtype)  # compute in the promoted dtype, as x[index] + y does
    scattered = bind1(operation, widened, indices, updates)
    result = as_dtype(scattered, aval.dtype)
    if dtype_kind(aval.dtype) in "iu" and dtype_kind(dtype) in "fc":  # the conversion may round unchanged integers
        return logic.where(logic.equal(widened, scattered), x, result)
    return result


def _write_static_part(x: Any, form: IndexForm, part: Any, *, has_all_axes: bool) -> Any:
    """Return ``x`` with the elements that the static items of a form select replaced by ``part``.

    ``has_all_axes`` says that ``part`` has all axes of ``x`` and no new ones; otherwise it has the shape of
    ``x[index]``.
    """
    shape = x.shape
    items = [item for item in form if not isinstance(item, NewAxisItem)]
    if not has_all_axes:
        part = squeeze(part, tuple(i for i, item in enumerate(_items_with_axes(form)) if isinstance(item, NewAxisItem)))
        part = expand_dims(part, tuple(i for i, item in enumerate(items) if isinstance(item, StaticIndexItem)))
    flipped = reversed_axes(form)
    part = rev(part, flipped) if flipped else part
    bounds = [bounds_of(item, size) for item, size in zip(items, shape, strict=True)]
    if aval_of(part).shape == shape:
        return part
    if not aval_of(part).size:
        return x
    if all(step == 1 for _, _, step in bounds):
        return dynamic_update_slice(x, part, [first for first, _, _ in bounds])
    return _scatter_static(x, part, bounds)


def _items_with_axes(form: IndexForm) -> IndexForm:
    """Return the items of a form that keep an axis in the result."""
    return tuple(item for item in form if not isinstance(item, StaticIndexItem))


def _scatter_static(x: Any, part: Any, bounds: Sequence[tuple[int, int, int]]) -> Any:
    """Return ``x`` with ``part`` at strided positions, by a scatter over the axes that are not fully covered.

    ``bounds`` has the start, limit and stride for each axis.
    """
    shape = x.shape
    axes = tuple(i for i, (bound, size) in enumerate(zip(bounds, shape, strict=True)) if bound != (0, size, 1))
    columns = [
        np.arange(*bounds[axis], dtype=np.int32).reshape([-1 if i == j else 1 for j in range(len(axes))])
        for i, axis in enumerate(axes)
    ]
    indices = stack_coordinates(columns)
    remaining_axes = tuple(i for i in range(len(shape)) if i not in axes)
    numbers = indexing.ScatterDimensionNumbers(window_axes(len(shape), indices, axes, 0), axes, axes)
    return bind1(indexing.Scatter(numbers, "drop"), x, indices, transpose(part, (*axes, *remaining_axes)))


# Out of bounds ------------------------------------------------------------------------------------------------------


def get_filled(x: Any, index: Any, fill_value: Any = None) -> Any:
    """Return ``x[index]`` with ``fill_value`` (None: NaN for floats) where an index is out of bounds."""
    form, operands = parse_index(x.shape, index, eager=False)
    lifted, form = _lift_static_indices(form, operands)
    return _get_filled(x, lifted, fill_value, form=form)


@jit_wrapped("form")
def _get_filled(x: Any, operands: list[Any], fill_value: Any, form: IndexForm) -> Any:
    elements = take_by_form(x, operands, form)
    if not operands:
        return elements
    dtype = aval_of(x).dtype
    value = fill_value_of(dtype) if fill_value is None else as_dtype(fill_value, dtype)
    return logic.where(_in_bounds_mask(x, operands, form), elements, value)


def _in_bounds_mask(x: Any, operands: list[Any], form: IndexForm) -> Any:
    """Return the mask of the elements of ``x[index]`` whose indices are in bounds, broadcastable to ``x[index]``.

    ``form`` and ``operands`` are the results of :func:`_lift_static_indices`; there is at least one operand.
    """
    sizes = iter(x.shape)
    remaining_operands = iter(operands)
    mask: Any = True
    index_positions, window_positions = [], []
    for position, item in enumerate(form):
        size = 1 if isinstance(item, NewAxisItem) else next(sizes)
        if isinstance(item, (IndexArrayItem, DynamicIndexItem)):
            i = next(remaining_operands)
            index_positions.append(position)
            in_bounds = is_in_bounds(i, size)
            mask = in_bounds if mask is True else logic.bitwise_and(mask, in_bounds)
        else:
            window_positions.append(position)
    is_contiguous = index_positions == list(range(index_positions[0], index_positions[-1] + 1))
    trailing = [position for position in window_positions if not is_contiguous or position > index_positions[0]]
    rank = len(aval_of(mask).shape)
    return expand_dims(mask, tuple(range(rank, rank + len(trailing))))
