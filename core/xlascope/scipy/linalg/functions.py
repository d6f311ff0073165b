"""Matrix functions: exponential, square root, and others by the Schur form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import numpy as jnp
from ...api import jvp
from ...control.flow.fori_loop import fori_loop
from ...lax import linalg as of_lax
from ...numpy.axes import whole_number
from ...numpy.together import together
from ...operations.linalg.matrices import adjoint
from ...trace.source import here
from ..arguments import epsilon, floats_of_any_shape, square
from .factors import schur

#: By bytes of the real dtype: the degree of the Padé approximant and the largest norm for which it is accurate to
#: machine precision (N. J. Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM J.
#: Matrix Anal. Appl. 26, 2005).
_DEGREES = {4: (7, 3.925724783138660), 8: (13, 5.371920351148152)}


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """Return the exponentials of matrices, shape ``(…, n, n)``, by scaling, a Padé approximant, and squaring.

    ``upper_triangular`` promises upper triangular matrices, which is faster. A matrix that needs more than
    ``max_squarings`` squarings gives NaN. Raises ValueError for matrices that are not square. (Higham, 2005.)

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.expm(jnp.array([[0.0, 1.0], [0.0, 0.0]])))
    [[1. 1.]
     [0. 1.]]
    """
    return _expm(A, upper=bool(upper_triangular), most=whole_number(max_squarings, "max_squarings"))


@together("upper", "most")
def _expm(a: Any, upper: bool, most: int) -> Any:
    (a,) = floats_of_any_shape(a)
    n = square("expm", a)
    if not n:
        return a
    degree, bound = _DEGREES[8 if epsilon(a.dtype) < 1e-10 else 4]
    norm = jnp.max(jnp.sum(jnp.abs(a), -2), -1)
    squarings = jnp.maximum(0, jnp.ceil(jnp.log2(norm / bound)))
    scaled = a * jnp.exp2(-squarings)[..., None, None].astype(a.dtype)
    result = _pade(scaled, degree, upper)

    def step(i: Any, x: Any) -> Any:
        return jnp.where((i < squarings)[..., None, None], _times(x, x), x)

    result = fori_loop(0, most, step, result)
    return jnp.where((squarings > most)[..., None, None], jnp.nan, result)


def _times(x: Any, y: Any) -> Any:
    return jnp.matmul(x, y, precision="highest")


def _pade(a: Any, degree: int, upper: bool) -> Any:
    """Return the diagonal Padé approximant: the X with (V - U) X = V + U for odd powers U and even powers V."""
    weights = [
        math.factorial(2 * degree - k) * math.comb(degree, k) // math.factorial(degree) for k in range(degree + 1)
    ]
    unit = weights[-1]
    eye = jnp.eye(a.shape[-1], dtype=a.dtype)
    squared = _times(a, a)
    odd, even = eye, eye * (weights[degree - 1] / unit)  # by Horner's rule in the square, the highest power first
    for k in range(degree - 2, 0, -2):
        odd = _times(squared, odd) + eye * (weights[k] / unit)
        even = _times(squared, even) + eye * (weights[k - 1] / unit)
    odd = _times(a, odd)
    if upper:
        return of_lax.triangular_solve(even - odd, even + odd, left_side=True)
    return jnp.linalg.solve(even - odd, even + odd)


def expm_frechet(A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True) -> Any:
    """Return the exponential of ``A`` and its derivative in the direction ``E``, both of shape ``(…, n, n)``.

    Returns both as a tuple, or without ``compute_expm`` only the derivative. ``method`` has no effect. Raises
    ValueError for shapes that differ or are not square.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.expm_frechet(jnp.zeros((1, 1)), jnp.array([[2.0]]), compute_expm=False))
    [[2.]]
    """
    result = _frechet(A, E)
    return result if compute_expm else result[1]


@together()
def _frechet(a: Any, e: Any) -> Any:
    a, e = floats_of_any_shape(a, e)
    square("expm_frechet", a)
    if a.shape != e.shape:
        raise ValueError(f"expm_frechet takes A and E of one shape, got {a.shape} and {e.shape}{here()}")
    value, derivative = jvp(lambda x: expm(x), (a,), (e,))
    return value, derivative


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """Return the principal square root of a matrix, shape ``(n, n)``, complex, by its Schur form.

    ``blocksize`` has to be 1 (NotImplementedError). It is not differentiable. (Å. Björck and S. Hammarling, "A
    Schur method for the square root of a matrix", Linear Algebra and its Applications 52, 1983.)

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.sqrtm(jnp.array([[4.0, 0.0], [0.0, 9.0]])).real)
    [[2. 0.]
     [0. 3.]]
    """
    if blocksize > 1:
        raise NotImplementedError(f"sqrtm goes element by element: blocksize has to be 1, got {blocksize}{here()}")
    return _sqrtm(A)


def _one_matrix(name: str, a: Any) -> Any:
    (a,) = floats_of_any_shape(a)
    square(name, a)
    if a.ndim != 2:
        raise ValueError(f"{name} takes one matrix, got shape {a.shape}; xlascope.vmap takes a stack{here()}")
    return a


@together()
def _sqrtm(a: Any) -> Any:
    t, z = schur(_one_matrix("sqrtm", a), output="complex")
    roots = jnp.sqrt(jnp.diagonal(t))

    def column_system(j: Any, r: Any, before: Any) -> tuple[Any, Any]:
        # R² = T: (R₁₁ + rⱼⱼ) rⱼ = tⱼ in the column j above the diagonal
        return jnp.diag(jnp.take(roots, j) + roots) + jnp.triu(r, 1), jnp.take(t, j, 1)

    return _times(_times(z, _by_columns(t, roots, column_system)), adjoint(z))


def _by_columns(t: Any, diagonal: Any, column_system: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Any:
    """Return a triangular matrix that commutes with ``t`` and has the given diagonal.

    Above the diagonal each column solves a triangular system in the columns before it; ``column_system`` returns
    its matrix and its right side. Zero pivots of a singular system are replaced by one.
    """
    n = t.shape[0]
    indices = jnp.arange(n)

    def solve_column(j: Any, result: Any) -> Any:
        before = indices < j
        system, right = column_system(j, result, before)
        leading_block = before[:, None] & before[None, :]
        pivots = jnp.diagonal(system)
        pivots = jnp.where((pivots == 0) | ~before, 1, pivots)
        system = jnp.triu(jnp.where(leading_block, system, 0), 1) + jnp.diag(pivots)
        above = of_lax.triangular_solve(system, jnp.where(before, right, 0)[:, None], left_side=True)[:, 0]
        return result.at[:, j].set(jnp.where(before, above, jnp.where(indices == j, jnp.take(diagonal, j), 0)))

    return fori_loop(0, n, solve_column, jnp.zeros_like(t)) if n else t


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """Return a function of a matrix, shape ``(n, n)``, by its Schur form.

    ``func`` takes an array and is applied to each eigenvalue. The result is complex. With ``disp=False``, an
    estimate of its relative error is returned too. Equal eigenvalues are not supported, as in SciPy. It is not
    differentiable. (B. N. Parlett, "A recurrence among the elements of functions of triangular matrices", Linear
    Algebra and its Applications 14, 1976.)

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.funm(jnp.array([[1.0, 1.0], [0.0, 2.0]]), lambda x: x * x).real)
    [[1. 3.]
     [0. 4.]]
    """
    if not isinstance(func, Callable):  # type: ignore[arg-type]
        raise TypeError(f"func of funm is a function, got {func!r}{here()}")
    t, z = schur(_one_matrix("funm", A), output="complex")
    values = func(jnp.diagonal(t))
    result = _times(_times(z, _parlett(t, values)), adjoint(z))
    if disp:
        return result
    return result, _error(t, result)


@together()
def _parlett(t: Any, values: Any) -> Any:
    values = jnp.asarray(values).astype(t.dtype)

    def column_system(j: Any, f: Any, before: Any) -> tuple[Any, Any]:
        # F T = T F: (T₁₁ - tⱼⱼ) fⱼ = F₁₁ tⱼ - tⱼ F[j, j] in the column j above the diagonal
        column = jnp.take(t, j, 1)
        above = jnp.where(before, column, 0)
        right = _times(f, above[:, None])[:, 0] - above * jnp.take(values, j)
        return t - jnp.take(column, j) * jnp.eye(t.shape[0], dtype=t.dtype), right

    return _by_columns(t, values, column_system)


@together()
def _error(t: Any, result: Any) -> Any:
    """Estimate the relative error as SciPy does, from the smallest eigenvalue gap and the off-diagonal norm."""
    n = t.shape[0]
    values = jnp.diagonal(t)
    gaps = jnp.where(jnp.triu(jnp.ones((n, n), bool), 1), jnp.abs(values[:, None] - values), jnp.inf)
    min_gap = jnp.min(gaps, initial=jnp.inf)
    eps = epsilon(t.dtype)
    min_gap = jnp.where((min_gap == 0) | jnp.isinf(min_gap), eps, min_gap)
    above = jnp.max(jnp.sum(jnp.abs(jnp.triu(t, 1)), 0), initial=0.0)
    relative_error = jnp.minimum(1.0, jnp.maximum(eps, eps / min_gap * above))
    return jnp.where(jnp.all(jnp.isfinite(result)), relative_error, jnp.inf)
