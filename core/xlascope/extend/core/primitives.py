"""The handle of each operation: ``sin_p`` and its siblings."""

from ...ir.operation import Primitive
from ...lax import primitives


def __getattr__(name: str) -> Primitive:
    found: Primitive = primitives.__getattr__(name)
    return found
