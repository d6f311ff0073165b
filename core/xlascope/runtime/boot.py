"""jaxlib's process-wide state: logging, configuration states, the pytree registry.

Importing this module is "the engine's first use". The order is the contract: ``jaxlib.weakref_lru_cache`` has to be
imported before jaxlib's typed arrays are touched, and the configuration states have to exist before any array or jit.
"""

from __future__ import annotations

import os
from typing import Any

from jaxlib import _jax, utils, weakref_lru_cache  # noqa: F401  (the import order is the point)

__all__ = [
    "Configuration",
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "PyTreeDef",
    "SequenceKey",
    "default_registry",
    "disable_jit",
    "enable_x64",
    "explain_cache_misses",
    "in_trace",
    "post_hook",
    "threefry_partitionable",
]

utils.absl_set_min_log_level(1)

Configuration = _jax.config.Config


def _flag(name: str, default: bool) -> bool:
    text = os.environ.get(name, os.environ.get(name.replace("XLASCOPE_", "JAX_")))
    return default if text is None else text.strip().lower() in ("1", "true", "yes", "on")


def _state(name: str, value: Any, *, in_key: bool) -> Any:
    return Configuration(name, value, include_in_jit_key=in_key, include_in_trace_context=in_key)


enable_x64 = _state("enable_x64", _flag("XLASCOPE_ENABLE_X64", False), in_key=True)
disable_jit = _state("disable_jit", _flag("XLASCOPE_DISABLE_JIT", False), in_key=True)
explain_cache_misses = _state("explain_cache_misses", _flag("XLASCOPE_EXPLAIN_CACHE_MISSES", False), in_key=False)
threefry_partitionable = _state("threefry_partitionable", _flag("XLASCOPE_THREEFRY_PARTITIONABLE", True), in_key=True)

#: True while a jaxpr is being traced: a jitted call then has a cache entry of its own that always comes back to Python,
#: otherwise jaxlib would run a call with only concrete arguments instead of staging it.
in_trace = Configuration("in_trace", False, include_in_jit_key=True, include_in_trace_context=False)

#: Called as ``(function, args, kwargs, out)`` after every jitted call, the C++ ones included, when it is not None.
post_hook = Configuration("post_hook", None, include_in_jit_key=False, include_in_trace_context=False)

_jax.jax_jit.set_enable_x64_state(enable_x64)
_jax.jax_jit.set_disable_jit_state(disable_jit)
_jax.jax_jit.set_post_hook_state(post_hook)

default_registry = _jax.pytree.default_registry()
#: By these names a pickled structure finds the registry again.
default_registry.__module__, default_registry.__name__ = __name__, "default_registry"
PyTreeDef = _jax.pytree.PyTreeDef
SequenceKey = _jax.pytree.SequenceKey
DictKey = _jax.pytree.DictKey
GetAttrKey = _jax.pytree.GetAttrKey
FlattenedIndexKey = _jax.pytree.FlattenedIndexKey
