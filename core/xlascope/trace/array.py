"""What an array is, for ``isinstance``: arrays on devices, and the tracers that stand for them."""

from __future__ import annotations

from typing import Any

from ..xla.backend import ArrayImpl
from .tracer import Tracer


class _ArrayMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, (ArrayImpl, Tracer))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, (ArrayImpl, Tracer))


class Array(metaclass=_ArrayMeta):
    """The type of arrays and of the tracers that stand for them, for annotations and ``isinstance``; makes none.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> isinstance(jnp.ones(3), xs.Array), isinstance([1, 2], xs.Array)
    (True, False)
    """

    def __init__(self) -> None:
        raise TypeError(
            "xlascope.Array is for isinstance and annotations; arrays are made by xlascope.numpy.array(...)"
        )
