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

from ..dtypes import float0, to_canonical_dtype, unsupported_dtype_error
from ..errors import see
from ..ir.avals import ShapedArray, make_aval
from ..ir.jaxpr import Var
from ..ir.user_frames import is_library
from ..key_types import is_key
from ..runtime import jax_coexistence
from ..xla.arrays.key_array import KeyArray
from ..xla.arrays.transfers import put_on_device
from ..xla.devices.array_patching import is_jax_array
from ..xla.devices.backend import ArrayImpl
from .source import compose_message, here
from .state import STATE
from .tracer import TracerBase, leaked_error

#: Modules whose objects contain no arrays.
_MODULES_WITHOUT_ARRAYS = frozenset(
    {"builtins", "datetime", "decimal", "fractions", "functools", "numpy", "pathlib", "random"}
)

PYTHON_SCALARS = (bool, int, float, complex)

_NUMPY_SCALAR_TYPES: tuple[Any, ...] = (
    *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64, np.complex64, np.complex128, float0),
)
_ML_DTYPES_SCALAR_TYPES = [
    kind for kind in vars(ml_dtypes).values() if isinstance(kind, type) and issubclass(kind, np.generic)
]
#: The types of elements that arrays can have.
_ELEMENT_DTYPES: frozenset[Any] = frozenset(map(np.dtype, (*_NUMPY_SCALAR_TYPES, *_ML_DTYPES_SCALAR_TYPES)))


def numpy_aval(x: Any) -> ShapedArray:
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
    if dtype not in _ELEMENT_DTYPES:
        dtype = dtype.newbyteorder("=")
        if dtype not in _ELEMENT_DTYPES:
            raise invalid_operand_error(x) if dtype.kind in "OUSMm" else unsupported_dtype_error(dtype)
    return make_aval(x.shape, to_canonical_dtype(dtype))


def aval_of_host_value(x: Any) -> ShapedArray:
    """Return the type of an operand that is neither an array nor a tracer, such as a number or a NumPy array.

    Raises TypeError for an invalid operand.
    """
    if isinstance(x, (np.ndarray, np.generic)):
        return numpy_aval(x)
    for scalar in PYTHON_SCALARS:
        if isinstance(x, scalar):
            return make_aval((), to_canonical_dtype(scalar), scalar is not bool)
    if getattr(x, "__jax_array__", None) is not None:  # jax sets it to None to forbid the conversion
        return _aval_of_unwrapped(unwrap_operand(x))
    raise invalid_operand_error(x)


def _aval_of_unwrapped(x: Any) -> ShapedArray:
    aval: ShapedArray | None = getattr(x, "aval", None)
    return aval_of_host_value(x) if aval is None else aval


def unwrap_operand(x: Any) -> Any:
    """Return the array that ``__jax_array__`` of an object returns; other objects are returned as they are.

    Raises TypeError if ``__jax_array__`` returns no array.
    """
    if is_value(x):
        return x
    represent = getattr(x, "__jax_array__", None)
    if represent is None:
        return x
    array = represent()
    if not is_value(array):
        raise invalid_operand_error(array, f"what __jax_array__ of a {type(x).__name__} returned,")
    return array


def to_array(x: Any) -> Any:
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
        return _copy_if_foreign(x)
    value = unwrap_operand(x)
    return value if hasattr(value, "aval") else put_on_device(value, aval_of_host_value(value))


def aval_of_foreign(x: Any) -> ShapedArray:
    """Return the xlascope type of an array made by jax; raise TypeError for any other object."""
    if not is_jax_array(x):
        raise invalid_operand_error(x)
    return make_aval(x.shape, to_canonical_dtype(x.dtype), x.weak_type)


def _copy_if_foreign(x: Any) -> Any:
    """Return an array or a tracer as it is, and a copy of an array of jax."""
    return put_on_device(x, aval_of_foreign(x)) if is_jax_array(x) else x


def pass_through(x: Any) -> Any:
    """Return the operand of a function that has nothing to do, as its result, in memory that NumPy does not share.

    While tracing, a scalar is returned as it is; it becomes a literal.
    """
    if hasattr(x, "aval"):
        return _copy_if_foreign(x)
    if STATE.trace is not None and isinstance(x, (np.generic, *PYTHON_SCALARS)):
        return x
    return to_array(x)


def to_user_result(x: Any) -> Any:
    """Convert an operand to the array or tracer that users get; values of dtype ``float0`` stay as they are.

    >>> to_user_result(np.float32(2))
    Array(2., dtype=float32)
    """
    return x if getattr(x, "dtype", None) == float0 else to_array(x)


def aval_from_attributes(x: Any) -> ShapedArray | None:
    """Return the type given by an object's attributes ``shape`` and ``dtype``; None if they are missing or invalid."""
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    if shape is None or dtype is None:
        return None
    try:
        sizes, dtype_or_key = tuple(size.__index__() for size in shape), dtype if is_key(dtype) else np.dtype(dtype)
    except (TypeError, AttributeError):
        return None
    if dtype_or_key not in _ELEMENT_DTYPES and not is_key(dtype_or_key):
        return None
    is_exact = getattr(x, "aval", None).__class__ is ShapedArray  # an array of 64 bits may be used where they are off
    exact_dtype = dtype_or_key if is_exact else to_canonical_dtype(dtype_or_key)
    return make_aval(sizes, exact_dtype, bool(getattr(x, "weak_type", False)))


_VALUE_TYPES = (ArrayImpl, KeyArray, TracerBase, np.ndarray, np.generic, *PYTHON_SCALARS)


def is_value(x: Any) -> bool:
    """Return whether an object is a valid operand without conversion: an array, a tracer, a number or a NumPy array."""
    return isinstance(x, _VALUE_TYPES)


#: Code that reduces all arrays of a tree, for the reductions that can be applied array by array.
_OF_ALL = {
    "sum": "sum(xlascope.numpy.sum(x) for x in xlascope.tree.leaves(tree))",
    "prod": "math.prod(xlascope.numpy.prod(x) for x in xlascope.tree.leaves(tree))",
    "max": "xlascope.tree.reduce(xlascope.numpy.maximum, xlascope.tree.map(xlascope.numpy.max, tree))",
    "min": "xlascope.tree.reduce(xlascope.numpy.minimum, xlascope.tree.map(xlascope.numpy.min, tree))",
    "all": "xlascope.tree.reduce(xlascope.numpy.logical_and, xlascope.tree.map(xlascope.numpy.all, tree))",
    "any": "xlascope.tree.reduce(xlascope.numpy.logical_or, xlascope.tree.map(xlascope.numpy.any, tree))",
}


def _called_function() -> str:
    """Return the name of the function of ``xlascope.numpy`` that the user's program is calling; "" for another."""
    module = sys.modules.get(f"{__name__.partition('.')[0]}.numpy")
    frame, name = sys._getframe(1), ""
    while module is not None and frame.f_back is not None and is_library[frame.f_code.co_filename]:
        wrapped = frame.f_locals.get("function")  # of a decorator
        names = (frame.f_code.co_name, getattr(wrapped, "__name__", ""))
        name = next((n for n in names if n and not n.startswith("_") and hasattr(module, n)), name)
        frame = frame.f_back
    return name


def _find_odd_element(x: Sequence[Any]) -> int | None:
    """Return the index of the first element that keeps a list from becoming an array; None if there is none."""
    for index, element in enumerate(x):
        is_nested = isinstance(element, (list, tuple))
        if not (is_nested or hasattr(element, "__array__") or hasattr(element, "aval") or is_value(element)):
            return index
    return None


def _container_error(x: Any) -> TypeError | None:
    """Return the error for a container of arrays where one array is needed; None if ``x`` is no such container."""
    odd = _find_odd_element(x) if isinstance(x, (list, tuple)) else None
    if odd is None and not isinstance(x, dict):
        return None
    name = _called_function()
    got = f"a {type(x).__name__}" + ("" if odd is None else f" (element {odd} is a {type(x[odd]).__name__})")
    if name in _OF_ALL:
        fix = f"For the {_NOUNS.get(name, name)} of all arrays in a tree: {_OF_ALL[name]}"
    else:
        function_text = f"xlascope.numpy.{name}" if name else "f"
        fix = f"Apply it to each array with xlascope.tree.map({function_text}, tree)."
    problem = f"{name} takes one array, got {got}." if name else f"An array is needed here, got {got}."
    return TypeError(compose_message(problem, fix) + see("not-an-array"))


_NOUNS = {"prod": "product", "max": "maximum", "min": "minimum"}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text_advice(x: str, static: str) -> str:
    """Return advice for a string in place of an array.

    ``static`` is advice on making the argument static, as :func:`static_advice` returns it, or "".
    """
    number = "make a number of it: float(text)" if _is_number(x) else ""
    if static:
        return f"Make {static}." + (f" Or {number}." if number else "")
    return f"{number[0].upper()}{number[1:]}." if number else "Arrays hold numbers; text stays in Python."


def _suggest_conversion(x: Any, role: str, static: str) -> str:
    """Return advice on converting an object that is not an array.

    ``role`` says what the object is in the call, as in ``argument x of f``; ``static`` is advice on making it
    static, as :func:`static_advice` returns it, or "".
    """
    if isinstance(x, (list, tuple)):
        return "Convert lists with xlascope.numpy.array(...)."
    if isinstance(x, types.NoneType) and not role.startswith("argument"):
        return "A container has several arrays: xlascope.tree.map applies a function to each, tree.leaves lists them."
    if isinstance(x, types.GeneratorType):
        return "Convert it with xlascope.numpy.array(list(...))."
    if isinstance(x, str):
        return _text_advice(x, static)
    if role.startswith("argument self of"):
        how = static or "self static: functools.partial(jit, static_argnums=0)"
        return (
            f"Where the object has a hash and does not change, make {how}. Or register its class as a container of "
            "arrays (xlascope.tree_util.register_pytree_node_class)."
        )
    general = (
        f"Arrays, NumPy arrays and Python numbers are. Make {static}; or close over it."
        if static
        else "Arrays, NumPy arrays and Python numbers are. Pass other values as static arguments "
        "(jit(f, static_argnums=...)) or close over them."
    )
    if type(x).__module__.partition(".")[0] in _MODULES_WITHOUT_ARRAYS or isinstance(x, (type, np.ndarray)):
        return general
    register = "register_dataclass" if dataclasses.is_dataclass(x) else "register_pytree_node_class"
    return f"{general} If it holds arrays, register its class as a container (xlascope.tree_util.{register})."


def _short_repr(x: Any) -> str:
    """Return the repr of an object, cut to 60 characters."""
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


def _holds_tracers(x: Any) -> bool:
    """Return whether nested lists hold a tracer, as those do that a compiled function of the library was given."""
    return any(map(_holds_tracers, x)) if isinstance(x, (list, tuple)) else isinstance(x, TracerBase)


def invalid_result_error(
    x: Any, path: str, name: str, kind: str = "a traced function", definition: str = ""
) -> TypeError:
    """Return the error for a result of a traced function that is not an array.

    ``path`` is the key path of the object in the result, ``name`` the function's name, ``kind`` what the
    function is, ``definition`` a line on where it is defined, after a line break, or "".
    """
    if x.__class__ is Var:
        return leaked_error(x)
    if jax_coexistence.is_present() and (jax_fix := jax_coexistence.describe_jax_object(x)):
        return invalid_operand_error(x, f"the result{path} of {name}", fix=jax_fix)
    text = f" ({_short_repr(x)})" if isinstance(x, (str, bytes)) else ""
    problem = (
        f"{name} returns a value of type {type(x).__name__} as result{path}{text}, but {kind} can only return arrays "
        "and numbers."
    )
    remedy = f"eave it out of the result and use it where {name if name.isidentifier() else 'the function'} is called."
    if isinstance(x, enum.Enum) and isinstance(x.value, PYTHON_SCALARS):
        member, cls = f"{type(x).__name__}.{x.name}", type(x).__name__
        fix = f"Return {member}.value and make {cls}(…) of it after the call, or l{remedy}"
    else:
        fix = f"L{remedy}"
    return TypeError(compose_message(problem, fix + definition) + see("not-an-array"))


def invalid_operand_error(
    x: Any, role: str = "a value", static: str = "", fix: str = "", definition: str = ""
) -> TypeError:
    """Return the error for an invalid operand; for a leaked tracer, the error about the leak.

    ``role`` says what the operand is in the call, as in ``argument x of f``; ``static`` is advice on making
    it static, or ""; ``fix`` replaces the default advice; ``definition`` is a line on where the function is
    defined, after a line break, or "".
    """
    if x.__class__ is Var:
        return leaked_error(x)
    if not fix and jax_coexistence.is_present() and (jax_fix := jax_coexistence.describe_jax_object(x)):
        fix = jax_fix
    if not fix and role in ("a value", "an operand") and (error := _container_error(x)) is not None:
        return error
    kind = type(x).__name__ if not isinstance(x, np.ndarray) else f"numpy array of dtype {x.dtype}"
    text = _short_repr(x)
    if isinstance(x, (list, tuple)) and _holds_tracers(x):
        # the repr of tracers would not help the user
        text = f"it has {len(x)} element{'' if len(x) == 1 else 's'}"
    problem = f"{role} of type {kind} is not a valid array: {text}."
    advice = fix or _suggest_conversion(x, role, static)
    return TypeError(compose_message(problem, advice + definition) + see("not-an-array"))
