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
from ...runtime import beside
from .backend import devices

T = TypeVar("T")

#: The size of jaxlib's cache of types, which drops the least recently used one.
_REMEMBERED = 4096


def made(make: Callable[[], T]) -> T:
    """Return the result of ``make()``, in which jaxlib creates arrays, without importing jax."""
    if not beside.here():
        _forget_when_jax_comes()
    with beside.unseen():
        return make()


def ours(array: Any, aval: ShapedArray) -> Any:
    """Return the same array with a type of xlascope."""
    return array._rewrap_with_aval_and_sharding(aval, array._sharding)


@functools.cache
def _forget_when_jax_comes() -> None:
    beside.on_import("jax", _forget)


def _forget() -> None:
    """Flush jaxlib's cache of types by creating as many other types as it holds."""
    with contextlib.suppress(RuntimeError):  # if the CPU is disabled, `import jax` must still succeed
        device = devices("cpu")[0]
        for size in range(_REMEMBERED):
            _jax.dlpack_managed_tensor_to_buffer(np.empty((0, size), np.int8).__dlpack__(), device, None)
