"""Derivatives up to the third order of functions that saturate, from tiny to large and infinite arguments.

The oracle is mpmath with 60 digits. An infinite argument is listed where the derivatives have a limit there that is not
the product of zero and infinity in each library.
"""

import ml_dtypes
import mpmath as mp
import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax, nn
from xlascope.scipy import special as sp
from xlascope.scipy import stats

ORDERS = 4
SIZES = (0.0, 1e-8, 0.5, 1.0, 5.0, 20.0, 50.0, 88.0, 100.0, 300.0, 1e4)
POINTS = np.array([sign * size for size in SIZES for sign in (1, -1)])
#: Arguments whose squares or cubes are larger than any number of a dtype; the last one stands for its largest.
LARGE_SIZES = (10.0, 12.0, 90.0, 300.0, 6e4, 1e10, 1e15, 1.8e19, 1e30, np.inf)
TOLERANCES = {"float32": 2e-4, "float64": 1e-9, "bfloat16": 6e-2, "float16": 2e-2}


def _sigmoid(x):
    return 1 / (1 + mp.exp(-x)) if x >= 0 else mp.exp(x) / (1 + mp.exp(x))


def _softplus(x):
    return (x if x > 0 else 0) + mp.log1p(mp.exp(-abs(x)))


def _normal_cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _gelu_by_tanh(x):
    return x * _sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))


def _with_zero_and_one(function):
    return lambda x: function(jnp.stack([x, 0 * x, 1 + 0 * x]))


#: Name to our function, the function in mpmath, and the infinite points at which the derivatives have the limits that
#: are found 1e6 from 0.
FUNCTIONS = {
    "tanh": (jnp.tanh, lambda x: 2 * _sigmoid(2 * x) - 1, "+-"),
    "sigmoid": (nn.sigmoid, _sigmoid, "+-"),
    "softplus": (nn.softplus, _softplus, "+-"),
    "log_sigmoid": (nn.log_sigmoid, lambda x: -_softplus(-x), "+-"),
    "silu": (nn.silu, lambda x: x * _sigmoid(x), ""),
    "mish": (nn.mish, lambda x: x * mp.tanh(_softplus(x)), ""),
    "gelu": (nn.gelu, _gelu_by_tanh, ""),
    "exact gelu": (lambda x: nn.gelu(x, approximate=False), lambda x: x * _normal_cdf(x), ""),
    "erf": (lax.erf, mp.erf, "+-"),
    "erfc": (lax.erfc, mp.erfc, "+-"),
    "expm1": (jnp.expm1, mp.expm1, "-"),
    "logaddexp": (lambda x: jnp.logaddexp(x, 0 * x), _softplus, ""),
    "logaddexp of opposites": (lambda x: jnp.logaddexp(x, -x), lambda x: _softplus(2 * x) - x, ""),
    "logaddexp2": (lambda x: jnp.logaddexp2(x, 1.0), lambda x: mp.log(2 + 2**x) / mp.log(2), "+-"),
    "logsumexp": (_with_zero_and_one(nn.logsumexp), lambda x: mp.log(mp.exp(x) + 1 + mp.e), ""),
    "softmax": (lambda x: _with_zero_and_one(nn.softmax)(x)[0], lambda x: _sigmoid(x - mp.log(1 + mp.e)), ""),
    "another softmax": (lambda x: _with_zero_and_one(nn.softmax)(x)[1], lambda x: 1 / (mp.exp(x) + 1 + mp.e), ""),
    "arctan": (jnp.arctan, mp.atan, "+-"),
    "arctan2": (lambda x: jnp.arctan2(1.0, x), lambda x: mp.atan2(1, x), ""),
    "arcsinh": (jnp.arcsinh, mp.asinh, "+-"),
    "hypot": (lambda x: jnp.hypot(x, 1.0), lambda x: mp.sqrt(x * x + 1), "+-"),
    "hypot of two": (lambda x: jnp.hypot(x, 2 * x + 1), lambda x: mp.sqrt(x * x + (2 * x + 1) ** 2), ""),
    "sinc": (jnp.sinc, mp.sincpi, ""),
    "squareplus": (nn.squareplus, lambda x: (x + mp.sqrt(x * x + 4)) / 2, ""),
    "ndtr": (sp.ndtr, _normal_cdf, "+-"),
    "log_ndtr": (sp.log_ndtr, lambda x: mp.log(_normal_cdf(x)), "+"),
    "norm.logsf": (stats.norm.logsf, lambda x: mp.log(_normal_cdf(-x)), "-"),
    "norm.pdf": (stats.norm.pdf, lambda x: mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi), "+-"),
    "logistic.pdf": (stats.logistic.pdf, lambda x: _sigmoid(x) * _sigmoid(-x), "+-"),
    "cauchy.logpdf": (stats.cauchy.logpdf, lambda x: -mp.log(mp.pi) - mp.log1p(x * x), ""),
    "sparse_plus": (
        nn.sparse_plus,
        lambda x: (x + 1) ** 2 / 4 if abs(x) < 1 else mp.mpf(max(x, 0)) if abs(x) > 1 else mp.nan,
        "+-",
    ),
    "log1mexp": (nn.log1mexp, lambda x: mp.log(-mp.expm1(-x)) if x > 0 else mp.nan, "+"),
    "logit": (sp.logit, lambda x: mp.log(x) - mp.log1p(-x) if 0 < x < 1 else mp.nan, ""),
    "xlogy": (lambda x: sp.xlogy(x, x), lambda x: x * mp.log(x) if x > 0 else mp.nan, ""),
    "rel_entr": (lambda x: sp.rel_entr(x, 2.0), lambda x: x * mp.log(x / 2) if x > 0 else mp.nan, ""),
    "i1": (sp.i1, lambda x: mp.besseli(1, x) if x and abs(x) < 12 else mp.nan, ""),
    "i1e": (sp.i1e, lambda x: mp.besseli(1, x) * mp.exp(-abs(x)) if x else mp.nan, ""),
    "elu": (nn.elu, lambda x: x if x > 0 else mp.expm1(x) if x else mp.nan, "+-"),
    "celu": (nn.celu, lambda x: x if x > 0 else mp.expm1(x) if x else mp.nan, "+-"),
}
#: Those that are tested at arguments whose powers overflow.
LARGE = (
    "gelu",
    "squareplus",
    "sparse_plus",
    "silu",
    "softplus",
    "log_sigmoid",
    "elu",
    "mish",
    "log_ndtr",
    "norm.logsf",
)
#: What was wrong; the others are tested by the patrol.
FAST = ("exact gelu", "hypot", "log_ndtr", "log1mexp", "i1e", "i1", "logit", "xlogy")


def _derivatives(function, x):
    """Return the derivatives of orders 0 to 3 at points: an array ``(orders, points)`` of float64."""
    functions = [function]
    for _ in range(ORDERS - 1):
        functions.append(xs.grad(functions[-1]))
    found = xs.jit(lambda x: jnp.stack([xs.vmap(each)(x) for each in functions]))(x)
    return np.asarray(found).astype(np.float64)


def _expected(function, x, largest):
    """Return the same by mpmath. NaN says that nothing is expected; an infinity, that the dtype has no such number."""
    expected = np.full((ORDERS, len(x)), np.nan)
    for position, point in enumerate(map(float, x)):
        with mp.workdps(60 if abs(point) < 200 else 120):
            values = [function(mp.mpf(point))] + [
                mp.diff(function, mp.mpf(point), order, h=mp.mpf("1e-25")) for order in range(1, ORDERS)
            ]
        if not mp.isnan(values[0]):
            expected[:, position] = [mp.sign(y) * np.inf if abs(y) > largest else y for y in values]
    return expected


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in FUNCTIONS]
)
def test_derivatives_of_functions_that_saturate(name, dtype):
    function, oracle, infinities = FUNCTIONS[name]
    x = POINTS.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    limits = [float(f"{sign}inf") for sign in infinities]
    with xs.enable_x64(True):
        found = _derivatives(function, np.append(x, np.array(limits, x.dtype)))
    at_infinity = found[1:, len(x) :]
    large = _expected(oracle, [1e6 * np.sign(limit) for limit in limits], np.inf)[1:]
    assert not _list_wrong(found[:, : len(x)], oracle, x) and np.allclose(at_infinity, large, atol=1e-5)


def _list_wrong(found, oracle, x):
    """Return the wrong ones among the derivatives of several orders at ``x``, each with the expected value."""
    expected = _expected(oracle, x, float(ml_dtypes.finfo(x.dtype).max))
    is_right = np.isnan(expected) | (found == expected)
    with np.errstate(invalid="ignore"):
        is_right |= abs(found - expected) <= TOLERANCES[x.dtype.name] * np.maximum(1, abs(expected))
    return {
        f"order {order} at {x[point]}": (found[order, point], expected[order, point])
        for order, point in zip(*np.nonzero(~is_right), strict=True)
    }


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", LARGE)
def test_derivatives_of_activations_at_arguments_whose_powers_overflow(name, dtype):
    function, oracle, _ = FUNCTIONS[name]
    largest = float(ml_dtypes.finfo(dtype).max)
    x = np.array([sign * min(size, largest) for size in LARGE_SIZES for sign in (1, -1)], dtype)
    assert not _list_wrong(_derivatives(function, x), oracle, x)


@pytest.mark.parametrize("name", ["logit", "xlogy", "rel_entr", "i1", "i1e"])
def test_second_derivatives_at_small_arguments(name):
    """Squares of the arguments underflow, and terms of the derivatives are larger than their sum."""
    function, oracle, _ = FUNCTIONS[name]
    x = np.array([1e-30, 1e-25, 1e-12, 1e-6, 1e-3, 0.2], np.float32)
    found = _derivatives(function, x)[:3]
    expected = np.empty_like(found)
    for position, point in enumerate(map(float, x)):
        with mp.workdps(200):
            values = [oracle(mp.mpf(point)), *(mp.diff(oracle, point, n, h=mp.mpf(point) / 10**20) for n in (1, 2))]
        expected[:, position] = [y if abs(y) < 3e38 else mp.sign(y) * np.inf for y in values]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_slopes_of_angles_of_narrow_floats(dtype):
    y, x = np.array([(300, 300), (-40, 1000), (1e-3, 2e-3), (0, 6e4)], dtype).T
    wide_y, wide_x = y.astype(np.float64), x.astype(np.float64)
    for position, numerator in enumerate((wide_x, -wide_y)):
        found = xs.vmap(xs.grad(jnp.arctan2, position))(y, x)
        assert found.dtype == y.dtype
        np.testing.assert_allclose(np.asarray(found, np.float64), numerator / (wide_x**2 + wide_y**2), rtol=2e-2)
