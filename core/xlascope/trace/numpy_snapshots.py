"""Snapshots of NumPy arrays that a program uses while it is traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from .operand_coercion import to_array
from .values import aval_of


def snapshot_array(x: np.ndarray[Any, Any], trace: Any) -> Any:
    """Return an array with the values that a NumPy array has now; it may be written to afterwards.

    The outermost of the traces around ``trace`` (or ``trace`` itself) that records a program keeps the snapshot, and
    returns it again while the NumPy array has these values. A function and its derivative, which are traced one after
    the other, thus share one constant, and XLA computes only once what both compute from it. Without such a trace
    nothing is kept.
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
