"""Programs that meet the known faults of XLA, run with their workarounds or without: ``faulty_programs.py NAME off``.

Each prints ``right`` or ``wrong``, or ends the process.
"""

import sys

import ml_dtypes
import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.xla.known_faults import nan_of_extremes, workarounds
from xlascope.xla.lowering import module_lowering


def thin_product():
    """Rows from 32,768 on are wrong."""
    generator = np.random.default_rng(0)
    matrix, rows = generator.normal(size=(3, 3)).astype("float32"), generator.normal(size=(40_000, 3)).astype("float32")
    squares = xs.jit(xs.vmap(lambda row: jnp.sum((matrix @ row) ** 2)))(rows)
    return np.allclose(squares, ((rows @ matrix.T) ** 2).sum(1), rtol=1e-3)


def many_axes():
    """The process ends with signal 11."""
    x, y = np.ones((10, 4, 6), "float32"), np.ones((10, 4, 6, 9, 9, 9, 9, 9), "float32")
    total = xs.jit(lambda x, y: jnp.sum(x[..., None, None, None, None, None] * y, axis=2))(x, y)
    return bool((np.asarray(total) == 6).all())


def scaled_bfloat16():
    """Sums are those of other elements."""
    x = np.random.default_rng(0).uniform(0.5, 1.0, (10_001, 3)).astype(ml_dtypes.bfloat16)
    sums = xs.jit(lambda x: jnp.sum(jnp.exp(x * 0.3), 1))(x)
    return np.allclose(np.asarray(sums, "float32"), np.exp(x.astype("float32") * 0.3).sum(1), rtol=2e-2)


def nan():
    """What memory held stands where NaN should."""
    x = np.linspace(0.1, 0.9, 300).astype("float32")
    functions = [jnp.exp, jnp.expm1, jnp.sinh, jnp.tanh, jnp.log1p, xs.nn.sigmoid, xs.nn.softplus]
    where = [xs.jit(lambda x, a, b, f=f: f(jnp.where(b > a, x, jnp.nan)))(x, 3.5, 2.1) for f in functions]
    first = [
        xs.jit(lambda x: jnp.exp(x.at[0].set(jnp.nan)))(np.full(size, 7, np.float32))[0] for size in (5, 9, 50, 300)
    ]
    return all(np.isnan(y).all() for y in (*where, *first))  # what memory held may be NaN, but hardly everywhere


def extreme():
    """A NaN among 20,000 ones is left out."""
    return not nan_left_out("float32", -1)


SIZE = 20_000
#: Reductions of 20,000 elements whose result is NaN if one of them is.
EXTREMES = {
    "max": jnp.max,
    "min": jnp.min,
    "rows": lambda x: jnp.max(x.reshape(200, 100), 1),
    "columns": lambda x: jnp.min(x.reshape(200, 100), 0),
    "mapped": lambda x: xs.vmap(jnp.max)(x.reshape(100, 200)),
    "gradient": lambda x: xs.value_and_grad(jnp.max)(x)[0],
    "reduce": lambda x: xs.lax.reduce(x, -xs.numpy.inf, xs.lax.max, (0,)),
    "reduce from 5": lambda x: xs.lax.reduce(x, 5.0, lambda a, b: jnp.minimum(a, b), (0,)),
    "ufunc": jnp.maximum.reduce,
    "norm": lambda x: jnp.linalg.norm(x.astype("float32"), jnp.inf),
    "magnitudes": lambda x: jnp.max(abs(x) * 2),
    "pooling": lambda x: _pool(x.reshape(1, 100, 200, 1), (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    "padded pooling": lambda x: _pool(x[:-1], (100,), (100,), "SAME"),
    "pooling of all": lambda x: _pool(x, (SIZE,), (1,), "VALID"),
    "overlapping windows": lambda x: _pool(x, (3,), (2,), "SAME"),
    "logsumexp": xs.nn.logsumexp,
    "softmax": lambda x: xs.nn.softmax(x.reshape(200, 100)),
    "log_softmax": lambda x: xs.nn.log_softmax(x.reshape(100, 200), 0),
}


def _pool(x, windows, strides, padding):
    return xs.lax.reduce_window(x, -jnp.inf, xs.lax.max, windows, strides, padding)


def nan_left_out(dtype, sign):
    """Return which reductions of ones and a NaN of that sign have no NaN, for three places of the NaN."""
    compiled = {name: xs.jit(function) for name, function in EXTREMES.items()}
    found = set()
    for place in (0, 7_777, SIZE - 3):
        x = np.ones(SIZE, dtype)
        x[place] = np.copysign(np.nan, sign)
        found |= {name for name, function in compiled.items() if not np.isnan(np.asarray(function(x), float)).any()}
    return sorted(found)


PROGRAMS = {
    "NAN": nan,
    "THIN_PRODUCT": thin_product,
    "MANY_AXES": many_axes,
    "SCALED_BFLOAT16": scaled_bfloat16,
    "EXTREME": extreme,
}


def without_workarounds():
    workarounds._avoidable = ()
    module_lowering.has_nan_literal = lambda program: False
    nan_of_extremes.AFFECTED_EXTREMES = frozenset()


if __name__ == "__main__":
    name, how = sys.argv[1:]
    if how == "off":
        without_workarounds()
    print("right" if PROGRAMS[name]() else "wrong")
