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
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.matrices import identity_like
from ...operations.conversion import to_dtype
from ...operations.linalg.matrices import adjoint
from ...trace.source import here
from ..arguments import from_lists, machine_epsilon, promote_dtypes_inexact, require_square
from .factorizations import schur

#: By bytes of the real dtype: the degree of the Padé approximant and the largest norm for which it is accurate to
#: machine precision (N. J. Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM J.
#: Matrix Anal. Appl. 26, 2005).
_PADE_DEGREE_AND_MAX_NORM = {4: (7, 3.925724783138660), 8: (13, 5.371920351148152)}


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


@jit_wrapped("upper", "most")
def _expm(a: Any, upper: bool, most: int) -> Any:
    (a,) = promote_dtypes_inexact(a)
    n = require_square("expm", a)
    if not n:
        return a
    degree, bound = _PADE_DEGREE_AND_MAX_NORM[8 if machine_epsilon(a.dtype) < 1e-10 else 4]
    norm = jnp.max(jnp.sum(jnp.abs(a), -2), -1)
    squarings = jnp.maximum(0, jnp.ceil(jnp.log2(norm / bound)))
    scaled = a * to_dtype(jnp.exp2(-squarings)[..., None, None], a.dtype)
    result = _pade_approximant(scaled, degree, upper)

    def step(i: Any, x: Any) -> Any:
        return jnp.where((i < squarings)[..., None, None], _matmul(x, x), x)

    result = fori_loop(0, most, step, result)
    return jnp.where((squarings > most)[..., None, None], jnp.nan, result)


def _matmul(x: Any, y: Any) -> Any:
    return jnp.matmul(x, y, precision="highest")


def _pade_approximant(a: Any, degree: int, upper: bool) -> Any:
    """Return the diagonal Padé approximant of the exponential of that degree.

    It is the X with (V - U) X = V + U for the odd powers U and the even powers V of ``a``. ``upper`` says that ``a`` is
    upper triangular.
    """
    weights = [
        math.factorial(2 * degree - k) * math.comb(degree, k) // math.factorial(degree) for k in range(degree + 1)
    ]
    unit = weights[-1]
    eye = identity_like(a)
    squared = _matmul(a, a)
    odd, even = eye, eye * (weights[degree - 1] / unit)  # by Horner's rule in the square, the highest power first
    for k in range(degree - 2, 0, -2):
        odd = _matmul(squared, odd) + eye * (weights[k] / unit)
        even = _matmul(squared, even) + eye * (weights[k - 1] / unit)
    odd = _matmul(a, odd)
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
    result = _expm_frechet(from_lists(A), from_lists(E))
    return result if compute_expm else result[1]


@jit_wrapped()
def _expm_frechet(a: Any, e: Any) -> Any:
    a, e = promote_dtypes_inexact(a, e)
    require_square("expm_frechet", a)
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


def _require_one_matrix(name: str, a: Any) -> Any:
    (a,) = promote_dtypes_inexact(a)
    require_square(name, a)
    if a.ndim != 2:
        raise ValueError(f"{name} takes one matrix, got shape {a.shape}; xlascope.vmap takes a stack{here()}")
    return a


@jit_wrapped()
def _sqrtm(a: Any) -> Any:
    t, z = schur(_require_one_matrix("sqrtm", a), output="complex")
    roots = jnp.sqrt(jnp.diagonal(t))

    def column_system(j: Any, r: Any, before: Any) -> tuple[Any, Any]:
        # R² = T: (R₁₁ + rⱼⱼ) rⱼ = tⱼ in the column j above the diagonal
        return jnp.diag(jnp.take(roots, j) + roots) + jnp.triu(r, 1), jnp.take(t, j, 1)

    return _matmul(_matmul(z, _solve_by_columns(t, roots, column_system)), adjoint(z))


def _solve_by_columns(t: Any, diagonal: Any, column_system: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Any:
    """Return a triangular matrix that commutes with ``t`` and has the given diagonal.

    Above the diagonal each column solves a triangular system in the columns before it. ``column_system(j, result,
    before)`` returns the matrix and the right side of that system for column j, given the columns computed so far and a
    mask of their indices. Zero pivots of a singular system are replaced by one.
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
    t, z = schur(_require_one_matrix("funm", from_lists(A)), output="complex")
    values = func(jnp.diagonal(t))
    result = _matmul(_matmul(z, _parlett_recurrence(t, values)), adjoint(z))
    if disp:
        return result
    return result, _estimate_error(t, result)


@jit_wrapped()
def _parlett_recurrence(t: Any, values: Any) -> Any:
    values = jnp.asarray(values).astype(t.dtype)

    def column_system(j: Any, f: Any, before: Any) -> tuple[Any, Any]:
        # F T = T F: (T₁₁ - tⱼⱼ) fⱼ = F₁₁ tⱼ - tⱼ F[j, j] in the column j above the diagonal
        column = jnp.take(t, j, 1)
        above = jnp.where(before, column, 0)
        right = _matmul(f, above[:, None])[:, 0] - above * jnp.take(values, j)
        return t - jnp.take(column, j) * identity_like(t), right

    return _solve_by_columns(t, values, column_system)


@jit_wrapped()
def _estimate_error(t: Any, result: Any) -> Any:
    """Return an estimate of the relative error of ``result``, a function of the Schur form ``t``, as SciPy does.

    It follows from the smallest gap between eigenvalues and the norm of the elements off the diagonal.
    """
    n = t.shape[0]
    values = jnp.diagonal(t)
    gaps = jnp.where(jnp.triu(jnp.ones((n, n), bool), 1), jnp.abs(values[:, None] - values), jnp.inf)
    min_gap = jnp.min(gaps, initial=jnp.inf)
    eps = machine_epsilon(t.dtype)
    min_gap = jnp.where((min_gap == 0) | jnp.isinf(min_gap), eps, min_gap)
    above = jnp.max(jnp.sum(jnp.abs(jnp.triu(t, 1)), 0), initial=0.0)
    relative_error = jnp.minimum(1.0, jnp.maximum(eps, eps / min_gap * above))
    return jnp.where(jnp.all(jnp.isfinite(result)), relative_error, jnp.inf)
