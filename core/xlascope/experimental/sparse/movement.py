"""Structural operations on BCOO arrays: transposes, reshapes, slices and concatenation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...numpy.axes import axis_of
from ...trace.source import here
from ...trace.values import aval_of
from .formats import BCOO, broadcast_batch, require_format, shape_parts
from .formats import is_inside as within
from .layout import bcoo_sum_duplicates


def _axis_kind(mat: BCOO, axis: int) -> int:
    """Return 0 for a batch axis, 1 for a sparse one, 2 for a dense one."""
    return (axis >= mat.n_batch) + (axis >= mat.ndim - mat.n_dense)


def _index_dtype(mat: BCOO) -> Any:
    return aval_of(mat.indices).dtype


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """Permute axes: batch among batch, sparse among sparse, dense among dense ones.

    Raises NotImplementedError for a permutation that moves axes between these kinds, and ValueError if
    ``permutation`` is none.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental import sparse
    >>> x = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [0.0, 1.0]]))
    >>> print(sparse.bcoo_transpose(x, permutation=(1, 0)).todense())
    [[0. 0.]
     [2. 1.]]
    """
    require_format(mat, BCOO, "bcoo_transpose")
    order = [int(axis) for axis in permutation]
    if sorted(order) != list(range(mat.ndim)):
        raise ValueError(f"permutation of bcoo_transpose orders {mat.ndim} axes, got {tuple(permutation)}{here()}")
    if order == list(range(mat.ndim)):
        return mat
    if [_axis_kind(mat, axis) for axis in order] != [_axis_kind(mat, axis) for axis in range(mat.ndim)]:
        raise NotImplementedError(
            f"axes of a sparse array that change between batch, sparse and dense by {tuple(order)}: use "
            f"update_layout before{here()}"
        )
    first, last = mat.n_batch, mat.ndim - mat.n_dense
    batch, dense = order[:first], order[last:]
    data = jnp.transpose(mat.data, [*batch, first, *(axis - last + first + 1 for axis in dense)])
    indices = jnp.transpose(mat.indices, [*batch, first, first + 1])
    places = [axis - first for axis in order[first:last]]
    return BCOO(
        (data, indices[..., np.array(places, int)]),
        shape=tuple(mat.shape[axis] for axis in order),
        indices_sorted=mat.indices_sorted and places == sorted(places),
        unique_indices=mat.unique_indices,
    )


def bcoo_reshape(mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> BCOO:
    """Return the same elements in another shape, which does not mix batch, sparse and dense axes.

    ``dimensions`` is the order of axes in which elements are read. Raises ValueError for another number of elements,
    and NotImplementedError for shapes that mix kinds of axes.
    """
    require_format(mat, BCOO, "bcoo_reshape")
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    shape = tuple(int(n) for n in new_sizes)
    if math.prod(shape) != mat.size:
        raise ValueError(f"new_sizes {shape} of bcoo_reshape hold {math.prod(shape)} of {mat.size} elements{here()}")
    batch, sparse, dense = shape_parts(mat)
    first = _split_point(shape, math.prod(batch), len(batch))
    behind = _split_point(shape[::-1], math.prod(dense), len(dense))
    last = len(shape) - (behind or 0)
    if first is None or behind is None or last < first or math.prod(shape[first:last]) != math.prod(sparse):
        raise NotImplementedError(
            f"a shape {shape} of a sparse array of shape {mat.shape} that mixes its {len(batch)} batch, {len(sparse)} "
            f"sparse and {len(dense)} dense axes{here()}"
        )
    data, indices = broadcast_batch(mat)
    target = shape[first:last]
    flat = jnp.zeros(indices.shape[:-1], indices.dtype)
    for k, size in enumerate(sparse):
        flat = flat * size + indices[..., k]
    steps = []
    for size in reversed(target):
        steps.append(flat % size)
        flat = flat // size
    places = jnp.stack(steps[::-1], axis=-1) if target else jnp.zeros((*flat.shape, 0), indices.dtype)
    if sparse:
        places = jnp.where(within(indices, sparse)[..., None], places, np.array(target, indices.dtype))
    data = jnp.reshape(data, (*shape[:first], mat.nse, *shape[last:]))
    places = jnp.reshape(places, (*shape[:first], mat.nse, len(target)))
    return BCOO((data, places), shape=shape, indices_sorted=mat.indices_sorted, unique_indices=mat.unique_indices)


def _split_point(shape: Sequence[int], size: int, like: int) -> int | None:
    """Return how many leading axes of ``shape`` hold ``size`` elements together; None if no number of them does.

    Axes of size 1 leave a choice: then it is the number nearest to ``like``.
    """
    fitting = [k for k in range(len(shape) + 1) if math.prod(shape[:k]) == size]
    if not fitting:
        return None
    if like == 0 and 0 in fitting:
        return 0
    return min(fitting, key=lambda k: abs(k - like))


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """Return the array without the axes ``dimensions``, which have size 1; raise ValueError for another size."""
    require_format(arr, BCOO, "bcoo_squeeze")
    removed = {int(axis) % arr.ndim for axis in dimensions}
    if any(arr.shape[axis] != 1 for axis in removed):
        raise ValueError(f"dimensions {tuple(dimensions)} of shape {arr.shape} are not all of size 1{here()}")
    first, last = arr.n_batch, arr.ndim - arr.n_dense
    of_batch = [axis for axis in removed if axis < first]
    retained = [k for k in range(arr.n_sparse) if k + first not in removed]
    data = jnp.squeeze(arr.data, (*of_batch, *(axis - last + first + 1 for axis in removed if axis >= last)))
    # padding along a removed axis is padding along the others, or has no position and no value
    inside = within(arr.indices, shape_parts(arr)[1])
    outside = np.array([arr.shape[first + k] for k in retained], _index_dtype(arr))
    places = jnp.where(inside[..., None], arr.indices[..., np.array(retained, int)], outside)
    indices = jnp.squeeze(places, tuple(of_batch))
    if not retained and arr.n_sparse:
        is_inside = jnp.squeeze(inside, tuple(of_batch))
        data = jnp.where(jnp.reshape(is_inside, (*is_inside.shape, *(1,) * (data.ndim - is_inside.ndim))), data, 0)
    shape = tuple(size for axis, size in enumerate(arr.shape) if axis not in removed)
    return BCOO((data, indices), shape=shape, indices_sorted=arr.indices_sorted, unique_indices=arr.unique_indices)


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """Reverse the order of elements along the axes ``dimensions``."""
    require_format(operand, BCOO, "bcoo_rev")
    turned = {int(axis) % operand.ndim for axis in dimensions}
    first, last = operand.n_batch, operand.ndim - operand.n_dense
    data, indices = broadcast_batch(operand)
    data = jnp.flip(
        data, tuple(axis if axis < first else axis - last + first + 1 for axis in turned if not first <= axis < last)
    )
    indices = jnp.flip(indices, tuple(axis for axis in turned if axis < first))
    _, sparse, _ = shape_parts(operand)
    if any(first <= axis < last for axis in turned):
        back = [size - 1 - indices[..., k] if k + first in turned else indices[..., k] for k, size in enumerate(sparse)]
        outside = np.array(sparse, indices.dtype)
        indices = jnp.where(within(indices, sparse)[..., None], jnp.stack(back, axis=-1), outside)
    return BCOO((data, indices), shape=operand.shape, unique_indices=operand.unique_indices)


def bcoo_slice(
    mat: BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> BCOO:
    """Return the slice from ``start_indices`` to ``limit_indices`` (exclusive), in steps of ``strides``.

    Entries outside the slice become padding; no more are stored than the slice has positions. Raises ValueError for
    starts and limits that are out of bounds.
    """
    require_format(mat, BCOO, "bcoo_slice")
    steps = [1] * mat.ndim if strides is None else [int(n) for n in strides]
    starts, limits = [int(n) for n in start_indices], [int(n) for n in limit_indices]
    if not len(starts) == len(limits) == len(steps) == mat.ndim:
        raise ValueError(f"bcoo_slice takes a start, a limit and a stride for each of {mat.ndim} axes{here()}")
    if (
        any(not 0 <= a <= b <= n for a, b, n in zip(starts, limits, mat.shape, strict=True))
        or min(steps, default=1) < 1
    ):
        raise ValueError(f"bcoo_slice of shape {mat.shape} from {tuple(starts)} to {tuple(limits)}{here()}")
    shape = tuple(-(-(b - a) // s) for a, b, s in zip(starts, limits, steps, strict=True))
    first, last = mat.n_batch, mat.ndim - mat.n_dense
    data, indices = broadcast_batch(mat)
    parts = [slice(a, b, s) for a, b, s in zip(starts, limits, steps, strict=True)]
    data = data[(*parts[:first], slice(None), *parts[last:])]
    indices = indices[tuple(parts[:first])]
    start, limit, step = (np.array(bounds[first:last], indices.dtype) for bounds in (starts, limits, steps))
    is_inside = jnp.all((indices >= start) & (indices < limit) & ((indices - start) % step == 0), axis=-1)
    return _mask_entries(mat, data, (indices - start) // step, is_inside, shape)


def _mask_entries(mat: BCOO, data: Any, indices: Any, is_inside: Any, shape: tuple[int, ...]) -> BCOO:
    """Return a BCOO array of ``shape`` with the entries for which ``is_inside`` is true; the others become padding.

    ``mat`` has the numbers of axes. No more entries are stored than there are positions.
    """
    first, last = mat.n_batch, mat.ndim - mat.n_dense
    sparse = shape[first:last]
    indices = jnp.where(is_inside[..., None], indices, np.array(sparse, indices.dtype))
    data = jnp.where(jnp.reshape(is_inside, (*is_inside.shape, *(1,) * (data.ndim - is_inside.ndim))), data, 0)
    masked = BCOO((data, indices), shape=shape, unique_indices=mat.unique_indices)
    most = math.prod(sparse)
    return bcoo_sum_duplicates(masked, nse=most) if mat.nse > most else masked


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """Return the slice of sizes ``slice_sizes`` that begins at ``start_indices``, which may be traced.

    Starts are clamped so that the slice is inside the array. Raises ValueError for sizes that do not fit.
    """
    require_format(mat, BCOO, "bcoo_dynamic_slice")
    shape = tuple(int(n) for n in slice_sizes)
    if len(start_indices) != mat.ndim or len(shape) != mat.ndim:
        raise ValueError(f"bcoo_dynamic_slice takes a start and a size for each of {mat.ndim} axes{here()}")
    if any(not 0 <= a <= n for a, n in zip(shape, mat.shape, strict=True)):
        raise ValueError(f"slice_sizes {shape} of bcoo_dynamic_slice do not fit the shape {mat.shape}{here()}")
    dtype = _index_dtype(mat)
    starts = [
        jnp.clip(jnp.asarray(x), 0, n - a).astype(dtype)
        for x, a, n in zip(start_indices, shape, mat.shape, strict=True)
    ]
    first, last = mat.n_batch, mat.ndim - mat.n_dense
    data, indices = broadcast_batch(mat)
    zero = jnp.zeros((), dtype)
    data = lax.dynamic_slice(data, [*starts[:first], zero, *starts[last:]], [*shape[:first], mat.nse, *shape[last:]])
    indices = lax.dynamic_slice(indices, [*starts[:first], zero, zero], [*shape[:first], mat.nse, mat.n_sparse])
    sparse = np.array(shape[first:last], dtype)
    if first < last:
        indices = indices - jnp.stack(starts[first:last])
    return _mask_entries(mat, data, indices, jnp.all((indices >= 0) & (indices < sparse), axis=-1), shape)


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Concatenate arrays of one layout along a batch or a sparse axis.

    Raises ValueError for arrays that do not fit, and NotImplementedError for a dense axis.
    """
    operands = list(operands)
    if not operands:
        raise ValueError(f"bcoo_concatenate takes at least one array{here()}")
    for item in operands:
        require_format(item, BCOO, "bcoo_concatenate")
    first = operands[0]
    dimension = axis_of(dimension, first.ndim)
    layouts = {(item.ndim, item.n_batch, item.n_dense) for item in operands}
    shapes = {(*item.shape[:dimension], *item.shape[dimension + 1 :]) for item in operands}
    if len(layouts) > 1 or len(shapes) > 1:
        raise ValueError(
            f"bcoo_concatenate takes arrays of one layout, that fit along the other axes: {operands}{here()}"
        )
    kind = _axis_kind(first, dimension)
    if kind == 2:
        raise NotImplementedError(f"bcoo_concatenate along a dense axis: use update_layout before{here()}")
    total = sum(item.shape[dimension] for item in operands)
    shape = (*first.shape[:dimension], total, *first.shape[dimension + 1 :])
    pairs = [broadcast_batch(item) for item in operands]
    if kind == 0:
        most = max(item.nse for item in operands)
        pairs = [_pad_entries(item, pair, most) for item, pair in zip(operands, pairs, strict=True)]
        data, indices = (jnp.concatenate(list(item), axis=dimension) for item in zip(*pairs, strict=True))
        unique = all(item.unique_indices for item in operands)
        return BCOO((data, indices), shape=shape, unique_indices=unique)
    sparse_axis, offset, shifted = dimension - first.n_batch, 0, []
    outside = np.array(shape[first.n_batch : first.ndim - first.n_dense], _index_dtype(first))
    for item, (_, indices) in zip(operands, pairs, strict=True):
        step = np.zeros(first.n_sparse, indices.dtype)
        step[sparse_axis] = offset
        shifted.append(jnp.where(within(indices, shape_parts(item)[1])[..., None], indices + step, outside))
        offset += item.shape[dimension]
    data = jnp.concatenate([data for data, _ in pairs], axis=first.n_batch)
    unique = all(item.unique_indices for item in operands)
    return BCOO((data, jnp.concatenate(shifted, axis=first.n_batch)), shape=shape, unique_indices=unique)


def _pad_entries(mat: BCOO, pair: tuple[Any, Any], most: int) -> tuple[Any, Any]:
    """Return data and indices of ``mat`` (``pair``) with padding appended, so that there are ``most`` entries."""
    data, indices = pair
    more, axis = most - mat.nse, mat.n_batch
    outside = np.array(shape_parts(mat)[1], indices.dtype)
    zeros = jnp.zeros((*data.shape[:axis], more, *data.shape[axis + 1 :]), data.dtype)
    places = jnp.broadcast_to(outside, (*indices.shape[:axis], more, mat.n_sparse)).astype(indices.dtype)
    return jnp.concatenate([data, zeros], axis=axis), jnp.concatenate([indices, places], axis=axis)
