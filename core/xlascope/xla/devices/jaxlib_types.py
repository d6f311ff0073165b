"""Arrays that jaxlib's C++ creates with jax's types: shards of arrays, and memory of other libraries.

For that jaxlib imports jax where it is installed, looks up the class of types once, and caches the types that it
made. So here it finds a stand-in in jax's place (:func:`xlascope.runtime.jax_coexistence.unseen`), has no types as
long as jax is not imported, and its cache is flushed when jax is.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from jaxlib import _jax

from ...ir.avals import ShapedArray
from ...runtime import jax_coexistence
from .backend import devices

T = TypeVar("T")

#: The size of jaxlib's cache of types, which drops the least recently used one.
_JAXLIB_TYPE_CACHE_SIZE = 4096


def call_without_importing_jax(make: Callable[[], T]) -> T:
    """Return the result of ``make()``, in which jaxlib creates arrays, without letting jaxlib import jax."""
    if not jax_coexistence.is_present():
        _register_cache_flush()
    with jax_coexistence.unseen():
        return make()


def with_aval(array: Any, aval: ShapedArray) -> Any:
    """Return an array that shares the memory and sharding of ``array`` and has ``aval`` as its type."""
    return array._rewrap_with_aval_and_sharding(aval, array._sharding)


@functools.cache
def _register_cache_flush() -> None:
    jax_coexistence.on_import("jax", _flush_type_cache)


def _flush_type_cache() -> None:
    """Flush jaxlib's cache of types by creating as many other types as it holds."""
    with contextlib.suppress(RuntimeError):  # if the CPU is disabled, `import jax` must still succeed
        device = devices("cpu")[0]
        for size in range(_JAXLIB_TYPE_CACHE_SIZE):
            _jax.dlpack_managed_tensor_to_buffer(np.empty((0, size), np.int8).__dlpack__(), device, None)
