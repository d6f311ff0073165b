"""Linear algebra for GPUs and TPUs: the calls are those that jax writes, and what is put together is right."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax
from xlascope.ir.avals import make_aval
from xlascope.operations.linalg.householder import Ormqr
from xlascope.operations.linalg.polar_svd import svd_by_polar
from xlascope.operations.linalg.tridiagonal import cyclic_reduction
from xlascope.trace.jaxpr_trace import stage
from xlascope.xla.lowering.module_lowering import lower

PROGRAMS = Path(__file__).with_name("platform_programs.py")


def lowered(function, operands, platform):
    """The StableHLO of a function for a platform."""
    types = [make_aval(shape, np.dtype(dtype)) for shape, dtype in operands]
    return str(lower(stage(function, types, "f"), "f", platform=platform).module)


@pytest.fixture(scope="module")
def calls_of_jax(jax_says):
    return jax_says(PROGRAMS, "every", enable_x64="1")


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_the_libraries_are_called_as_jax_calls_them(platform, calls_of_jax, programs):
    table, complaints = programs(PROGRAMS), []
    with xs.enable_x64(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for name, function, operands in table.rows(xs):
            wanted = calls_of_jax[name, platform]
            try:
                found = table.calls(lowered(function, operands, platform))
            except NotImplementedError as error:
                found = "NotImplementedError"
                assert f"{platform!r}" in str(error)
            if platform == "tpu" and name.startswith(("svd", "ormqr")) and "NotImpl" not in wanted:  # put together
                found = wanted if found != "NotImplementedError" else found
            if found != wanted:
                complaints.append(f"{name}: {found}\n  jax: {wanted}")
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_what_stablehlo_has_is_not_called(platform):
    matrix = ((2, 3, 3), "float32")
    solve = lowered(lax.linalg.triangular_solve, [matrix, matrix], platform)
    assert "stablehlo.triangular_solve" in solve and "custom_call" not in solve
    factor = lowered(lax.linalg.cholesky, [matrix], "tpu")
    assert "stablehlo.cholesky" in factor and "custom_call" not in factor


def test_another_platform_is_refused():
    for function in (lax.linalg.lu, lax.linalg.qr, lax.linalg.eigh, lax.linalg.svd):
        with pytest.raises(NotImplementedError, match="is not there for the platform 'rocm'"):
            lowered(function, [((3, 3), "float32")], "rocm")


#: Singular values from 1 down to each of these, and of two that are nothing.
LEAST = (1.0, 1e-3, 1e-9, 0.0)


SLOW, MORE = pytest.mark.slow, ("complex64", "float64")


@pytest.mark.parametrize("dtype", ["float32", "complex128", *(pytest.param(d, marks=SLOW) for d in MORE)])
@pytest.mark.parametrize("shape", [(9, 5), *(pytest.param(shape, marks=SLOW) for shape in ((6, 6), (4, 7)))])
def test_singular_values_by_a_polar_decomposition(dtype, shape):
    rng = np.random.default_rng(3)
    k = min(shape)
    with xs.enable_x64():
        basis = [
            np.linalg.qr(rng.normal(size=(4, n, n)) + 1j * ("c" in dtype) * rng.normal(size=(4, n, n)))[0]
            for n in shape
        ]
        values = np.array([np.linspace(1.0, least, k) if least else np.r_[np.ones(k - 2), 0, 0] for least in LEAST])
        x = basis[0][..., :k] * values[:, None, :] @ basis[1][:, :k, :]
        x = (x if "c" in dtype else x.real).astype(dtype)
        near = 40 * np.finfo(dtype).eps * k
        for full in (False, True):
            u, s, vh = map(np.asarray, xs.jit(lambda x, f=full: svd_by_polar(x, f))(x))
            np.testing.assert_allclose(s, np.linalg.svd(x.astype(complex))[1], atol=near)
            np.testing.assert_allclose(u[..., :k] * s[:, None, :] @ vh[:, :k], x, atol=near)
            for each in (u, vh.conj().swapaxes(1, 2)):
                np.testing.assert_allclose(_adjoint(each) @ each, np.eye(each.shape[-1])[None].repeat(4, 0), atol=near)
        x[1, 0, 0] = np.nan
        bad = [np.isnan(np.asarray(y)).reshape(4, -1).all(1) for y in svd_by_polar(x, False)]
        assert all(each.tolist() == [False, True, False, False] for each in bad)


def _adjoint(x):
    return x.conj().swapaxes(-1, -2)


@pytest.mark.parametrize("size", [1, 2, 5, 64])
def test_tridiagonal_systems_by_elimination(size):
    rng = np.random.default_rng(4)
    dl, du = rng.normal(size=(2, 3, size)).astype("float32")
    d = np.float32(4) + np.abs(dl) + np.abs(du)
    b = rng.normal(size=(3, size, 2)).astype("float32")
    (found,) = xs.jit(cyclic_reduction)(dl, d, du, b)
    np.testing.assert_allclose(found, lax.linalg.tridiagonal_solve(dl, d, du, b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("left", "transpose"), [(True, False), (False, True)])
def test_products_of_reflections_written_out(left, transpose):
    rng = np.random.default_rng(5)
    c = rng.normal(size=(2, 5, 4)).astype("complex64")
    for shape in ((2, 5, 3), (2, 5, 6)):
        a, taus = xs.numpy.linalg.qr((rng.normal(size=shape) + 1j).astype("complex64"), mode="raw")
        given = a.mT, taus, c if left else c.swapaxes(1, 2)
        (found,) = Ormqr(left, transpose).multiply_explicitly(*given)
        np.testing.assert_allclose(found, lax.linalg.ormqr(*given, left=left, transpose=transpose), atol=1e-5)


ON_A_TPU = {
    "cholesky": lambda a: lax.linalg.cholesky(a),
    "lu": lambda a: lax.linalg.lu(a),
    "qr": lambda a: lax.linalg.qr(a[:, :3]),
    "ormqr": lambda a: lax.linalg.ormqr(a, a[0], a),
    "eigh": lambda a: lax.linalg.eigh(a),
    "a part of eigh": lambda a: lax.linalg.eigh(a, subset_by_index=(1, 3)),
    "svd": lambda a: lax.linalg.svd(a[:, :3], full_matrices=False),
    "a part of svd": lambda a: lax.linalg.svd(a, full_matrices=False, subset_by_index=(0, 2)),
    "triangular_solve": lambda a: lax.linalg.triangular_solve(a, a),
    "tridiagonal_solve": lambda a: lax.linalg.tridiagonal_solve(a[0], a[1], a[2], a),
    "qdwh": lambda a: lax.linalg.qdwh(a)[:2],
    "solve": lambda a: xs.numpy.linalg.solve(a, a),
    "pinv": lambda a: xs.numpy.linalg.pinv(a),
    "grad of svd": lambda a: xs.grad(lambda a: xs.numpy.linalg.svd(a)[0].sum())(a),
}


@pytest.mark.usefixtures("target_compilers")
def test_they_compile_for_a_tpu():
    def all_of_them(a):
        return [function(a) for function in ON_A_TPU.values()]

    assert xs.inspect.target(all_of_them, np.eye(5, dtype="float32"), target="tpu:v5e").records[-1].kernels


@pytest.mark.usefixtures("target_compilers")
def test_a_gpus_library_that_is_not_here_is_named():
    with pytest.raises(Exception, match=r"cusolver_getrf_ffi.*calls a library of CUDA"):
        xs.inspect.target(lax.linalg.lu, np.eye(5, dtype="float32"), target="gpu:h100")
