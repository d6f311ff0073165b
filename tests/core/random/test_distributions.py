"""Distributions with parameters: the numbers are JAX's, they follow their distribution, and move with its parameters.

Keys and thresholds are fixed: a test gives the same in every run.
"""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import scipy.stats

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import random
from xlascope.settings import setting

SAMPLES = Path(__file__).with_name("distributions.py")
KEY = random.PRNGKey(2)
COUNT = 4000
#: Of a right sampler one sample in 10,000 is this unlikely.
UNLIKELY = 1e-4
#: They compile for minutes, on both sides.
EVERY = (pytest.mark.slow, pytest.mark.timeout(1800))


@pytest.mark.parametrize(
    ("wide", "partitionable", "which"),
    [
        (False, True, "some"),
        (False, False, "some"),
        pytest.param(False, True, "every", marks=EVERY),
        pytest.param(True, False, "every", marks=EVERY),
    ],
)
def test_the_numbers_are_those_of_jax(wide, partitionable, which, jax_says, programs):
    expected = jax_says(SAMPLES, which, enable_x64=str(int(wide)), threefry_partitionable=str(int(partitionable)))
    with xs.enable_x64(wide), setting("threefry_partitionable", partitionable):
        found = getattr(programs(SAMPLES), which)(xs)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        ours = found[name]
        assert (ours.shape, ours.dtype) == (value.shape, value.dtype), name
        if ours.tobytes() != value.tobytes():
            assert value.dtype.kind not in "iub", name
            _assert_near(ours, value, name)


def _assert_near(ours, value, name):
    """Equal but for what a compiler may contract or reorder; derivatives of gamma numbers are series of our own."""
    of_series = name.startswith(("grad", "vmap grad", "jac"))
    error = {8: 1e-6}.get(value.dtype.itemsize, 1e-3) if of_series else 64 * float(ml_dtypes.finfo(value.dtype).eps)
    exact = np.complex128 if value.dtype.kind == "c" else np.float64
    ours, value = ours.astype(exact), value.astype(exact)
    scale = float(np.max(np.abs(value), initial=0.0)) if of_series else 1.0
    np.testing.assert_allclose(ours, value, rtol=error, atol=error * scale, err_msg=name)


CONTINUOUS = {
    "uniform": (lambda n: random.uniform(KEY, n, minval=-1.0, maxval=3.0), scipy.stats.uniform(-1.0, 4.0)),
    "normal": (lambda n: random.normal(KEY, n), scipy.stats.norm()),
    "truncated_normal": (lambda n: random.truncated_normal(KEY, -1.0, 2.0, n), scipy.stats.truncnorm(-1.0, 2.0)),
    "gumbel": (lambda n: random.gumbel(KEY, n), scipy.stats.gumbel_r()),
    "exponential": (lambda n: random.exponential(KEY, n), scipy.stats.expon()),
    "laplace": (lambda n: random.laplace(KEY, n), scipy.stats.laplace()),
    # an element of a rotation of space is even on both sides of zero (Archimedes)
    "orthogonal": (lambda n: random.orthogonal(KEY, 3, n)[..., 0, 1], scipy.stats.uniform(-1.0, 2.0)),
    "cauchy": (lambda n: random.cauchy(KEY, n), scipy.stats.cauchy()),
    "logistic": (lambda n: random.logistic(KEY, n), scipy.stats.logistic()),
    "maxwell": (lambda n: random.maxwell(KEY, n), scipy.stats.maxwell()),
    "double_sided_maxwell": (
        lambda n: abs(random.double_sided_maxwell(KEY, 1.0, 2.0, n) - 1.0),
        scipy.stats.maxwell(scale=2.0),
    ),
    "pareto": (lambda n: random.pareto(KEY, 2.5, n), scipy.stats.pareto(2.5)),
    "rayleigh": (lambda n: random.rayleigh(KEY, 0.5, n), scipy.stats.rayleigh(scale=0.5)),
    "weibull_min": (lambda n: random.weibull_min(KEY, 2.0, 1.5, n), scipy.stats.weibull_min(1.5, scale=2.0)),
    "lognormal": (lambda n: random.lognormal(KEY, 0.7, n), scipy.stats.lognorm(0.7)),
    "triangular": (lambda n: random.triangular(KEY, -1.0, 0.5, 2.0, n), scipy.stats.triang(0.5, -1.0, 3.0)),
    "wald": (lambda n: random.wald(KEY, 1.5, n), scipy.stats.invgauss(1.5)),
    "gamma": (lambda n: random.gamma(KEY, 2.5, n), scipy.stats.gamma(2.5)),
    "gamma of a small shape": (lambda n: random.gamma(KEY, 0.3, n), scipy.stats.gamma(0.3)),
    "loggamma": (lambda n: random.loggamma(KEY, 0.3, n), scipy.stats.loggamma(0.3)),
    "chisquare": (lambda n: random.chisquare(KEY, 3.0, n), scipy.stats.chi2(3.0)),
    "f": (lambda n: random.f(KEY, 3.0, 5.0, n), scipy.stats.f(3.0, 5.0)),
    "t": (lambda n: random.t(KEY, 3.0, n), scipy.stats.t(3.0)),
    "beta": (lambda n: random.beta(KEY, 0.5, 2.0, n), scipy.stats.beta(0.5, 2.0)),
    "dirichlet": (
        lambda n: random.dirichlet(KEY, jnp.array([0.5, 1.0, 2.0]), n)[..., 1],
        scipy.stats.beta(1.0, 2.5),
    ),
    "generalized_normal": (lambda n: random.generalized_normal(KEY, 1.5, n), scipy.stats.gennorm(1.5)),
    "ball": (lambda n: jnp.sum(random.ball(KEY, 3, 2, n) ** 2, -1) ** 1.5, scipy.stats.uniform()),
    "multivariate_normal": (
        lambda n: (
            random.multivariate_normal(KEY, jnp.array([1.0, 2.0]), jnp.array([[4.0, 1.0], [1.0, 9.0]]), n)
            @ jnp.array([1.0, -1.0])
        ),
        scipy.stats.norm(-1.0, 11**0.5),
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_numbers_follow_their_distribution(name):
    """The test of Kolmogorov and Smirnov."""
    sample, distribution = CONTINUOUS[name]
    found = np.asarray(sample((COUNT,)), "float64")
    assert scipy.stats.kstest(found, distribution.cdf).pvalue > UNLIKELY


THREE = scipy.stats.rv_discrete(values=([0, 1, 2], [0.2, 0.5, 0.3]))
DISCRETE = {
    "bits": (lambda n: random.bits(KEY, n, "uint8") % 8, scipy.stats.randint(0, 8)),
    "randint": (lambda n: random.randint(KEY, n, 3, 14), scipy.stats.randint(3, 14)),
    "bernoulli": (lambda n: random.bernoulli(KEY, 0.3, n), scipy.stats.bernoulli(0.3)),
    "categorical": (lambda n: random.categorical(KEY, jnp.log(jnp.array([0.2, 0.5, 0.3])), shape=n), THREE),
    "choice": (lambda n: random.choice(KEY, 3, n, p=jnp.array([0.2, 0.5, 0.3])), THREE),
    "choice of each once": (
        lambda n: xs.vmap(lambda key: random.choice(key, 5, (2,), replace=False)[1])(random.split(KEY, n[0])),
        scipy.stats.randint(0, 5),
    ),
    "permutation": (
        lambda n: xs.vmap(lambda key: random.permutation(key, 5)[0])(random.split(KEY, n[0])),
        scipy.stats.randint(0, 5),
    ),
    "rademacher": (lambda n: (random.rademacher(KEY, n) + 1) // 2, scipy.stats.bernoulli(0.5)),
    "geometric": (lambda n: random.geometric(KEY, 0.3, n), scipy.stats.geom(0.3)),
    "poisson of a few": (lambda n: random.poisson(KEY, 3.5, n), scipy.stats.poisson(3.5)),
    "poisson of many": (lambda n: random.poisson(KEY, 40.0, n), scipy.stats.poisson(40.0)),
    "binomial of a few": (lambda n: random.binomial(KEY, 20, 0.2, n), scipy.stats.binom(20, 0.2)),
    "binomial of many": (lambda n: random.binomial(KEY, 200, 0.6, n), scipy.stats.binom(200, 0.6)),
    "multinomial": (
        lambda n: random.multinomial(KEY, 30, jnp.array([0.2, 0.5, 0.3]), shape=(*n, 3))[..., 1],
        scipy.stats.binom(30, 0.5),
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_follow_their_distribution(name):
    """The chi-square test, on values expected at least ten times each, the rest together."""
    sample, distribution = DISCRETE[name]
    found = np.asarray(sample((COUNT,))).astype(int)
    values = np.arange(int(distribution.ppf(1 - 1e-9)) + 1)
    expected = COUNT * distribution.pmf(values)
    counted = np.array([np.sum(found == value) for value in values])
    often = expected >= 10
    rest = max(COUNT - expected[often].sum(), 1e-9)
    others = COUNT - counted[often].sum()
    statistic = np.sum((counted - expected)[often] ** 2 / expected[often]) + (others - rest) ** 2 / max(rest, 1.0)
    assert scipy.stats.chi2(int(often.sum())).sf(statistic) > UNLIKELY


def test_every_sampler_has_its_test():
    of_keys = {"PRNGKey", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl", "split", "wrap_key_data"}
    samplers = {name for name in random.__all__ if callable(getattr(random, name))} - of_keys
    tested = {name.split()[0] for name in (*CONTINUOUS, *DISCRETE)}
    assert samplers - tested <= {"random_gamma_p"}  # an operation


def test_multinomial_counts_are_all_draws():
    drawn = random.multinomial(KEY, 30, jnp.array([0.2, 0.5, 0.3]), shape=(100, 3))
    np.testing.assert_array_equal(drawn.sum(-1), np.full(100, 30.0))


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_every_root_gives_the_covariances(method):
    cov = np.float32([[2.0, 0.5], [0.5, 1.0]])
    x = np.asarray(random.multivariate_normal(KEY, np.float32([1, -1]), cov, (20_000,), method=method))
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.15)
    np.testing.assert_allclose(x.mean(0), [1, -1], atol=0.1)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (2, 4), (4, 2)])
def test_orthogonal_matrices_are(n, m):
    q = np.asarray(random.orthogonal(KEY, n, (5,), m=m))
    product = q @ q.swapaxes(-1, -2) if n <= m else q.swapaxes(-1, -2) @ q
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(min(n, m)), product.shape), atol=1e-5)


#: The mean of a function of the numbers, by a parameter: the sampler, the parameter, the mean. Those of wald jump from
#: one root of an equation to another, which their derivative, JAX's, does not see.
MANY = (40_000,)
MOVING = {
    "gamma": (lambda a: random.gamma(KEY, a, MANY), 1.7, lambda a: a),
    "chisquare": (lambda df: random.chisquare(KEY, df, MANY), 1.7, lambda df: df),
    "beta": (lambda a: random.beta(KEY, a, 2.0, MANY), 1.5, lambda a: a / (a + 2.0)),
    "dirichlet": (lambda a: random.dirichlet(KEY, jnp.stack([a, 1.0]), MANY)[..., 0], 1.5, lambda a: a / (a + 1.0)),
    "f": (lambda d: random.f(KEY, 3.0, d, MANY), 30.0, lambda d: d / (d - 2.0)),
    "t": (lambda df: abs(random.t(KEY, df, MANY)), 4.0, lambda df: scipy.stats.t(df).expect(abs)),
    "generalized_normal": (
        lambda p: random.generalized_normal(KEY, p, MANY) ** 2,
        1.5,
        lambda p: scipy.stats.gennorm(p).var(),
    ),
    "multivariate_normal": (
        lambda s: random.multivariate_normal(KEY, jnp.zeros(2), jnp.diag(jnp.stack([s, 1.0])), MANY)[..., 0] ** 2,
        2.0,
        lambda s: s,
    ),
}


@pytest.mark.parametrize("name", MOVING)
def test_the_mean_moves_with_the_parameter(name):
    sample, at, mean = MOVING[name]
    moved = np.asarray(xs.jit(xs.jacfwd(sample))(at))
    expected = (mean(at + 1e-3) - mean(at - 1e-3)) / 2e-3
    assert abs(moved.mean() - expected) < 5 * moved.std() / len(moved) ** 0.5 + 1e-3 * abs(expected)


#: Numbers that are made of an even one by the inverse of their distribution function: they move so that it stays.
INVERTED = {
    "uniform": (lambda b: random.uniform(KEY, (20,), maxval=b), 2.0, lambda b: scipy.stats.uniform(0, b)),
    "truncated_normal": (
        lambda b: random.truncated_normal(KEY, -1.0, b, (20,)),
        1.5,
        lambda b: scipy.stats.truncnorm(-1.0, b),
    ),
    "pareto": (lambda b: random.pareto(KEY, b, (20,)), 2.5, scipy.stats.pareto),
    "rayleigh": (lambda s: random.rayleigh(KEY, s, (20,)), 0.5, lambda s: scipy.stats.rayleigh(scale=s)),
    "lognormal": (lambda s: random.lognormal(KEY, s, (20,)), 0.7, scipy.stats.lognorm),
    "weibull_min by its scale": (
        lambda s: random.weibull_min(KEY, s, 1.5, (20,)),
        2.0,
        lambda s: scipy.stats.weibull_min(1.5, scale=s),
    ),
    "weibull_min by its shape": (
        lambda c: random.weibull_min(KEY, 2.0, c, (20,)),
        1.5,
        lambda c: scipy.stats.weibull_min(c, scale=2.0),
    ),
    "triangular": (
        lambda mode: random.triangular(KEY, -1.0, mode, 2.0, (20,)),
        0.5,
        lambda mode: scipy.stats.triang((mode + 1) / 3, -1.0, 3.0),
    ),
}


@pytest.mark.parametrize("name", INVERTED)
def test_an_inverted_number_moves_so_that_its_probability_stays(name):
    sample, at, distribution = INVERTED[name]
    x, moved = (np.asarray(y, "float64") for y in xs.jit(lambda a: xs.jvp(sample, (a,), (1.0,)))(at))
    probability, step = distribution(at).cdf(x), 1e-4
    expected = (distribution(at + step).ppf(probability) - distribution(at - step).ppf(probability)) / (2 * step)
    np.testing.assert_allclose(moved, expected, rtol=5e-3, atol=1e-4)


@pytest.mark.parametrize("a", [0.2, 1.0, 3.0])
def test_a_gamma_number_moves_so_that_its_probability_stays(a):
    x, moved = xs.jvp(lambda a: random.gamma(KEY, a, (20,)), (a,), (1.0,))
    step = 1e-4
    after = scipy.stats.gamma(a + step).ppf(scipy.stats.gamma(a).cdf(np.float64(x)))
    before = scipy.stats.gamma(a - step).ppf(scipy.stats.gamma(a).cdf(np.float64(x)))
    np.testing.assert_allclose(moved, (after - before) / (2 * step), rtol=2e-3, atol=1e-5)
    y, moved_logarithm = xs.jvp(lambda a: random.loggamma(KEY, a, (20,)), (a,), (1.0,))
    np.testing.assert_allclose(
        moved_logarithm * np.exp(y), scipy_moves(a, np.exp(np.float64(y)), step), rtol=2e-3, atol=1e-5
    )


def scipy_moves(a, x, step):
    probability = scipy.stats.gamma(a).cdf(x)
    return (scipy.stats.gamma(a + step).ppf(probability) - scipy.stats.gamma(a - step).ppf(probability)) / (2 * step)


@pytest.mark.parametrize(
    ("sample", "error", "words"),
    [
        (lambda: random.gamma(KEY, 1.0, (3,), "int32"), TypeError, "floating-point dtype"),
        (lambda: random.poisson(KEY, 1.0, (3,), "float32"), TypeError, "integer dtype"),
        (lambda: random.gamma(KEY, np.ones(3, "float32"), (2,)), ValueError, "broadcast"),
        (lambda: random.dirichlet(KEY, 1.0), ValueError, "last axis"),
        (lambda: random.multinomial(KEY, 3, 0.5), ValueError, "last axis"),
        (lambda: random.multivariate_normal(KEY, np.zeros(2), np.eye(3)), ValueError, "cov has shape"),
        (
            lambda: random.multivariate_normal(KEY, np.zeros(2), np.eye(2), method="lu"),
            ValueError,
            "cholesky, eigh, svd",
        ),
        (lambda: random.multivariate_normal(KEY, 0.0, np.eye(2)), ValueError, "vector"),
        (lambda: random.orthogonal(KEY, 2.5), TypeError, "n"),
        (lambda: random.orthogonal(KEY, -1), ValueError, "negative"),
        (lambda: random.gamma(0, 1.0), TypeError, "random.key"),
    ],
)
def test_wrong_arguments_are_named(sample, error, words):
    with pytest.raises(error, match=words):
        sample()
