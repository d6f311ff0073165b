"""Table of the operators and methods of arrays and tracers, filled once by ``numpy/methods.py``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .. import starting
from ..errors import UnexpectedTracerError
from ..ir.jaxpr import Var
from ..runtime import beside
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.faces import give
from .traceback_filtering import api_boundary, filter_traceback
from .tracer import Tracer, leaked_error

#: Modules in which libraries that dispatch on array types keep their registries.
_LIBRARIES = (
    "einops._backends",
    "opt_einsum.backends.dispatch",
    "array_api_compat.common._helpers",
    "scipy._lib.array_api_compat.common._helpers",
    "sklearn.externals.array_api_compat.common._helpers",
    "multiprocessing.reduction",
)

OPERATORS = [
    "__abs__",
    "__add__",
    "__and__",
    "__divmod__",
    "__eq__",
    "__floordiv__",
    "__ge__",
    "__getitem__",
    "__gt__",
    "__invert__",
    "__iter__",
    "__le__",
    "__lshift__",
    "__lt__",
    "__matmul__",
    "__mod__",
    "__mul__",
    "__ne__",
    "__neg__",
    "__or__",
    "__pos__",
    "__pow__",
    "__radd__",
    "__rand__",
    "__rdivmod__",
    "__rfloordiv__",
    "__rlshift__",
    "__rmatmul__",
    "__rmod__",
    "__rmul__",
    "__ror__",
    "__round__",
    "__rpow__",
    "__rrshift__",
    "__rshift__",
    "__rsub__",
    "__rtruediv__",
    "__rxor__",
    "__sub__",
    "__truediv__",
    "__xor__",
]
METHODS = [
    "__array_namespace__",
    "all",
    "any",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "astype",
    "byteswap",
    "choose",
    "clip",
    "compress",
    "conj",
    "conjugate",
    "copy",
    "cumprod",
    "cumsum",
    "diagonal",
    "dot",
    "flatten",
    "max",
    "mean",
    "min",
    "nonzero",
    "prod",
    "ptp",
    "ravel",
    "repeat",
    "reshape",
    "round",
    "searchsorted",
    "sort",
    "squeeze",
    "std",
    "sum",
    "swapaxes",
    "take",
    "to_device",
    "trace",
    "transpose",
    "var",
    "view",
]
#: Conversions that a variable of an ended trace must refuse as well: without them it would count as true.
CONVERSIONS = [
    "__array__",
    "__bool__",
    "__complex__",
    "__float__",
    "__index__",
    "__int__",
    "__len__",
    "item",
    "tobytes",
    "tolist",
]
#: Other attributes of arrays that users ask for.
ATTRIBUTES = ["block_until_ready", "devices", "dtype", "ndim", "shape", "sharding", "size", "weak_type"]
PROPERTIES = ["T", "at", "flat", "imag", "mT", "nbytes", "itemsize", "real"]


def prepare() -> None:
    """Give arrays and tracers methods that fill the table on first use; variables get methods that raise."""
    for name in (*OPERATORS, *METHODS):
        _set(name, _first_use(name))
    for name in PROPERTIES:
        _set(name, property(_first_use(name, called=False)))
    for name in (*OPERATORS, *METHODS, *CONVERSIONS):
        if name not in ("__eq__", "__ne__"):
            setattr(Var, name, _leaked(name))
    for name in (*PROPERTIES, *ATTRIBUTES):
        setattr(Var, name, property(_leaked_attribute))


def register_with_libraries() -> None:
    """Register our arrays with libraries that recognize arrays by type, now or when these are imported."""
    for library in _LIBRARIES:
        if library in sys.modules:
            starting.register_with_library(library)
        beside.on_import(library, functools.partial(starting.register_with_library, library))


def _first_use(name: str, is_method: bool = True) -> Callable[..., Any]:
    def load(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            starting.fill_methods()
            attribute = getattr(self, name)
            return attribute(*args, **kwargs) if is_method else attribute
        except BaseException as error:
            filter_traceback(error)
            raise

    load.__name__ = name
    return load


def _set(name: str, method: Any) -> None:
    setattr(Tracer, name, method)
    setattr(KeyArray, name, method)
    give(name, method)


def install(table: Mapping[str, Any]) -> None:
    """Set the operators, methods and properties of ``table`` on arrays and tracers.

    Raises KeyError naming the missing ones.
    """
    missing = [name for name in (*OPERATORS, *METHODS, *PROPERTIES) if name not in table]
    if missing:
        raise KeyError(f"the method table lacks {', '.join(missing)}")
    for name in (*OPERATORS, *METHODS, *PROPERTIES):
        _set(name, table[name])


def _leaked(name: str) -> Callable[..., Any]:
    @api_boundary
    def raise_leaked(self: Var, *args: Any, **kwargs: Any) -> Any:
        raise leaked_error(self)

    raise_leaked.__name__ = name
    return raise_leaked


class _LeakedAttributeError(UnexpectedTracerError, AttributeError):
    """Error for an array attribute of a leaked tracer; an AttributeError, so that ``hasattr`` returns False."""

    __module__ = UnexpectedTracerError.__module__


#: Users see and catch the same error class as for any other use of a leaked tracer.
_LeakedAttributeError.__name__ = _LeakedAttributeError.__qualname__ = UnexpectedTracerError.__name__


@api_boundary
def _leaked_attribute(self: Var) -> Any:
    raise _LeakedAttributeError(Exception.__str__(leaked_error(self)))


prepare()
register_with_libraries()
