"""The gate: what may enter as an operand, whatever it was handed in as, and what it is here.

=========================================  =========================================================================
array, tracer                              itself; every path that is quick asks for ``x.aval`` and never comes here
Python number                              a weak scalar; OverflowError for an integer too wide for its type
NumPy array or scalar, of any byte order,  the values that it has now, copied; no result shares memory with it.
strides, subclass; NumPy types of          ValueError for a masked array, TypeError for elements of other types
``ml_dtypes``
object with ``__jax_array__``              the array that it returns
anything else                              TypeError, which says what to do (lists are refused; ``array`` takes them)
=========================================  =========================================================================

A function whose result may be its operand gives back ``unchanged(x)``; operations, traced or run at once, make new
arrays by themselves.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..dtypes import canonical, float0, not_supported
from ..errors import see
from ..ir.avals import ShapedArray, shaped
from ..ir.jaxpr import Var
from ..key_types import is_key
from ..runtime import beside
from ..xla.arrays.key_array import KeyArray
from ..xla.arrays.transfers import put
from ..xla.devices.backend import ArrayImpl
from ..xla.devices.faces import is_foreign
from .source import here, user_line, where_text
from .state import STATE
from .tracer import Tracer, leaked_error

#: Modules whose objects hold no arrays of a program.
_WITHOUT_ARRAYS = frozenset({"builtins", "datetime", "decimal", "fractions", "functools", "numpy", "pathlib", "random"})

PYTHON_SCALARS = (bool, int, float, complex)

_NUMPY_KINDS: tuple[Any, ...] = (
    *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64, np.complex64, np.complex128, float0),
)
_MORE_KINDS = [kind for kind in vars(ml_dtypes).values() if isinstance(kind, type) and issubclass(kind, np.generic)]
#: The types of elements that arrays can have.
_ELEMENTS: frozenset[Any] = frozenset(map(np.dtype, (*_NUMPY_KINDS, *_MORE_KINDS)))


def numpy_type(x: Any) -> ShapedArray:
    """The type of a NumPy array or scalar; raises TypeError for elements that no array can have, ValueError for a
    masked array.
    """
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())  # (): not imported, or another thread is at it
    if isinstance(x, masked):
        raise ValueError(
            f"a masked array of shape {x.shape} was given{here()}: arrays have no mask, and its masked elements would "
            "count. Give x.filled(value), or x.data and the mask as two arrays (numpy.where chooses between them)."
            + see("not-an-array")
        )
    dtype = x.dtype
    if dtype not in _ELEMENTS:
        dtype = dtype.newbyteorder("=")
        if dtype not in _ELEMENTS:
            raise not_an_array(x) if dtype.kind in "OUSMm" else not_supported(dtype)
    return shaped(x.shape, canonical(dtype))


def type_of_other(x: Any) -> ShapedArray:
    """The type of an operand that is neither an array nor a tracer; raises TypeError for what is none."""
    if isinstance(x, (np.ndarray, np.generic)):
        return numpy_type(x)
    for scalar in PYTHON_SCALARS:
        if isinstance(x, scalar):
            return shaped((), canonical(scalar), scalar is not bool)
    if getattr(x, "__jax_array__", None) is not None:  # jax says with None that there is no way
        return _type_of_represented(opened(x))
    raise not_an_array(x)


def _type_of_represented(x: Any) -> ShapedArray:
    aval: ShapedArray | None = getattr(x, "aval", None)
    return type_of_other(x) if aval is None else aval


def opened(x: Any) -> Any:
    """An operand as traces and devices take it: for an object with ``__jax_array__`` the array that it stands for."""
    if is_value(x):
        return x
    represent = getattr(x, "__jax_array__", None)
    if represent is None:
        return x
    found = represent()
    if not is_value(found):
        raise not_an_array(found, f"what __jax_array__ of a {type(x).__name__} returned,")
    return found


def array_of(x: Any) -> Any:
    """What was handed in, as an array or a tracer: these as they are, anything else as a new array with its values.

    Raises TypeError or ValueError for what is no value, OverflowError for an integer that is too wide.

    >>> import numpy as np
    >>> given = np.zeros(2, ">f4")
    >>> array = array_of(given)
    >>> given[:] = 1
    >>> array
    Array([0., 0.], dtype=float32)
    """
    if hasattr(x, "aval"):
        if x.__class__ is Var:
            raise leaked_error(x)
        return _own(x)
    value = opened(x)
    return value if hasattr(value, "aval") else put(value, type_of_other(value))


def foreign_type(x: Any) -> ShapedArray:
    """The type here of an array that jax made; raises TypeError for what else has a type of jax's."""
    if not is_foreign(x):
        raise not_an_array(x)
    return shaped(x.shape, canonical(x.dtype), x.weak_type)


def _own(x: Any) -> Any:
    """An array or a tracer; of an array of jax's a copy."""
    return put(x, foreign_type(x)) if is_foreign(x) else x


def unchanged(x: Any) -> Any:
    """The result of an operation that has nothing to do, for the operand that it was given: never NumPy's memory.

    While something is traced, a scalar stays one, to become a literal.
    """
    if hasattr(x, "aval"):
        return _own(x)
    if STATE.trace is not None and isinstance(x, (np.generic, *PYTHON_SCALARS)):
        return x
    return array_of(x)


def result_of(x: Any) -> Any:
    """A result that is what was handed in, or a number of Python's, as users get it: an array or a tracer.

    >>> result_of(np.float32(2))
    Array(2., dtype=float32)
    """
    return x if getattr(x, "dtype", None) == float0 else array_of(x)


def described(x: Any) -> ShapedArray | None:
    """The type that an object with ``shape`` and ``dtype`` describes, for those who compute nothing; else None."""
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    if shape is None or dtype is None:
        return None
    try:
        sizes, kind = tuple(size.__index__() for size in shape), dtype if is_key(dtype) else np.dtype(dtype)
    except (TypeError, AttributeError):
        return None
    if kind not in _ELEMENTS and not is_key(kind):
        return None
    return shaped(sizes, canonical(kind), bool(getattr(x, "weak_type", False)))


def is_value(x: Any) -> bool:
    """Whether something can be an operand as it is."""
    return isinstance(x, (ArrayImpl, Tracer, np.ndarray, np.generic, *PYTHON_SCALARS, KeyArray))


def _way_from_list(x: Sequence[Any]) -> str:
    """Return how a list becomes an array, or that one of its elements keeps it from that."""
    for place, element in enumerate(x):
        is_nested = isinstance(element, (list, tuple))
        if not (is_nested or hasattr(element, "__array__") or hasattr(element, "aval") or is_value(element)):
            return (
                f"Its element {place} is of type {type(element).__name__}, so no array holds them all: apply the "
                "function to each array of a container (xlascope.tree.map), or leave that element out."
            )
    return "Convert lists with xlascope.numpy.array(...)."


def _way_to_array(x: Any, what: str) -> str:
    """Return what to do about something that is no array, by what it is."""
    if isinstance(x, (list, tuple)):
        return _way_from_list(x)
    if isinstance(x, (dict, types.NoneType)) and not what.startswith(("argument", "the result")):
        return "A container has several arrays: xlascope.tree.map applies a function to each, tree.leaves lists them."
    if isinstance(x, types.GeneratorType):
        return "Convert it with xlascope.numpy.array(list(...))."
    if isinstance(x, str):
        numbers = "Make numbers of text first: float(text), or numpy.array(texts, dtype=float)."
        static = "Text can be passed as static arguments (jit(f, static_argnums=...)). "
        return static + numbers if what.startswith("argument") else numbers
    if what.startswith("the result"):
        return "Arrays and numbers are: return a number that stands for it, or return it outside of the function."
    if what.startswith("argument self of"):
        return (
            "A method is jitted with its object static, functools.partial(jit, static_argnums=0), where the object has "
            "a hash and does not change; or its class is registered as a container of arrays "
            "(xlascope.tree_util.register_pytree_node_class)."
        )
    most = (
        "Arrays, NumPy arrays and Python numbers are. Pass other values as static arguments "
        "(jit(f, static_argnums=...)) or close over them."
    )
    if type(x).__module__.partition(".")[0] in _WITHOUT_ARRAYS or isinstance(x, (type, np.ndarray)):
        return most
    register = "register_dataclass" if dataclasses.is_dataclass(x) else "register_pytree_node_class"
    return f"{most} If it holds arrays, register its class as a container (xlascope.tree_util.{register})."


def not_an_array(x: Any, what: str = "a value") -> TypeError:
    """The error for something that cannot be an operand; for what was a tracer once, that it has ended."""
    if x.__class__ is Var:
        return leaked_error(x)
    kind = type(x).__name__ if not isinstance(x, np.ndarray) else f"numpy array of dtype {x.dtype}"
    text = repr(x)
    shown = text if len(text) <= 60 else text[:57] + "..."
    if isinstance(x, (list, tuple)) and any(isinstance(each, Tracer) for each in x):
        shown = f"it has {len(x)} elements"  # as they are while a function is traced, which says nothing to its user
    fix = _way_to_array(x, what)
    if beside.here() and (found := beside.of_jax(x)):
        fix = found
    where, more = where_text(user_line()), see("not-an-array")
    return TypeError(f"{what} of type {kind} is not a valid array{where}: {shown}. {fix}{more}")
