"""Scalar types: ``float32``, ``int32``, … are dtypes that also convert: ``jnp.float32(3)`` is an array."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ..operations.conversion import convert_element_type
from ..trace.values import aval_of
from .creation import array


class ScalarType(type):
    """Metaclass of ``float32`` and the other scalar types: a class that stands for a dtype and converts to it.

    The class attribute ``dtype`` is that dtype; a scalar type compares equal to it.
    """

    dtype: np.dtype[Any]

    def __call__(cls, x: Any) -> Any:
        if hasattr(x, "aval"):
            return convert_element_type(x, cls.dtype)
        if x.__class__ is complex and cls.dtype.kind not in "cb":
            raise TypeError(f"{cls.__name__} of a complex number, {x}: take its real part")
        if isinstance(x, (str, bytes)) or (isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "SU"):
            x = _parse_text(x, cls)
        elif not isinstance(x, (list, tuple, range)):
            aval_of(x)
        return array(x, cls.dtype)

    def __eq__(cls, other: object) -> bool:
        return cls is other or (not isinstance(other, ScalarType) and _is_dtype(other, cls.dtype))

    def __ne__(cls, other: object) -> bool:
        return not cls == other

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<class 'xlascope.numpy.{cls.__name__}'>"


def _parse_text(text: Any, kind: ScalarType) -> np.ndarray[Any, Any]:
    """Return a text, or an array of texts, as numbers of a scalar type; raise ValueError for other texts."""
    try:
        return np.asarray(text).astype(kind.dtype)
    except ValueError:
        raise ValueError(f"{kind.__name__} takes numbers, or texts that spell them, got {text!r}") from None


def _is_dtype(value: Any, dtype: np.dtype[Any]) -> bool:
    try:
        return bool(np.dtype(value) == dtype)
    except TypeError:
        return False


def _scalar_type(name: str, dtype: Any) -> Any:
    text = f"The dtype {name}; ``{name}(x)`` converts to it."
    return ScalarType(name, (), {"dtype": np.dtype(dtype), "__doc__": text})


bool_ = _scalar_type("bool", np.bool_)
int8 = _scalar_type("int8", np.int8)
int16 = _scalar_type("int16", np.int16)
int32 = _scalar_type("int32", np.int32)
int64 = _scalar_type("int64", np.int64)
uint8 = _scalar_type("uint8", np.uint8)
uint16 = _scalar_type("uint16", np.uint16)
uint32 = _scalar_type("uint32", np.uint32)
uint64 = _scalar_type("uint64", np.uint64)
int1 = _scalar_type("int1", ml_dtypes.int1)
int2 = _scalar_type("int2", ml_dtypes.int2)
int4 = _scalar_type("int4", ml_dtypes.int4)
uint1 = _scalar_type("uint1", ml_dtypes.uint1)
uint2 = _scalar_type("uint2", ml_dtypes.uint2)
uint4 = _scalar_type("uint4", ml_dtypes.uint4)
float4_e2m1fn = _scalar_type("float4_e2m1fn", ml_dtypes.float4_e2m1fn)
float6_e2m3fn = _scalar_type("float6_e2m3fn", ml_dtypes.float6_e2m3fn)
float6_e3m2fn = _scalar_type("float6_e3m2fn", ml_dtypes.float6_e3m2fn)
float8_e3m4 = _scalar_type("float8_e3m4", ml_dtypes.float8_e3m4)
float8_e4m3 = _scalar_type("float8_e4m3", ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = _scalar_type("float8_e4m3fn", ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = _scalar_type("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = _scalar_type("float8_e5m2", ml_dtypes.float8_e5m2)
float8_e5m2fnuz = _scalar_type("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = _scalar_type("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu)
bfloat16 = _scalar_type("bfloat16", ml_dtypes.bfloat16)
float16 = _scalar_type("float16", np.float16)
float32 = _scalar_type("float32", np.float32)
float64 = _scalar_type("float64", np.float64)
complex64 = _scalar_type("complex64", np.complex64)
complex128 = _scalar_type("complex128", np.complex128)
single, double, csingle, cdouble = float32, float64, complex64, complex128
int_, uint, float_, complex_ = int64, uint64, float64, complex128
