"""What becomes of NumPy arguments in float64 while x64 is off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..analysis.doctor import Narrowed

_NARROW = {np.dtype("float64"): np.dtype("float32"), np.dtype("complex128"): np.dtype("complex64")}
#: Maximum number of elements of an array that are compared.
MAX_ELEMENTS = 1 << 22


def find_narrowed(arrays: Iterable[tuple[str, Any]]) -> Narrowed | None:
    """Return what narrowing does to named arguments; None if no value of a NumPy array in float64 is rounded.

    Of a large array the first :data:`MAX_ELEMENTS` elements are compared. Values that are not finite do not count.

    >>> found = find_narrowed([("x", np.array([1.0, 2.0**30 + 1])), ("n", np.arange(3.0)), ("y", 0.1)])
    >>> found.names, found.values, found.largest_error
    (('x',), 1, 1.0)
    """
    names, dtypes, values, error, magnitude = [], [], 0, 0.0, 0.0
    for name, array in arrays:
        if not isinstance(array, np.ndarray) or array.dtype not in _NARROW:
            continue
        wide = array.reshape(-1)[:MAX_ELEMENTS]
        with np.errstate(all="ignore"):
            errors = np.abs(wide - wide.astype(_NARROW[array.dtype]))
        errors = np.where(np.isfinite(wide), errors, 0.0)
        rounded = int(np.count_nonzero(errors))
        if not rounded:
            continue
        largest = int(np.argmax(errors))
        names.append(name)
        dtypes.append(array.dtype)
        values += rounded
        if errors[largest] >= error:
            error, magnitude = float(errors[largest]), float(np.abs(wide[largest]))
    if not names:
        return None
    return Narrowed(tuple(names), dtypes[0].name, _NARROW[dtypes[0]].name, values, error, magnitude)
