"""Snapshots of NumPy arrays that a program uses while it is traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from .operand_coercion import to_array
from .values import aval_of


def snapshot_array(x: np.ndarray[Any, Any], trace: Any) -> Any:
    """Return an array with the current values of a NumPy array, which may be written to later.

    The outermost of the enclosing traces of ``trace`` remembers the snapshot. A function and its derivative,
    which are traced one after the other inside of it, thus share one constant, and XLA shares what both
    compute with it.
    """
    snapshots = _outermost_snapshots(trace)
    if snapshots is None:
        return to_array(x)
    entry = snapshots.get(id(x))
    if entry is not None and entry[1].dtype == aval_of(x).dtype and np.asarray(entry[1]).tobytes() == x.tobytes():
        return entry[1]
    snapshot = to_array(x)
    snapshots[id(x)] = x, snapshot
    return snapshot


def _outermost_snapshots(trace: Any) -> dict[int, tuple[Any, Any]] | None:
    """Return the snapshots of the outermost trace, pairs (NumPy array, snapshot) by the id of the NumPy array.

    None if neither ``trace`` nor a trace around it records a program.
    """
    snapshots = None
    while trace is not None:
        snapshots = getattr(trace, "copies", snapshots)  # only traces that record a program have snapshots
        trace = trace.parent
    return snapshots
