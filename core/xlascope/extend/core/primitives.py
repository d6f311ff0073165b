"""Handles of operations: ``sin_p`` and its siblings."""

from ...ir.operation import Primitive
from ...lax import primitives


def __getattr__(name: str) -> Primitive:
    primitive: Primitive = primitives.__getattr__(name)
    return primitive
