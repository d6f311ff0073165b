"""``x.at[index].set(y)`` and its relatives: an array like ``x`` with some elements changed."""

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
    """What ``x.at`` gives: index it, then say what to do there."""

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
    """An array and an index; the methods give new arrays, the given one stays as it is.

    Indices beyond the end change nothing, or with ``mode="clip"`` the last element. Where an index array names an
    element several times, all its values count, in no particular order; ``set`` uses one of them.
    """

    __slots__ = ("_array", "_index")

    def __init__(self, array: Any, index: Any) -> None:
        self._array = array
        self._index = index

    def get(self, *, mode: Any = None, fill_value: Any = None, **hints: Any) -> Any:
        """The elements; beyond the end, with ``mode="fill"``, ``fill_value`` (NaN), else the last one."""
        if hints.get("out_sharding") is not None:
            rest = {**hints, "mode": mode, "fill_value": fill_value, "out_sharding": None}
            return lying_so(
                "get", hints["out_sharding"], lambda x: IndexUpdateAt(x, self._index).get(**rest), [self._array]
            )
        read = _mode_of({**hints, "mode": mode})
        filled = _name_of(mode) in ("fill", "drop")
        index = self._index if read.wrap else _from_front(self._index, _NOWHERE if filled else 0)
        return get_filled(self._array, index, fill_value) if filled else self._array[index]

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
        return self._changed("subtract", values, hints)

    def multiply(self, values: Any, **hints: Any) -> Any:
        """The array with the elements at the index multiplied by ``values``."""
        return self._changed("multiply", values, hints)

    mul = multiply

    def divide(self, values: Any, **hints: Any) -> Any:
        """The array with the elements at the index divided by ``values``; floats also for integers, as of any division.

        >>> import xlascope.numpy as jnp
        >>> print(jnp.ones(3).at[jnp.array([0, 0])].divide(2.0))
        [0.25 1.   1.  ]
        """
        return self._by_all(ufuncs.true_divide, values, hints)

    def power(self, values: Any, **hints: Any) -> Any:
        """The array with the elements at the index raised to the power ``values``."""
        return self._by_all(ufuncs.power, values, hints)

    def min(self, values: Any, **hints: Any) -> Any:
        """The array with the smaller of element and value at the index."""
        return self._changed("min", values, hints)

    def max(self, values: Any, **hints: Any) -> Any:
        """The array with the larger of element and value at the index."""
        return self._changed("max", values, hints)

    def apply(self, ufunc: Callable[[Any], Any], **hints: Any) -> Any:
        """The array with ``ufunc`` applied to the elements at the index, as often as the index names each.

        In reverse mode it can be differentiated when the index cannot repeat itself, or ``unique_indices=True``.

        >>> import xlascope.numpy as jnp
        >>> print(jnp.ones(3).at[jnp.array([0, 0, 1])].apply(lambda x: 2 * x))
        [4. 2. 1.]
        """
        if not callable(ufunc):
            raise TypeError(f"at[…].apply takes a function of the elements, got {ufunc!r}{here()}")
        values = self._array[self._index]
        if hints.get("unique_indices") or not self._may_repeat():
            return self.set(ufunc(values), **hints)
        nothing = creation.zeros_like(self._array, dtype=np.int32)
        often = IndexUpdateAt(nothing, self._index).add(1, **hints)[self._index]

        def once_more(state: tuple[Any, Any]) -> tuple[Any, Any]:
            done, held = state
            return ufuncs.add(done, 1), logic.where(logic.greater(often, done), as_dtype(ufunc(held), held.dtype), held)

        most = reductions.max(often, initial=0)
        _, values = while_loop(lambda state: logic.less(state[0], most), once_more, (np.int32(0), values))
        return self.set(values, **hints)

    def _may_repeat(self) -> bool:
        """Whether the index may name an element twice."""
        _, operands = parse(self._array.shape, self._index, eager=False, updates=True)
        return max((aval_of(operand).size for operand in operands), default=1) > 1

    def _by_all(self, combine: Callable[[Any, Any], Any], values: Any, hints: dict[str, Any]) -> Any:
        """The elements combined with the product of all values that fall on them, those left out with one."""
        x = self._array
        ones = IndexUpdateAt(creation.ones_like(x), self._index)
        return combine(x, ones._changed("multiply", values, hints))

    def _changed(self, how: str, values: Any, hints: dict[str, Any]) -> Any:
        x = self._array
        mode = _mode_of(hints)
        if isinstance(values, (list, tuple, range)):
            values = creation.asarray(values)
        if hints.get("out_sharding") is not None:
            rest = {**hints, "out_sharding": None}
            return lying_so(
                how,
                hints["out_sharding"],
                lambda x, y: IndexUpdateAt(x, self._index)._changed(how, y, rest),
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
    """How the indices of an update are read: clamped or not, what is promised of them, and whether from behind."""

    clip: bool
    indices_are_sorted: bool
    unique_indices: bool
    wrap: bool


def _name_of(mode: Any) -> Any:
    """The name of a mode, which may be a member of ``lax.GatherScatterMode``."""
    return getattr(mode, "value", mode)


def _mode_of(hints: dict[str, Any]) -> Mode:
    """How indices are read; raises for hints that nobody knows."""
    unknown = hints.keys() - {"indices_are_sorted", "unique_indices", "wrap_negative_indices", "out_sharding", "mode"}
    if unknown:
        raise TypeError(f"an update at an index got the unexpected argument {min(unknown)}")
    mode = _name_of(hints.get("mode"))
    if mode not in (None, "clip", "drop", "fill", "promise_in_bounds"):
        raise ValueError(f'the mode of an update is "clip", "drop", "fill" or "promise_in_bounds", got {mode!r}')
    sorted_, unique = (bool(hints.get(name)) for name in ("indices_are_sorted", "unique_indices"))
    return Mode(mode == "clip", sorted_, unique, bool(hints.get("wrap_negative_indices", True)))


#: An index that is beyond the end of every axis.
_NOWHERE = 2**31 - 1


def _from_front(index: Any, before: int) -> Any:
    """An index whose negative integers are not counted from behind, but read as ``before``."""
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(_not_negative(part, before) for part in parts)


def _not_negative(part: Any, before: int) -> Any:
    if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
        return before if part < 0 else part
    if is_value(part) and kind_of(aval_of(part).dtype) == "i":
        return logic.where(logic.less(part, 0), before, as_dtype(part, canonical(int)))
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


def changed(x: Any, operands: Sequence[Any], values: Any, form: Form, how: str, mode: Mode) -> Any:
    """``x`` with the elements at an index combined with ``values``; weak where ``x`` is."""
    made, aval = _combined(x, operands, values, form, how, mode), aval_of(x)
    return convert_element_type(made, aval.dtype, True) if aval.weak_type and not aval_of(made).weak_type else made


def _combined(x: Any, operands: Sequence[Any], values: Any, form: Form, how: str, mode: Mode) -> Any:
    shape = x.shape
    items = [item for item in form if not isinstance(item, New)]
    if not mode.clip and any(isinstance(i, At) and not 0 <= i.place < n for i, n in zip(items, shape, strict=True)):
        return x
    if not operands:
        old = None if how == "set" else taken(x, (), form)
        wanted = _result_shape(form, shape)
        return _put_back(x, form, _new_values(how, old, values, wanted, x.dtype), whole=False)
    part = expand_dims(sliced(x, form), new_axes(form))
    indices, axes, place = index_rows(part, operands, form)
    made = _scattered(part, indices, axes, place, values, how, mode)
    return _put_back(x, form, squeeze(made, new_axes(form)), whole=True)


_changed = together("how", "form", "mode")(changed)


def _new_values(how: str, old: Any, values: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    if boot.trace_settings.value:  # it may say that dtypes do not mix
        common_dtype([shaped((), dtype), aval_of(values)])
    new = as_dtype(_COMBINE[how](old, values), dtype)
    if aval_of(new).size == 1 and len(aval_of(new).shape) > len(shape):
        new = reshape(new, ())
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


def _scattered(x: Any, indices: Any, axes: tuple[int, ...], place: int, values: Any, how: str, mode: Mode) -> Any:
    aval = aval_of(x)
    window = window_axes(aval.ndim, indices, axes, place)
    numbers = indexing.ScatterDimensionNumbers(window, axes, axes)
    kept = iter([size for axis, size in enumerate(aval.shape) if axis not in axes])
    lead = iter(aval_of(indices).shape[:-1])
    total = len(window) + len(aval_of(indices).shape) - 1
    wanted = tuple(next(kept) if axis in window else next(lead) for axis in range(total))
    dtype = aval.dtype if how == "set" else common_dtype([aval, aval_of(values)])[0]
    updates = _new_values("set", None, values, wanted, dtype)
    operation = _OPERATIONS[how](numbers, "clip" if mode.clip else "drop", mode.indices_are_sorted, mode.unique_indices)
    if dtype == aval.dtype:
        return bind1(operation, x, indices, updates)
    before = as_dtype(x, dtype)  # computed in the dtype of both, as x[index] + y is
    after = bind1(operation, before, indices, updates)
    made = as_dtype(after, aval.dtype)
    if kind_of(aval.dtype) in "iu" and kind_of(dtype) in "fc":  # integers that stay were rounded on the way
        return logic.where(logic.equal(before, after), x, made)
    return made


def _put_back(x: Any, form: Form, part: Any, *, whole: bool) -> Any:
    """``x`` with the static part of a form replaced; ``whole``: ``part`` has all of ``x``'s axes and no new ones."""
    shape = x.shape
    items = [item for item in form if not isinstance(item, New)]
    if not whole:
        part = squeeze(part, tuple(i for i, item in enumerate(_with_axes(form)) if isinstance(item, New)))
        part = expand_dims(part, tuple(i for i, item in enumerate(items) if isinstance(item, At)))
    back = backwards(form)
    part = rev(part, back) if back else part
    bounds = [bounds_of(item, size) for item, size in zip(items, shape, strict=True)]
    if aval_of(part).shape == shape:
        return part
    if not aval_of(part).size:
        return x
    if all(step == 1 for _, _, step in bounds):
        return dynamic_update_slice(x, part, [first for first, _, _ in bounds])
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
    numbers = indexing.ScatterDimensionNumbers(window_axes(len(shape), indices, axes, 0), axes, axes)
    return bind1(indexing.Scatter(numbers, "drop"), x, indices, transpose(part, (*axes, *rest)))


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
    value = fill_of(dtype) if fill_value is None else as_dtype(fill_value, dtype)
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
            here = within(i, size)
            inside = here if inside is True else logic.bitwise_and(inside, here)
        else:
            kept.append(position)
    neighbours = places == list(range(places[0], places[-1] + 1))
    behind = [position for position in kept if not neighbours or position > places[0]]
    rank = len(aval_of(inside).shape)
    return expand_dims(inside, tuple(range(rank, rank + len(behind))))
