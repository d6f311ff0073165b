"""Dtypes that users ask for by an argument: 64-bit ones that are not available are narrowed, and a warning says so."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import NARROW, PYTHON_TYPES, parse_dtype
from ..runtime import boot
from .sources import warn_at_user_line


class Narrowings:
    """Count of the warnings so far: what warned has to warn at its next call too, and is not replayed from a plan."""

    count = 0


def requested_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype that values have here for one that the user asked for; warn, at the user's line, if narrower.

    Python's own types (``float``) stand for the default dtypes and do not warn. Raises TypeError for what is no dtype.

    >>> requested_dtype(float)
    dtype('float32')
    """
    found = parse_dtype(dtype)
    if boot.enable_x64.value:
        return found
    narrow = NARROW.get(found)
    if narrow is None:
        return found
    if isinstance(dtype, np.dtype) or dtype not in PYTHON_TYPES:
        _warn(found, narrow)
    return narrow


#: The end of a sentence about what does not fit 32 bits.
HOW_TO_ENABLE_X64 = (
    "enable 64-bit types before the first array is made: xlascope.config.update('jax_enable_x64', True), or "
    "JAX_ENABLE_X64=1 in the environment."
)


def _warn(asked: np.dtype[Any], given: np.dtype[Any]) -> None:
    Narrowings.count += 1
    warn_at_user_line(
        f"Explicitly requested dtype {asked.name} is not available, and will be truncated to dtype {given.name}. "
        f"Ask for {given.name}, or {HOW_TO_ENABLE_X64}"
    )
