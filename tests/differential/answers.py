"""What came of a call, as JSON: types, dtypes, shapes and bits, or the error."""

from __future__ import annotations

import base64
import math
import traceback
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

#: Larger results than generated calls have any use for: only their type is kept.
MOST_BYTES = 1 << 20


def answer_of(value: Any, library: ModuleType, holders: tuple[type, ...]) -> dict[str, Any]:
    """A result: ``holders`` are the classes of the library's own arrays."""
    if isinstance(value, holders):
        return _device_array(value, library)
    if isinstance(value, np.ndarray):
        return {"type": f"numpy.{type(value).__name__}", **_contents(value)}
    if isinstance(value, np.generic):
        return {"type": "numpy scalar", **_contents(np.asarray(value))}
    if isinstance(value, np.dtype):
        return {"type": "dtype", "value": value.name, "order": value.str[0] if value.kind in "iufc" else ""}
    if isinstance(value, (list, tuple)):
        return {"type": _class_of(value), "items": [answer_of(each, library, holders) for each in value]}
    if isinstance(value, Mapping):
        names = sorted(map(repr, value))
        return {
            "type": type(value).__name__,
            "value": names,
            "items": [answer_of(value[k], library, holders) for k in value],
        }
    return _plain(value)


def _class_of(value: Any) -> str:
    return type(value).__name__ if type(value) in (list, tuple) else f"named tuple {type(value).__name__}"


def _plain(value: Any) -> dict[str, Any]:
    if value is None or isinstance(value, (bool, int, str)):
        text = value if isinstance(value, (bool, str)) or value is None else str(value)
        return {"type": type(value).__name__, "value": text}
    if isinstance(value, float):
        return {"type": "float", "value": "nan" if math.isnan(value) else value.hex()}
    if isinstance(value, complex):
        return {"type": "complex", "value": [_plain(value.real)["value"], _plain(value.imag)["value"]]}
    if isinstance(value, (range, slice, type(...))):
        return {"type": type(value).__name__, "value": repr(value)}
    if isinstance(value, (np.finfo, np.iinfo)) or type(value).__name__ in ("finfo", "iinfo"):
        return {
            "type": type(value).__name__,
            "value": [str(getattr(value, each)) for each in ("bits", "min", "max", "dtype")],
        }
    if type(value).__name__ == "PyTreeDef":
        return {"type": "PyTreeDef", "value": str(value)}
    return {"type": "function" if callable(value) else type(value).__name__}


def _device_array(value: Any, library: ModuleType) -> dict[str, Any]:
    try:
        weak = bool(value.aval.weak_type)
    except AttributeError:
        weak = False
    name = str(value.dtype)
    if name.startswith("key<"):
        return {
            "type": "array",
            "dtype": name,
            "shape": list(value.shape),
            "weak": weak,
            **_bits(np.asarray(library.random.key_data(value))),
        }
    return {"type": "array", "weak": weak, **_contents(np.asarray(value))}


def _contents(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {"dtype": values.dtype.name, "shape": list(values.shape), **_bits(values)}


def _bits(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    if values.dtype == object or values.nbytes > MOST_BYTES:
        return {}
    native = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("=")))
    return {"bits": base64.b64encode(native.tobytes()).decode()}


def error_of(error: BaseException, stage: str) -> dict[str, Any]:
    """An error: its class, the classes it is one of, its message, and the place that raised it."""
    classes = [each.__name__ for each in type(error).__mro__ if each not in (object, BaseException)]
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename.rpartition('site-packages/')[2]}:{frames[-1].lineno}" if frames else ""
    return {"error": classes[0], "classes": classes, "message": str(error)[:600], "place": place, "stage": stage}
