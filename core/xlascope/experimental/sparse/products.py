"""Products of BCOO arrays with dense ones and with each other, and sums along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...api import vmap
from ...trace.source import here
from ...trace.values import aval_of
from .construction import over_batch
from .formats import BCOO, broadcast_batch, index_columns, is_inside, require_format, shape_parts
from .layout import _batch_to_sparse, _expand_mask, bcoo_sum_duplicates
from .movement import bcoo_transpose

Dimensions = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


def bcoo_dot_general(
    lhs: Any, rhs: Any, *, dimension_numbers: Dimensions, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """Return the product of two arrays of which at least one is BCOO; see :func:`xlascope.lax.dot_general`.

    The result is dense, or BCOO if both operands are. Raises NotImplementedError if a shared batch axis is not a
    batch axis of a sparse operand, or a dense axis is contracted. ``precision`` has no effect: entries are multiplied
    one by one.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental import sparse
    >>> x = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> print(sparse.bcoo_dot_general(x, jnp.ones(2), dimension_numbers=(([1], [0]), ([], []))))
    [2. 3.]
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = (
        tuple(tuple(int(axis) for axis in axes) for axes in pair) for pair in dimension_numbers
    )
    _check_sizes(lhs, rhs, (lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    sparse = isinstance(lhs, BCOO), isinstance(rhs, BCOO)
    if sparse == (False, False):
        return lax.dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
    if sparse == (True, True):
        return _sparse_sparse_product(
            lhs, rhs, lhs_contract, rhs_contract, lhs_batch, rhs_batch, preferred_element_type
        )
    if sparse == (True, False):
        return _sparse_dense_product(
            lhs, jnp.asarray(rhs), lhs_contract, rhs_contract, lhs_batch, rhs_batch, preferred_element_type
        )
    dense = _sparse_dense_product(
        rhs, jnp.asarray(lhs), rhs_contract, lhs_contract, rhs_batch, lhs_batch, preferred_element_type
    )
    shared = len(lhs_batch)
    of_rhs = rhs.ndim - shared - len(rhs_contract)
    order = [*range(shared), *range(shared + of_rhs, dense.ndim), *range(shared, shared + of_rhs)]
    return jnp.transpose(dense, order)


def _check_sizes(lhs: Any, rhs: Any, contract: Sequence[Any], batch: Sequence[Any]) -> None:
    """Raise TypeError unless contracted and shared axes of both operands have equal sizes."""
    for laxes, raxes in (contract, batch):
        if [lhs.shape[axis] for axis in laxes] != [rhs.shape[axis] for axis in raxes]:
            raise TypeError(
                f"bcoo_dot_general takes arrays with equal sizes along the axes {tuple(laxes)} and {tuple(raxes)}, got "
                f"shapes {tuple(lhs.shape)} and {tuple(rhs.shape)}{here()}"
            )


def _result_type(x: Any, y: Any, preferred: Any) -> Any:
    return jnp.result_type(x.dtype, y.dtype) if preferred is None else np.dtype(preferred)


def _check_axis_kinds(mat: BCOO, contract: Sequence[int], batch: Sequence[int]) -> None:
    """Raise NotImplementedError for axes of a sparse array that products do not support.

    ``batch``, the shared axes, have to be batch axes; ``contract``, the contracted ones, no dense axes.
    """
    if any(axis >= mat.n_batch for axis in batch):
        raise NotImplementedError(f"bcoo_dot_general shares batch axes of sparse arrays, got {tuple(batch)}{here()}")
    if any(axis >= mat.ndim - mat.n_dense for axis in contract):
        raise NotImplementedError(f"bcoo_dot_general sums over no dense axes of sparse arrays{here()}")


def _sparse_dense_product(
    mat: BCOO, operand: Any, contract: Any, other_contract: Any, batch: Any, other_batch: Any, preferred: Any
) -> Any:
    """Return the product, with axes (shared batch…, free axes of ``mat``…, free axes of ``operand``…).

    ``contract`` and ``batch`` are the contracted and shared axes of ``mat``, ``other_contract`` and ``other_batch``
    those of ``operand``; ``preferred`` is the result's dtype, or None.
    """
    _check_axis_kinds(mat, contract, batch)
    dtype = _result_type(mat, operand, preferred)
    n_batch, n_shared = mat.n_batch, len(batch)
    # axes of the dense operand: shared, summed over with batch axes, with sparse ones, free
    pairs = sorted(zip(contract, other_contract, strict=True))
    by_batch = [(a, b) for a, b in pairs if a < n_batch]
    by_sparse = [(a, b) for a, b in pairs if a >= n_batch]
    used = {*other_batch, *other_contract}
    free_axes = [axis for axis in range(operand.ndim) if axis not in used]
    order = [*other_batch, *(b for _, b in by_batch), *(b for _, b in by_sparse), *free_axes]
    dense = jnp.transpose(operand, order).astype(dtype)
    # batch axes of the sparse one: shared, summed over, free
    free_batch = [axis for axis in range(n_batch) if axis not in {*batch, *(a for a, _ in by_batch)}]
    data, indices = broadcast_batch(mat)
    batch_order = [*batch, *(a for a, _ in by_batch), *free_batch]
    data, indices = (jnp.transpose(x, [*batch_order, *range(n_batch, x.ndim)]) for x in (data.astype(dtype), indices))
    summed = tuple(a - n_batch for a, _ in by_sparse)
    _, sparse, _ = shape_parts(mat)
    retained = tuple(k for k in range(len(sparse)) if k not in summed)

    def multiply_entries(data: Any, indices: Any, dense: Any) -> Any:
        places = index_columns(indices)
        rows = dense
        if summed:
            rows = dense.at[tuple(places[k] for k in summed)].get(mode="fill", fill_value=0)
            rows = jnp.expand_dims(rows, tuple(range(1, data.ndim)))
        else:
            rows = jnp.expand_dims(rows, tuple(range(data.ndim)))
        parts = jnp.expand_dims(data, tuple(range(data.ndim, rows.ndim))) * rows
        if not summed:  # padding was not multiplied by the fill value
            parts = jnp.where(_expand_mask(is_inside(indices, sparse), parts), parts, 0)
        if not retained:
            return jnp.sum(parts, axis=0)
        inside = is_inside(indices, sparse)
        parts = jnp.where(_expand_mask(inside, parts), parts, 0)
        target = jnp.zeros((*(sparse[k] for k in retained), *parts.shape[1:]), dtype)
        return target.at[tuple(places[k] for k in retained)].add(parts, mode="drop")

    product = vmap_without_dense(multiply_entries, len(free_batch))
    for _ in by_batch:
        product = _vmap_and_sum(product)
    for _ in range(n_shared):
        product = vmap(product)
    return product(data, indices, dense)


def vmap_without_dense(function: Any, count: int) -> Any:
    """Map ``function(data, indices, dense)`` over ``count`` axes that the dense operand does not have."""
    for _ in range(count):
        function = vmap(function, in_axes=(0, 0, None))
    return function


def _vmap_and_sum(function: Any) -> Any:
    """Map ``function(data, indices, dense)`` over a leading axis of all three, and sum the results along it."""
    mapped = vmap(function)
    return lambda data, indices, dense: jnp.sum(mapped(data, indices, dense), axis=0)


def _sparse_sparse_product(
    lhs: BCOO, rhs: BCOO, lhs_contract: Any, rhs_contract: Any, lhs_batch: Any, rhs_batch: Any, preferred: Any
) -> BCOO:
    """Return the product of two BCOO arrays: multiply all pairs of entries whose contracted positions agree.

    The parameters are as for :func:`_sparse_dense_product`.
    """
    if lhs.n_dense or rhs.n_dense:
        raise NotImplementedError(f"products of two sparse arrays with dense axes{here()}")
    for mat, contract, batch in ((lhs, lhs_contract, lhs_batch), (rhs, rhs_contract, rhs_batch)):
        _check_axis_kinds(mat, contract, batch)
    lhs, lhs_contract = _isolate_shared_batch(lhs, lhs_contract, lhs_batch)
    rhs, rhs_contract = _isolate_shared_batch(rhs, rhs_contract, rhs_batch)
    shared = len(lhs_batch)
    dtype = _result_type(lhs, rhs, preferred)
    shapes = shape_parts(lhs)[1], shape_parts(rhs)[1]
    free = [
        [k for k in range(len(shape)) if k + shared not in contract]
        for shape, contract in zip(shapes, (lhs_contract, rhs_contract), strict=True)
    ]
    shape = (*lhs.shape[:shared], *(shapes[0][k] for k in free[0]), *(shapes[1][k] for k in free[1]))

    def multiply_pairs(x: Any, of_x: Any, y: Any, of_y: Any) -> tuple[Any, Any]:
        lhs_positions = of_x[:, np.array([a - shared for a in lhs_contract], int)]
        rhs_positions = of_y[:, np.array([a - shared for a in rhs_contract], int)]
        meet = jnp.all(lhs_positions[:, None] == rhs_positions[None], axis=-1)
        meet = meet & is_inside(of_x, shapes[0])[:, None] & is_inside(of_y, shapes[1])
        data = jnp.where(meet, x.astype(dtype)[:, None] * y.astype(dtype), 0)
        pair = (x.shape[0], y.shape[0])
        parts = [
            jnp.broadcast_to(of_x[:, None, np.array(free[0], int)], (*pair, len(free[0]))),
            jnp.broadcast_to(of_y[None, :, np.array(free[1], int)], (*pair, len(free[1]))),
        ]
        places = jnp.concatenate(parts, axis=-1)
        places = jnp.where(meet[..., None], places, np.array(shape[shared:], aval_of(places).dtype))
        return jnp.reshape(data, (-1,)), jnp.reshape(places, (pair[0] * pair[1], places.shape[-1]))

    result = BCOO(over_batch(multiply_pairs, shared)(*broadcast_batch(lhs), *broadcast_batch(rhs)), shape=shape)
    most = math.prod(shape[shared:])
    return bcoo_sum_duplicates(result, nse=most) if result.nse > most else result


def _isolate_shared_batch(mat: BCOO, contract: Any, batch: Any) -> tuple[BCOO, tuple[int, ...]]:
    """Return the array with the shared axes ``batch`` as its only batch axes, and its contracted axes' new numbers."""
    order = [*batch, *(axis for axis in range(mat.ndim) if axis not in batch)]
    mat = bcoo_transpose(mat, permutation=order)
    while mat.n_batch > len(batch):
        mat = _batch_to_sparse(mat)
    return mat, tuple(order.index(axis) for axis in contract)


def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """Return the data of the elementwise product with a dense array that broadcasts to its shape.

    The entries keep their positions: ``BCOO((data, x.indices), shape=x.shape)`` is the product, as ``x * v`` is.
    Raises NotImplementedError if the product has another shape than ``sp_mat``.
    """
    require_format(sp_mat, BCOO, "bcoo_multiply_dense")
    return multiply_by_dense(sp_mat, v).data


def multiply_by_dense(sp_mat: BCOO, v: Any) -> BCOO:
    """Return the elementwise product with a dense array that broadcasts to its shape.

    Raises NotImplementedError if the product has another shape than ``sp_mat``.
    """
    v = jnp.asarray(v)
    if jnp.broadcast_shapes(sp_mat.shape, v.shape) != sp_mat.shape:
        raise NotImplementedError(
            f"a sparse array of shape {sp_mat.shape} times a dense one of shape {v.shape}, which is larger{here()}"
        )
    dtype = jnp.result_type(sp_mat.data, v)
    data, indices = broadcast_batch(sp_mat)
    if v.ndim == 0:
        data = data.astype(dtype) * v.astype(dtype)
    else:
        batch, sparse, _ = shape_parts(sp_mat)
        v = jnp.reshape(v, (1,) * (sp_mat.ndim - v.ndim) + v.shape).astype(dtype)
        v = jnp.broadcast_to(v, (*batch, *v.shape[len(batch) :]))
        wide = v.shape[len(batch) : len(batch) + len(sparse)]

        def multiply_entries(x: Any, places: Any, v: Any) -> Any:
            at = tuple(
                index if size > 1 else jnp.zeros_like(index)
                for index, size in zip(index_columns(places), wide, strict=True)
            )
            return x.astype(dtype) * (v.at[at].get(mode="fill", fill_value=0) if at else v)

        data = over_batch(multiply_entries, sp_mat.n_batch)(data, indices, v)
    return BCOO(
        (data, indices),
        shape=sp_mat.shape,
        indices_sorted=sp_mat.indices_sorted,
        unique_indices=sp_mat.unique_indices,
    )


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Multiply two sparse arrays of one shape elementwise: every entry by all entries at its position.

    Raises NotImplementedError if shapes or layouts differ.
    """
    require_format(lhs, BCOO, "bcoo_multiply_sparse")
    require_format(rhs, BCOO, "bcoo_multiply_sparse")
    layouts = (lhs.shape, lhs.n_batch, lhs.n_dense), (rhs.shape, rhs.n_batch, rhs.n_dense)
    if layouts[0] != layouts[1]:
        raise NotImplementedError(
            f"products of sparse arrays whose shapes or layouts differ: {lhs!r} and {rhs!r}{here()}"
        )
    dtype = jnp.result_type(lhs.data, rhs.data)
    _, sparse, _ = shape_parts(lhs)
    if lhs.indices is rhs.indices and lhs.unique_indices:
        return BCOO(
            (lhs.data * rhs.data, lhs.indices),
            shape=lhs.shape,
            indices_sorted=lhs.indices_sorted,
            unique_indices=True,
        )

    def multiply_pairs(x: Any, of_x: Any, y: Any, of_y: Any) -> tuple[Any, Any]:
        meet = jnp.all(of_x[:, None] == of_y[None], axis=-1) & is_inside(of_x, sparse)[:, None]
        outer = x.astype(dtype)[:, None] * y.astype(dtype)[None]
        data = jnp.where(_expand_mask(meet, outer), outer, 0)
        places = jnp.where(meet[..., None], of_x[:, None], np.array(sparse, aval_of(of_x).dtype))
        count = x.shape[0] * y.shape[0]
        return jnp.reshape(data, (count, *data.shape[2:])), jnp.reshape(places, (count, len(sparse)))

    buffers = over_batch(multiply_pairs, lhs.n_batch)(*broadcast_batch(lhs), *broadcast_batch(rhs))
    return BCOO(buffers, shape=lhs.shape, unique_indices=lhs.unique_indices and rhs.unique_indices)


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """Return the sum along axes of any kind, as a BCOO array whose entries may share positions.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental import sparse
    >>> x = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 1.0]]))
    >>> print(sparse.bcoo_reduce_sum(x, axes=(0,)).todense())
    [3. 3.]
    """
    require_format(mat, BCOO, "bcoo_reduce_sum")
    removed = {int(axis) % mat.ndim for axis in axes}
    n_batch, last = mat.n_batch, mat.ndim - mat.n_dense
    data, indices = broadcast_batch(mat)
    inside = is_inside(indices, shape_parts(mat)[1])
    data = jnp.where(_expand_mask(inside, data), data, 0)  # padding would count once its positions are dropped
    dense = tuple(axis - last + n_batch + 1 for axis in removed if axis >= last)
    data = jnp.sum(data, axis=dense, dtype=data.dtype) if dense else data
    retained = [k for k in range(mat.n_sparse) if k + n_batch not in removed]
    indices = indices[..., np.array(retained, int)]
    batches = [axis for axis in range(n_batch) if axis not in removed]
    summed = [axis for axis in range(n_batch) if axis in removed]
    count = mat.nse * int(np.prod([mat.shape[axis] for axis in summed]))
    data, indices = (
        jnp.reshape(
            jnp.transpose(x, [*batches, *summed, *range(n_batch, x.ndim)]),
            (*(mat.shape[axis] for axis in batches), count, *x.shape[n_batch + 1 :]),
        )
        for x in (data, indices)
    )
    shape = tuple(size for axis, size in enumerate(mat.shape) if axis not in removed)
    return BCOO((data, indices), shape=shape)
