"""Functions of jax: those that ``jax.jit`` made, and others that compute with jax; by jax's public API alone."""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

import jax
from jax import tree_util

from xlascope.inspect.producers import Query


def lowerable_function(query: Query) -> Any:
    """Return the function of a call, jitted if necessary so that it can be lowered; None if it is not jax's."""
    function = query.function
    if hasattr(function, "lower") and not hasattr(function, "_jitted"):
        return function
    leaves = tree_util.tree_leaves((query.args, query.kwargs))
    if any(isinstance(leaf, jax.Array) and _is_jax_object(getattr(leaf, "aval", None)) for leaf in leaves):
        return jax.jit(function)
    return jax.jit(function) if _computes_with_jax(function) else None


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
