"""Which dtypes a function computes with, where most others are an error: what is drawn for it is mostly one of them."""

from __future__ import annotations

from fnmatch import fnmatchcase

_WHOLE = {"int32": 8, "bool": 3, "uint8": 3, "int8": 2, "uint32": 2, "int16": 1, "int64": 1}
_FLOATING = {"float32": 10, "float16": 3, "bfloat16": 3, "float64": 1, "complex64": 1}
_COMPLEX = {"complex64": 4, "complex128": 1}

_FUNCTIONS = {
    """*.bitwise_* *shift* *.__and__ *.__or__ *.__xor__ *.__rand__ *.__ror__ *.__rxor__ *.__invert__ *.__index__
    numpy.gcd numpy.lcm lax.population_count lax.clz numpy.bincount numpy.choose numpy.ravel_multi_index
    numpy.unravel_index numpy.packbits numpy.unpackbits lax.mulhi""": _WHOLE,
    """lax.acos* lax.asin* lax.atan* lax.bessel* lax.cbrt lax.ceil lax.cos* lax.digamma lax.erf* lax.exp lax.exp2
    lax.expm1 lax.floor lax.igamma* lax.is_finite lax.lgamma lax.log lax.log1p lax.logistic lax.nextafter
    lax.polygamma lax.pow lax.random_gamma_grad lax.reciprocal lax.reduce_precision lax.regularized* lax.round
    lax.rsqrt lax.sin* lax.sqrt lax.tan* lax.zeta lax.cumlogsumexp lax.betainc nn.*""": _FLOATING,
    "lax.real lax.imag lax.conj": _COMPLEX,
}  # fmt: skip


def dtypes_of(function: str) -> dict[str, float] | None:
    """How often each dtype is drawn for a function of that sort; None for one that takes any."""
    for patterns, table in _FUNCTIONS.items():
        if any(fnmatchcase(function, pattern) for pattern in patterns.split()):
            return dict(table)
    return None
