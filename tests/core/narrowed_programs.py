"""Calls that are given a 64-bit dtype while 64-bit types are off: which of them warn, in either library."""

import re
import warnings

import numpy as np

#: Calls that name the dtype themselves.
NAMED_WIDE = {"jnp.float64(1)", "jnp.int64(1)", "bits", "lax.argmax", "dft"}

#: Words of jax's that differ from call to call, and what follows the first sentence.
_REST = re.compile(r" requested in \w+|(?<=\d)\. .*", re.DOTALL)


def warned(lib):
    """For each call what it says of a dtype that is narrowed."""
    found = {}
    for name, (call, dtype) in calls(lib).items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(dtype)
        found[name] = sorted({_REST.sub("", str(each.message)) for each in caught if "truncated" in str(each.message)})
    return found


def calls(lib):
    """Each call with the dtype that it is given."""
    table = {}
    for group in (creations, conversions, reductions, numbers, samplers, operations, others):
        for name, call in group(lib).items():
            dtype = "int64" if name.startswith(WHOLE) else "float64"
            table[name] = call, dtype
    fine = creations(lib)
    for dtype in (float, int, complex, "float32", np.float32, np.dtype("int32"), bool, None):
        table[f"zeros of {dtype}"] = fine["zeros"], dtype
    for dtype in (np.float64, np.int64, np.uint64, np.complex128, np.dtype("float64"), "complex128"):
        table[f"zeros of {dtype}"] = fine["zeros"], dtype
    table["zeros of the library's float64"] = fine["zeros"], lib.numpy.float64
    return table


#: Of these the dtype is one of integers.
WHOLE = ("argmax", "bits", "randint", "rademacher", "poisson", "geometric", "lax.argmin", "rng_bit", "argsort", "ravel")


def creations(lib):
    jnp, x = lib.numpy, np.ones(3, np.float32)
    return {
        "arange": lambda d: jnp.arange(3, dtype=d),
        "array": lambda d: jnp.array([1.0], d),
        "array of an array": lambda d: jnp.array(jnp.ones(3), d),
        "asarray": lambda d: jnp.asarray(x, d),
        "asarray of a number": lambda d: jnp.asarray(1.0, dtype=d),
        "zeros": lambda d: jnp.zeros(3, d),
        "ones": lambda d: jnp.ones(3, d),
        "empty": lambda d: jnp.empty(3, d),
        "full": lambda d: jnp.full(3, 1.0, d),
        "zeros_like": lambda d: jnp.zeros_like(x, d),
        "ones_like": lambda d: jnp.ones_like(x, d),
        "empty_like": lambda d: jnp.empty_like(x, d),
        "full_like": lambda d: jnp.full_like(x, 1.0, d),
        "eye": lambda d: jnp.eye(3, dtype=d),
        "identity": lambda d: jnp.identity(3, d),
        "tri": lambda d: jnp.tri(3, dtype=d),
        "linspace": lambda d: jnp.linspace(0, 1, 3, dtype=d),
        "logspace": lambda d: jnp.logspace(0, 1, 3, dtype=d),
        "geomspace": lambda d: jnp.geomspace(1, 2, 3, dtype=d),
        "indices": lambda d: jnp.indices((2,), d),
        "fromfunction": lambda d: jnp.fromfunction(lambda i: i, (2,), dtype=d),
        "frombuffer": lambda d: jnp.frombuffer(b"12345678", d),
        "fftfreq": lambda d: jnp.fft.fftfreq(4, dtype=d),
        "rfftfreq": lambda d: jnp.fft.rfftfreq(4, dtype=d),
        # what has a 64-bit dtype and is not asked for one
        "array of NumPy's float64": lambda d: jnp.array(np.ones(3, d)),
        "asarray of NumPy's float64": lambda d: jnp.asarray(np.ones(3, d)),
        "zeros_like of NumPy's float64": lambda d: jnp.zeros_like(np.ones(3, d)),
        "sum of NumPy's float64": lambda d: jnp.sum(np.ones(3, d)),
        "add of NumPy's float64": lambda d: jnp.add(np.ones(3, d), 1),
        "jit of NumPy's float64": lambda d: lib.jit(lambda x: x + 1)(np.ones(3, d)),
        "device_put of NumPy's float64": lambda d: lib.device_put(np.ones(3, d)),
        "ShapeDtypeStruct": lambda d: lib.eval_shape(lambda x: x, lib.ShapeDtypeStruct((3,), d)),
    }


def conversions(lib):
    jnp, lax, x = lib.numpy, lib.lax, lib.numpy.ones(3)
    return {
        "astype": lambda d: jnp.astype(x, d),
        "x.astype": lambda d: x.astype(d),
        "astype of a traced": lambda d: lib.jit(lambda x: x.astype(d))(x),
        "zeros in jit": lambda d: lib.jit(lambda x: x + jnp.zeros(3, d))(x),
        "x.view": lambda d: jnp.ones(4).view(d),
        "convert_element_type": lambda d: lax.convert_element_type(x, d),
        "bitcast_convert_type": lambda d: lax.bitcast_convert_type(x, d),
        "jnp.float64(1)": lambda d: jnp.float64(1),
        "jnp.int64(1)": lambda d: jnp.int64(1),
        "concatenate": lambda d: jnp.concatenate([x, x], dtype=d),
        "stack": lambda d: jnp.stack([x, x], dtype=d),
        "hstack": lambda d: jnp.hstack([x, x], dtype=d),
        "vstack": lambda d: jnp.vstack([x, x], dtype=d),
        "dstack": lambda d: jnp.dstack([x, x], dtype=d),
        "promote_types": lambda d: jnp.promote_types("float32", d),
        "result_type": lambda d: jnp.result_type(d),
        "canonicalize_dtype": lambda d: lib.dtypes.canonicalize_dtype(d),
        "finfo": lambda d: jnp.finfo(d),
        "issubdtype": lambda d: jnp.issubdtype(d, np.floating),
    }


def reductions(lib):
    jnp, x = lib.numpy, lib.numpy.ones(3)
    return {
        "argsort": lambda d: jnp.argsort(x, dtype=d),
        "sum": lambda d: jnp.sum(x, dtype=d),
        "x.sum": lambda d: x.sum(dtype=d),
        "prod": lambda d: jnp.prod(x, dtype=d),
        "mean": lambda d: jnp.mean(x, dtype=d),
        "x.mean": lambda d: x.mean(dtype=d),
        "var": lambda d: jnp.var(x, dtype=d),
        "std": lambda d: jnp.std(x, dtype=d),
        "nansum": lambda d: jnp.nansum(x, dtype=d),
        "nanprod": lambda d: jnp.nanprod(x, dtype=d),
        "nanmean": lambda d: jnp.nanmean(x, dtype=d),
        "nanvar": lambda d: jnp.nanvar(x, dtype=d),
        "nanstd": lambda d: jnp.nanstd(x, dtype=d),
        "cumsum": lambda d: jnp.cumsum(x, dtype=d),
        "cumprod": lambda d: jnp.cumprod(x, dtype=d),
        "nancumsum": lambda d: jnp.nancumsum(x, dtype=d),
        "nancumprod": lambda d: jnp.nancumprod(x, dtype=d),
        "cumulative_sum": lambda d: jnp.cumulative_sum(x, dtype=d),
        "cumulative_prod": lambda d: jnp.cumulative_prod(x, dtype=d),
        "trace": lambda d: jnp.trace(jnp.ones((2, 2)), dtype=d),
        "linalg.trace": lambda d: jnp.linalg.trace(jnp.ones((2, 2)), dtype=d),
        "cov": lambda d: jnp.cov(jnp.ones((2, 2)), dtype=d),
        "corrcoef": lambda d: jnp.corrcoef(jnp.ones((2, 2)), dtype=d),
        "ravel_multi_index": lambda d: jnp.ravel_multi_index((np.arange(2),), (3,), dtype=d),
    }


def numbers(lib):
    jnp, x, m = lib.numpy, lib.numpy.ones(3), lib.numpy.ones((3, 3))
    return {
        "dot": lambda d: jnp.dot(x, x, preferred_element_type=d),
        "matmul": lambda d: jnp.matmul(m, m, preferred_element_type=d),
        "einsum": lambda d: jnp.einsum("ij,jk", m, m, preferred_element_type=d),
        "tensordot": lambda d: jnp.tensordot(m, m, preferred_element_type=d),
        "inner": lambda d: jnp.inner(x, x, preferred_element_type=d),
        "vdot": lambda d: jnp.vdot(x, x, preferred_element_type=d),
        "vecdot": lambda d: jnp.vecdot(x, x, preferred_element_type=d),
        "convolve": lambda d: jnp.convolve(x, x, preferred_element_type=d),
        "correlate": lambda d: jnp.correlate(x, x, preferred_element_type=d),
        "linalg.matmul": lambda d: jnp.linalg.matmul(m, m, preferred_element_type=d),
        "linalg.tensordot": lambda d: jnp.linalg.tensordot(m, m, preferred_element_type=d),
        "linalg.vecdot": lambda d: jnp.linalg.vecdot(x, x, preferred_element_type=d),
        "lax.dot": lambda d: lib.lax.dot(x, x, preferred_element_type=d),
    }


def samplers(lib):
    random, key, one = lib.random, lib.random.key(0), np.float32(1)
    p = np.float32(0.5)
    return {
        "ball": lambda d: random.ball(key, 2, dtype=d),
        "beta": lambda d: random.beta(key, one, one, dtype=d),
        "binomial": lambda d: random.binomial(key, 3, p, dtype=d),
        "bits": lambda d: random.bits(key, (), "uint64"),
        "cauchy": lambda d: random.cauchy(key, dtype=d),
        "chisquare": lambda d: random.chisquare(key, one, dtype=d),
        "dirichlet": lambda d: random.dirichlet(key, np.ones(2, np.float32), dtype=d),
        "double_sided_maxwell": lambda d: random.double_sided_maxwell(key, one, one, dtype=d),
        "exponential": lambda d: random.exponential(key, dtype=d),
        "f": lambda d: random.f(key, one, one, dtype=d),
        "gamma": lambda d: random.gamma(key, one, dtype=d),
        "generalized_normal": lambda d: random.generalized_normal(key, one, dtype=d),
        "geometric": lambda d: random.geometric(key, p, dtype=d),
        "gumbel": lambda d: random.gumbel(key, dtype=d),
        "laplace": lambda d: random.laplace(key, dtype=d),
        "loggamma": lambda d: random.loggamma(key, one, dtype=d),
        "logistic": lambda d: random.logistic(key, dtype=d),
        "lognormal": lambda d: random.lognormal(key, dtype=d),
        "maxwell": lambda d: random.maxwell(key, dtype=d),
        "multinomial": lambda d: random.multinomial(key, one, np.ones(2, np.float32) / 2, dtype=d),
        "multivariate_normal": lambda d: random.multivariate_normal(
            key, np.zeros(2, np.float32), np.eye(2, dtype=np.float32), dtype=d
        ),
        "normal": lambda d: random.normal(key, dtype=d),
        "orthogonal": lambda d: random.orthogonal(key, 2, dtype=d),
        "pareto": lambda d: random.pareto(key, one, dtype=d),
        "poisson": lambda d: random.poisson(key, one, dtype=d),
        "rademacher": lambda d: random.rademacher(key, dtype=d),
        "randint": lambda d: random.randint(key, (), 0, 3, d),
        "rayleigh": lambda d: random.rayleigh(key, one, dtype=d),
        "t": lambda d: random.t(key, one, dtype=d),
        "triangular": lambda d: random.triangular(key, one, one * 2, one * 3, dtype=d),
        "truncated_normal": lambda d: random.truncated_normal(key, -one, one, dtype=d),
        "uniform": lambda d: random.uniform(key, dtype=d),
        "wald": lambda d: random.wald(key, one, dtype=d),
        "weibull_min": lambda d: random.weibull_min(key, one, one, dtype=d),
    }


def operations(lib):
    lax, x = lib.lax, lib.numpy.ones(3)
    image, kernel = lib.numpy.ones((1, 1, 4)), lib.numpy.ones((1, 1, 2))
    return {
        "lax.argmax": lambda d: lax.argmax(x, 0, "int64"),
        "lax.argmin": lambda d: lax.argmin(x, 0, d),
        "broadcasted_iota": lambda d: lax.broadcasted_iota(d, (3,), 0),
        "iota": lambda d: lax.iota(d, 3),
        "lax.full": lambda d: lax.full((3,), 1.0, d),
        "lax.full_like": lambda d: lax.full_like(x, 1.0, d),
        "conv": lambda d: lax.conv(image, kernel, (1,), "SAME", preferred_element_type=d),
    }


def others(lib):
    jnp = lib.numpy
    return {
        "one_hot": lambda d: lib.nn.one_hot(np.arange(3), 3, dtype=d),
        "an initializer": lambda d: lib.nn.initializers.normal(dtype=d)(lib.random.key(0), (2,)),
        "an initializer's call": lambda d: lib.nn.initializers.zeros(lib.random.key(0), (2,), d),
        "hadamard": lambda d: lib.scipy.linalg.hadamard(2, dtype=d),
        "dft": lambda d: lib.scipy.linalg.dft(2, dtype="complex128"),
        "where": lambda d: jnp.where(True, np.ones(3, d), 0),
    }
