"""Arrays that jaxlib's C++ makes by itself, with jax's types: the parts of others, and memory of other libraries.

It imports jax for that where it is installed, looks for the class of types once, and remembers the types that it made.
So here it finds something of ours in jax's place (:func:`xlascope.runtime.beside.unseen`), has no types as long as
there is no jax, and forgets that when jax comes.
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

#: As many types as jaxlib remembers: those that were asked for last.
_REMEMBERED = 4096


def made(make: Callable[[], T]) -> T:
    """What ``make()`` has jaxlib make, without importing jax."""
    if not beside.here():
        _forget_when_jax_comes()
    with beside.unseen():
        return make()


def ours(array: Any, aval: ShapedArray) -> Any:
    """The same array with a type of ours."""
    return array._rewrap_with_aval_and_sharding(aval, array._sharding)


@functools.cache
def _forget_when_jax_comes() -> None:
    beside.on_import("jax", _forget)


def _forget() -> None:
    """Have jaxlib make each type anew that it has made: it makes so many others that it remembers those alone."""
    with contextlib.suppress(RuntimeError):  # of a CPU that is not to be used: `import jax` goes on
        device = devices("cpu")[0]
        for size in range(_REMEMBERED):
            _jax.dlpack_managed_tensor_to_buffer(np.empty((0, size), np.int8).__dlpack__(), device, None)
