"""The table of types of JAX's documentation, with narrow ones; `every(library)` is given a library."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

_WIDE = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64 complex128"
_NARROW = (
    "bfloat16 int2 int4 uint2 uint4 float4_e2m1fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn "
    "float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"
)
#: What meets: the dtypes, and Python's numbers as i*, f* and c*, which give way.
TYPES: dict[str, Any] = {
    **{name: np.dtype(name) for name in _WIDE.split()},
    **{name: np.dtype(getattr(ml_dtypes, name)) for name in _NARROW.split()},
    "i*": int,
    "f*": float,
    "c*": complex,
}


def _meeting(library: Any, *types: Any) -> str:
    try:
        dtype, weak = library.dtypes.result_type(*types, return_weak_type_flag=True)
    except Exception as error:
        return next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")
    return f"{np.dtype(dtype).name}{'*' if weak and np.dtype(dtype) != bool else ''}"


def _sum(library: Any, *types: Any) -> str:
    """What an operation makes of operands of those types."""
    jnp = library.numpy
    operands = [kind(1) if isinstance(kind, type) else library.ShapeDtypeStruct((2,), kind) for kind in types]
    arrays = [x for x in operands if hasattr(x, "shape")]

    def function(*given: Any) -> Any:
        values = iter(given)
        return jnp.where(True, *(next(values) if hasattr(x, "shape") else x for x in operands))

    try:
        return str(np.dtype(library.eval_shape(function, *arrays).dtype).name)
    except Exception as error:
        return next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")


def every(library: Any) -> dict[str, str]:
    """For every pair, the type in which they meet."""
    return {f"{x} {y}": _meeting(library, TYPES[x], TYPES[y]) for x in TYPES for y in TYPES}


def operations(library: Any) -> dict[str, str]:
    """For every pair of a dtype that arrays have with 64 bits off, the type of a result."""
    names = [name for name in TYPES if not name.endswith("64") or name == "complex64"]
    return {f"{x} {y}": _sum(library, TYPES[x], TYPES[y]) for x in names for y in names if "128" not in x + y}
