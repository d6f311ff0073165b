"""Materialization policy of a program: from its function, or from the settings.

This module is separate from the package's other names, since programs of jax are marked where our engine was not
started.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from ...ir.avals import ShapedArray
from ...ir.operation import Operation
from ...runtime.boot import keep

#: Values to materialize: those that the model selects ("auto"), none ("off"), or the results of each operation (on
#: operands of some types) for which a function returns True.
MaterializationPolicy = Literal["auto", "off"] | Callable[[Operation, Sequence[ShapedArray]], bool]


def resolve_policy(requested: MaterializationPolicy | None) -> MaterializationPolicy:
    """Return the policy that a function requests, or that of the settings if it requests none."""
    return keep.value if requested is None else requested
