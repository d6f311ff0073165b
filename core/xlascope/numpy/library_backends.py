"""Backends for libraries that dispatch on the type of arrays, loaded only when such a library is.

einops and opt_einsum keep one backend for each type, and JAX's arrays have the same type as ours. So a
backend serves both engines and calls the functions of the engine that the array belongs to. array_api_compat
also dispatches on the type; its functions are replaced by ones that ask the array.
"""

from __future__ import annotations

import functools
import pickle
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..trace.tracer import Tracer
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.backend import ArrayImpl
from ..xla.devices.faces import is_ours
from ..xla.running.call_cache import PjitFunction


def register(library: str) -> None:
    """Register with a library whose module of backends has just been imported."""
    _REGISTER[library.removeprefix("scipy._lib.").removeprefix("sklearn.externals.")](sys.modules[library])


def _register_with_einops(backends: Any) -> None:
    """Define the backend as a subclass of einops' ``AbstractBackend``, where einops looks for backends."""
    if any(subclass.framework_name == "xlascope" for subclass in backends.AbstractBackend.__subclasses__()):
        return
    kind = type("XlascopeBackend", (_Methods, backends.AbstractBackend), {"__module__": __name__})
    backends.XlascopeBackend = kind  # __subclasses__ only lists classes that are alive
    # If einops has processed a JAX array before, it has cached a backend for the type.
    getattr(backends, "_type2backend", {}).pop(ArrayImpl, None)
    loaded = getattr(backends, "_loaded_backends", None)
    if loaded:
        previous = dict(loaded)
        loaded.clear()
        loaded.update({"xlascope": kind(), **previous})


def _register_with_opt_einsum(dispatch: Any) -> None:
    """Register our functions: opt_einsum looks for a module named like the first part of the type's name."""
    dispatch._aliases["xlascope"] = __package__
    for name in ("einsum", "tensordot", "transpose"):
        dispatch._cached_funcs[name, "jaxlib"] = functools.partial(_call, name)


def _register_with_array_api_compat(helpers: Any) -> None:
    """Make array_api_compat ask each array for its engine instead of assigning the whole type to JAX."""
    _replace(helpers, "is_jax_array", _is_of_jax)
    _replace(helpers, "_cls_to_namespace", _namespace_unless_array)


def _replace(helpers: Any, name: str, make_wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a function in the module that defines it and in the parent packages that re-export it."""
    function = getattr(helpers, name, None)
    if function is None or hasattr(function, "of_xlascope"):
        return
    new = functools.wraps(function)(make_wrapper(function))
    new.of_xlascope = True  # type: ignore[attr-defined]
    package = helpers.__name__
    while package:
        if getattr(sys.modules.get(package), name, None) is function:
            setattr(sys.modules[package], name, new)
        package = package.rpartition(".")[0]


def _is_of_jax(function: Callable[..., Any]) -> Callable[..., Any]:
    def is_jax_array(x: Any) -> bool:
        return bool(function(x)) and not (is_ours(x) or isinstance(x, (Tracer, KeyArray)))

    return is_jax_array


def _namespace_unless_array(function: Callable[..., Any]) -> Callable[..., Any]:
    def namespace(cls: type, *args: Any, **kwargs: Any) -> Any:
        return (None, None) if cls is ArrayImpl else function(cls, *args, **kwargs)

    return namespace


def _register_with_multiprocessing(reduction: Any) -> None:
    """Pickle jitted functions of a script by name, since worker processes of a pool import the script."""
    reduction.ForkingPickler.register(PjitFunction, _reduce_jitted)


def _reduce_jitted(function: Any) -> Any:
    name = getattr(function, "__qualname__", "")
    if getattr(function, "__module__", "") == "__main__" and getattr(sys.modules["__main__"], name, None) is function:
        return name
    return function.__reduce_ex__(pickle.DEFAULT_PROTOCOL)


def _call(name: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(_functions(*args), name)(*args, **kwargs)


class _Methods:
    """Methods that einops requires of a backend."""

    framework_name = "xlascope"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Return whether this backend serves a value."""
        return isinstance(tensor, (ArrayImpl, Tracer, KeyArray))

    def from_numpy(self, x: Any) -> Any:
        """Return an array of the engine."""
        return _functions().asarray(x)

    def to_numpy(self, x: Any) -> Any:
        """Return a NumPy array."""
        return np.asarray(x)

    def arange(self, start: int, stop: int) -> Any:
        """Return consecutive integers as a NumPy array."""
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
        """Return arrays of one shape stacked along a new first axis."""
        return _functions(*tensors).stack(tensors)

    def tile(self, x: Any, repeats: Any) -> Any:
        """Return the array repeated along its axes."""
        return _functions(x).tile(x, repeats)

    def concat(self, tensors: Sequence[Any], axis: int) -> Any:
        """Return arrays joined along an axis."""
        return _functions(*tensors).concatenate(tensors, axis=axis)

    def is_float_type(self, x: Any) -> bool:
        """Return whether the elements are floats; einops rejects a mean of other dtypes."""
        return bool(_functions(x).issubdtype(x.dtype, np.floating))

    def add_axis(self, x: Any, new_position: int) -> Any:
        """Return the array with an additional axis of size 1."""
        return _functions(x).expand_dims(x, new_position)

    def einsum(self, pattern: str, *x: Any) -> Any:
        """Return the sum of products that a pattern describes."""
        return _functions(*x).einsum(pattern, *x)


def _functions(*arrays: Any) -> Any:
    """Return the ``numpy`` module of the engine that the arrays belong to."""
    jax_numpy = sys.modules.get("jax.numpy")
    if jax_numpy is not None and any(isinstance(x, ArrayImpl) and not is_ours(x) for x in arrays):
        return jax_numpy
    return sys.modules[__package__]


_REGISTER: dict[str, Callable[[Any], None]] = {
    "einops._backends": _register_with_einops,
    "opt_einsum.backends.dispatch": _register_with_opt_einsum,
    "array_api_compat.common._helpers": _register_with_array_api_compat,
    "multiprocessing.reduction": _register_with_multiprocessing,
}
