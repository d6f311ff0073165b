"""Table of the operators and methods of arrays and tracers, filled once by ``numpy/methods.py``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .. import bootstrap
from ..errors import UnexpectedTracerError
from ..ir.jaxpr import Var
from ..runtime import jax_coexistence
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.array_patching import define_array_member
from .traceback_filtering import api_boundary, filter_traceback
from .tracer import TracerBase, leaked_error

#: Modules in which libraries that dispatch on array types keep their registries.
_ARRAY_AWARE_LIBRARIES = (
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


def install_lazy_methods() -> None:
    """Give arrays and tracers methods that fill the method table on first use; variables get methods that raise."""
    for name in (*OPERATORS, *METHODS):
        _set_attribute(name, _make_lazy_method(name))
    for name in PROPERTIES:
        _set_attribute(name, property(_make_lazy_method(name, is_method=False)))
    for name in (*OPERATORS, *METHODS, *CONVERSIONS):
        if name not in ("__eq__", "__ne__"):
            setattr(Var, name, _make_leak_raiser(name))
    for name in (*PROPERTIES, *ATTRIBUTES):
        setattr(Var, name, property(_raise_leaked_attribute))


def register_with_libraries() -> None:
    """Register our arrays with libraries that recognize arrays by type, now or when such a library is imported."""
    for library in _ARRAY_AWARE_LIBRARIES:
        if library in sys.modules:
            bootstrap.register_with_library(library)
        jax_coexistence.on_import(library, functools.partial(bootstrap.register_with_library, library))


def _make_lazy_method(name: str, is_method: bool = True) -> Callable[..., Any]:
    """Return a method, or the getter of a property, that fills the method table and then calls the real one."""

    def load(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            bootstrap.fill_methods()
            attribute = getattr(self, name)
            return attribute(*args, **kwargs) if is_method else attribute
        except BaseException as error:
            filter_traceback(error)
            raise

    load.__name__ = name
    return load


def _set_attribute(name: str, method: Any) -> None:
    setattr(TracerBase, name, method)
    setattr(KeyArray, name, method)
    define_array_member(name, method)


def install(table: Mapping[str, Any]) -> None:
    """Set the operators, methods and properties of arrays and tracers; ``table`` has them by name.

    Raises KeyError naming the missing ones.
    """
    missing = [name for name in (*OPERATORS, *METHODS, *PROPERTIES) if name not in table]
    if missing:
        raise KeyError(f"the method table lacks {', '.join(missing)}")
    for name in (*OPERATORS, *METHODS, *PROPERTIES):
        _set_attribute(name, table[name])


def _make_leak_raiser(name: str) -> Callable[..., Any]:
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
def _raise_leaked_attribute(self: Var) -> Any:
    raise _LeakedAttributeError(Exception.__str__(leaked_error(self)))


install_lazy_methods()
register_with_libraries()
