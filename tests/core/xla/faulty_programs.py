"""Programs that meet the known faults of XLA, run with their workarounds or without: ``faulty_programs.py NAME off``.

Each prints ``right`` or ``wrong``, or ends the process.
"""

import sys

import ml_dtypes
import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.xla.known_faults import workarounds
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


PROGRAMS = {
    "NAN": nan,
    "THIN_PRODUCT": thin_product,
    "MANY_AXES": many_axes,
    "SCALED_BFLOAT16": scaled_bfloat16,
}


def without_workarounds():
    workarounds._avoidable = ()
    module_lowering.has_nan_literal = lambda program: False


if __name__ == "__main__":
    name, how = sys.argv[1:]
    if how == "off":
        without_workarounds()
    print("right" if PROGRAMS[name]() else "wrong")
