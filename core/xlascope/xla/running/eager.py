"""Eager execution: operations outside of any trace, each compiled as a small program."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

from jaxlib import _jax

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Var
from ...ir.operation import Operation
from ...recent import Recent, RecentlyUsed
from ...runtime.boot import default_registry, disable_jit
from ..arrays.failures import deleted_error
from ..arrays.key_array import KeyArray
from ..cache.compiling import forget_left
from ..compilation.compile_request import CompileRequest
from ..devices.backend import ArrayImpl
from ..system.hooks import HOOKS
from .call_cache import make_pjit
from .executables import FastpathData, executable_of
from .places import place_of

#: Operations with different parameters are different keys: a loop over slices makes many.
_eager: Recent[Operation, Any] = Recent(1024)
_MOST_RETURNING = 64
#: Least recently used eager programs beyond this number are dropped: jaxlib holds about 0.2 MB for a small one.
_MOST_EAGER_PROGRAMS = 2048
_eager_programs = _jax.PjitFunctionCache(_MOST_EAGER_PROGRAMS)
_keys = itertools.count()
_leaf = default_registry.flatten(0)[1]


def run(operation: Operation, operands: Sequence[Any]) -> list[Any]:
    """Execute one operation on arrays now and return its list of results."""
    results = run1(operation, operands)
    return results if isinstance(results, list) else [results]


def run1(operation: Operation, operands: Sequence[Any]) -> Any:
    """Execute one operation like :func:`execute`, but return the bare result when there is just one."""
    function = _eager.get(operation)
    if function is None:
        function = _function_of(operation)
    try:
        return function(*operands)
    except ValueError as error:  # also from a call that jaxlib repeats in C++ with a deleted operand
        if error.__class__ is ValueError:
            _require_live_operands(operation, operands)
        raise


def _require_live_operands(operation: Operation, operands: Sequence[Any]) -> None:
    for index, x in enumerate(operands):
        if isinstance(x, (ArrayImpl, KeyArray)) and x.is_deleted():
            raise deleted_error(x, f"operand {index} of {operation.name}") from None


def _function_of(operation: Operation) -> Any:
    """Return the compiled function of an operation; one that holds a program is cached with that program.

    An operation that holds a Python function runs that function.
    """
    if operation.stage_rule is not None:
        return operation.expand
    if operation.host_rule is not None:
        return operation.host_rule
    if operation.made is not None and operation.memo is None:  # a parameter is unexpectedly a float
        return _compile_on_demand(operation)
    cache: Recent[Any, Any] = _eager if operation.holder is None else operation.holder.derived
    # an operation that just wraps a program is compiled by that program: its rules may be new objects at each call
    key = operation if operation.whole() is None else "alone"
    function = cache.get(key) or cache.again(key)
    return cache.keep(key, _compile_on_demand(operation)) if function is None else function


def _compile_on_demand(operation: Operation) -> Any:
    #: Programs of the calls that jaxlib does not repeat on its own.
    programs: RecentlyUsed[tuple[ShapedArray, ...], ClosedJaxpr] = RecentlyUsed(_MOST_RETURNING // 2)
    single_program = operation.whole()
    make_program = functools.partial(_program_of, operation) if single_program is None else lambda avals: single_program

    def cache_miss(*operands: Any) -> tuple[Any, FastpathData | None, bool]:
        arguments = [HOOKS.opened(x) for x in operands]
        avals = tuple([HOOKS.operand_aval(x) for x in arguments])
        program = programs.get(avals) or make_program(avals)
        executable = executable_of(CompileRequest(program), place_of(arguments))
        results = executable(arguments, avals)
        tree = _leaf if len(results) == 1 else default_registry.flatten(results)[1]
        fast = executable.fastpath(tree, arguments)
        if fast is None or disable_jit.value or any(x is not y for x, y in zip(arguments, operands, strict=True)):
            programs[avals] = program  # jaxlib cannot cache calls with array-like objects
        return (results[0] if len(results) == 1 else results), fast, False

    def without_jit(*operands: Any) -> Any:
        return cache_miss(*operands)[0]

    # jaxlib holds the key where the garbage collector does not look: it must not refer to the program.
    key = (operation,) if operation.holder is None else (operation.name, next(_keys))
    return make_pjit(operation.name, without_jit, cache_miss, (), (), key, _eager_programs)


def _program_of(operation: Operation, avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    invars = [Var(aval) for aval in avals]
    outvars = [Var(aval) for aval in operation.result_types(tuple(avals))]
    raw = [(operation, invars, outvars, None, -1, None)]
    return ClosedJaxpr(Jaxpr((), invars, outvars, raw, operation.name))


def clear() -> None:
    """Clear the compiled single operations, and all calls that jaxlib repeats on its own."""
    _eager.clear()
    forget_left()
    _jax.PjitFunctionCache.clear_all()
