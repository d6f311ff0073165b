"""Public types ``Array`` and ``Tracer`` for ``isinstance`` checks, including tracers whose trace has ended."""

from __future__ import annotations

from typing import Any

from ..ir.jaxpr import Var
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.array_patching import is_xlascope_array
from ..xla.devices.backend import ArrayImpl
from . import tracer
from .provenance import EndedTrace


def _is_tracer(x: Any) -> bool:
    return isinstance(x, tracer.TracerBase) or (isinstance(x, Var) and isinstance(x._trace, EndedTrace))


class _TracerMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return _is_tracer(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, tracer.TracerBase)


class Tracer(metaclass=_TracerMeta):
    """Abstract type of values that stand for arrays while a function is traced, and afterwards; for ``isinstance``.

    >>> import xlascope as xs
    >>> found = []
    >>> made = xs.make_jaxpr(lambda x: found.append(x) or x)(1.0)
    >>> isinstance(found[0], xs.core.Tracer), isinstance(1.0, xs.core.Tracer)
    (True, False)
    """

    def __init__(self) -> None:
        raise TypeError("xlascope.core.Tracer is for isinstance and annotations; jit, grad and vmap make tracers")


class _ArrayMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return is_xlascope_array(instance) or instance.__class__ is KeyArray or _is_tracer(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, (ArrayImpl, KeyArray, tracer.TracerBase))


class Array(metaclass=_ArrayMeta):
    """Abstract type of arrays and of the tracers that stand for them, for annotations and ``isinstance``.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> isinstance(jnp.ones(3), xs.Array), isinstance([1, 2], xs.Array)
    (True, False)
    """

    def __init__(self) -> None:
        raise TypeError(
            "xlascope.Array is for isinstance and annotations; arrays are made by xlascope.numpy.array(...)"
        )
