"""Samplers with typed keys of each generator; run with xlascope and with jax. Every value is a matter of bits."""

import numpy as np

GENERATORS = ("rbg", "unsafe_rbg")


def drawn(lib):
    """Name to array."""
    return {
        f"{impl}: {name}": np.asarray(value)
        for impl in GENERATORS
        for part in (keys, samples, mapped)
        for name, value in part(lib, lib.random, impl)
    }


def keys(lib, random, impl):
    words = random.key_data
    for seed in (0, 42, -1, np.int32(-3), np.uint8(200)):
        yield f"PRNGKey({seed!r})", random.PRNGKey(seed, impl=impl)
        yield f"key({seed!r})", words(random.key(seed, impl=impl))
    key = random.wrap_key_data(np.array([1, 2**32 - 1, 3, 4], "uint32"), impl=impl)
    for num in (1, 3, (2, 3), (0,)):
        yield f"split {num}", words(random.split(key, num))
    for data in (0, 12345, np.uint32(3), np.int32(-1)):
        yield f"fold_in {data!r}", words(random.fold_in(key, data))
    yield "clone", words(random.clone(key))
    yield "jit key", words(lib.jit(lambda seed: random.key(seed, impl=impl))(7))
    several = random.split(key, 3)
    yield "vmap split", words(lib.vmap(random.split)(several))
    yield "vmap fold_in", words(lib.vmap(lambda key: random.fold_in(key, 3))(several))
    yield "vmap fold_in of data", words(lib.vmap(lambda data: random.fold_in(key, data))(np.arange(4)))
    yield "vmap fold_in of both", words(lib.vmap(random.fold_in)(several, np.arange(3)))
    yield "vmap key", words(lib.vmap(lambda seed: random.key(seed, impl=impl))(np.arange(3)))


def samples(lib, random, impl):
    key = random.key(3, impl=impl)
    for dtype in ("uint8", "uint16", "uint32", *(["uint64"] if lib.config.jax_enable_x64 else [])):
        yield f"bits {dtype}", random.bits(key, (2, 3), dtype)
    for dtype in ("float16", "bfloat16", "float32"):
        yield f"uniform {dtype}", random.uniform(key, (7,), dtype)
    yield "normal", random.normal(key, (2, 3))
    yield "normal complex", random.normal(key, (3,), "complex64")
    yield "truncated_normal", random.truncated_normal(key, -1.0, 2.0, (9,))
    yield "gumbel", random.gumbel(key, (3,), mode="high")
    yield "exponential", random.exponential(key, (3,))
    yield "laplace", random.laplace(key, (3,))
    yield "randint", random.randint(key, (9,), -3, 90)
    yield "bernoulli", random.bernoulli(key, 0.3, (9,))
    yield "categorical", random.categorical(key, np.zeros((2, 5), "float32"))
    yield "rademacher", random.rademacher(key, (9,))
    yield "permutation", random.permutation(key, 9)
    yield "permutation, independent", random.permutation(key, np.arange(12).reshape(3, 4), 1, independent=True)
    yield "choice", random.choice(key, 9, (3,), replace=False)
    yield "choice with p", random.choice(key, 3, (5,), p=np.array([0.2, 0.3, 0.5], "float32"))
    yield "geometric", random.geometric(key, 0.3, (9,))
    yield "binomial", random.binomial(key, np.array([5.0, 100.0]), 0.4)


def mapped(lib, random, impl):
    keys = random.split(random.key(5, impl=impl), 3)
    yield "vmap uniform", lib.vmap(lambda key: random.uniform(key, (2,)))(keys)
    yield "vmap twice", lib.vmap(lib.vmap(lambda key: random.bits(key, (2,))))(random.split(keys[0], (2, 3)))
    yield "vmap randint", lib.vmap(lambda key: random.randint(key, (2,), 0, 99))(keys)
    yield "vmap permutation", lib.vmap(lambda key: random.permutation(key, 5))(keys)
    yield "vmap over something else", lib.vmap(lambda low: random.uniform(keys[0], (2,), minval=low))(np.zeros(3))
    yield "scan", lib.lax.scan(lambda c, key: (c, random.uniform(key, (2,))), 0, keys)[1]
    yield "carried", lib.random.key_data(lib.lax.fori_loop(0, 3, lambda i, key: random.split(key)[1], keys[0]))


def whole(lib):
    """Name to array: the samplers of words and whole numbers in every dtype, of even numbers in every float."""
    return {
        f"{impl}: {name} {dtype}": np.asarray(value)
        for impl in GENERATORS
        for name, dtype, value in _whole(lib, lib.random, lib.random.key(17, impl=impl))
    }


def _whole(lib, random, key):
    for dtype in ("uint8", "uint16", "uint32"):
        yield "bits", dtype, random.bits(key, (5,), dtype)
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32"):
        yield "randint", dtype, random.randint(key, (5,), 3, 90, dtype)
    for dtype in ("float16", "bfloat16", "float32"):
        yield "uniform", dtype, random.uniform(key, (5,), dtype, -1.0, 2.0)


def near(lib):
    """What goes through functions that compilers evaluate in other orders."""
    return {f"{impl}: {name}": np.asarray(value) for impl in GENERATORS for name, value in _near(lib, lib.random, impl)}


def _near(lib, random, impl):
    key, a = random.key(11, impl=impl), np.array([[0.5, 1.0, 3.0], [2.0, 7.0, 0.1]], "float32")
    keys = random.split(key, 2)
    yield "gamma", random.gamma(key, a)
    yield "loggamma", random.loggamma(key, a)
    yield "vmap gamma", lib.vmap(random.gamma)(keys, a)
    yield "vmap gamma over keys", lib.vmap(lambda key: random.gamma(key, a[0]))(keys)
    yield "vmap gamma over parameters", lib.vmap(lambda a: random.gamma(key, a))(a)
    yield "vmap gamma twice", lib.vmap(lambda key: lib.vmap(lambda a: random.gamma(key, a))(a))(keys)
    yield "dirichlet", random.dirichlet(key, a)
    yield "beta", random.beta(key, a, 2 * a)
    yield "chisquare", random.chisquare(key, a)
    yield "f", random.f(key, 3.0, 5.0, (3,))
    yield "t", random.t(key, a)
    for name in ("cauchy", "logistic", "maxwell"):
        yield name, getattr(random, name)(key, (5,))
    for name in ("pareto", "rayleigh", "lognormal", "wald"):
        yield name, getattr(random, name)(key, a)
    yield "triangular", random.triangular(key, -1.0, 0.0, 2.0, (3,))
    yield "weibull_min", random.weibull_min(key, 2.0, 1.5, (3,))
    yield "double_sided_maxwell", random.double_sided_maxwell(key, 1.0, 2.0, (3,))
    yield "generalized_normal", random.generalized_normal(key, 1.5, (3,))
    yield "ball", random.ball(key, 3, shape=(2,))
    yield "multinomial", random.multinomial(key, 10, np.array([0.2, 0.3, 0.5]))
    counts = random.multinomial(key, np.array([10, 30]), np.array([0.2, 0.3, 0.5]), shape=(2, 3))
    yield "multinomial, a stack", counts
    yield "multivariate_normal", random.multivariate_normal(key, np.zeros(2), np.eye(2), (3,))
    yield "orthogonal", random.orthogonal(key, 3)
    yield "grad gamma", lib.grad(lambda a: random.gamma(key, a).sum())(a)
