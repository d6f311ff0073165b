"""Functions of jax: those that ``jax.jit`` made, and others that compute with jax; by jax's public API alone."""

from __future__ import annotations

from collections.abc import Hashable
from types import FunctionType, ModuleType
from typing import Any

import jax
import numpy as np
from jax import tree_util

from xlascope.inspect.producers import Query


def lowerable_function(query: Query) -> Any:
    """Return the function of a call, jitted if necessary so that it can be lowered; None if it is not jax's."""
    function = query.function
    if hasattr(function, "lower") and not hasattr(function, "_jitted"):
        return function
    leaves = tree_util.tree_leaves((query.args, query.kwargs))
    has_arrays = any(isinstance(leaf, jax.Array) and _is_jax_object(getattr(leaf, "aval", None)) for leaf in leaves)
    return _jit_for_call(query) if has_arrays or _computes_with_jax(function) else None


def _jit_for_call(query: Query) -> Any:
    """Return the function of a call, jitted; arguments that cannot be arrays, such as text, are static."""
    return jax.jit(
        query.function,
        static_argnums=tuple(number for number, value in enumerate(query.args) if _is_static(value)),
        static_argnames=tuple(name for name, value in query.kwargs.items() if _is_static(value)),
    )


def _is_static(value: Any) -> bool:
    """Return whether an argument has a hash, and nothing in it can be an operand."""
    leaves = tree_util.tree_leaves(value)
    return bool(leaves) and not any(map(_is_operand, leaves)) and isinstance(value, Hashable) and _has_hash(value)


def _is_operand(leaf: Any) -> bool:
    is_array = not isinstance(leaf, type) and hasattr(leaf, "shape") and hasattr(leaf, "dtype")
    is_number = isinstance(leaf, (bool, int, float, complex, np.generic))
    return is_array or is_number or hasattr(leaf, "__jax_array__")


def _has_hash(value: Hashable) -> bool:
    try:
        hash(value)
    except TypeError:  # of something in it
        return False
    return True


def _is_jax_object(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] in ("jax", "jaxlib")


def _computes_with_jax(function: Any) -> bool:
    """Return whether a function refers to jax or one of its modules, and not to xlascope."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if not isinstance(function, FunctionType):
        return False
    global_modules = {
        function.__globals__.get(name) for name in function.__code__.co_names if _is_global_module(name, function)
    }
    modules = {module.__name__.partition(".")[0] for module in global_modules if isinstance(module, ModuleType)}
    return "jax" in modules and "xlascope" not in modules


def _is_global_module(name: str, function: FunctionType) -> bool:
    return isinstance(function.__globals__.get(name), ModuleType)
