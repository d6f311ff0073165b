"""Arrays to devices and back, and waiting for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tree
from ..control.jit.caches import clear_all
from ..runtime.guards import explicit_transfers
from ..trace.gate import opened
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from ..xla.backend import client
from ..xla.dispatch import commit, put
from ..xla.faces import is_ours
from ..xla.key_array import KeyArray, held


def device_put(x: Any, device: Any = None) -> Any:
    """A tree of arrays on a device: the given one, to which they are then committed.

    Without one, arrays stay where they are, and other values go to the default device.
    """

    def placed(leaf: Any) -> Any:
        if isinstance(leaf, Tracer) or (device is None and is_ours(held(leaf))):
            return leaf
        array = put(opened(leaf), aval_of(leaf), device)
        return array if device is None else commit(array, device)

    with explicit_transfers:
        return tree.map(placed, x)


def device_get(x: Any) -> Any:
    """A tree of NumPy arrays with the values of a tree of arrays; keys, which NumPy does not have, stay arrays."""
    with explicit_transfers:
        return tree.map(lambda leaf: leaf if leaf.__class__ is KeyArray else np.asarray(leaf), x)


def block_until_ready(x: Any) -> Any:
    """Wait until all arrays of a tree have been computed; returns the tree."""
    for leaf in tree.leaves(x):
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


def clear_caches() -> None:
    """Forget everything that was traced and compiled, of all functions and operations."""
    clear_all()


def live_arrays(platform: str | None = None) -> list[Any]:
    """The arrays of this process that have not been deleted, of a platform (None: the default one).

    Raises RuntimeError for a platform that is not there.
    """
    return list(client(platform).live_arrays())
