"""Reasons for calls that miss jaxlib's call cache although their trace exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...xla.arrays.key_array import to_physical
from ...xla.devices.array_patching import is_jax_array
from ...xla.devices.backend import ArrayImpl
from .trace_signature import Reason

#: What jaxlib's cache distinguishes operands by, besides their types.
OperandKinds = tuple[str, ...]
_JAX_ARRAY = "an array of jax"


def operand_kinds(operands: Sequence[Any]) -> OperandKinds:
    """Return, for each operand of a call, what jaxlib's call cache distinguishes it by besides its type.

    Examples are ``a NumPy array`` and ``an array committed to cpu:0``.
    """
    return tuple([_kind(x) for x in operands])


def _kind(x: Any) -> str:
    x = to_physical(x)
    if is_jax_array(x):
        return _JAX_ARRAY
    if isinstance(x, ArrayImpl):
        return f"an array committed to {x.device}" if x._committed else "an array"
    if isinstance(x, np.ndarray):
        return "a NumPy array"
    return "a NumPy scalar" if isinstance(x, np.generic) else f"a Python {type(x).__name__}"


def explain_cache_miss(
    earlier: Sequence[OperandKinds], new: OperandKinds, names: Callable[[], Sequence[str]], repeatable: bool
) -> Reason:
    """Return why a call missed jaxlib's call cache although its trace exists.

    ``earlier`` are the operand kinds of calls that the cache has, ``new`` those of this call. ``names`` returns the
    operands' names. ``repeatable`` is false if jaxlib cannot repeat calls of this program without Python.
    """
    if not repeatable:
        return Reason("calls of this function always pass through Python: a device was chosen, or it calls Python")
    if _JAX_ARRAY in new:
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
