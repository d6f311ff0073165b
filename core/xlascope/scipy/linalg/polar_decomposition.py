"""The polar decomposition, by the QDWH algorithm or by singular values."""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...api import vmap
from ...control.rules.custom_jvp import custom_jvp
from ...lax import linalg as of_lax
from ...numpy.jit_wrapped import jit_wrapped
from ...operations.conversion import to_dtype
from ...operations.integer_arguments import whole_number
from ...operations.linalg.matrices import adjoint
from ..arguments import from_lists, require_one_of
from .factorizations import require_matrices


def polar(
    a: Any, side: str = "right", *, method: str = "qdwh", eps: float | None = None, max_iterations: int | None = None
) -> tuple[Any, Any]:
    """Return the polar decomposition of matrices of shape ``(…, m, n)`` as (u, p).

    ``a = u @ p`` for ``side`` "right", ``a = p @ u`` for "left". u has orthonormal columns (rows if m < n), p is
    positive semidefinite. ``method`` "qdwh" is :func:`~xlascope.lax.linalg.qdwh` with ``eps`` and
    ``max_iterations``, and needs full rank; "svd" uses singular values. Derivatives need full rank. Raises
    ValueError for another side or method. (N. J. Higham, Functions of Matrices, 2008, chapter 8.)

    >>> import xlascope.numpy as jnp, xlascope.scipy.linalg as sl
    >>> u, p = sl.polar(jnp.array([[0.0, -2.0], [3.0, 0.0]]))
    >>> print(u.round(3) + 0.0)
    [[ 0. -1.]
     [ 1.  0.]]
    """
    require_one_of("side of polar", side, "right", "left")
    require_one_of("method of polar", method, "qdwh", "svd")
    most = None if max_iterations is None else whole_number(max_iterations, "max_iterations of polar")
    by_qdwh = method == "qdwh"
    return _polar(
        from_lists(a),
        side == "right",
        by_qdwh,
        (None if eps is None else float(eps), most) if by_qdwh else (None, None),
    )


@jit_wrapped("right", "by_qdwh", "options")
def _polar(a: Any, right: bool, by_qdwh: bool, options: tuple[float | None, int | None]) -> tuple[Any, Any]:
    a = require_matrices("polar", a)
    wide = a.shape[-2] < a.shape[-1]
    tall = adjoint(a) if wide else a
    u = _unitary_by_qdwh(tall, *options) if by_qdwh else _unitary_by_svd(tall)
    u = adjoint(u) if wide else u
    p = jnp.matmul(adjoint(u), a, precision="highest") if right else jnp.matmul(a, adjoint(u), precision="highest")
    return u, (p + adjoint(p)) / 2


def _unitary_by_qdwh(a: Any, eps: float | None, max_iterations: int | None) -> Any:
    def unitary_factor(x: Any) -> Any:
        return of_lax.qdwh(x, eps=eps, max_iterations=max_iterations)[0]

    for _ in a.shape[:-2]:
        unitary_factor = vmap(unitary_factor)
    return unitary_factor(a)


@custom_jvp
def _unitary_by_svd(a: Any) -> Any:
    w, _, vh = of_lax.svd(a, full_matrices=False)
    return jnp.matmul(w, vh, precision="highest")


@_unitary_by_svd.defjvp
def _unitary_by_svd_jvp(primals: Any, tangents: Any) -> Any:
    # With a = W S Vᴴ, u = W Vᴴ and X = Wᴴ a' V: uᴴ u' is antihermitian, hence (X - Xᴴ)ᵢⱼ / (sᵢ + sⱼ) in these bases;
    # the part of a' outside of the range of W contributes that part times V S⁻¹ Vᴴ to u'.
    (a,), (t,) = primals, tangents
    w, s, vh = of_lax.svd(a, full_matrices=False)

    def matmul(x: Any, y: Any) -> Any:
        return jnp.matmul(x, y, precision="highest")

    x = matmul(matmul(adjoint(w), t), adjoint(vh))
    inside = (x - adjoint(x)) / to_dtype(s[..., :, None] + s[..., None, :], x.dtype)
    u_tangent = matmul(matmul(w, inside), vh)
    if a.shape[-2] > a.shape[-1]:
        outside = matmul(t, adjoint(vh)) - matmul(w, x)
        u_tangent = u_tangent + matmul(outside / to_dtype(s[..., None, :], x.dtype), vh)
    return matmul(w, vh), u_tangent
