"""Backends for libraries that recognize arrays by their type. Loaded when such a library is, and by nothing else.

Both libraries below remember one backend for each type, and an array of jax has the type of ours: so a backend serves
both engines, each with its own functions.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..trace.tracer import Tracer
from ..xla.backend import ArrayImpl
from ..xla.faces import is_ours
from ..xla.key_array import KeyArray


def register(library: str) -> None:
    """Register with a library whose module of backends has just been imported."""
    _REGISTER[library](sys.modules[library])


def _register_with_einops(backends: Any) -> None:
    """Define the backend where einops looks for backends, among the subclasses of its ``AbstractBackend``."""
    if any(each.framework_name == "xlascope" for each in backends.AbstractBackend.__subclasses__()):
        return
    kind = type("XlascopeBackend", (_Methods, backends.AbstractBackend), {"__module__": __name__})
    backends.XlascopeBackend = kind  # a class knows its subclasses as long as somebody holds them
    # Where einops has met an array of jax already, it has a backend for the type.
    getattr(backends, "_type2backend", {}).pop(ArrayImpl, None)
    loaded = getattr(backends, "_loaded_backends", None)
    if loaded:
        others = dict(loaded)
        loaded.clear()
        loaded.update({"xlascope": kind(), **others})


def _register_with_opt_einsum(dispatch: Any) -> None:
    """Say which functions opt_einsum calls: it looks for a module that is called like the first part of a type's."""
    dispatch._aliases["xlascope"] = __package__
    for name in ("einsum", "tensordot", "transpose"):
        dispatch._cached_funcs[name, "jaxlib"] = functools.partial(_call, name)


def _call(name: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(_functions(*args), name)(*args, **kwargs)


class _Methods:
    """What einops asks of a backend."""

    framework_name = "xlascope"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Whether this backend serves a value."""
        return isinstance(tensor, (ArrayImpl, Tracer, KeyArray))

    def from_numpy(self, x: Any) -> Any:
        """Return an array of the engine."""
        return _functions().asarray(x)

    def to_numpy(self, x: Any) -> Any:
        """Return a NumPy array."""
        return np.asarray(x)

    def arange(self, start: int, stop: int) -> Any:
        """Return whole numbers."""
        return np.arange(start, stop)

    def shape(self, x: Any) -> Any:
        """Return the shape."""
        return x.shape

    def reshape(self, x: Any, shape: Any) -> Any:
        """Return the array in another shape."""
        return x.reshape(shape)

    def transpose(self, x: Any, axes: Any) -> Any:
        """Return the array with its axes in another order."""
        return x.transpose(axes)

    def reduce(self, x: Any, operation: str, axes: Any) -> Any:
        """Return the array reduced over axes by the method of that name."""
        return getattr(x, operation)(axis=tuple(axes))

    def stack_on_zeroth_dimension(self, tensors: Sequence[Any]) -> Any:
        """Return arrays of one shape as one, along a new axis in front."""
        return _functions(*tensors).stack(tensors)

    def tile(self, x: Any, repeats: Any) -> Any:
        """Return the array repeated along its axes."""
        return _functions(x).tile(x, repeats)

    def concat(self, tensors: Sequence[Any], axis: int) -> Any:
        """Return arrays joined along an axis."""
        return _functions(*tensors).concatenate(tensors, axis=axis)

    def is_float_type(self, x: Any) -> bool:
        """Whether the elements are floats: a mean of others is refused."""
        return bool(_functions(x).issubdtype(x.dtype, np.floating))

    def add_axis(self, x: Any, new_position: int) -> Any:
        """Return the array with an axis of size 1 more."""
        return _functions(x).expand_dims(x, new_position)

    def einsum(self, pattern: str, *x: Any) -> Any:
        """Return the sum of products that a pattern describes."""
        return _functions(*x).einsum(pattern, *x)


def _functions(*arrays: Any) -> Any:
    """Return the module of functions of the engine that arrays belong to."""
    jax = sys.modules.get("jax.numpy")
    if jax is not None and any(isinstance(x, ArrayImpl) and not is_ours(x) for x in arrays):
        return jax
    return sys.modules[__package__]


_REGISTER: dict[str, Callable[[Any], None]] = {
    "einops._backends": _register_with_einops,
    "opt_einsum.backends.dispatch": _register_with_opt_einsum,
}
