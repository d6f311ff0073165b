"""Systems of linear equations, and inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...control.rules.linear_solve import custom_linear_solve
from ...dtypes import promote_dtypes
from ...operations.barriers import stop_gradient
from ...operations.linalg import lu
from ...operations.linalg.matrices import product
from ...trace.source import here
from ...trace.values import aval_of
from ..axes import axes_of, whole_number
from ..jit_wrapped import jit_wrapped
from ..matrices import identity_like
from ..promotion import as_dtype, promote_inexact, to_inexact
from ..shaping import broadcast_to, expand_dims, moveaxis, reshape, shape_of, squeeze, transpose


@jit_wrapped()
def solve(a: Any, b: Any) -> Any:
    """Return the x with ``a @ x = b``, for square matrices ``a``, shape ``(…, n, n)``.

    ``b`` is one vector, ``(n,)``, or matrices, ``(…, n, k)``; leading axes are broadcast. It uses an LU
    factorization; the derivative solves with the same factors. A singular matrix gives infinities or NaN. Raises
    ValueError for shapes that do not fit.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0])))
    [1.  0.5]
    """
    require_square("solve", a)
    a, b = inexact_pair_of_any_rank(a, b)
    shape_a, shape_b = shape_of(a), shape_of(b)
    if not shape_b or shape_b[0 if len(shape_b) == 1 else -2] != shape_a[-1]:
        raise ValueError(
            f"linalg.solve takes a right side of shape (n,) or (…, n, k) for a matrix of n rows, got shapes {shape_a} "
            f"and {shape_b}{here()}; vectors in a stack are b[..., None]"
        )
    if len(shape_b) == 1:
        columns = broadcast_to(expand_dims(b, -1), (*shape_a[:-1], 1))
        return squeeze(_solve_by_lu(a, columns), -1)
    if len(shape_a) == 2 < len(shape_b):  # one matrix: all right sides become its columns
        rows = moveaxis(b, -2, 0)
        return moveaxis(reshape(_solve_by_lu(a, reshape(rows, (shape_a[-1], -1))), shape_of(rows)), 0, -2)
    lead = np.broadcast_shapes(shape_a[:-2], shape_b[:-2])
    return _solve_by_lu(broadcast_to(a, (*lead, *shape_a[-2:])), broadcast_to(b, (*lead, *shape_b[-2:])))


def inexact_pair_of_any_rank(a: Any, b: Any) -> tuple[Any, Any]:
    """Return two arrays in their common floating-point or complex dtype, without changing their shapes."""
    types = [(aval_of(x).dtype, aval_of(x).weak_type) for x in (a, b)]
    dtype = to_inexact(promote_dtypes(tuple(types))[0])
    return as_dtype(a, dtype), as_dtype(b, dtype)


def require_square(name: str, a: Any) -> None:
    """Raise ValueError unless ``a``, the argument of linalg.``name``, is a batch of square matrices."""
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"Argument to linalg.{name} must have shape [..., n, n], got shape {shape}{here()}")


def _solve_by_lu(a: Any, b: Any) -> Any:
    factors, _, permutation = lu.lu(stop_gradient(a))

    def forward(_: Any, y: Any) -> Any:
        return lu.solve_factored(factors, permutation, y)

    def backward(_: Any, y: Any) -> Any:
        return lu.solve_factored(factors, permutation, y, transposing=True)

    return custom_linear_solve(lambda x: product(a, x), b, forward, backward)


@jit_wrapped()
def inv(a: Any) -> Any:
    """Return the inverses of square matrices, shape ``(…, n, n)``; raise ValueError for others.

    A singular matrix gives infinities or NaN. To solve equations use :func:`solve`, which is faster and more
    exact.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]])))
    [[0.5  0.  ]
     [0.   0.25]]
    """
    require_square("inv", a)
    a = promote_inexact(a)
    return _solve_by_lu(a, broadcast_to(identity_like(a), shape_of(a)))


def tensorinv(a: Any, ind: int = 2) -> Any:
    """Return the inverse of an array as a matrix whose rows are its first ``ind`` axes.

    The result has the other axes first: ``tensordot(tensorinv(a), a, ind)`` is an identity. Raises ValueError
    unless the first axes have as many elements as the others, and for ``ind`` below 1.

    >>> import xlascope.numpy as jnp
    >>> jnp.linalg.tensorinv(jnp.eye(6).reshape(2, 3, 6), 2).shape
    (6, 2, 3)
    """
    number, shape = whole_number(ind, "ind"), shape_of(a)
    if number <= 0:
        raise ValueError(f"ind is at least 1, got {number}")
    rows, columns = shape[:number], shape[number:]
    if math.prod(rows) != math.prod(columns):
        raise ValueError(
            f"linalg.tensorinv takes an array whose first {number} axes have as many elements as the others, got "
            f"shape {shape}{here()}"
        )
    return reshape(inv(reshape(a, (math.prod(rows), math.prod(columns)))), (*columns, *rows))


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Any:
    """Return the x with ``tensordot(a, x, x.ndim) = b``; ``axes`` of ``a`` are first moved to its end.

    Raises ValueError unless ``a`` has as many elements in the axes of ``b`` as in the others.

    >>> import xlascope.numpy as jnp
    >>> jnp.linalg.tensorsolve(jnp.eye(6).reshape(2, 3, 2, 3), jnp.ones((2, 3))).shape
    (2, 3)
    """
    rank = len(shape_of(a))
    if axes is not None:
        last = axes_of(axes, rank, "axes")
        a = transpose(a, (*(axis for axis in range(rank) if axis not in last), *last))
    result = shape_of(a)[len(shape_of(b)) :]
    if math.prod(shape_of(a)[: len(shape_of(b))]) != math.prod(result) or math.prod(result) != math.prod(shape_of(b)):
        raise ValueError(
            f"linalg.tensorsolve takes an array that is square as a matrix, with the axes of b for rows, got shapes "
            f"{shape_of(a)} and {shape_of(b)}{here()}"
        )
    size = math.prod(result)
    return reshape(solve(reshape(a, (size, size)), reshape(b, (size,))), result)
