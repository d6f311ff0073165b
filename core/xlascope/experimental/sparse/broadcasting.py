"""Broadcasting of BCOO arrays to larger shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...numpy.axes import sizes_of
from ...operations.integer_arguments import whole_numbers
from ...trace.source import here
from .formats import BCOO, broadcast_batch, is_inside, require_format, shape_parts


def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCOO:
    """Broadcast an array to a larger ``shape``, in which its axes are ``broadcast_dimensions``.

    New axes before all sparse ones become batch axes, those after all of them dense axes. New axes between them
    become sparse: entries are repeated for each position along them. Raises ValueError if the shapes do not fit.
    """
    require_format(mat, BCOO, "bcoo_broadcast_in_dim")
    shape, where = sizes_of(shape), list(whole_numbers(broadcast_dimensions, "broadcast_dimensions"))
    fits = len(where) == mat.ndim and where == sorted(set(where)) and all(0 <= axis < len(shape) for axis in where)
    if not fits or any(n not in (1, shape[axis]) for n, axis in zip(mat.shape, where, strict=True)):
        raise ValueError(f"shape {mat.shape} along the axes {tuple(where)} of shape {shape}{here()}")
    first, last = mat.n_batch, mat.ndim - mat.n_dense
    sparse = [where[axis] for axis in range(first, last)]
    begin = min(sparse, default=where[first - 1] + 1 if first else 0)
    end = max(sparse) + 1 if sparse else begin
    data, indices = broadcast_batch(mat)
    data = lax.broadcast_in_dim(
        data,
        (*shape[:begin], mat.nse, *shape[end:]),
        [*where[:first], begin, *(begin + 1 + axis - end for axis in where[last:])],
    )
    indices = lax.broadcast_in_dim(indices, (*shape[:begin], mat.nse, mat.n_sparse), [*where[:first], begin, begin + 1])
    inside = is_inside(indices, shape_parts(mat)[1])
    new = [
        axis for axis in range(begin, end) if axis not in sparse or mat.shape[first + sparse.index(axis)] != shape[axis]
    ]
    if new:
        repeats = math.prod(shape[axis] for axis in new)
        steps = np.indices([shape[axis] for axis in new]).reshape(len(new), repeats)
        columns = []
        for axis in range(begin, end):
            if axis in new:
                tiled = np.tile(steps[new.index(axis)], mat.nse).astype(indices.dtype)
                columns.append(jnp.broadcast_to(tiled, (*indices.shape[:-2], mat.nse * repeats)))
            else:
                columns.append(jnp.repeat(indices[..., sparse.index(axis)], repeats, axis=-1))
        data = jnp.repeat(data, repeats, axis=begin)
        inside_repeated = jnp.repeat(inside, repeats, axis=-1)[..., None]
        indices = jnp.where(inside_repeated, jnp.stack(columns, axis=-1), np.array(shape[begin:end], indices.dtype))
    return BCOO((data, indices), shape=shape, unique_indices=mat.unique_indices)
