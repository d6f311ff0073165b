"""Test cases of elementwise functions: arithmetic, special functions, comparisons, bits, conversions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from .... import lax
from .... import numpy as jnp
from ....scipy import special
from .row import FLOATS, INTEGERS, NUMBERS, Case, booleans, cases_of, constant, to_dtype, uniform

COMPLEX = ("float32", "complex64")
_FULL_RANGE = (-2.0, 2.0)
#: Functions that NumPy has as well: the range of their operands, and the dtypes.
_NUMPY_FUNCTIONS: dict[str, tuple[tuple[float, float], tuple[str, ...]]] = {
    "negative": (_FULL_RANGE, NUMBERS),
    "exp": (_FULL_RANGE, (*FLOATS, "complex64")),
    "exp2": (_FULL_RANGE, ("float32",)),
    "expm1": (_FULL_RANGE, COMPLEX),
    "log": ((0.1, 2.0), (*FLOATS, "complex64")),
    "log1p": ((-0.5, 2.0), COMPLEX),
    "sin": (_FULL_RANGE, (*FLOATS, "complex64")),
    "cos": (_FULL_RANGE, COMPLEX),
    "tan": ((-1.0, 1.0), COMPLEX),
    "tanh": (_FULL_RANGE, (*FLOATS, "complex64")),
    "sinh": (_FULL_RANGE, ("float32",)),
    "cosh": (_FULL_RANGE, ("float32",)),
    "arcsin": ((-0.9, 0.9), ("float32",)),
    "arccos": ((-0.9, 0.9), ("float32",)),
    "arctan": (_FULL_RANGE, ("float32",)),
    "arcsinh": (_FULL_RANGE, ("float32",)),
    "arccosh": ((1.2, 3.0), ("float32",)),
    "arctanh": ((-0.9, 0.9), ("float32",)),
    "sqrt": ((0.1, 2.0), COMPLEX),
    "cbrt": ((0.1, 2.0), ("float32",)),
    "square": (_FULL_RANGE, (*COMPLEX, "int32")),
    "abs": ((0.2, 2.0), ("float32", "int32")),
}
#: Piecewise constant NumPy functions, which have no useful derivative.
_PIECEWISE_CONSTANT = {
    "sign": ("float32", "int32"),
    "floor": FLOATS,
    "ceil": ("float32",),
    "rint": ("float32",),
    "isfinite": ("float32",),
}
_SPECIAL = {
    "erf": (-2.0, 2.0),
    "erfc": (-2.0, 2.0),
    "erfinv": (-0.9, 0.9),
    "gammaln": (0.5, 4.0),
    "digamma": (0.5, 4.0),
    "i0e": (-2.0, 2.0),
    "i1e": (-2.0, 2.0),
    "expit": (-2.0, 2.0),
}
_CONVERSIONS = ("float32", "float16", "bfloat16", "int32", "uint8", "bool", "complex64", "float8_e4m3fn")


def unary_cases() -> Iterator[Case]:
    """Yield test cases of functions of one array, such as ``exp`` and ``floor``, each in several dtypes."""
    for name, ((low, high), dtypes) in _NUMPY_FUNCTIONS.items():
        operand = uniform(2, 3, low=low, high=high)
        yield from cases_of(name, getattr(jnp, name), operand, dtypes=dtypes, oracle=getattr(np, name))
    for name, dtypes in _PIECEWISE_CONSTANT.items():
        yield from cases_of(
            name, getattr(jnp, name), uniform(2, 3), dtypes=dtypes, derive=False, oracle=getattr(np, name)
        )
    for name, (low, high) in _SPECIAL.items():
        yield from cases_of(name, getattr(special, name), uniform(2, 3, low=low, high=high), tolerance=3)
    yield from cases_of(
        "polygamma", lambda x: special.polygamma(1, x), uniform(4, low=0.5, high=4.0), derive=False, tolerance=5
    )
    yield from cases_of("rsqrt", lax.rsqrt, uniform(2, 3, low=0.1), dtypes=FLOATS, oracle=lambda x: 1 / np.sqrt(x))
    yield from cases_of(
        "logistic", lax.logistic, uniform(2, 3), dtypes=("bfloat16",), oracle=lambda x: 1 / (1 + np.exp(-x))
    )
    yield from cases_of(
        "integer power", lambda x: x**3, uniform(2, 3), dtypes=(*COMPLEX, "int32"), oracle=lambda x: x**3
    )
    yield from cases_of("reciprocal power", lambda x: x**-2, uniform(2, 3, low=0.5), oracle=lambda x: x**-2.0)
    yield from cases_of("not", jnp.invert, uniform(2, 3, high=100), dtypes=INTEGERS, oracle=np.invert)
    yield from cases_of("population count", lax.population_count, uniform(4, low=0, high=200), dtypes=INTEGERS)
    yield from cases_of("leading zeros", lax.clz, uniform(4, low=0, high=200), dtypes=INTEGERS)
    yield from cases_of("reduce precision", lambda x: lax.reduce_precision(x, 5, 10), uniform(2, 3), derive=False)
    yield from cases_of(
        "real, imag, conj", lambda z: (jnp.real(z), jnp.imag(z), jnp.conj(z)), uniform(3), dtypes=("complex64",)
    )


def binary_cases() -> Iterator[Case]:
    """Yield test cases of functions of two arrays, such as ``add`` and ``less``, each in several dtypes."""
    pair = uniform(2, 3), uniform(2, 3)
    yield from cases_of("add", jnp.add, *pair, dtypes=NUMBERS, oracle=np.add)
    yield from cases_of("subtract", jnp.subtract, *pair, dtypes=NUMBERS, oracle=np.subtract)
    yield from cases_of("multiply", jnp.multiply, *pair, dtypes=NUMBERS, oracle=np.multiply)
    positive = uniform(2, 3), uniform(2, 3, low=0.5)
    yield from cases_of("divide", jnp.divide, *positive, dtypes=(*FLOATS, "complex64"), oracle=np.divide)
    yield from cases_of("power", jnp.power, uniform(2, 3, low=0.2), uniform(2, 3), oracle=np.power)
    yield from cases_of("remainder", lax.rem, *positive, derive=False, oracle=np.fmod)
    yield from cases_of("arctan2", jnp.arctan2, *positive, oracle=np.arctan2)
    yield from cases_of("maximum", jnp.maximum, *pair, dtypes=("float32", "bfloat16", "int32"), oracle=np.maximum)
    yield from cases_of("minimum", jnp.minimum, *pair, dtypes=("float32", "int32"), oracle=np.minimum)
    yield from cases_of("nextafter", jnp.nextafter, *pair, derive=False)
    yield from cases_of("broadcasting", jnp.add, uniform(2, 1), uniform(1, 3), oracle=np.add)
    yield from cases_of("complex", lax.complex, *pair, oracle=lambda x, y: x + 1j * y)
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        dtypes = ("float32", "int32") if name in ("equal", "less") else ("float32",)
        yield from cases_of(name, getattr(jnp, name), *pair, dtypes=dtypes, derive=False, oracle=getattr(np, name))
    integers = uniform(6, low=0, high=100), uniform(6, low=1, high=7)
    for name, function in (("and", operator.and_), ("or", operator.or_), ("xor", operator.xor)):
        yield from cases_of(name, function, *integers, dtypes=INTEGERS, oracle=function)
    yield from cases_of("left shift", jnp.left_shift, *integers, dtypes=("int32",), oracle=np.left_shift)
    yield from cases_of("right shifts", _shift_right, *integers, dtypes=INTEGERS)
    yield from cases_of("mulhi", lax.mulhi, *integers, dtypes=("int32",)) if hasattr(lax, "mulhi") else ()


def choice_cases() -> Iterator[Case]:
    """Yield test cases of selections between elements, of NaN and infinity, and of conversions between dtypes."""
    yield from cases_of(
        "where", jnp.where, booleans(2, 3), uniform(2, 3), uniform(2, 3), dtypes=NUMBERS, oracle=np.where
    )
    yield from cases_of("clip", lambda x: jnp.clip(x, -1, 1), uniform(2, 3), dtypes=("float32", "int32"))
    special_values = constant([[1.0, np.nan, np.inf], [-np.inf, 0.0, -0.0]])
    yield from cases_of("nan and infinity", _apply_to_special_values, special_values, dtypes=FLOATS, derive=False)
    for old in ("float32", "int32", "bool"):
        convert = functools.partial(_convert_to, [to_dtype(new) for new in _CONVERSIONS])
        yield from cases_of("conversions", convert, uniform(2, 3, low=0), dtypes=(old,), derive=False)
    yield from cases_of("bits", lambda x: lax.bitcast_convert_type(x, jnp.int32), uniform(2, 3), derive=False)


def _shift_right(x: Any, y: Any) -> Any:
    return lax.shift_right_logical(x, y), lax.shift_right_arithmetic(x, y)


def _apply_to_special_values(x: Any) -> Any:
    return jnp.exp(x), jnp.maximum(x, 0), jnp.isnan(x), jnp.sign(x), jnp.sqrt(jnp.abs(x)), x * x


def _convert_to(dtypes: list[np.dtype[Any]], x: Any) -> Any:
    return [x.astype(dtype) for dtype in dtypes]
