"""Single operations without a program around them: each is a small program of its own."""

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

#: An operation with other parameters is another one: a loop over slices makes many.
_eager: Recent[Operation, Any] = Recent(1024)
_MOST_RETURNING = 64
#: Compiled programs of all operations that run at once, the last ones used: of a small one jaxlib holds about 0.2 MB.
_MOST_EAGER_PROGRAMS = 2048
_eager_programs = _jax.PjitFunctionCache(_MOST_EAGER_PROGRAMS)
_keys = itertools.count()
_leaf = default_registry.flatten(0)[1]


def run(operation: Operation, operands: Sequence[Any]) -> list[Any]:
    """Run one operation on arrays now; returns its results."""
    found = run1(operation, operands)
    return found if isinstance(found, list) else [found]


def run1(operation: Operation, operands: Sequence[Any]) -> Any:
    """Like :func:`run`, giving the result itself when there is just one."""
    function = _eager.get(operation)
    if function is None:
        function = _function_of(operation)
    try:
        return function(*operands)
    except ValueError as error:  # also from a call that jaxlib repeats on its own, of an operand that is gone
        if error.__class__ is ValueError:
            _require_live_operands(operation, operands)
        raise


def _require_live_operands(operation: Operation, operands: Sequence[Any]) -> None:
    for index, x in enumerate(operands):
        if isinstance(x, (ArrayImpl, KeyArray)) and x.is_deleted():
            raise deleted_error(x, f"operand {index} of {operation.name}") from None


def _function_of(operation: Operation) -> Any:
    """The compiled form of an operation; one that holds a program keeps it with the program, and lives as long.

    One that holds a Python function runs it.
    """
    if operation.stage_rule is not None:
        return operation.expand
    if operation.host_rule is not None:
        return operation.host_rule
    if operation.made is not None and operation.memo is None:  # a parameter is a float by mistake
        return _compile_on_demand(operation)
    cache: Recent[Any, Any] = _eager if operation.holder is None else operation.holder.derived
    # of an operation that is nothing but a program, the program is compiled: its rules may be made anew at each call
    key = operation if operation.whole() is None else "alone"
    found = cache.get(key) or cache.again(key)
    return cache.keep(key, _compile_on_demand(operation)) if found is None else found


def _compile_on_demand(operation: Operation) -> Any:
    #: Of the calls that have to come back.
    programs: RecentlyUsed[tuple[ShapedArray, ...], ClosedJaxpr] = RecentlyUsed(_MOST_RETURNING // 2)
    whole = operation.whole()
    make_program = functools.partial(_program_of, operation) if whole is None else lambda avals: whole

    def cache_miss(*operands: Any) -> tuple[Any, FastpathData | None, bool]:
        arguments = [HOOKS.opened(x) for x in operands]
        avals = tuple([HOOKS.operand_aval(x) for x in arguments])
        program = programs.get(avals) or make_program(avals)
        executable = executable_of(CompileRequest(program), place_of(arguments))
        results = executable(arguments, avals)
        tree = _leaf if len(results) == 1 else default_registry.flatten(results)[1]
        fast = executable.fastpath(tree, arguments)
        if fast is None or disable_jit.value or any(x is not y for x, y in zip(arguments, operands, strict=True)):
            programs[avals] = program  # jaxlib does not know the kinds of objects that stand for arrays
        return (results[0] if len(results) == 1 else results), fast, False

    def without_jit(*operands: Any) -> Any:
        return cache_miss(*operands)[0]

    # jaxlib holds the key where the garbage collector does not look: it must not lead back to the program.
    key = (operation,) if operation.holder is None else (operation.name, next(_keys))
    return make_pjit(operation.name, without_jit, cache_miss, (), (), key, _eager_programs)


def _program_of(operation: Operation, avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    invars = [Var(aval) for aval in avals]
    outvars = [Var(aval) for aval in operation.result_types(tuple(avals))]
    raw = [(operation, invars, outvars, None, -1, None)]
    return ClosedJaxpr(Jaxpr((), invars, outvars, raw, operation.name))


def clear() -> None:
    """Forget the compiled single operations, and all calls that jaxlib repeats on its own."""
    _eager.clear()
    forget_left()
    _jax.PjitFunctionCache.clear_all()
