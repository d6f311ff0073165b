"""Decorator for functions of several operations that run as one compiled call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import NoneType
from typing import Any, NamedTuple, NoReturn, TypeVar

from ..control.jit.arguments import JitOptions
from ..control.jit.jit_function import jit_function
from ..ir.requested_dtypes import resolve_requested_dtype
from ..trace.trace_cache import Normalization, cache_trace
from .axes import reject_out, to_static_axis, whole_number

F = TypeVar("F", bound=Callable[..., Any])


#: Classes of values that are interchangeable with what an index is converted to: True is the axis 1.
_PLAIN_INDICES = frozenset({NoneType, int, bool})


class Conversion(NamedTuple):
    """Conversion of a static argument, ``convert(value, name)``; values of a class in ``plain`` stay as they are.

    Where a function does not take a value of these classes, it has to raise an error itself.
    """

    convert: Callable[[Any, str], Any]
    plain: frozenset[type] = _PLAIN_INDICES


_DTYPE = Conversion(lambda dtype, name: resolve_requested_dtype(dtype))

#: How static arguments of public functions are converted before a call outside of any trace, by parameter. Private
#: functions get arguments that their callers have converted. A dtype that is narrowed warns at each user line, also if
#: nothing is compiled; axes become ints, since jaxlib cannot tell 1 from 1.0, which is no axis.
_CONVERSIONS = {
    "axis": Conversion(to_static_axis),
    "axis1": Conversion(whole_number),
    "axis2": Conversion(whole_number),
    "dtype": _DTYPE,
    "preferred_element_type": _DTYPE,
}


def jit_wrapped(*static: str, **conversions: Conversion) -> Callable[[F], F]:
    """Return a decorator that compiles a function for calls outside of any trace.

    Inside a trace the function's recorded op sequence is replayed. ``static`` names the parameters that are not
    arrays. Their values have to be hashable (lists become tuples), and equal values have to be interchangeable, except
    those of ``axis`` and ``dtype``, which are converted; numbers used in the computation are arrays. ``conversions``
    are further static parameters, and how their values are converted before a call. Outside of any trace a static value
    that is not hashable raises TypeError.
    """
    names = (*static, *conversions)

    def decorate(function: F) -> F:
        def compile_function() -> Callable[..., Any]:
            jitted: F = jit_function(function, JitOptions(static_argnames=names, normalized=True))
            return jitted

        def explain_error(error: BaseException, args: Any, kwargs: Any) -> BaseException:
            if isinstance(error, ValueError) and str(error).startswith("Non-hashable static"):
                return _non_hashable_static_error(function, names, args, kwargs)
            return error

        return cache_trace(function, compile_function, explain_error, _normalization_of(function, static, conversions))

    return decorate


def _normalization_of(
    function: Callable[..., Any], static: tuple[str, ...], conversions: dict[str, Conversion]
) -> Normalization | None:
    """Return the conversion of a function's static arguments; None if there is nothing to convert."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    by_name: dict[str, Conversion] = {}
    if not function.__name__.startswith("_"):
        by_name |= {name: _CONVERSIONS[name] for name in static if name in _CONVERSIONS}
        if "out" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            by_name["out"] = Conversion(functools.partial(_reject_out, function.__name__))
    by_name |= conversions
    if not by_name:
        return None
    first = min([position for position, name in enumerate(names) if name in by_name], default=len(names))
    plain = frozenset.intersection(*[conversion.plain for conversion in by_name.values()])

    def convert_all(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        for name, value in kwargs.items():
            kwargs[name] = convert(value, name)
        return (*map(convert, args, names), *args[len(names) :])

    def convert(value: Any, name: str) -> Any:
        conversion = by_name.get(name)
        return value if conversion is None or value.__class__ in conversion.plain else conversion.convert(value, name)

    return Normalization(convert_all, plain, first)


def _reject_out(function_name: str, value: Any, name: str) -> NoReturn:
    raise reject_out(function_name)


def _non_hashable_static_error(
    function: Callable[..., Any], static: tuple[str, ...], args: Any, kwargs: Any
) -> TypeError:
    """Return the error for a call in which one of the ``static`` parameters has a value that is not hashable."""
    bound = inspect.signature(function).bind(*args, **kwargs).arguments
    name = next((name for name in static if not _is_hashable(bound.get(name))), static[0])
    return TypeError(
        f"{function.__name__.lstrip('_')} takes {name} as a plain value (a number, a text, a tuple), "
        f"got {bound.get(name)!r} of type {type(bound.get(name)).__name__}"
    )


def _is_hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True
