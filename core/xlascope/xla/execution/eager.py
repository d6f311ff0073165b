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
from ...lru_cache import FastLRUCache, LRUCache
from ...records.stage_spans import stage_span
from ...runtime.boot import default_registry, disable_jit
from ..arrays.key_array import KeyArray
from ..arrays.runtime_errors import deleted_error
from ..cache.background_compilation import drop_finished
from ..compilation.compile_request import CompileRequest
from ..devices.backend import ArrayImpl
from ..system.hooks import HOOKS
from .call_cache import make_pjit
from .executables import FastpathData, find_or_compile
from .placement import placement_of

#: Operations with different parameters are different keys: a loop over slices makes many.
_compiled_ops: FastLRUCache[Operation, Any] = FastLRUCache(1024)
_MAX_UNCACHED_CALLS = 64
#: Least recently used eager programs beyond this number are dropped: jaxlib holds about 0.2 MB for a small one.
_MAX_EAGER_PROGRAMS = 2048
_pjit_cache = _jax.PjitFunctionCache(_MAX_EAGER_PROGRAMS)
_key_counter = itertools.count()
_leaf_treedef = default_registry.flatten(0)[1]


def execute(operation: Operation, operands: Sequence[Any]) -> list[Any]:
    """Execute one operation on arrays now and return the list of its results."""
    results = execute_single(operation, operands)
    return results if isinstance(results, list) else [results]


def execute_single(operation: Operation, operands: Sequence[Any]) -> Any:
    """Execute one operation like :func:`execute`, but return the bare result when there is just one."""
    function = operation.eager_function or _compiled_ops.get(operation) or _compiled_op(operation)
    try:
        return function(*operands)
    except ValueError as error:
        require_live_operands(error, operation, operands)
        raise


def require_live_operands(error: ValueError, operation: Operation, operands: Sequence[Any]) -> None:
    """Raise RuntimeError if an operand is deleted and ``error`` may be jaxlib's, also from a call repeated in C++."""
    if error.__class__ is not ValueError:
        return
    for index, x in enumerate(operands):
        if isinstance(x, (ArrayImpl, KeyArray)) and x.is_deleted():
            raise deleted_error(x, f"operand {index} of {operation.name}") from None


def _compiled_op(operation: Operation) -> Any:
    """Return the function that executes an operation, from a cache: a compiled program, or Python for some operations.

    It is cached by the operation, or with the program that the operation holds. An operation that holds a Python
    function runs that function.
    """
    if operation.stage_rule is not None:
        return operation.expand
    if operation.host_rule is not None:
        return operation.host_rule
    if operation.interned_operations is not None and operation.memo is None:  # a parameter is unexpectedly a float
        return _compile_on_demand(operation)
    cache: FastLRUCache[Any, Any] = _compiled_ops if operation.holder is None else operation.holder.derived
    # an operation that just wraps a program is compiled by that program: its rules may be new objects at each call
    key = operation if operation.as_single_program() is None else "alone"
    function = cache.get(key) or cache.promote(key)
    if function is None:
        function = cache.insert(key, _compile_on_demand(operation))
    if not operation.parametrized and operation.memo is not None and cache is _compiled_ops:
        object.__setattr__(operation, "eager_function", function)  # as many as there are such classes
    return function


def _compile_on_demand(operation: Operation) -> Any:
    #: Programs of the calls that jaxlib does not repeat on its own.
    programs: LRUCache[tuple[ShapedArray, ...], ClosedJaxpr] = LRUCache(_MAX_UNCACHED_CALLS // 2)
    single_program, name = operation.as_single_program(), operation.name
    make_program = (
        functools.partial(_single_op_program, operation) if single_program is None else lambda avals: single_program
    )

    def cache_miss(*operands: Any) -> tuple[Any, FastpathData | None, bool]:
        # It must not hold an operation that wraps a program: that one holds this function, through jaxlib's.
        arguments = [HOOKS.unwrap_operand(x) for x in operands]
        avals = tuple([HOOKS.operand_aval(x) for x in arguments])
        program = programs.get(avals) or make_program(avals)
        executable = find_or_compile(CompileRequest(program), placement_of(arguments))
        with stage_span("eager", 0, name):
            results = executable(arguments, avals)
        tree = _leaf_treedef if len(results) == 1 else default_registry.flatten(results)[1]
        fast = executable.fastpath_data(tree, arguments)
        if fast is None or disable_jit.value or any(x is not y for x, y in zip(arguments, operands, strict=True)):
            programs[avals] = program  # jaxlib cannot cache calls with array-like objects
        return (results[0] if len(results) == 1 else results), fast, False

    def without_jit(*operands: Any) -> Any:
        return cache_miss(*operands)[0]

    # jaxlib holds the key where the garbage collector does not look: it must not refer to the program.
    key = (operation,) if operation.holder is None else (operation.name, next(_key_counter))
    return make_pjit(operation.name, without_jit, cache_miss, (), (), key, _pjit_cache)


def _single_op_program(operation: Operation, avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    invars = [Var(aval) for aval in avals]
    outvars = [Var(aval) for aval in operation.result_types(tuple(avals))]
    raw = [(operation, invars, outvars, None, -1, None)]
    return ClosedJaxpr(Jaxpr((), invars, outvars, raw, operation.name))


def clear() -> None:
    """Clear the compiled single operations and jaxlib's call caches, and drop finished background compilations."""
    _compiled_ops.clear()
    drop_finished()
    _jax.PjitFunctionCache.clear_all()
