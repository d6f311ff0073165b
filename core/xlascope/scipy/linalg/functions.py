"""Functions of matrices: exponential, square root, and any other by Schur's form."""

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

#: Of Padé's approximants of degrees 7 and 13: the largest norm for which they are exact to the last digit of single
#: and double precision (N. J. Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM J.
#: Matrix Anal. Appl. 26, 2005).
_DEGREES = {4: (7, 3.925724783138660), 8: (13, 5.371920351148152)}


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """The exponentials of matrices, shape ``(…, n, n)``, by scaling, a Padé approximant, and squaring.

    ``upper_triangular`` says that they are, which is faster. A matrix that needs more than ``max_squarings`` squarings
    gives NaN. Raises ValueError for matrices that are not square. (Higham, 2005.)

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
    found = _pade(scaled, degree, upper)

    def step(i: Any, x: Any) -> Any:
        return jnp.where((i < squarings)[..., None, None], _times(x, x), x)

    found = fori_loop(0, most, step, found)
    return jnp.where((squarings > most)[..., None, None], jnp.nan, found)


def _times(x: Any, y: Any) -> Any:
    return jnp.matmul(x, y, precision="highest")


def _pade(a: Any, degree: int, upper: bool) -> Any:
    """The diagonal Padé approximant: with odd powers U and even powers V, the X with (V - U) X = V + U."""
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
    """The exponential of ``A`` and its derivative in the direction ``E``, both of shape ``(…, n, n)``.

    Returns both as a tuple, or without ``compute_expm`` the derivative alone. ``method`` changes nothing. Raises
    ValueError for shapes that differ or are not square.

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.expm_frechet(jnp.zeros((1, 1)), jnp.array([[2.0]]), compute_expm=False))
    [[2.]]
    """
    found = _frechet(A, E)
    return found if compute_expm else found[1]


@together()
def _frechet(a: Any, e: Any) -> Any:
    a, e = floats_of_any_shape(a, e)
    square("expm_frechet", a)
    if a.shape != e.shape:
        raise ValueError(f"expm_frechet takes A and E of one shape, got {a.shape} and {e.shape}{here()}")
    value, moved = jvp(lambda x: expm(x), (a,), (e,))
    return value, moved


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """The principal square root of a matrix, shape ``(n, n)``, complex, by its Schur form.

    ``blocksize`` has to be 1 (NotImplementedError). It has no derivative. (Å. Björck and S. Hammarling, "A Schur method
    for the square root of a matrix", Linear Algebra and its Applications 52, 1983.)

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

    def sides(j: Any, r: Any, before: Any) -> tuple[Any, Any]:
        # R² = T: (R₁₁ + rⱼⱼ) rⱼ = tⱼ in the column j above the diagonal
        return jnp.diag(jnp.take(roots, j) + roots) + jnp.triu(r, 1), jnp.take(t, j, 1)

    return _times(_times(z, _by_columns(t, roots, sides)), adjoint(z))


def _by_columns(t: Any, diagonal: Any, sides: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Any:
    """A triangular matrix that commutes with ``t``, by its diagonal: above it, each column solves a triangular system
    of the columns before, which ``sides`` gives as its matrix and its right side. Where it is singular, a diagonal
    element counts as one.
    """
    n = t.shape[0]
    places = jnp.arange(n)

    def column(j: Any, found: Any) -> Any:
        before = places < j
        system, right = sides(j, found, before)
        kept = before[:, None] & before[None, :]
        pivots = jnp.diagonal(system)
        pivots = jnp.where((pivots == 0) | ~before, 1, pivots)
        system = jnp.triu(jnp.where(kept, system, 0), 1) + jnp.diag(pivots)
        above = of_lax.triangular_solve(system, jnp.where(before, right, 0)[:, None], left_side=True)[:, 0]
        return found.at[:, j].set(jnp.where(before, above, jnp.where(places == j, jnp.take(diagonal, j), 0)))

    return fori_loop(0, n, column, jnp.zeros_like(t)) if n else t


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """A function of a matrix, shape ``(n, n)``, by its Schur form: ``func`` takes an array and is applied to each
    eigenvalue. The result is complex.

    Without ``disp`` also an estimate of its relative error. Equal eigenvalues are not provided for, as in SciPy. It has
    no derivative. (B. N. Parlett, "A recurrence among the elements of functions of triangular matrices", Linear Algebra
    and its Applications 14, 1976.)

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> print(sl.funm(jnp.array([[1.0, 1.0], [0.0, 2.0]]), lambda x: x * x).real)
    [[1. 3.]
     [0. 4.]]
    """
    if not isinstance(func, Callable):  # type: ignore[arg-type]
        raise TypeError(f"func of funm is a function, got {func!r}{here()}")
    t, z = schur(_one_matrix("funm", A), output="complex")
    values = func(jnp.diagonal(t))
    found = _times(_times(z, _parlett(t, values)), adjoint(z))
    if disp:
        return found
    return found, _error(t, found)


@together()
def _parlett(t: Any, values: Any) -> Any:
    values = jnp.asarray(values).astype(t.dtype)

    def sides(j: Any, f: Any, before: Any) -> tuple[Any, Any]:
        # F T = T F: (T₁₁ - tⱼⱼ) fⱼ = F₁₁ tⱼ - tⱼ F[j, j] in the column j above the diagonal
        there = jnp.take(t, j, 1)
        known = jnp.where(before, there, 0)
        right = _times(f, known[:, None])[:, 0] - known * jnp.take(values, j)
        return t - jnp.take(there, j) * jnp.eye(t.shape[0], dtype=t.dtype), right

    return _by_columns(t, values, sides)


@together()
def _error(t: Any, found: Any) -> Any:
    """What SciPy estimates: how near eigenvalues come to each other, and how large the elements beside them are."""
    n = t.shape[0]
    values = jnp.diagonal(t)
    gaps = jnp.where(jnp.triu(jnp.ones((n, n), bool), 1), jnp.abs(values[:, None] - values), jnp.inf)
    least = jnp.min(gaps, initial=jnp.inf)
    digit = epsilon(t.dtype)
    least = jnp.where((least == 0) | jnp.isinf(least), digit, least)
    above = jnp.max(jnp.sum(jnp.abs(jnp.triu(t, 1)), 0), initial=0.0)
    found_error = jnp.minimum(1.0, jnp.maximum(digit, digit / least * above))
    return jnp.where(jnp.all(jnp.isfinite(found)), found_error, jnp.inf)
