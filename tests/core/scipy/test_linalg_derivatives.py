"""Derivatives of the linear algebra of numpy and scipy against finite differences: real, complex, and in batches.

Factors that are unique only up to signs or phases appear in products that are.
"""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
import xlascope.scipy.linalg as sl

#: What the names in the rows stand for: a, b, c are square, t is tall, w is wide, v a vector, p is positive definite.
SHAPES = {"a": (3, 3), "b": (3, 3), "c": (2, 2), "t": (4, 3), "w": (3, 4), "v": (3,), "u": (4,), "r": (3, 2)}
SHAPES |= {"h": (3, 3), "p": (3, 3)}
ROWS = """
nl.inv(a)
nl.pinv(a)
nl.pinv(t)
nl.pinv(w)
nl.det(a)
nl.slogdet(a)[1]
nl.slogdet(a)[0]
nl.slogdet(a, method="qr")[1]
nl.solve(a, v)
nl.solve(a, r)
nl.lstsq(t, u)[0]
nl.lstsq(a, r)[0]
nl.cholesky(P(p))
nl.cholesky(P(p), upper=True)
nl.qr(a)[0], nl.qr(a)[1]
nl.qr(t)[0], nl.qr(t)[1]
nl.qr(w)[0], nl.qr(w)[1]
nl.qr(t, mode="r")
nl.qr(a, mode="complete")[0], nl.qr(a, mode="complete")[1]
nl.eigvalsh(H(h))
outer(nl.eigh(H(h))[1]), nl.eigh(H(h))[0]
nl.eigvals(a)
spectral(lax.linalg.eig(a, compute_left_eigenvectors=False, enable_eigvec_derivs=True))
nl.svd(a)[1]
nl.svd(t, compute_uv=False)
nl.svdvals(w)
rotated(nl.svd(a))
rotated(nl.svd(t, full_matrices=False))
rotated(nl.svd(w, full_matrices=False))
nl.norm(v), nl.norm(v, 1), nl.norm(v, 3), nl.norm(v, -2), nl.norm(v, jnp.inf), nl.norm(v, -jnp.inf), nl.norm(v, 0.5)
nl.norm(a), nl.norm(a, "nuc"), nl.norm(t, 2), nl.norm(t, -2), nl.norm(t, 1), nl.norm(t, jnp.inf), nl.norm(a, -1)
nl.norm(t, axis=0), nl.vector_norm(t, axis=1, ord=3), nl.matrix_norm(t, ord=2)
nl.matrix_power(a, 3), nl.matrix_power(a, -2), nl.matrix_power(a, 0)
nl.cond(a), nl.cond(a, 1), nl.cond(t), nl.cond(a, "fro")
nl.multi_dot([a, t.T, u])
nl.tensorinv(a, 1), nl.tensorsolve(a, v), nl.outer(v, u), nl.cross(v, v[::-1]), nl.trace(a), nl.matrix_transpose(t)
sl.inv(a), sl.det(a), sl.solve(a, r), sl.solve(P(p), v, assume_a="pos")
sl.expm(a)
sl.expm(2 * a)
sl.expm_frechet(a, b)[1]
sl.lu(a)[1], sl.lu(a)[2]
sl.lu(t)[1], sl.lu(t)[2]
sl.lu(w)[1], sl.lu(w)[2]
sl.lu(a, permute_l=True)[0]
sl.lu_solve(sl.lu_factor(a), v)
sl.lu_solve(sl.lu_factor(a), r, trans=1)
sl.cho_solve(sl.cho_factor(P(p)), r)
sl.cho_solve(sl.cho_factor(P(p), lower=True), v)
sl.cholesky(P(p)), sl.cholesky(P(p), lower=True)
sl.solve_triangular(a, v), sl.solve_triangular(a, r, lower=True), sl.solve_triangular(a, v, unit_diagonal=True)
sl.solve_triangular(a, r, trans=1), sl.solve_triangular(a, r, trans=2, lower=True)
sl.solve_sylvester(a, c, r)
sl.polar(a)[0], sl.polar(a)[1]
sl.polar(t)[0], sl.polar(t)[1]
sl.polar(w, side="left")[0], sl.polar(w, side="left")[1]
sl.qr(t, mode="economic")[1], sl.qr(w, mode="r")[0], sl.qr(a)[1]
sl.eigh(H(h), eigvals_only=True)
sl.eigh(H(h), P(p), eigvals_only=True)
sl.eigh(H(h))[0], outer(sl.eigh(H(h))[1])
sl.svd(t, compute_uv=False)
sl.block_diag(a, c), sl.toeplitz(v, v), sl.toeplitz(v), sl.hankel(v, v[::-1]), sl.companion(v), sl.circulant(v)
sl.eigh_tridiagonal(real(v), real(v[:2]), eigvals_only=True)
"""
TABLE = [row for row in ROWS.splitlines() if row]


def _hermitian(x):
    return x + jnp.swapaxes(jnp.conj(x), -1, -2) + jnp.diag(jnp.array([0.0, 4.0, 9.0], x.dtype))


def _positive(x):
    return x @ jnp.swapaxes(jnp.conj(x), -1, -2) + 2 * jnp.eye(3, dtype=x.dtype)


def _outer(vectors):
    """The projection on each vector, weighted."""
    return jnp.einsum("ij,kj,j->ik", vectors, jnp.conj(vectors), jnp.arange(1.0, 1 + vectors.shape[1]))


def _spectral(values_and_vectors):
    """A function of the matrix, from eigenvalues and right eigenvectors."""
    values, vectors = values_and_vectors
    return vectors @ jnp.diag(jnp.sin(values)) @ jnp.linalg.inv(vectors)


def _rotated(factors):
    """Products of the factors that their phases leave alone."""
    u, s, vh = factors
    return u @ jnp.diag(s**2).astype(u.dtype) @ vh, _outer(u), _outer(jnp.conj(vh.T))


NAMES = {"nl": jnp.linalg, "sl": sl, "jnp": jnp, "H": _hermitian, "P": _positive, "outer": _outer, "real": jnp.real}
NAMES |= {"spectral": _spectral, "rotated": _rotated, "lax": xs.lax}


def _case(row: str, is_complex: bool):
    """The row as a real number of its arrays, each element weighted, and the arrays."""
    code = compile(row, row, "eval")
    names = [name for name in SHAPES if name in code.co_names]

    def scalar(*values):
        leaves = xs.tree.leaves(eval(code, NAMES, dict(zip(names, values, strict=True))))
        total = 0.0
        for k, y in enumerate(leaves):
            weights, others = (f(np.arange(y.size) + k).reshape(y.shape) for f in (np.cos, np.sin))
            total += jnp.sum(jnp.real(y) * weights) + jnp.sum(jnp.imag(y) * others)
        return total

    random = np.random.default_rng(len(row))

    def drawn(shape):
        x = random.normal(size=shape) + (np.diag([2.0, 4.0, 7.0]) if shape == (3, 3) else 0)
        return x + 1j * random.normal(size=shape) if is_complex else x

    return scalar, [drawn(SHAPES[name]) for name in names], [drawn(SHAPES[name]) for name in names]


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("row", TABLE)
def test_a_derivative_is_the_finite_difference(row: str, is_complex: bool) -> None:
    scalar, points, directions = _case(row, is_complex)
    places = tuple(range(len(points)))
    with xs.enable_x64(True):
        function = xs.jit(scalar)
        step = 1e-5
        ahead, behind = (
            float(function(*[p + s * d for p, d in zip(points, directions, strict=True)])) for s in (step, -step)
        )
        numerical = (ahead - behind) / (2 * step)
        forward, gradients = xs.jit(
            lambda points, directions: (
                xs.jvp(scalar, tuple(points), tuple(directions))[1],
                xs.grad(scalar, places)(*points),
            )
        )(points, directions)
        backward = sum(float(np.sum(np.asarray(g) * d).real) for g, d in zip(gradients, directions, strict=True))
        tolerance = 1e-6 * max(1.0, abs(numerical))
        assert abs(float(forward) - numerical) < tolerance, (float(forward), numerical)
        assert abs(backward - numerical) < tolerance, (backward, numerical)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("row", TABLE)
def test_a_gradient_of_a_batch_is_that_of_each(row: str, is_complex: bool) -> None:
    scalar, points, directions = _case(row, is_complex)
    places = tuple(range(len(points)))
    others = [p + 0.1 * d for p, d in zip(points, directions, strict=True)]
    with xs.enable_x64(True):
        gradient = xs.grad(scalar, places)
        batched = xs.jit(xs.vmap(gradient))(*(np.stack(pair) for pair in zip(points, others, strict=True)))
        for k, each in enumerate((points, others)):
            for found, wanted in zip(batched, xs.jit(gradient)(*each), strict=True):
                np.testing.assert_allclose(found[k], wanted, rtol=1e-9, atol=1e-9)


REFUSED = """
nl.eig(a)
sl.schur(a)
sl.sqrtm(P(p))
sl.funm(a, jnp.exp)
nl.qr(t, mode="complete")
nl.svd(t, full_matrices=True)
sl.hessenberg(a)
"""


@pytest.mark.parametrize("row", [row for row in REFUSED.splitlines() if row])
def test_what_has_no_derivative_says_so(row: str) -> None:
    scalar, points, directions = _case(row, False)
    with pytest.raises(NotImplementedError, match=r"derivative|JVP not implemented"):
        xs.jvp(scalar, tuple(points), tuple(directions))
