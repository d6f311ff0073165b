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

F = TypeVar("F", bound=Callable[..., Any])


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


def direct_binary(operation: type[Operation], kinds: str) -> Callable[[F], F]:
    """Return a decorator for a function that is ``operation`` for two arrays of one type.

    The arguments are those of :func:`direct_unary`.
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
        def call_direct(x: Any, y: Any, /) -> Any:
            try:
                if (
                    y.__class__ in ARRAY_TYPES
                    and x.__class__ in ARRAY_TYPES
                    and (aval := x.aval) is y.aval
                    and KINDS[aval.dtype] in kinds
                ):
                    trace = STATE.trace
                    if trace is not None:
                        return trace.bind(operation.instance, (x, y))[0]
                    try:
                        return run(x, y)
                    except ValueError as error:
                        require_live_operands(error, operation.instance, (x, y))
                        raise
                return function(x, y)
            except BaseException as error:
                filter_traceback(error)
                raise

        return call_direct  # type: ignore[return-value]

    return decorate
