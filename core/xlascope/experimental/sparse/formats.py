"""Sparse array containers: the stored numbers, and their positions.

A BCOO array of shape (batch…, sparse…, dense…) is ``data`` of shape (batch…, nse, dense…) and ``indices`` of shape
(batch…, nse, n_sparse): nse entries of each matrix of the batch, and the positions of those along the sparse axes.
Batch axes of size 1 broadcast. Entries at positions outside of the array are padding, equal positions add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ... import tree
from ...trace.source import here
from ...trace.values import aval_of


class JAXSparse:
    """Base class of sparse arrays: a shape, an element type, and the operators of arrays."""

    shape: tuple[int, ...]
    data: Any
    #: NumPy arrays defer operators to this class.
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    @property
    def dtype(self) -> Any:
        """Return the type of the elements."""
        return aval_of(self.data).dtype

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Return the number of elements, including those that are not stored."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({aval_of(self.data).dtype.name}{list(self.shape)}{self._layout()})"

    def _layout(self) -> str:
        return ""

    @property
    def _bufs(self) -> tuple[Any, ...]:
        return (self.data,)

    def block_until_ready(self) -> Any:
        """Wait until the array's buffers are computed, and return the array itself."""
        for buffer in self._bufs:
            buffer.block_until_ready()
        return self


def static_fields(mat: Any) -> dict[str, Any]:
    """Return the fields of a sparse array that are no arrays, which become its pytree's aux data.

    They include the number of batch axes, also for an array whose children are placeholders.
    """
    fields = {name: getattr(mat, name) for name in ("shape", "indices_sorted", "unique_indices")}
    return fields | {"n_batch": mat.n_batch if hasattr(mat.indices, "shape") else mat.__dict__.get("had_batch", 0)}


def restore_fields(mat: Any, fields: dict[str, Any], n_batch: int) -> None:
    """Set the fields of a sparse array that are no arrays, from what :func:`static_fields` returned.

    ``n_batch`` is the number of batch axes that its arrays have now. If it is one less or more than before, ``vmap``
    removed or added the first one, and the shape is adapted. Raises ValueError if another axis was removed or added.
    """
    mat.__dict__.update((name, value) for name, value in fields.items() if name != "n_batch")
    mat.__dict__["had_batch"] = fields["n_batch"]
    if n_batch == fields["n_batch"] - 1:
        mat.shape = mat.shape[1:] if n_batch >= 0 else mat.shape
    elif n_batch == fields["n_batch"] + 1:
        mat.shape = (max(x.shape[0] for x in mat._bufs), *mat.shape)
    else:
        return
    if not _fits_batch_change(mat.shape, [getattr(x, "shape", ()) for x in mat._bufs], n_batch):
        raise ValueError(
            "sparse arrays are mapped over their first batch axis, and stacked along a new first one: use axis 0 in "
            f"in_axes and out_axes of vmap, for arrays that have batch axes (n_batch=1 or more); {type(mat).__name__} "
            f"that had shape {fields['shape']} and n_batch={fields['n_batch']} got data of shape "
            f"{getattr(mat.data, 'shape', ())}{here()}"
        )


def _fits_batch_change(shape: tuple[int, ...], arrays: Sequence[tuple[int, ...]], n_batch: int) -> bool:
    """Return whether arrays (data, indices, …) fit a shape whose first axis was removed or added.

    ``arrays`` are their shapes, ``n_batch`` is the number of batch axes.
    """
    data, indices, *_ = arrays
    if n_batch < 0 or len(data) <= n_batch or data[n_batch] != indices[n_batch]:
        return False
    dense = data[n_batch + 1 :]
    batches = [n in (1, size) for array_shape in arrays for n, size in zip(array_shape[:n_batch], shape, strict=False)]
    return all(batches) and dense == shape[len(shape) - len(dense) :]


def _shape_of(x: Any) -> tuple[int, ...]:
    return aval_of(x).shape


@tree.register_pytree_node_class
class BCOO(JAXSparse):
    """Batch of sparse arrays in coordinate format: ``BCOO((data, indices), shape=shape)``.

    ``data`` has shape (batch…, nse, dense…), ``indices``, of integers, shape (batch…, nse, n_sparse).
    ``indices_sorted`` and ``unique_indices`` promise that indices are sorted and do not repeat. ``vmap`` and ``scan``
    map only over the first batch axis. Raises ValueError if the shapes do not fit.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental.sparse import BCOO
    >>> x = BCOO((jnp.array([2.0, 3.0]), jnp.array([[0, 1], [1, 0]])), shape=(2, 2))
    >>> x, x.nse
    (BCOO(float32[2, 2], nse=2), 2)
    """

    data: Any
    indices: Any

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        data, indices = args
        self.data, self.indices = (x if hasattr(x, "aval") else jnp.asarray(x) for x in (data, indices))
        self.shape = tuple(int(n) for n in shape)
        self.indices_sorted, self.unique_indices = bool(indices_sorted), bool(unique_indices)
        self._check()

    def _check(self) -> None:
        """Raise ValueError unless data, indices and shape fit."""
        data, indices = _shape_of(self.data), _shape_of(self.indices)
        if not jnp.issubdtype(aval_of(self.indices).dtype, np.integer):
            raise ValueError(f"indices of BCOO are integers, got {aval_of(self.indices).dtype}{here()}")
        n_batch = len(indices) - 2
        n_sparse = indices[-1] if indices else 0
        n_dense = len(self.shape) - n_batch - n_sparse
        fits = n_batch >= 0 and n_dense >= 0 and len(data) == n_batch + 1 + n_dense
        fits = fits and data[n_batch] == indices[-2] and data[n_batch + 1 :] == self.shape[n_batch + n_sparse :]
        fits = fits and all(
            n in (1, size) for dims in (data, indices) for n, size in zip(dims, self.shape[:n_batch], strict=False)
        )
        if not fits:
            raise ValueError(
                f"data of shape (batch…, nse, dense…) and indices of shape (batch…, nse, n_sparse) have to fit the "
                f"shape {self.shape} of BCOO, got {data} and {indices}{here()}"
            )

    @property
    def nse(self) -> int:
        """Return the number of stored entries (nse) of each array of the batch."""
        return _shape_of(self.indices)[-2]

    @property
    def n_batch(self) -> int:
        """Return the number of batch axes, the first ones."""
        return len(_shape_of(self.indices)) - 2

    @property
    def n_sparse(self) -> int:
        """Return the number of sparse axes, which follow those of the batch."""
        return _shape_of(self.indices)[-1]

    @property
    def n_dense(self) -> int:
        """Return the number of dense axes, the last ones."""
        return len(self.shape) - self.n_batch - self.n_sparse

    @property
    def _bufs(self) -> tuple[Any, ...]:
        return self.data, self.indices

    def _layout(self) -> str:
        counts = {"nse": self.nse, "n_batch": self.n_batch, "n_dense": self.n_dense}
        return "".join(f", {name}={n}" for name, n in counts.items() if n or name == "nse")

    def tree_flatten(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arrays (data, indices), and the other fields."""
        return (self.data, self.indices), static_fields(self)

    @classmethod
    def tree_unflatten(cls, fields: dict[str, Any], children: Sequence[Any]) -> Any:
        """Return a BCOO array with the given arrays, or placeholders for them, as its children."""
        array = object.__new__(cls)
        array.data, array.indices = children
        restore_fields(array, fields, len(getattr(array.indices, "shape", ())) - 2)
        return array


def broadcast_batch(mat: BCOO) -> tuple[Any, Any]:
    """Return data and indices, with batch axes of size 1 broadcast to the array's shape."""
    batch = mat.shape[: mat.n_batch]
    data, indices = mat.data, mat.indices
    return (
        jnp.broadcast_to(data, (*batch, *_shape_of(data)[len(batch) :])),
        jnp.broadcast_to(indices, (*batch, *_shape_of(indices)[len(batch) :])),
    )


def shape_parts(mat: BCOO) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the sizes of the batch axes, of the sparse and of the dense ones, as three tuples."""
    first, last = mat.n_batch, len(mat.shape) - mat.n_dense
    return mat.shape[:first], mat.shape[first:last], mat.shape[last:]


def is_inside(indices: Any, shape: Sequence[int]) -> Any:
    """Return a mask of the entries whose position is inside ``shape``; the others are padding.

    ``indices`` has the coordinates of an entry along its last axis; ``shape`` are the sizes of the sparse axes.
    """
    in_bounds = (indices >= 0) & (indices < np.array(shape, aval_of(indices).dtype))
    return jnp.all(in_bounds, axis=-1)


def index_columns(indices: Any) -> tuple[Any, ...]:
    """Return one array of coordinates for each sparse axis; ``indices`` has coordinates along its last axis."""
    return tuple(indices[..., k] for k in range(_shape_of(indices)[-1]))


def require_format(x: Any, kind: type, function_name: str) -> None:
    """Raise TypeError unless ``x`` is a sparse array of class ``kind``; ``function_name`` is for the message."""
    if not isinstance(x, kind):
        raise TypeError(f"{function_name} takes a {kind.__name__}, got {type(x).__name__}{here()}")
