"""What factorizations promise whatever their signs."""

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax


@pytest.mark.parametrize("shape", [(5, 5), (30, 20), (20, 30), (3, 8, 8)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_factors_give_the_matrix_back(shape, dtype):
    rng = np.random.default_rng(0)
    a = rng.normal(size=shape) + (1j * rng.normal(size=shape) if "c" in dtype else 0)
    with xs.enable_x64():
        a = a.astype(dtype)
        size = np.linalg.norm(a, axis=(-2, -1)).max() * np.finfo(dtype).eps * max(shape)
        q, r = map(np.asarray, lax.linalg.qr(a, full_matrices=False))
        assert np.abs(q @ r - a).max() < size
        assert np.abs(_adjoint(q) @ q - np.eye(q.shape[-1])).max() < 10 * size
        u, s, vh = map(np.asarray, lax.linalg.svd(a, full_matrices=False))
        assert np.abs((u * s[..., None, :]) @ vh - a).max() < size
        if shape[-1] == shape[-2]:
            definite = a @ _adjoint(a) + np.eye(shape[-1])
            factor = np.asarray(lax.linalg.cholesky(definite))
            assert np.abs(factor @ _adjoint(factor) - definite).max() < 10 * size * np.abs(definite).max()
            x = np.asarray(xs.numpy.linalg.solve(a, a @ np.ones(shape[-1], dtype)[:, None]))
            assert np.abs(x - 1).max() < size * np.linalg.cond(a).max()
            t, z = map(np.asarray, lax.linalg.schur(a))
            assert np.abs(z @ t @ _adjoint(z) - a).max() < 10 * size
            w, vectors = map(np.asarray, lax.linalg.eig(a, compute_left_eigenvectors=False))
            assert np.abs(a @ vectors - vectors * w[..., None, :]).max() < 20 * size


def _adjoint(a):
    return a.conj().swapaxes(-1, -2)


SIZES = (1, 2, 7, 40, 130)
DTYPES = ("float32", "float64", "complex64", "complex128")


@pytest.mark.parametrize(
    ("dtype", "sizes"),
    [
        *((dtype, (40,)) for dtype in ("float32", "complex128")),
        *(pytest.param(dtype, SIZES, marks=pytest.mark.slow) for dtype in DTYPES),
    ],
)
def test_residuals_are_small_for_every_size(dtype, sizes):
    """‖A - its factors‖ / (‖A‖ eps n), of each factorization: LAPACK's own tests ask for less than 30."""
    complaints = []
    with xs.enable_x64():
        for size in sizes:
            rng = np.random.default_rng(size)
            a = rng.normal(size=(size, size)) + (1j * rng.normal(size=(size, size)) if "c" in dtype else 0)
            a = a.astype(dtype)
            definite = (a @ _adjoint(a) + size * np.eye(size)).astype(dtype)
            for name, x, back in _factorized(a, definite):
                scale = np.linalg.norm(x) * np.finfo(dtype).eps * size
                if not np.linalg.norm(np.asarray(back).astype("complex128") - x) < 30 * scale:
                    complaints.append(f"{name} of size {size}: {np.linalg.norm(np.asarray(back) - x) / scale}")
    assert not complaints, complaints


def _factorized(a, definite):
    """Names, matrices, and these put together again from their factors."""
    of, eye = lax.linalg, np.eye(a.shape[0], dtype=a.dtype)

    def arrays(*values):
        return [np.asarray(value) for value in values]

    factor = np.asarray(of.cholesky(definite))
    yield "cholesky", definite, factor @ _adjoint(factor)
    factors, _, order = arrays(*of.lu(a))
    yield "lu", a[order], (np.tril(factors, -1) + eye) @ np.triu(factors)
    for pivoting in (False, True):
        q, r, *order = arrays(*of.qr(a, pivoting=pivoting))
        yield "qr", a[:, order[0]] if order else a, q @ r
        yield "q of qr", eye, _adjoint(q) @ q
    for kind in (of.SvdAlgorithm.DEFAULT, of.SvdAlgorithm.QR):
        u, s, vh = arrays(*of.svd(a, algorithm=kind))
        yield "svd", a, u * s @ vh
        yield "u of svd", eye, _adjoint(u) @ u
    v, w = arrays(*of.eigh(definite))
    yield "eigh", definite, v * w @ _adjoint(v)
    w, v = arrays(*of.eig(a, compute_left_eigenvectors=False))
    yield "eig", a @ v, v * w
    t, q = arrays(*of.schur(a))
    yield "schur", a, q @ t @ _adjoint(q)
    u, h = arrays(*of.qdwh(a)[:2])
    yield "qdwh", a, u @ h
    solved = np.asarray(of.triangular_solve(factor, definite, left_side=True, lower=True))
    yield "triangular_solve", definite, factor @ solved
    x = np.asarray(xs.numpy.linalg.solve(definite, a))
    yield "solve", a, definite @ x
    yield "inv", eye, definite @ np.asarray(xs.numpy.linalg.inv(definite))
    form, taus = arrays(*of.hessenberg(a)) if len(a) > 1 else (a, None)
    if taus is not None:
        q = np.eye(len(a), dtype=a.dtype)
        q[1:, 1:] = of.householder_product(form[1:, :-1], taus)
        yield "hessenberg", a, q @ np.triu(form, -1) @ _adjoint(q)
    middle = np.full((3, len(a)), 1, a.dtype)
    x = np.asarray(of.tridiagonal_solve(middle[0], 4 * middle[1], middle[2], a))
    full = 4 * eye + np.eye(len(a), k=1, dtype=a.dtype) + np.eye(len(a), k=-1, dtype=a.dtype)
    yield "tridiagonal_solve", a, full @ x


@pytest.mark.parametrize("size", [4, 12])
@pytest.mark.parametrize("transposed", [False, True], ids=["solve", "its transpose"])
def test_an_infinity_stays_in_its_row_where_rows_are_exchanged(size, transposed):
    """Both systems have the same factors. An infinity on the last right side is that of the last unknown."""
    rng = np.random.default_rng(size)
    a, b = rng.normal(size=(size, size)) + 4 * size * np.eye(size), rng.normal(size=(size, 3))
    order = rng.permutation(size)
    with xs.enable_x64():

        def solve(a, b):
            of = xs.numpy.linalg.solve
            return xs.vjp(lambda y: of(a, y), xs.numpy.zeros_like(b))[1](b)[0] if transposed else of(a, b)

        b[-1, 1] = np.inf
        as_they_are = np.asarray(solve(a, b))
        exchanged = a[order], b if transposed else b[order]
        undo = order if transposed else slice(None)
        for how, found in {
            "one": solve(*exchanged),
            "compiled": xs.jit(solve)(*exchanged),
            "a stack": solve(*(np.stack([x, x]) for x in exchanged))[1],
            "mapped": xs.vmap(solve)(*(np.stack([x, x]) for x in exchanged))[1],
        }.items():
            np.testing.assert_allclose(np.asarray(found), as_they_are[undo], rtol=1e-9, err_msg=how)
    assert as_they_are[-1, 1] == np.inf
    np.testing.assert_allclose(as_they_are[:, 2], np.linalg.solve(a.T if transposed else a, b[:, 2]))


def test_permuted_factors_keep_nan_in_its_row():
    a = np.array([[1.0, 0.0], [4.0, np.nan], [2.0, 3.0]], np.float32)
    rows, lower, _ = map(np.asarray, xs.scipy.linalg.lu(a))
    assert np.isnan(lower).any()
    permuted, _ = xs.scipy.linalg.lu(a, permute_l=True)
    np.testing.assert_array_equal(permuted, lower[rows.argmax(1)])


@pytest.mark.parametrize("shape", [(4, 4), (3, 5, 3), (2, 2, 3, 4)])
def test_the_transpose_of_a_permutation_of_rows_gathers(shape):
    """By the inverse permutation. A scatter, which adds rows one by one, is slower by half for small matrices."""

    def loss(a):
        return xs.numpy.sum(xs.numpy.sin(xs.lax.linalg.lu(a)[0]))

    rng = np.random.default_rng(7)
    a, direction = rng.normal(size=(2, *shape))
    with xs.enable_x64():
        program = str(xs.make_jaxpr(xs.grad(loss))(a))
        gradient, (_, tangent) = xs.grad(loss)(a), xs.jvp(loss, (a,), (direction,))
        quotient = (loss(a + 1e-6 * direction) - loss(a - 1e-6 * direction)) / 2e-6
    assert "scatter" not in program and program.count("permute_rows") == 1
    np.testing.assert_allclose([np.sum(gradient * direction), tangent], [quotient, quotient], rtol=1e-6)
