"""What jaxlibs differ in: one function for each difference, named after what differs.

A difference is found by looking at jaxlib itself, never by its version, so that a later jaxlib is met by what it can.
The table of those that mattered stands in ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxlib import _jax

from . import boot  # noqa: F401  (jaxlib's states come before the rest of it)

__all__ = ["RAW_BUFFER", "result_handler"]

#: jaxlib 0.10 compares shape and type with the sharding for each result unless it is told that they fit.
_UNCHECKED = {"_skip_checks": True} if "_skip_checks" in (_jax.array_result_handler.__doc__ or "") else {}

#: What gives the memory of an array as an object; jaxlib 0.10 has none: None.
RAW_BUFFER: Callable[[Any], Any] | None = getattr(_jax.ArrayImpl, "unsafe_raw_buffer", None)


def result_handler(aval: Any, sharding: Any, *, committed: bool) -> Any:
    """What makes arrays of that type out of a program's results."""
    return _jax.array_result_handler(aval, sharding, committed=committed, **_UNCHECKED)
