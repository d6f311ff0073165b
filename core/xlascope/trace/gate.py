"""Coercion of operands: which values operations accept, and what they become.

=========================================  =========================================================================
array, tracer                              itself; fast paths read ``x.aval`` and never come here
Python number                              a weakly typed scalar; OverflowError for an integer too wide for its type
NumPy array or scalar, of any byte order,  a copy of its current values; no result shares memory with it. ValueError
strides, subclass; NumPy types of          for a masked array, TypeError for unsupported element types
``ml_dtypes``
object with ``__jax_array__``              the array that it returns
anything else                              TypeError, which says what to do (lists are refused; ``array`` takes them)
=========================================  =========================================================================

A function whose result may be its operand returns ``pass_through(x)``; operations, traced or eager, make new
arrays by themselves.
"""

from __future__ import annotations

import dataclasses
import enum
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
from ..ir.sources import is_library
from ..key_types import is_key
from ..runtime import beside
from ..xla.arrays.key_array import KeyArray
from ..xla.arrays.transfers import put
from ..xla.devices.backend import ArrayImpl
from ..xla.devices.faces import is_foreign
from .source import compose_message, here
from .state import STATE
from .tracer import Tracer, leaked_error

#: Modules whose objects contain no arrays.
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
    """Return the type of a NumPy array or scalar.

    Raises TypeError for elements that no array can have, ValueError for a masked array.
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
    """Return the type of an operand that is neither an array nor a tracer; raise TypeError for an invalid operand."""
    if isinstance(x, (np.ndarray, np.generic)):
        return numpy_type(x)
    for scalar in PYTHON_SCALARS:
        if isinstance(x, scalar):
            return shaped((), canonical(scalar), scalar is not bool)
    if getattr(x, "__jax_array__", None) is not None:  # jax sets it to None to forbid the conversion
        return _type_of_represented(opened(x))
    raise not_an_array(x)


def _type_of_represented(x: Any) -> ShapedArray:
    aval: ShapedArray | None = getattr(x, "aval", None)
    return type_of_other(x) if aval is None else aval


def opened(x: Any) -> Any:
    """Return the operand itself, or for an object with ``__jax_array__`` the array that it stands for."""
    if is_value(x):
        return x
    represent = getattr(x, "__jax_array__", None)
    if represent is None:
        return x
    array = represent()
    if not is_value(array):
        raise not_an_array(array, f"what __jax_array__ of a {type(x).__name__} returned,")
    return array


def array_of(x: Any) -> Any:
    """Convert a value to an array; arrays and tracers are returned as they are.

    Raises TypeError or ValueError for an invalid value, OverflowError for an integer that is too wide.

    >>> import numpy as np
    >>> given = np.zeros(2, ">f4")
    >>> array = to_array(given)
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
    """Return the xlascope type of an array made by jax; raise TypeError for any other object."""
    if not is_foreign(x):
        raise not_an_array(x)
    return shaped(x.shape, canonical(x.dtype), x.weak_type)


def _own(x: Any) -> Any:
    """Return an array or a tracer; an array of jax is copied."""
    return put(x, foreign_type(x)) if is_foreign(x) else x


def unchanged(x: Any) -> Any:
    """Return the operand of an operation that has nothing to do, as its result; never NumPy's memory.

    While tracing, a scalar stays a scalar, which becomes a literal.
    """
    if hasattr(x, "aval"):
        return _own(x)
    if STATE.trace is not None and isinstance(x, (np.generic, *PYTHON_SCALARS)):
        return x
    return array_of(x)


def result_of(x: Any) -> Any:
    """Convert an operand or a Python number to the array or tracer that the user gets.

    >>> to_user_result(np.float32(2))
    Array(2., dtype=float32)
    """
    return x if getattr(x, "dtype", None) == float0 else array_of(x)


def described(x: Any) -> ShapedArray | None:
    """Return the type given by the ``shape`` and ``dtype`` attributes of an object; None without valid ones."""
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    if shape is None or dtype is None:
        return None
    try:
        sizes, dtype_or_key = tuple(size.__index__() for size in shape), dtype if is_key(dtype) else np.dtype(dtype)
    except (TypeError, AttributeError):
        return None
    if dtype_or_key not in _ELEMENTS and not is_key(dtype_or_key):
        return None
    return shaped(sizes, canonical(dtype_or_key), bool(getattr(x, "weak_type", False)))


def is_value(x: Any) -> bool:
    """Return whether an object can be an operand as it is."""
    return isinstance(x, (ArrayImpl, Tracer, np.ndarray, np.generic, *PYTHON_SCALARS, KeyArray))


#: How the arrays of a tree are reduced together, for reductions that can be done one after the other.
_OF_ALL = {
    "sum": "sum(xlascope.numpy.sum(x) for x in xlascope.tree.leaves(tree))",
    "prod": "math.prod(xlascope.numpy.prod(x) for x in xlascope.tree.leaves(tree))",
    "max": "xlascope.tree.reduce(xlascope.numpy.maximum, xlascope.tree.map(xlascope.numpy.max, tree))",
    "min": "xlascope.tree.reduce(xlascope.numpy.minimum, xlascope.tree.map(xlascope.numpy.min, tree))",
    "all": "xlascope.tree.reduce(xlascope.numpy.logical_and, xlascope.tree.map(xlascope.numpy.all, tree))",
    "any": "xlascope.tree.reduce(xlascope.numpy.logical_or, xlascope.tree.map(xlascope.numpy.any, tree))",
}


def _called_function() -> str:
    """Return the name of the function of ``xlascope.numpy`` that the user's program calls right now; or nothing."""
    module = sys.modules.get(f"{__name__.partition('.')[0]}.numpy")
    frame, name = sys._getframe(1), ""
    while module is not None and frame.f_back is not None and is_library[frame.f_code.co_filename]:
        wrapped = frame.f_locals.get("function")  # of a decorator
        names = (frame.f_code.co_name, getattr(wrapped, "__name__", ""))
        name = next((one for one in names if one and not one.startswith("_") and hasattr(module, one)), name)
        frame = frame.f_back
    return name


def _odd_element(x: Sequence[Any]) -> int | None:
    """Return which element of a list keeps it from being an array, None where all could be elements of one."""
    for place, element in enumerate(x):
        is_nested = isinstance(element, (list, tuple))
        if not (is_nested or hasattr(element, "__array__") or hasattr(element, "aval") or is_value(element)):
            return place
    return None


def _container_error(x: Any) -> TypeError | None:
    """Return the error for a container of several arrays that a function was given in place of one; None for others."""
    odd = _odd_element(x) if isinstance(x, (list, tuple)) else None
    if odd is None and not isinstance(x, dict):
        return None
    name = _called_function()
    got = f"a {type(x).__name__}" + ("" if odd is None else f" (element {odd} is a {type(x[odd]).__name__})")
    if name in _OF_ALL:
        fix = f"For the {_NOUNS.get(name, name)} of all arrays in a tree: {_OF_ALL[name]}"
    else:
        called = f"xlascope.numpy.{name}" if name else "f"
        fix = f"Apply it to each array with xlascope.tree.map({called}, tree)."
    what = f"{name} takes one array, got {got}." if name else f"An array is needed here, got {got}."
    return TypeError(compose_message(what, fix) + see("not-an-array"))


_NOUNS = {"prod": "product", "max": "maximum", "min": "minimum"}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _way_from_text(x: str, static: str) -> str:
    """Return what to do about text where an array is needed."""
    number = "make a number of it: float(text)" if _is_number(x) else ""
    if static:
        return f"Make {static}." + (f" Or {number}." if number else "")
    return f"{number[0].upper()}{number[1:]}." if number else "Arrays hold numbers; text stays in Python."


def _way_to_array(x: Any, role: str, static: str) -> str:
    """Return advice on converting an object that is not an array, by its type and its ``role`` in the call."""
    if isinstance(x, (list, tuple)):
        return "Convert lists with xlascope.numpy.array(...)."
    if isinstance(x, types.NoneType) and not role.startswith("argument"):
        return "A container has several arrays: xlascope.tree.map applies a function to each, tree.leaves lists them."
    if isinstance(x, types.GeneratorType):
        return "Convert it with xlascope.numpy.array(list(...))."
    if isinstance(x, str):
        return _way_from_text(x, static)
    if role.startswith("argument self of"):
        return (
            "A method is jitted with its object static, functools.partial(jit, static_argnums=0), where the object has "
            "a hash and does not change; or its class is registered as a container of arrays "
            "(xlascope.tree_util.register_pytree_node_class)."
        )
    most = (
        f"Arrays, NumPy arrays and Python numbers are. Make {static}; or close over it."
        if static
        else "Arrays, NumPy arrays and Python numbers are. Pass other values as static arguments "
        "(jit(f, static_argnums=...)) or close over them."
    )
    if type(x).__module__.partition(".")[0] in _WITHOUT_ARRAYS or isinstance(x, (type, np.ndarray)):
        return most
    register = "register_dataclass" if dataclasses.is_dataclass(x) else "register_pytree_node_class"
    return f"{most} If it holds arrays, register its class as a container (xlascope.tree_util.{register})."


def _shortened(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


def not_a_result(x: Any, path: str, name: str, kind: str = "a traced function") -> TypeError:
    """Return the error for something that a traced function returns and that is no array.

    ``path`` is where it is in the result, ``kind`` what the function is.
    """
    if x.__class__ is Var:
        return leaked_error(x)
    if beside.here() and (found := beside.of_jax(x)):
        return not_an_array(x, f"the result{path} of {name}", fix=found)
    shown = f" ({_shortened(x)})" if isinstance(x, (str, bytes)) else ""
    what = (
        f"{name} returns a value of type {type(x).__name__} as result{path}{shown}, but {kind} can only return arrays "
        "and numbers."
    )
    apart = f"eave it out of the result and use it where {name if name.isidentifier() else 'the function'} is called."
    if isinstance(x, enum.Enum) and isinstance(x.value, PYTHON_SCALARS):
        member, cls = f"{type(x).__name__}.{x.name}", type(x).__name__
        fix = f"Return {member}.value and make {cls}(…) of it after the call, or l{apart}"
    else:
        fix = f"L{apart}"
    return TypeError(compose_message(what, fix) + see("not-an-array"))


def not_an_array(x: Any, role: str = "a value", static: str = "", fix: str = "") -> TypeError:
    """Return the error for an invalid operand; for the variable of an ended trace, a leaked-tracer error."""
    if x.__class__ is Var:
        return leaked_error(x)
    if not fix and beside.here() and (jax_fix := beside.of_jax(x)):
        fix = jax_fix
    if not fix and role in ("a value", "an operand") and (error := _container_error(x)) is not None:
        return error
    kind = type(x).__name__ if not isinstance(x, np.ndarray) else f"numpy array of dtype {x.dtype}"
    shown = _shortened(x)
    if isinstance(x, (list, tuple)) and any(isinstance(element, Tracer) for element in x):
        # the repr of tracers would not help the user
        shown = f"it has {len(x)} element{'' if len(x) == 1 else 's'}"
    said = f"{role} of type {kind} is not a valid array: {shown}."
    return TypeError(compose_message(said, fix or _way_to_array(x, role, static)) + see("not-an-array"))
