"""Dtypes requested by an argument: unavailable 64-bit dtypes are narrowed with a warning."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import KINDS, NARROWED_DTYPES, PYTHON_TYPES, parse_dtype
from ..runtime import boot
from .user_frames import warn_at_user_line


class NarrowingCounter:
    """Counter of warnings about narrowed dtypes: a call that warns is not recorded, because it has to warn again."""

    count = 0


def resolve_requested_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype to use for a dtype that the user requested; warn, at the user's line, if it is narrower.

    Python's own types (``float``) stand for the default dtypes and do not warn. Raises TypeError for an
    invalid dtype.

    >>> resolve_requested_dtype(float)
    dtype('float32')
    """
    try:
        resolved = None if boot.enable_x64.value else _resolved_dtypes.get(dtype)
    except TypeError:  # it has no hash
        resolved = None
    if resolved is not None:
        return resolved
    parsed = parse_dtype(dtype)
    if boot.enable_x64.value:
        return parsed
    narrow = NARROWED_DTYPES.get(parsed)
    if narrow is None:
        return parsed
    if isinstance(dtype, np.dtype) or dtype not in PYTHON_TYPES:
        _warn(parsed, narrow)
    return narrow


_unchanged_dtypes = [dtype for dtype in KINDS if isinstance(dtype, np.dtype) and dtype not in NARROWED_DTYPES]
#: Dtypes, their types and Python's own that stand for a dtype of at most 32 bits without a warning.
_resolved_dtypes: dict[Any, np.dtype[Any]] = {
    **{dtype: dtype for dtype in _unchanged_dtypes if dtype.kind in "biufc"},
    **{dtype.type: dtype for dtype in _unchanged_dtypes if dtype.kind in "biufc"},
    **{kind: NARROWED_DTYPES.get(parse_dtype(kind), parse_dtype(kind)) for kind in PYTHON_TYPES},
}

#: The end of a sentence about what does not fit 32 bits.
HOW_TO_ENABLE_X64 = (
    "enable 64-bit types before the first array is made: xlascope.config.update('jax_enable_x64', True), or "
    "JAX_ENABLE_X64=1 in the environment."
)


def _warn(requested: np.dtype[Any], narrow: np.dtype[Any]) -> None:
    NarrowingCounter.count += 1
    warn_at_user_line(
        f"Explicitly requested dtype {requested.name} is not available, and will be truncated to dtype {narrow.name}. "
        f"Ask for {narrow.name}, or {HOW_TO_ENABLE_X64}"
    )
