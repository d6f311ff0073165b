"""From a description to the value: the same steps with either library."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from functools import reduce
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from . import programs
from .holders import HOLDERS, HasJaxArray


def dtype_of(name: str) -> np.dtype[Any]:
    """A dtype by its name, those of ml_dtypes included."""
    return np.dtype(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)


def numpy_array(described: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The array itself, aligned so that a library which can take it without copying does."""
    dtype = dtype_of(described["dtype"])
    data = described["data"]
    if dtype.kind == "c":
        data = [complex(*each) for each in data]
    exact = dtype.kind in "iub" or dtype.name.startswith(("int", "uint"))
    with np.errstate(all="ignore"):
        values = np.array(data, dtype=object).astype(dtype) if exact else _rounded(data, dtype)
    return aligned(values.reshape(described["shape"]))


def _rounded(data: list[Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    wide = np.array(data, dtype="complex128" if dtype.kind == "c" else "float64" if dtype.kind != "U" else dtype)
    return wide.astype(dtype)


def aligned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that begins at a multiple of 64 bytes."""
    room = np.empty(values.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


class Builder:
    """Values for one library."""

    def __init__(self, library: ModuleType) -> None:
        self.library = library
        #: The NumPy arrays that were made, to be written over when the call is done.
        self.made: list[np.ndarray[Any, Any]] = []

    def build(self, described: Any) -> Any:
        """The value that a description stands for."""
        if isinstance(described, list):
            return [self.build(each) for each in described]
        if not isinstance(described, dict):
            return described
        ((tag, content),) = described.items()
        return getattr(self, f"_{tag}")(content)

    def attribute(self, path: str) -> Any:
        """What the library has under that name."""
        return reduce(getattr, path.split("."), self.library)

    def on_device(self, values: np.ndarray[Any, Any]) -> Any:
        return self.library.numpy.array(values)

    def _array(self, content: dict[str, Any]) -> Any:
        values, holder = numpy_array(content), content["holder"]
        if holder == "device":
            return self.on_device(values)
        if holder == "jax_array":
            return HasJaxArray(self.on_device(values))
        if holder == "wide":  # as an array has it that was made in an `enable_x64` block
            with self.library.enable_x64(True):
                return self.on_device(values)
        held = HOLDERS[holder](values)
        if isinstance(held, np.ndarray):
            self.made.append(values)
            if held is not values:
                self.made.append(held)
        return held

    def _weak(self, content: dict[str, Any]) -> Any:
        value = content["value"]
        return self.library.numpy.full(tuple(content["shape"]), complex(*value) if isinstance(value, list) else value)

    def _tuple(self, content: list[Any]) -> Any:
        return tuple(self.build(each) for each in content)

    def _dict(self, content: list[list[Any]]) -> Any:
        return {self.build(name): self.build(value) for name, value in content}

    def _slice(self, content: list[Any]) -> Any:
        return slice(*(self.build(each) for each in content))

    def _complex(self, content: list[float]) -> Any:
        return complex(*content)

    def _ellipsis(self, content: None) -> Any:
        return ...

    def _object(self, content: None) -> Any:
        return object()

    def _set(self, content: list[Any]) -> Any:
        return set(self.build(content))

    def _range(self, content: list[int]) -> Any:
        return range(*content)

    def _bytes(self, content: str) -> Any:
        return content.encode()

    def _dtype(self, name: str) -> Any:
        return dtype_of(name)

    def _type(self, name: str) -> Any:
        return getattr(builtins, name)

    def _numpy_type(self, name: str) -> Any:
        return getattr(np, name) if hasattr(np, name) else getattr(ml_dtypes, name)

    def _attribute(self, path: str) -> Any:
        return self.attribute(path)

    def _function(self, name: str) -> Any:
        return getattr(programs, name)(self.library)

    def _key(self, content: dict[str, Any]) -> Any:
        make = self.library.random.key if content["typed"] else self.library.random.PRNGKey
        key = make(content["seed"])
        return self.library.random.split(key, tuple(content["shape"])) if content.get("shape") else key

    def _make(self, content: dict[str, Any]) -> Any:
        return self.attribute(content["attribute"])(
            *self.build(content.get("args", [])),
            **{name: self.build(value) for name, value in content.get("kwargs", {}).items()},
        )

    def _treedef(self, content: Any) -> Any:
        return self.library.tree_util.tree_structure(self.build(content))


#: The operators, for methods that Python calls by them.
OPERATORS: dict[str, Callable[..., Any]] = {
    **{
        f"__{name.strip('_')}__": getattr(operator, name)
        for name in [
            "abs",
            "add",
            "and_",
            "eq",
            "floordiv",
            "ge",
            "getitem",
            "gt",
            "invert",
            "le",
            "lshift",
            "lt",
            "matmul",
            "mod",
            "mul",
            "ne",
            "neg",
            "or_",
            "pos",
            "pow",
            "rshift",
            "sub",
            "truediv",
            "xor",
            "index",
            "contains",
        ]
    },
    "__bool__": bool,
    "__complex__": complex,
    "__divmod__": divmod,
    "__float__": float,
    "__hash__": hash,
    "__int__": int,
    "__iter__": lambda x: list(iter(x)),
    "__len__": len,
    "__round__": round,
    "__array__": np.asarray,
    "__reversed__": lambda x: list(reversed(x)),
}
REFLECTED = {
    f"__r{name}__": OPERATORS[f"__{name}__"]
    for name in [
        "add",
        "and",
        "divmod",
        "floordiv",
        "lshift",
        "matmul",
        "mod",
        "mul",
        "or",
        "pow",
        "rshift",
        "sub",
        "truediv",
        "xor",
    ]
}
