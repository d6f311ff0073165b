"""Differences between jaxlib versions, one function for each.

A difference is detected by inspecting jaxlib itself, never by its version, so that a later jaxlib is treated
by its features. The table of those that mattered is in README.md beside this file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxlib import _jax

from . import boot  # noqa: F401  (jaxlib's states come before the rest of it)

__all__ = ["RAW_BUFFER", "result_handler"]

#: jaxlib 0.10 checks shape and type against the sharding for each result unless this option skips it.
_SKIP_CHECKS_OPTIONS = {"_skip_checks": True} if "_skip_checks" in (_jax.array_result_handler.__doc__ or "") else {}

#: Returns the memory of an array as an object; None for jaxlib 0.10, which lacks it.
RAW_BUFFER: Callable[[Any], Any] | None = getattr(_jax.ArrayImpl, "unsafe_raw_buffer", None)


def result_handler(aval: Any, sharding: Any, *, committed: bool) -> Any:
    """Return the jaxlib object that makes arrays out of the buffers of a program's result.

    ``aval`` and ``sharding`` are type and sharding of the result; ``committed`` says whether the arrays are
    committed.
    """
    return _jax.array_result_handler(aval, sharding, committed=committed, **_SKIP_CHECKS_OPTIONS)
