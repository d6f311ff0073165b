"""What may hold an array besides a library's own class: layouts of NumPy's, lists, objects of a user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class HasJaxArray:
    """An object that is none of the library's, but can say what array it stands for."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __jax_array__(self) -> Any:
        return self._value


class ShapeAndDtype:
    """An object that has nothing but a shape and a dtype."""

    def __init__(self, values: Array) -> None:
        self.shape, self.dtype = values.shape, values.dtype


def numpy(values: Array) -> Array:
    return values


def big(values: Array) -> Array:
    """The other byte order."""
    return values.astype(values.dtype.newbyteorder(">"))


def strided(values: Array) -> Array:
    """Every other entry of the last axis of something wider."""
    if values.ndim == 0:
        return values
    wide = np.zeros((*values.shape[:-1], 2 * values.shape[-1]), values.dtype)
    wide[..., ::2] = values
    return wide[..., ::2]


def reversed(values: Array) -> Array:
    """A negative stride."""
    return np.array(values[..., ::-1])[..., ::-1] if values.ndim else values


def readonly(values: Array) -> Array:
    values.setflags(write=False)
    return values


def broadcast(values: Array) -> Array:
    """The first entry everywhere, by a stride of zero."""
    return np.broadcast_to(values.reshape(-1)[0], values.shape) if values.size else values


def masked(values: Array) -> Any:
    """Every other entry masked."""
    return np.ma.masked_array(values, mask=(np.arange(values.size) % 2 == 1).reshape(values.shape))


def scalar(values: Array) -> Any:
    """A scalar of NumPy's."""
    return values.reshape(-1)[0] if values.size else values


def as_list(values: Array) -> Any:
    return values.tolist()


def as_objects(values: Array) -> Any:
    return values.astype(object)


#: By the names in descriptions.
HOLDERS: dict[str, Callable[[Array], Any]] = {
    "numpy": numpy,
    "big": big,
    "strided": strided,
    "reversed": reversed,
    "fortran": np.asfortranarray,
    "readonly": readonly,
    "broadcast": broadcast,
    "masked": masked,
    "list": as_list,
    "scalar": scalar,
    "object": as_objects,
    "shape_dtype": ShapeAndDtype,
    "memoryview": memoryview,
}
