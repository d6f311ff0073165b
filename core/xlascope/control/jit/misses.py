"""Reasons for calls that miss jaxlib's call cache although their trace exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...xla.arrays.key_array import held
from ...xla.devices.backend import ArrayImpl
from ...xla.devices.faces import is_foreign
from .signatures import Reason

#: What jaxlib's cache distinguishes operands by, besides their types.
Kind = tuple[str, ...]
_OF_JAX = "an array of jax"


def kinds_of(operands: Sequence[Any]) -> Kind:
    """Return how jaxlib's cache distinguishes the operands of a call."""
    return tuple([_kind(x) for x in operands])


def _kind(x: Any) -> str:
    x = held(x)
    if is_foreign(x):
        return _OF_JAX
    if isinstance(x, ArrayImpl):
        return f"an array committed to {x.device}" if x._committed else "an array"
    if isinstance(x, np.ndarray):
        return "a NumPy array"
    return "a NumPy scalar" if isinstance(x, np.generic) else f"a Python {type(x).__name__}"


def miss_reason(earlier: Sequence[Kind], new: Kind, names: Callable[[], Sequence[str]], repeatable: bool) -> Reason:
    """Return why a call missed jaxlib's cache although its trace exists."""
    if not repeatable:
        return Reason("calls of this function always pass through Python: a device was chosen, or it calls Python")
    if _OF_JAX in new:
        return Reason(
            "arrays of jax are taken by value, and always pass through Python",
            "Make arrays of xlascope of them once: xlascope.numpy.asarray(x).",
        )
    nearest = min(earlier, key=lambda old: sum(a != b for a, b in zip(old, new, strict=True)))
    changes = [f"{n}: {a} → {b}" for n, a, b in zip(names(), nearest, new, strict=True) if a != b]
    if not changes:
        return Reason("jaxlib's cache had forgotten the call, or a setting changed")
    return Reason(
        "; ".join(changes),
        "The program is the same; each kind of argument costs one slow call. Pass arguments of one kind to avoid it.",
    )
