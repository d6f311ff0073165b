"""Functions that are one operation where operands need no promotion: such a call is one frame of Python.

Outside of any trace the frame calls the compiled operation (jaxlib's C++), under a trace it binds the operation. All
other calls (numbers, NumPy arrays, operands of different types, dtypes that the function converts) run the function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..dtypes import KINDS
from ..ir.operation import Operation
from ..trace.state import STATE
from ..trace.trace_cache import ARRAY_TYPES
from ..trace.traceback_filtering import filter_traceback
from ..xla.execution.eager import execute_single, require_live_operands
from .promotion import KINDS_HOLDING_SCALAR, promote_scalar

F = TypeVar("F", bound=Callable[..., Any])

#: The dtype kinds that hold the values of Python's numbers. Truth values are none: strict promotion refuses them.
KINDS_HOLDING_NUMBER = {kind: KINDS_HOLDING_SCALAR[kind] for kind in (int, float, complex)}


def direct_unary(operation: type[Operation], kinds: str) -> Callable[[F], F]:
    """Return a decorator for a function that is ``operation`` for arrays with dtypes of ``kinds``.

    ``operation`` is a class of operations whose instance with all defaults is meant, ``kinds`` are the letters of dtype
    kinds, as in ``numpy.dtype.kind``.
    """

    def decorate(function: F) -> F:
        run: Callable[..., Any]

        def run_first(*operands: Any) -> Any:  # compiling the operation, and creating it, wait for its first use
            nonlocal run
            result = execute_single(operation.instance, operands)
            run = operation.instance.eager_function or run_first
            return result

        run = run_first

        @functools.wraps(function)
        def call_direct(x: Any, /) -> Any:
            try:
                if x.__class__ in ARRAY_TYPES and KINDS[x.aval.dtype] in kinds:
                    trace = STATE.trace
                    if trace is not None:
                        return trace.bind(operation.instance, (x,))[0]
                    try:
                        return run(x)
                    except ValueError as error:
                        require_live_operands(error, operation.instance, (x,))
                        raise
                return function(x)
            except BaseException as error:
                filter_traceback(error)
                raise

        return call_direct  # type: ignore[return-value]

    return decorate


def direct_binary(operation: type[Operation], kinds: str, with_numbers: bool = True) -> Callable[[F], F]:
    """Return a decorator for a function that is ``operation`` for two arrays of one type.

    The arguments are those of :func:`direct_unary`, and whether it is the operation also for an array and a Python
    number after it that the array's dtype can hold.
    """
    holding = KINDS_HOLDING_NUMBER if with_numbers else {}

    def decorate(function: F) -> F:
        run: Callable[..., Any]

        def run_first(*operands: Any) -> Any:
            nonlocal run
            result = execute_single(operation.instance, operands)
            run = operation.instance.eager_function or run_first
            return result

        run = run_first

        @functools.wraps(function)
        def call_direct(x: Any, y: Any, /) -> Any:
            try:
                kind = y.__class__
                if kind in ARRAY_TYPES:
                    if (
                        x.__class__ not in ARRAY_TYPES
                        or (aval := x.aval) is not y.aval
                        or KINDS[aval.dtype] not in kinds
                    ):
                        return function(x, y)
                    trace, operand = STATE.trace, y
                elif (
                    kind in holding
                    and x.__class__ in ARRAY_TYPES
                    and (dtype_kind := KINDS[x.aval.dtype]) in kinds
                    and dtype_kind in holding[kind]
                ):
                    trace = STATE.trace
                    operand = promote_scalar(y, x.aval.dtype, trace)
                else:
                    return function(x, y)
                if trace is not None:
                    return trace.bind(operation.instance, (x, operand))[0]
                try:
                    return run(x, operand)
                except ValueError as error:
                    require_live_operands(error, operation.instance, (x, operand))
                    raise
            except BaseException as error:
                filter_traceback(error)
                raise

        return call_direct  # type: ignore[return-value]

    return decorate
