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

from ..trace.tracer import TracerBase
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.array_patching import is_xlascope_array
from ..xla.devices.backend import ArrayImpl
from ..xla.execution.call_cache import PjitFunction


def register(library: str) -> None:
    """Register with a library: ``library`` is the name of its backend module, which has just been imported."""
    _REGISTRATIONS[library.removeprefix("scipy._lib.").removeprefix("sklearn.externals.")](sys.modules[library])


def _register_with_einops(backends: Any) -> None:
    """Define a backend as a subclass of ``AbstractBackend`` in ``backends``, the module where einops looks for it.

    It takes precedence over backends that are loaded already; a second call has no effect.
    """
    if any(subclass.framework_name == "xlascope" for subclass in backends.AbstractBackend.__subclasses__()):
        return
    kind = type("XlascopeBackend", (_EinopsBackendMethods, backends.AbstractBackend), {"__module__": __name__})
    backends.XlascopeBackend = kind  # __subclasses__ only lists classes that are alive
    # If einops has processed a JAX array before, it has cached a backend for the type.
    getattr(backends, "_type2backend", {}).pop(ArrayImpl, None)
    loaded = getattr(backends, "_loaded_backends", None)
    if loaded:
        previous = dict(loaded)
        loaded.clear()
        loaded.update({"xlascope": kind(), **previous})


def _register_with_opt_einsum(dispatch: Any) -> None:
    """Register einsum, tensordot and transpose in ``dispatch``, opt_einsum's table of functions.

    opt_einsum looks them up by the first part of the module name of an array's type: ``jaxlib`` for concrete
    arrays, which jax has too, and ``xlascope`` for tracers.
    """
    dispatch._aliases["xlascope"] = __package__
    for name in ("einsum", "tensordot", "transpose"):
        dispatch._cached_funcs[name, "jaxlib"] = functools.partial(_call_by_name, name)


def _register_with_array_api_compat(helpers: Any) -> None:
    """Replace two functions in ``helpers``, a module of array_api_compat, so that each array is asked for its engine.

    Otherwise all arrays of jaxlib's type would be treated as those of jax.
    """
    _replace_function(helpers, "is_jax_array", _wrap_is_jax_array)
    _replace_function(helpers, "_cls_to_namespace", _wrap_namespace_lookup)


def _replace_function(
    helpers: Any, name: str, make_wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    """Replace a function in the module that defines it and in the parent packages that re-export it.

    ``helpers`` is the module, ``name`` the function's name, and ``make_wrapper`` returns the replacement for the
    original. A missing function, and one that is replaced already, is skipped.
    """
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


def _wrap_is_jax_array(function: Callable[..., Any]) -> Callable[..., Any]:
    def is_jax_array(x: Any) -> bool:
        return bool(function(x)) and not (is_xlascope_array(x) or isinstance(x, (TracerBase, KeyArray)))

    return is_jax_array


def _wrap_namespace_lookup(function: Callable[..., Any]) -> Callable[..., Any]:
    def namespace(cls: type, *args: Any, **kwargs: Any) -> Any:
        return (None, None) if cls is ArrayImpl else function(cls, *args, **kwargs)

    return namespace


def _register_with_multiprocessing(reduction: Any) -> None:
    """Pickle jitted functions of ``__main__`` by name, since worker processes of a pool import the script."""
    reduction.ForkingPickler.register(PjitFunction, _reduce_jitted)


def _reduce_jitted(function: Any) -> Any:
    name = getattr(function, "__qualname__", "")
    if getattr(function, "__module__", "") == "__main__" and getattr(sys.modules["__main__"], name, None) is function:
        return name
    return function.__reduce_ex__(pickle.DEFAULT_PROTOCOL)


def _call_by_name(name: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(_numpy_module_of(*args), name)(*args, **kwargs)


class _EinopsBackendMethods:
    """Methods that einops requires of a backend; each calls the engine, jax or xlascope, of its arrays."""

    framework_name = "xlascope"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Return whether a value is a concrete array, a tracer or an array of keys."""
        return isinstance(tensor, (ArrayImpl, TracerBase, KeyArray))

    def from_numpy(self, x: Any) -> Any:
        """Return a NumPy array as an array of xlascope."""
        return _numpy_module_of().asarray(x)

    def to_numpy(self, x: Any) -> Any:
        """Return an array as a NumPy array."""
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
        return _numpy_module_of(*tensors).stack(tensors)

    def tile(self, x: Any, repeats: Any) -> Any:
        """Return the array repeated along its axes."""
        return _numpy_module_of(x).tile(x, repeats)

    def concat(self, tensors: Sequence[Any], axis: int) -> Any:
        """Return arrays joined along an axis."""
        return _numpy_module_of(*tensors).concatenate(tensors, axis=axis)

    def is_float_type(self, x: Any) -> bool:
        """Return whether the elements are floats; einops rejects a mean of other dtypes."""
        return bool(_numpy_module_of(x).issubdtype(x.dtype, np.floating))

    def add_axis(self, x: Any, new_position: int) -> Any:
        """Return the array with an additional axis of size 1."""
        return _numpy_module_of(x).expand_dims(x, new_position)

    def einsum(self, pattern: str, *x: Any) -> Any:
        """Return the sum of products that a pattern describes."""
        return _numpy_module_of(*x).einsum(pattern, *x)


def _numpy_module_of(*arrays: Any) -> Any:
    """Return ``jax.numpy`` if one of the arrays belongs to jax, else ``xlascope.numpy``."""
    jax_numpy = sys.modules.get("jax.numpy")
    if jax_numpy is not None and any(isinstance(x, ArrayImpl) and not is_xlascope_array(x) for x in arrays):
        return jax_numpy
    return sys.modules[__package__]


_REGISTRATIONS: dict[str, Callable[[Any], None]] = {
    "einops._backends": _register_with_einops,
    "opt_einsum.backends.dispatch": _register_with_opt_einsum,
    "array_api_compat.common._helpers": _register_with_array_api_compat,
    "multiprocessing.reduction": _register_with_multiprocessing,
}
