"""Every sampler of a distribution with parameters; run with xlascope and with jax.

Whole numbers and what is made of bits alone are in ``exact``: JAX's have to be ours, bit for bit. ``close`` has what
goes through functions such as log and pow, which a compiler may evaluate in other orders in other programs.
"""

import numpy as np


def floats(lib):
    return ("float16", "bfloat16", "float32", *(["float64"] if lib.config.jax_enable_x64 else []))


def _values(lib, *parts):
    return {name: np.asarray(value) for part in parts for name, value in part(lib, lib.random)}


def every(lib):
    """Name to array, for the settings that are in force."""
    return _values(lib, transformed, of_gammas, gamma_dtypes, counts, binomials, matrices, mapped, gradients)


def transformed(lib, random):
    key = random.PRNGKey(31)
    simple = ("cauchy", "logistic", "maxwell")
    one = ("pareto", "rayleigh", "lognormal", "wald")
    p = np.float32([[0.5], [2.0]])
    for dtype in floats(lib):
        own = p.astype(lib.numpy.dtype(dtype))
        yield f"cauchy {dtype}", random.cauchy(key, (50,), dtype)
        yield f"wald {dtype}", random.wald(key, own, (2, 50), dtype)
        yield f"triangular {dtype}", random.triangular(key, -own, own / 2, 2 * own, (2, 50), dtype)
    for name in simple:
        yield name, getattr(random, name)(key, (50,))
    for name in one:
        yield name, getattr(random, name)(key, p, (2, 50))
    yield "weibull_min", random.weibull_min(key, p, p, (2, 50))
    yield "double_sided_maxwell", random.double_sided_maxwell(key, p, p, (50,))
    for name in one:
        yield f"{name} without a shape", getattr(random, name)(key, np.float32([1.0, 2.0]))
        yield f"{name} of a whole number", getattr(random, name)(key, 2)
    yield "lognormal()", random.lognormal(key)
    yield "lognormal complex", random.lognormal(key, 0.5, (9,), "complex64")
    yield "triangular of numbers", random.triangular(key, 0.0, 1, 3.0)
    yield "weibull_min of numbers", random.weibull_min(key, 2.0, 3)
    yield "double_sided_maxwell of numbers", random.double_sided_maxwell(key, 1.0, 2, (4,))
    yield "double_sided_maxwell without a shape", random.double_sided_maxwell(key, p[:, 0], 2)
    for dtype in ("int32", "uint8", "float32", "float16"):
        yield f"rademacher {dtype}", random.rademacher(key, (50,), dtype)
    yield "rademacher()", random.rademacher(key)


def of_gammas(lib, random):
    key = random.PRNGKey(37)
    a = np.float32([0.001, 0.1, 0.5, 1.0, 1.5, 10.0, 1000.0])
    yield "gamma", random.gamma(key, a, (20, 7))
    yield "loggamma", random.loggamma(key, a, (20, 7))
    yield "gamma of a number", random.gamma(key, 2.0)
    yield "gamma of a whole number", random.gamma(key, 2, (5,))
    yield "gamma of the limits", random.gamma(key, np.float32([0.0, np.inf]))
    yield "gamma of nothing", random.gamma(key, 2.0, (0, 3))
    yield "chisquare", random.chisquare(key, 2 * a, (20, 7))
    yield "f", random.f(key, np.stack([a, a]), np.stack([a + 2, a + 5]), (2, 7))
    yield "t", random.t(key, a[2:], (20, 5))
    yield "beta", random.beta(key, a, np.float32([[0.5], [5.0]]), (2, 7))
    yield "beta of small numbers", random.beta(key, 0.001, 0.002, (20,))
    yield "dirichlet", random.dirichlet(key, a, (5,))
    yield "dirichlet of a stack", random.dirichlet(key, np.ones((2, 3), "float32"))
    yield "generalized_normal", random.generalized_normal(key, 1.5, (20,))
    yield "generalized_normal of a whole number", random.generalized_normal(key, 3, (20,))
    for p in (1, 2, 3.5):
        yield f"ball {p}", random.ball(key, 3, p, (5,))


def gamma_dtypes(lib, random):
    key = random.PRNGKey(41)
    for dtype in floats(lib):
        a = np.array([0.3, 1.0, 4.0]).astype(lib.numpy.dtype(dtype))
        yield f"gamma {dtype}", random.gamma(key, a, (9, 3), dtype)
        yield f"loggamma {dtype}", random.loggamma(key, a, (9, 3), dtype)


def counts(lib, random):
    key = random.PRNGKey(43)
    lam = np.array([0.0, 0.1, 3.0, 9.9, 10.0, 55.5, 1e5, -1.0, np.nan])
    for dtype in ("int32", "uint8", *(["int64"] if lib.config.jax_enable_x64 else [])):
        usual = lam if dtype == "int32" else lam[:6]
        yield f"poisson {dtype}", random.poisson(key, usual, (20, len(usual)), dtype)
        yield f"geometric {dtype}", random.geometric(key, np.float32([0.1, 0.5, 0.999]), (20, 3), dtype)
    yield "poisson of a number", random.poisson(key, 3.5)
    yield "poisson of a whole number", random.poisson(key, 30, (5,))
    yield "geometric of a number", random.geometric(key, 0.3, (50,))
    yield "geometric of half precision", random.geometric(key, lib.numpy.float16(0.3), (50,))
    for p in ([0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]):
        yield f"multinomial {p}", random.multinomial(key, 20, np.array(p))
    yield "multinomial, a stack", random.multinomial(key, np.array([5, 50]), np.float32([0.2, 0.3, 0.5]), shape=(2, 3))
    yield "multinomial, whole", random.multinomial(key, 100, np.float32([0.2, 0.3, 0.5]), dtype="int32", unroll=3)


def binomials(lib, random):
    key = random.PRNGKey(47)
    n = np.array([0.0, 1.0, 5.0, 100.0, 1000.0])
    p = np.array([[0.0], [0.01], [0.3], [0.5], [0.9], [1.0]])
    for dtype in floats(lib)[2:]:
        yield f"binomial {dtype}", random.binomial(key, n, p, (4, 6, 5), dtype)
    yield "binomial of numbers", random.binomial(key, 10, 0.5, (9,))
    yield "binomial of whole numbers", random.binomial(key, np.array([3, 40]), 0.25)
    wrong = np.float32([-1.0, np.nan, 5, 5, 5, np.inf, 3.5]), np.float32([0.5, 0.5, -0.1, 1.5, np.nan, 0.5, 0.5])
    yield "binomial of what is none", random.binomial(key, *wrong)


def matrices(lib, random):
    key = random.PRNGKey(53)
    a = np.float32([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]])
    mean = np.float32([[1.0, 2.0, 3.0], [0.0, -1.0, 5.0]])
    yield "multivariate_normal", random.multivariate_normal(key, mean, a)
    yield "multivariate_normal, many", random.multivariate_normal(key, mean[0], a, (20,))
    yield "multivariate_normal, stacks", random.multivariate_normal(key, mean, np.stack([a, 2 * a])[:, None])
    yield "orthogonal", random.orthogonal(key, 3, (4,))
    yield "orthogonal wide", random.orthogonal(key, 2, (4,), m=5)
    yield "orthogonal high", random.orthogonal(key, 5, m=2)
    yield "orthogonal complex", random.orthogonal(key, 3, (2,), "complex64")


def mapped(lib, random):
    keys = random.split(random.PRNGKey(59), 4)
    a = np.float32([0.5, 1.0, 2.0, 20.0])
    yield "vmap gamma", lib.vmap(lambda k, a: random.gamma(k, a, (3,)))(keys, a)
    yield "vmap gamma over keys", lib.vmap(lambda k: random.gamma(k, 2.5))(keys)
    yield "vmap gamma over parameters", lib.vmap(lambda a: random.gamma(keys[0], a))(a)
    yield "vmap poisson", lib.vmap(random.poisson)(keys, a)
    yield "vmap binomial", lib.vmap(lambda k, a: random.binomial(k, a, 0.4))(keys, 20 * a)
    yield "vmap dirichlet", lib.vmap(lambda k: random.dirichlet(k, a))(keys)
    yield "jit gamma", lib.jit(lambda k, a: random.gamma(k, a))(keys[0], a)


def gradients(lib, random):
    key, a = random.PRNGKey(61), np.float32([0.01, 0.5, 1.0, 2.0, 20.0])

    def total(sample):
        return lambda *parameters: lib.numpy.sum(lib.numpy.sin(sample(*parameters)))

    of_one = {
        "gamma": lambda a: random.gamma(key, a),
        "loggamma": lambda a: random.loggamma(key, a),
        "chisquare": lambda a: random.chisquare(key, a),
        "t": lambda a: random.t(key, a + 1),
        "dirichlet": lambda a: random.dirichlet(key, a + 1),
        "pareto": lambda a: random.pareto(key, a + 1),
        "rayleigh": lambda a: random.rayleigh(key, a),
        "wald": lambda a: random.wald(key, a),
        "lognormal": lambda a: random.lognormal(key, 0.1 * a),
        "weibull_min": lambda a: random.weibull_min(key, a, a + 1, (5,)),
        "beta": lambda a: random.beta(key, a + 1, 2 * a + 1),
        "f": lambda a: random.f(key, a + 2, a + 3),
        "triangular": lambda a: random.triangular(key, -a, a / 2, a),
        "generalized_normal": lambda a: random.generalized_normal(key, a[3], (5,)),
        "multivariate_normal": lambda a: random.multivariate_normal(key, a, lib.numpy.diag(a) + 1.0),
    }
    for name, sample in of_one.items():
        yield f"grad {name}", lib.grad(total(sample))(a)
    yield "jacfwd gamma", lib.jacfwd(lambda a: random.gamma(key, a))(a)
    yield "vmap grad gamma", lib.vmap(lib.grad(lambda a: random.gamma(key, a)))(a)


def some(lib):
    """A few of them, for each test run."""
    return _values(lib, sampled)


def sampled(lib, random):
    key, a = random.PRNGKey(67), np.float32([0.1, 1.0, 20.0])
    yield "gamma", random.gamma(key, a, (9, 3))
    yield "dirichlet", random.dirichlet(key, a)
    yield "poisson", random.poisson(key, a, (9, 3))
    yield "binomial", random.binomial(key, 10 * a, 0.4, (9, 3))
    yield "cauchy", random.cauchy(key, (9,))
    yield "maxwell", random.maxwell(key, (9,))
    yield "rademacher", random.rademacher(key, (50,))
    yield "orthogonal", random.orthogonal(key, 3)
    yield "vmap gamma", lib.vmap(random.gamma)(random.split(key, 3), a)
    yield "grad loggamma", lib.grad(lambda a: lib.numpy.sum(random.loggamma(key, a)))(a)
