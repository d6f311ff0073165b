"""The gamma function of complex numbers, its logarithm and the derivative of that, against SciPy's."""

import mpmath
import numpy as np
import pytest
import scipy.special

import xlascope as xs
import xlascope.scipy.special as ours
from xlascope import settings

NAMES = ("gamma", "loggamma", "digamma")
RANDOM = np.random.default_rng(3)
PLANE = RANDOM.uniform(-9, 9, 200) + 1j * RANDOM.uniform(-9, 9, 200)
#: Beside poles, and beside the zeros of the logarithm.
BESIDE = np.repeat(np.arange(-6, 4), 10) + 1e-3 * (RANDOM.normal(size=100) + 1j * RANDOM.normal(size=100))
FAR = np.array([-1e10 + 9j, -1e10 + 7j, 1e5 + 1e5j, 0.5 + 800j, 1e300 + 1e300j, 1e-20 + 1e-20j, -200.5 + 0.1j])
inf, nan = np.inf, np.nan
NOTHING = complex(nan, nan)
#: Where SciPy and jax have NaN, these are the limits: gamma, its logarithm, and digamma.
EDGES = {
    complex(inf, 0.0): (inf, inf, inf),
    complex(inf, 1.0): (NOTHING, complex(inf, inf), inf),
    complex(inf, -1.0): (NOTHING, complex(inf, -inf), complex(inf, -0.0)),
    complex(0.0, inf): (0.0, complex(-inf, inf), complex(inf, np.pi / 2)),
    complex(0.0, -inf): (0.0, complex(-inf, -inf), complex(inf, -np.pi / 2)),
    **dict.fromkeys((0j, -1 + 0j, complex(-inf, 0), complex(-inf, 1), complex(nan, 1)), (NOTHING, NOTHING, NOTHING)),
}


def _relative(found, wanted):
    return np.max(np.abs(np.asarray(found) - wanted) / np.abs(wanted))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", NAMES)
def test_values(name, dtype):
    z = np.concatenate([PLANE, BESIDE]).astype(dtype)
    wanted = getattr(scipy.special, name)(z.astype(complex))
    with settings.enable_x64(dtype is np.complex128):
        function = getattr(ours, name)
        for found in (function(z), xs.jit(function)(z), xs.vmap(function)(z), function(z.reshape(30, 10)).ravel()):
            assert found.dtype == dtype
            assert _relative(found, wanted) < (2e-7 if dtype is np.complex64 else 1e-12)
        np.testing.assert_array_equal(function(z.conj()), np.asarray(function(z)).conj())


@pytest.mark.parametrize("name", ["loggamma", "digamma"])
def test_values_far_out_and_near_zero(name):
    with settings.enable_x64():
        found = getattr(ours, name)(FAR)
    assert _relative(found, getattr(scipy.special, name)(FAR)) < 1e-14


def test_the_logarithm_is_the_principal_one_on_both_sides_of_its_cut():
    z = np.array(
        [complex(-1.5, 0.0), complex(-1.5, -0.0), complex(-4.25, 0.0), complex(-4.25, -0.0), complex(2.5, -0.0)]
    )
    with settings.enable_x64():
        np.testing.assert_allclose(ours.loggamma(z), scipy.special.loggamma(z), rtol=1e-14)
        gammas = np.asarray(ours.gamma(z))
    np.testing.assert_allclose(gammas.real, scipy.special.gamma(z.real), rtol=1e-14)
    assert not gammas.imag.any()  # SciPy leaves 1e-16 there


@pytest.mark.parametrize("name", NAMES)
def test_edges(name):
    z, wanted = np.array(list(EDGES)), np.array([each[NAMES.index(name)] for each in EDGES.values()], complex)
    for x64 in (False, True):
        with settings.enable_x64(x64):
            found = np.asarray(getattr(ours, name)(z))
        for part in ("real", "imag"):
            np.testing.assert_allclose(getattr(found, part), getattr(wanted, part), rtol=1e-6)


def test_zeros_of_the_logarithm_keep_their_digits():
    z = np.array([1 + 1e-12j, 1 - 1e-9 + 1e-10j, 2 + 1e-13 - 1e-12j])
    with mpmath.workdps(40):
        wanted = np.array([complex(mpmath.loggamma(mpmath.mpc(each))) for each in z])
    with settings.enable_x64():
        assert _relative(ours.loggamma(z), wanted) < 1e-15


def test_derivatives():
    z = np.concatenate([PLANE[:20], BESIDE[:20]])
    with mpmath.workdps(30):
        second = np.array([complex(mpmath.psi(1, mpmath.mpc(each))) for each in z])
    first = scipy.special.digamma(z)
    with settings.enable_x64():
        gammas = xs.vmap(xs.grad(ours.gamma, holomorphic=True))(z)
        assert _relative(gammas, scipy.special.gamma(z) * first) < 1e-12
        slopes = xs.vmap(xs.grad(ours.loggamma, holomorphic=True))
        assert _relative(slopes(z), first) < 1e-12
        assert _relative(xs.jit(slopes)(z), first) < 1e-12
        curvatures = xs.vmap(xs.grad(xs.grad(ours.loggamma, holomorphic=True), holomorphic=True))(z)
        assert _relative(curvatures, second) < 1e-11
        _, moved = xs.jvp(ours.loggamma, (z,), (1j * np.ones_like(z),))
        assert _relative(moved, 1j * first) < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_called_again_with_other_kinds_of_numbers(name):
    function = getattr(ours, name)
    wanted = getattr(scipy.special, name)(0.5 + 2j)
    for z in (0.5 + 2j, np.complex64(0.5 + 2j), np.array(0.5 + 2j, np.complex64), xs.numpy.asarray(0.5 + 2j)):
        found = function(z)
        assert found.dtype == np.complex64 and abs(complex(found) - wanted) < 1e-6 * abs(wanted)
