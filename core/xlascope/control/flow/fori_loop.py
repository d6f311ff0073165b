"""fori_loop: a scan if the number of iterations is known during tracing, else a while_loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dtypes import dtype_kind, is_integer
from ...operations.arithmetic import add
from ...operations.comparisons import lt
from ...runtime.boot import disable_jit
from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ...trace.values import aval_of
from ..programs.function_names import name_of
from ..programs.values import as_type, concrete_or_none, operand_aval
from .loop_api import scan, while_loop


@api_boundary
def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """Apply ``body_fun(i, value)`` to ``init_val`` for i from ``lower`` up to (not including) ``upper``.

    If the bounds are known while tracing, the loop is a scan: ``i`` has the weak type of a Python integer, and
    reverse-mode differentiation works. Otherwise it is a while_loop, and ``i`` has the type of the bounds. Raises
    TypeError if the bounds are not whole numbers of one type or the body does not return the types it got, and
    ValueError for ``unroll`` if the bounds are not known.

    >>> import xlascope as xs
    >>> print(xs.lax.fori_loop(0, 4, lambda i, total: total + i, 0))
    6
    """
    if not callable(body_fun):
        raise TypeError(f"fori_loop takes a function of (i, value), got {body_fun!r}{here()}")
    for name, bound in (("lower", lower), ("upper", upper)):
        aval = operand_aval(f"the {name} bound of fori_loop", bound)
        if aval.shape or dtype_kind(aval.dtype) == "c":
            raise TypeError(f"fori_loop takes whole numbers as bounds; {name} is {aval.str_short()}{here()}")
    lower, upper = _to_common_type(lower, upper)
    first, last = concrete_or_none(lower), concrete_or_none(upper)
    if first is not None and last is not None:
        start, end = _to_whole_number("lower", first), _to_whole_number("upper", last)
        if disable_jit.value:
            return _run_in_python(start, end, body_fun, init_val)
        steps = max(end - start, 0)
        (_, value), _ = scan(_CountedStep(body_fun), (start, init_val), None, length=steps, unroll=unroll or 1)
        return value
    if unroll is not None and unroll is not False and unroll != 1:
        raise ValueError(f"fori_loop can only be unrolled when its bounds are known while tracing{here()}")
    return while_loop(_is_below_end, _Advance(body_fun), (lower, upper, init_val))[2]


def _run_in_python(start: int, end: int, body: Callable[[Any, Any], Any], value: Any) -> Any:
    """Return the final value of the loop, run iteration by iteration in Python, for ``disable_jit``.

    ``body(i, value)`` returns the next value, for each ``i`` in ``range(start, end)``.
    """
    for i in range(start, end):
        value = body(i, value)
    return value


class _CountedStep:
    """Body of a fori_loop as the body of a scan that also carries the counter.

    ``place_of_value`` is the index of the user's carry in the scan's carry, for messages.
    """

    loop = "fori_loop"
    place_of_value = 1

    def __init__(self, body: Callable[[Any, Any], Any]) -> None:
        self.user_function = body
        self.__name__ = name_of(body)

    def __call__(self, carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        i, value = carry
        next_i = _increment(i)
        return (next_i, self.user_function(i, value)), None


class _Advance:
    """Body of a fori_loop as the body of a while_loop that also carries the counter and its end.

    ``place_of_value`` is the index of the user's carry in the loop's carry, for messages.
    """

    loop = "fori_loop"
    place_of_value = 2

    def __init__(self, body: Callable[[Any, Any], Any]) -> None:
        self.user_function = body
        self.__name__ = name_of(body)

    def __call__(self, carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        i, end, value = carry
        return _increment(i), end, self.user_function(i, value)


def _is_below_end(carry: tuple[Any, Any, Any]) -> Any:
    return lt(carry[0], carry[1])


def _increment(i: Any) -> Any:
    return add(i, 1)


def _to_whole_number(name: str, bound: Any) -> int:
    """Return a concrete bound as an int; raise TypeError if it is not a whole number.

    ``name`` is that of the bound, for the message.
    """
    number = int(bound)
    if not is_integer(aval_of(bound).dtype) and number != float(bound):
        raise TypeError(f"fori_loop takes whole numbers as bounds; {name} is {bound}{here()}")
    return number


def _to_common_type(lower: Any, upper: Any) -> tuple[Any, Any]:
    """Return both bounds in one dtype; raise TypeError if dtypes differ and neither bound is a Python integer."""
    a, b = aval_of(lower), aval_of(upper)
    if a.dtype == b.dtype:
        return lower, upper
    if not (is_integer(a.dtype) and is_integer(b.dtype) and (a.weak_type or b.weak_type)):
        raise TypeError(
            f"fori_loop takes bounds of one type, got {a.dtype.name} and {b.dtype.name}{here()}; convert one with "
            "astype, or use a Python number"
        )
    strong = a if b.weak_type else b
    return as_type(lower, strong), as_type(upper, strong)
