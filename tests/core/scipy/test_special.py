"""Special functions against SciPy's, in single and double precision, with their derivatives."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

import xlascope as xs
import xlascope.numpy as jnp
import xlascope.scipy.special as ours
from xlascope import lax, settings

RANDOM = np.random.default_rng(5)
POSITIVE = np.exp(RANDOM.uniform(-3, 4, 40))
OTHER = np.exp(RANDOM.uniform(-3, 4, 40))
REAL = RANDOM.uniform(-9, 9, 40)
UNIT = RANDOM.uniform(0.01, 0.99, 40)
BELOW = -np.exp(RANDOM.uniform(0, 3, 40))

ONE: dict[str, np.ndarray] = {
    **dict.fromkeys(["gammaln", "loggamma", "digamma", "entr"], POSITIVE),
    **dict.fromkeys(["gamma", "gammasgn", "i0", "i1", "i0e", "i1e", "expit"], REAL),
    **dict.fromkeys(["logit", "erfinv", "ndtri"], UNIT),
    **dict.fromkeys(["erf", "erfc", "ndtr"], REAL / 4),
    "log_ndtr": BELOW,
}
TWO: dict[str, tuple[np.ndarray, np.ndarray]] = {
    **dict.fromkeys(["xlogy", "xlog1py", "rel_entr", "kl_div"], (POSITIVE, OTHER)),
    **dict.fromkeys(["boxcox", "boxcox1p"], (POSITIVE, REAL / 8)),
    **dict.fromkeys(["beta", "poch"], (POSITIVE / 9, OTHER / 9)),
    **dict.fromkeys(["betaln", "gammainc", "gammaincc"], (POSITIVE, OTHER)),
    "zeta": (POSITIVE + 1.2, OTHER),
}
#: What is constant in an argument, or not to be differentiated in it.
WITHOUT = {("gammasgn", 0)}
EDGES = np.array([0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
#: At infinity, or between poles, SciPy has limits where other conventions are as good.
OTHER_EDGES = {
    "gammasgn",
    "loggamma",
    "gammaln",
    "digamma",
    "gammainc",
    "gammaincc",
    "poch",
    "beta",
    "betaln",
    "boxcox",
    "boxcox1p",
    "zeta",
    "kl_div",
    "rel_entr",
}


def _close(found: Any, wanted: Any, tolerance: float) -> None:
    np.testing.assert_allclose(np.asarray(found, float), wanted, rtol=tolerance, atol=tolerance * 1e-3)


@pytest.mark.parametrize("name", [*ONE, *TWO])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(name: str, dtype: Any) -> None:
    operands = [x.astype(dtype) for x in (TWO[name] if name in TWO else (ONE[name],))]
    wanted = getattr(scipy.special, name)(*(x.astype(float) for x in operands))
    with settings.enable_x64(dtype is np.float64):
        function = getattr(ours, name)
        found, compiled = function(*operands), xs.jit(function)(*operands)
    assert found.dtype == compiled.dtype == dtype
    usual = np.abs(wanted) < (1e30 if dtype is np.float32 else 1e300)
    for each in (found, compiled):
        _close(np.asarray(each)[usual], wanted[usual], 1e-4 if dtype is np.float32 else 2e-12)


@pytest.mark.parametrize("name", sorted({*ONE, *TWO} - {"gammasgn"}))
def test_derivatives(name: str) -> None:
    operands = [x[:8] for x in (TWO[name] if name in TWO else (ONE[name],))]
    function = getattr(scipy.special, name)
    with settings.enable_x64():
        for place, x in enumerate(operands):
            if (name, place) in WITHOUT:
                continue
            found = xs.vmap(xs.grad(getattr(ours, name), place))(*operands)
            _close(found, _difference(function, operands, place, x), 2e-6)


def _difference(function: Callable[..., Any], operands: list[np.ndarray], place: int, x: np.ndarray) -> Any:
    h = 1e-3 * np.minimum(np.abs(x), 1 - x if x is operands[0] and np.all((x > 0) & (x < 1)) else np.inf)

    def moved(k: int) -> Any:
        return function(*(y + k * h if i == place else y for i, y in enumerate(operands)))

    return sum(w * (moved(k) - moved(-k)) / h for k, w in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60)))


@pytest.mark.parametrize("name", sorted({*ONE, *TWO} - OTHER_EDGES))
def test_edges(name: str) -> None:
    operands = [EDGES] if name in ONE else [x.ravel() for x in np.meshgrid(EDGES, EDGES)]
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.special, name)(*operands)
    if name == "gamma":
        wanted[-np.inf == EDGES] = np.nan  # as other poles
    with settings.enable_x64():
        np.testing.assert_allclose(getattr(ours, name)(*operands), wanted, rtol=1e-12)


inf, nan = np.inf, np.nan
#: Where JAX has NaN: limits, which SciPy has too but where SciPy has NaN itself. Operands, and the value.
LIMITS: dict[str, list[tuple[float, ...]]] = {
    "loggamma": [(0.0, inf), (-0.0, inf)],
    "digamma": [(0.0, -inf), (-0.0, inf)],
    "zeta": [
        *[(2.0, inf, 0.0), (3.0, inf, 0.0), (3.0, 0.0, inf), (3.0, -2.0, inf), (3.0, -inf, inf), (150.0, inf, 0.0)],
        *[(inf, 1.0, 1.0), (inf, 0.5, inf), (inf, 0.0, inf), (inf, 2.0, 0.0), (inf, inf, 0.0)],
        *[(0.5, 2.0, nan), (nan, 0.0, nan), (2.0, nan, nan)],
    ],
    "polygamma": [
        (0.0, inf, inf),
        (1.0, inf, 0.0),
        (2.0, inf, 0.0),
        (1.0, -2.0, inf),
        (2.0, -2.0, nan),
        (1.0, nan, nan),
    ],
    "poch": [
        *[(-2.0, -2.0, 1 / 12), (-2.0, -1.0, -1 / 3), (-2.0, 1.0, -2.0), (-2.0, 2.0, 2.0), (-2.0, 3.0, 0.0)],
        *[(-2.0, 0.5, 0.0), (-1.0, -1.5, 0.0), (0.0, -1.0, -1.0), (0.0, 2.0, 0.0), (0.0, 0.0, 1.0), (-3.0, 2.0, 6.0)],
        *[(nan, 1.0, nan), (-2.0, nan, nan)],
    ],
    "kl_div": [(1.0, -inf, inf), (0.0, -inf, inf), (inf, -2.0, inf), (-1.0, -inf, inf), (-1.0, nan, nan)],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", LIMITS)
def test_limits(name: str, dtype: Any) -> None:
    *operands, wanted = (np.array(each, dtype) for each in zip(*LIMITS[name], strict=True))
    with settings.enable_x64(dtype is np.float64):
        found = xs.jit(getattr(ours, name))(*operands)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_derivatives_at_the_zeros_of_rising_factorials() -> None:
    z, m = np.array([-2.0, -2.0, -3.0, -3.0, -2.0]), np.array([1.0, 4.0, 3.0, 4.0, 0.5])
    with settings.enable_x64():
        found = xs.vmap(xs.grad(ours.poch))(z, m)
    np.testing.assert_allclose(found, [1.0, 2.0, 11.0, -6.0, 2 * scipy.special.gamma(-1.5)], rtol=1e-12)


def test_derivatives_at_limits_are_numbers() -> None:
    q = np.array([1.0, inf, 0.0, -1.0], np.float32)
    np.testing.assert_allclose(xs.vmap(xs.grad(lambda q: ours.zeta(3.0, q)))(q), [-3.24697, 0, 0, 0], rtol=1e-5)


def test_tails_of_the_normal_distribution() -> None:
    p = 10.0 ** -np.arange(1, 300, 20)
    with settings.enable_x64():
        _close(ours.ndtri(p), scipy.special.ndtri(p), 1e-12)
        x = np.array([-1e3, -40.0, -21.0, -19.0, 5.0, 9.0])
        _close(ours.log_ndtr(x), scipy.special.log_ndtr(x), 1e-12)


def test_sums_of_exponentials() -> None:
    x = REAL.reshape(5, 8).astype(np.float32)
    for axis in (None, 0, 1):
        _close(ours.softmax(x, axis=axis), scipy.special.softmax(x.astype(float), axis=axis), 1e-5)
        sums = np.log(np.sum(np.exp(x.astype(float)), axis, keepdims=axis is not None))
        np.testing.assert_allclose(ours.log_softmax(x, axis=axis), x - sums, rtol=1e-5, atol=1e-5)
        _close(ours.logsumexp(x, axis=axis), np.squeeze(sums), 1e-5)
    weights = UNIT.reshape(5, 8).astype(np.float32)
    _close(ours.logsumexp(x, axis=1, b=weights), np.log(np.sum(weights * np.exp(x.astype(float)), 1)), 1e-5)
    _close(ours.softmax(np.array([-np.inf, 0.0])), [0, 1], 1e-6)


def test_orders_and_dimensions() -> None:
    x = POSITIVE.astype(np.float32)
    _close(ours.multigammaln(x + 2, 3), scipy.special.multigammaln(x.astype(float) + 2, 3), 2e-5)
    _close(ours.polygamma(2, x), scipy.special.polygamma(2, x.astype(float)), 1e-4)
    _close(ours.factorial(np.arange(-1, 8)), scipy.special.factorial(np.arange(-1, 8)), 1e-5)
    _close(ours.betainc(x, x[::-1], UNIT.astype(np.float32)), scipy.special.betainc(x, x[::-1], UNIT), 1e-3)
    with pytest.raises(NotImplementedError, match="exact"):
        ours.factorial(3, exact=True)


#: Small, usual and large places; negative ones on both sides of -9, from which on XLA's values are wrong, but for
#: halves, where even orders are differences of large terms.
PLACES = [1e-8, 0.01, 0.5, 1.0, 1.5, 3.0, 9.9, 25.0, 1e4]
PLACES += [-1e-3, -0.4, -1.6, -2.25, -7.3, -8.2, -8.6, -9.9, -30.3, -100.7]


@pytest.mark.parametrize("order", range(11))
def test_polygamma_and_its_derivative_have_their_digits(order: int) -> None:
    """Those of jax are wrong from -9 on."""
    with mpmath.workdps(60):
        value, derivative = ([float(mpmath.psi(n, mpmath.mpf(x))) for x in PLACES] for n in (order, order + 1))
    with settings.enable_x64():
        x = np.array(PLACES)
        found, moved = xs.jvp(lambda x: ours.polygamma(order, x), (x,), (np.ones_like(x),))
    np.testing.assert_allclose(found, value, rtol=1e-10)
    np.testing.assert_allclose(moved, derivative, rtol=1e-10)
    single = np.array(PLACES[1:8] + PLACES[-3:], np.float32)
    with mpmath.workdps(60):
        value = [float(mpmath.psi(order, mpmath.mpf(float(x)))) for x in single]
    np.testing.assert_allclose(ours.polygamma(order, single), value, rtol=2e-4)


@pytest.mark.parametrize("x", [-0.4, -2.25, -9.9, -30.3, 0.5, 12.0, inf])
def test_derivatives_of_the_logarithm_of_the_gamma_function(x: float) -> None:
    """jax has none of their digits from -9 on."""
    with settings.enable_x64():
        second = xs.grad(xs.grad(ours.gammaln))
        np.testing.assert_allclose(second(x), scipy.special.polygamma(1, x), rtol=1e-12)
        np.testing.assert_allclose(xs.grad(second)(x), scipy.special.polygamma(2, x) if x < inf else 0, rtol=1e-11)
        np.testing.assert_allclose(xs.grad(ours.digamma)(x), scipy.special.polygamma(1, x), rtol=1e-12)


def test_zeta_of_negative_places() -> None:
    q = np.array([-0.4, -2.25, -9.9, -30.3])
    with settings.enable_x64():
        for s in (2.0, 3.0, 6.0):
            np.testing.assert_allclose(ours.zeta(s, q), scipy.special.zeta(s, q), rtol=1e-11)
            slope = xs.vmap(xs.grad(lambda q, s=s: ours.zeta(s, q)))(q)
            np.testing.assert_allclose(slope, -s * scipy.special.zeta(s + 1, q), rtol=1e-11)
        assert np.isnan(ours.zeta(2.5, -2.25))


def test_derivatives_of_products_with_logarithms_of_zero() -> None:
    """0 log(y) does not move with y; jax has NaN at 0."""
    for function, zero in ((ours.xlogy, 0.0), (ours.xlog1py, -1.0)):
        assert xs.grad(function, 1)(0.0, zero) == 0
        assert xs.hessian(lambda y, function=function, zero=zero: function(0.0, y + zero))(0.0) == 0
        assert xs.grad(function, 0)(2.0, zero) == -inf
        assert xs.grad(function, 1)(2.0, zero) == inf


def test_the_logarithm_of_beta_beside_one_is_a_logarithm() -> None:
    with settings.enable_x64():
        x = np.array([1.0, 2.0, 0.5, 1e-300, 3e5])
        for found in (ours.betaln(x, 1), ours.betaln(1, x)):
            np.testing.assert_allclose(found, -np.log(x), rtol=1e-14, atol=0)


def test_entropies_of_an_array_beside_a_number_keep_their_dtype() -> None:
    both = np.array([True, False])
    assert not ours.gammasgn(1.5).aval.weak_type
    for function in (ours.kl_div, ours.rel_entr):
        assert not function(both, 0.25).aval.weak_type
        assert function(0.25, both).aval.weak_type


def test_tails_of_narrow_floats_are_refused() -> None:
    x = np.array([0.5, 1.0], ml_dtypes.float8_e8m0fnu)
    for function in (ours.ndtr, ours.log_ndtr, ours.ndtri):
        with pytest.raises(TypeError, match="at least 16 bits"):
            function(x)


def test_softmax_of_complex_numbers_and_along_a_list_of_axes() -> None:
    x = np.array([[1 + 2j, 3], [-1j, 2]], np.complex64)
    np.testing.assert_allclose(ours.softmax(x, axis=[0, 1]), scipy.special.softmax(x), rtol=1e-5)
    np.testing.assert_allclose(np.exp(ours.log_softmax(x, axis=0)), scipy.special.softmax(x, axis=0), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_zeta_has_derivatives_in_its_order(dtype: Any) -> None:
    orders, starts = np.array([(1.25, 3.0), (2.5, 0.25), (4.0, 2.0), (9.0, 100.0), (30.0, 0.75), (90.0, 2.0)], dtype).T
    with settings.enable_x64(dtype is np.float64):
        first = xs.vmap(xs.grad(ours.zeta))(orders, starts)
        second = xs.vmap(xs.grad(xs.grad(ours.zeta)))(orders, starts)
        at_edges = [float(xs.grad(ours.zeta)(dtype(s), dtype(q))) for s, q in ((inf, 2.0), (0.5, 1.0), (2.0, -1.5))]
    for order, found in ((1, first), (2, second)):
        wanted = [mpmath.diff(lambda s, q=q: mpmath.zeta(s, q), s, order) for s, q in zip(orders, starts, strict=True)]
        tolerance = 20 * float(np.finfo(dtype).eps)
        np.testing.assert_allclose(np.asarray(found, float), np.array(wanted, float), rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(at_edges, [0.0, nan, nan])


NEAR_ONE = 1 + 2.0**-13
#: Functions whose factors overflow, cancel or have no digits left where the function itself is a usual number.
BEYOND_THEIR_FACTORS = {
    "i0": (ours.i0, scipy.special.i0, np.float32, [88.9, 91.0, -91.0, 4.0]),
    "i1": (ours.i1, scipy.special.i1, np.float32, [88.9, 91.0, -91.0, 4.0]),
    "i0 of halves": (jnp.i0, scipy.special.i0, np.float16, [11.09, -12.0, 5.0]),
    "expi": (ours.expi, scipy.special.expi, np.float32, [85.0, 90.0, 1e4, 2e38]),
    "zeta": (lambda x: ours.zeta(x, NEAR_ONE), lambda x: scipy.special.zeta(x, NEAR_ONE), np.float32, [1e3, 5e3, 1e6]),
    "zeta below one": (lambda x: ours.zeta(x, 0.5), lambda x: scipy.special.zeta(x, 0.5), np.float32, [20.0, 5e3]),
    "slope of i1": (
        xs.vmap(xs.grad(ours.i1)),
        lambda x: scipy.special.i0(x) - scipy.special.i1(x) / x,
        np.float32,
        [-300.0, 91.0, 178.0],
    ),
    "slope of expi": (xs.vmap(xs.grad(ours.expi)), lambda x: np.exp(x) / x, np.float32, [89.5, 92.0, -3.0, 300.0]),
    "ndtri": (ours.ndtri, scipy.special.ndtri, np.float32, [-4e-13, -1e-30, 0.0, 1e-30, 1.0]),
    "sinc": (jnp.sinc, np.sinc, np.float16, [453.25, 20880.0, 0.0, 0.5]),
    "squareplus": (xs.nn.squareplus, lambda x: 2 / (np.sqrt(x * x + 4) - x), np.float32, [-1e4, -50.0, -1e20, 3.0]),
    "squareplus of halves": (xs.nn.squareplus, lambda x: 2 / (np.sqrt(x * x + 4) - x), np.float16, [-300.0, -9.0]),
}


@pytest.mark.parametrize("name", BEYOND_THEIR_FACTORS)
def test_values_where_factors_have_none(name: str) -> None:
    function, oracle, dtype, points = BEYOND_THEIR_FACTORS[name]
    x = np.array(points, dtype)
    with np.errstate(all="ignore"):
        wanted = oracle(x.astype(float)).astype(dtype)
    tolerance = float(np.finfo(dtype).eps)
    for found in (function(x), xs.jit(function)(x)):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=20 * tolerance, atol=tolerance * 1e-2)


def _slopes(function: Callable[..., Any], position: int = 0) -> Callable[..., Any]:
    return xs.vmap(xs.grad(function, position))


def _digamma_difference(a: Any, b: Any) -> list[float]:
    with mpmath.workdps(50):
        pairs = [(mpmath.mpf(x), mpmath.mpf(y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        return [float(mpmath.digamma(x) - mpmath.digamma(x + y)) for x, y in pairs]


LARGE = np.array([12.0, 1e3, 1e4, 1e5, 1e6])
MEDIANS = np.array([0.52, 0.501, 0.5012, 0.4999, 0.50004])
SMALL_BESIDE = np.array([1e-4, 0.01, 3.0, 2e4, 1e-6])
#: Function, its oracle in float64, arguments. Factors or logarithms of these cancel in single precision.
CANCELLING = {
    "density of gamma": (
        _slopes(ours.gammainc, 1),
        lambda a, x: scipy.stats.gamma.pdf(x, a),
        (LARGE, LARGE + np.sqrt(LARGE)),
    ),
    "density of gamma, from above": (
        _slopes(ours.gammaincc, 1),
        lambda a, x: -scipy.stats.gamma.pdf(x, a),
        (LARGE, LARGE - np.sqrt(LARGE)),
    ),
    "density of chi2": (
        _slopes(xs.scipy.stats.chi2.cdf),
        lambda x, k: scipy.stats.chi2.pdf(x, k),
        (2 * LARGE + np.sqrt(LARGE), 2 * LARGE),
    ),
    "slope of poisson": (
        _slopes(lambda rate, k: xs.scipy.stats.poisson.cdf(k, rate)),
        lambda rate, k: -scipy.stats.poisson.pmf(k, rate),
        (LARGE + np.sqrt(LARGE), LARGE),
    ),
    "density of beta": (
        _slopes(ours.betainc, 2),
        lambda a, b, x: scipy.stats.beta.pdf(x, a, b),
        (LARGE, LARGE, MEDIANS),
    ),
    "density at the ends": (
        _slopes(ours.betainc, 2),
        lambda a, b, x: scipy.stats.beta.pdf(x, a, b),
        (np.array([1.0, 1.0, 1.0, 2.0]), np.array([1.0, 3.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])),
    ),
    "density at 0": (_slopes(ours.gammainc, 1), lambda a, x: scipy.stats.gamma.pdf(x, a), (np.ones(1), np.zeros(1))),
    "slope of betaln": (_slopes(ours.betaln), _digamma_difference, (LARGE, SMALL_BESIDE)),
    "other slope of betaln": (_slopes(ours.betaln, 1), lambda a, b: _digamma_difference(b, a), (LARGE, SMALL_BESIDE)),
    "poch": (ours.poch, scipy.special.poch, (LARGE, np.array([3.0, 0.01, -1.5, 1.0, 2.5]))),
    "betaln of NaN": (ours.betaln, scipy.special.betaln, (np.array([np.nan, 2.0]), np.array([1e3, np.nan]))),
    "rel_entr of NaN": (ours.rel_entr, scipy.special.rel_entr, (np.array([np.nan, 2.0]), np.array([1e3, np.nan]))),
}


@pytest.mark.parametrize("name", CANCELLING)
def test_what_cancels_in_single_precision(name: str) -> None:
    function, oracle, arguments = CANCELLING[name]
    singles = [np.asarray(each, np.float32) for each in arguments]
    wanted = oracle(*(each.astype(np.float64) for each in singles))
    for found in (function(*singles), xs.jit(function)(*singles)):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-4)


def test_betainc_is_no_negative_probability() -> None:
    found = ours.betainc(np.float32(1), np.float32([1e-10, 1e-7, 1e-5]), np.float32(0.75))
    assert (np.asarray(found) >= 0).all()


def _normal_of_gamma(a: Any, x: Any) -> Any:
    return scipy.special.ndtr((x - a) / np.sqrt(a))


#: Parameters so large that products of them overflow, or a fraction has not converged: ours, the operands, the value.
HUGE: dict[str, tuple[Any, tuple[float, ...], Any]] = {
    "beta, both": (ours.betainc, (1e30, 1e30, 0.5), lambda a, b, x: 0.5),
    "beta, largest": (ours.betainc, (3e38, 3e38, 0.5), lambda a, b, x: 0.5),
    "beta, below": (ours.betainc, (1e30, 1e30, 0.4), lambda a, b, x: 0.0),
    "beta, above": (ours.betainc, (1e5, 1e30, 0.4), lambda a, b, x: 1.0),
    "beta, one": (ours.betainc, (1.0, 1e30, 2e-30), lambda a, b, x: -np.expm1(-b * x)),
    "beta, few": (ours.betainc, (50.0, 1e30, 4e-29), lambda a, b, x: scipy.special.gammainc(a, b * x)),
    "beta, many": (ours.betainc, (1e8, 1e38, 1.0001e-30), lambda a, b, x: _normal_of_gamma(a, b * x)),
    "beta, reflected": (ours.betainc, (1e30, 1.0, 0.5), lambda a, b, x: 0.0),
    "gamma, middle": (ours.gammainc, (1e12, 1e12), lambda a, x: 0.5),
    "gamma, below": (ours.gammainc, (1e12, 1e12 - 1e6), _normal_of_gamma),
    "gamma, tail": (ours.gammaincc, (1e12, 1e12 + 5e6), lambda a, x: _normal_of_gamma(x, a)),
    "gamma, beyond": (ours.gammainc, (1e30, 2e30), lambda a, x: 1.0),
    "gamma, before": (ours.gammainc, (1e30, 1e10), lambda a, x: 0.0),
    "change of a sample": (lax.random_gamma_grad, (1e12, 1e12 + 1e6), lambda a, x: 1.0),
    "derivative in a": (lax.igamma_grad_a, (1e12, 1e12), lambda a, x: -1 / np.sqrt(2 * np.pi * a)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", HUGE)
def test_huge_parameters_have_limits(name: str, dtype: Any) -> None:
    function, numbers, expected = HUGE[name]
    operands = [np.asarray(x, dtype) for x in numbers]
    with xs.enable_x64(dtype is np.float64):
        found = xs.jit(function)(*operands)
    tolerance = 1e-3 if dtype is np.float32 else 3e-5  # a digit of the operands is much of a deviation
    np.testing.assert_allclose(found, expected(*(x.astype(float) for x in operands)), rtol=tolerance)


def test_the_expansions_for_large_parameters_continue_the_fractions() -> None:
    a = np.array([9e5, 9.99e5, 1.001e6, 1.1e6])[:, None]
    x = a + np.sqrt(a) * np.array([-2.0, 0.0, 1.0, 8.0])  # SciPy has 7 digits at -7
    p = np.array([0.998, 1.002])[:, None] * np.finfo(float).eps ** -0.5
    z = np.array([-5.0, -1.0, 0.0, 2.0]) / np.sqrt(12 * p)
    with xs.enable_x64():
        np.testing.assert_allclose(ours.gammainc(a, x), scipy.special.gammainc(a, x), rtol=1e-9)
        np.testing.assert_allclose(ours.gammaincc(a, x), scipy.special.gammaincc(a, x), rtol=1e-9)
        fraction, expansion = np.asarray(ours.betainc(p, 2 * p, 1 / 3 + z))
    np.testing.assert_allclose(expansion, fraction, rtol=1e-5)
