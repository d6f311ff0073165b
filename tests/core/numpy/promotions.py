"""The types that operands of every pair of dtypes meet in. Imports neither library: `every(library)` is given one."""

from __future__ import annotations

from typing import Any

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bfloat16",
    "float16",
    "float32",
    "float64",
]
SCALARS = {"True": True, "2": 2, "2.5": 2.5}


def _types(library: Any, function: Any, *operands: Any) -> str:
    try:
        result = library.eval_shape(function, *operands)
    except Exception as error:
        return next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")
    return f"{result.dtype}{' weak' if result.weak_type else ''}"


def every(library: Any) -> dict[str, str]:
    """For each function and pair, the dtype of the result."""
    jnp = library.numpy
    arrays = {name: library.ShapeDtypeStruct((2,), jnp.zeros(2, name).dtype) for name in DTYPES}
    found = {}
    for name in ("add", "true_divide", "maximum", "power", "less", "floor_divide"):
        function = getattr(jnp, name)
        for left, x in arrays.items():
            for right, y in arrays.items():
                found[f"{name} {left} {right}"] = _types(library, function, x, y)
            for text, value in SCALARS.items():
                found[f"{name} {left} {text}"] = _types(library, lambda a, f=function, v=value: f(a, v), x)
                found[f"{name} {text} {left}"] = _types(library, lambda a, f=function, v=value: f(v, a), x)
    for name in (
        "sin",
        "abs",
        "square",
        "sign",
        "floor",
        "sum",
        "prod",
        "max",
        "mean",
        "var",
        "cumsum",
        "argmax",
        "isnan",
    ):
        function = getattr(jnp, name)
        for left, x in arrays.items():
            found[f"{name} {left}"] = _types(library, function, x)
    for left in DTYPES:
        for right in DTYPES:
            found[f"promote {left} {right}"] = str(jnp.promote_types(left, right))
    return found
