"""Arrays to devices and back, and waiting for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tree
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from ..xla.dispatch import clear, commit, put


def device_put(x: Any, device: Any = None) -> Any:
    """A tree of arrays on a device: the given one, to which they are then committed, or the default one."""

    def placed(leaf: Any) -> Any:
        if isinstance(leaf, Tracer):
            return leaf
        array = put(leaf, aval_of(leaf), device)
        return array if device is None else commit(array, device)

    return tree.map(placed, x)


def device_get(x: Any) -> Any:
    """A tree of NumPy arrays with the values of a tree of arrays."""
    return tree.map(np.asarray, x)


def block_until_ready(x: Any) -> Any:
    """Wait until all arrays of a tree have been computed; returns the tree."""
    for leaf in tree.leaves(x):
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


def clear_caches() -> None:
    """Forget compiled single operations; jitted functions forget theirs with ``f.clear_cache()``."""
    clear()
