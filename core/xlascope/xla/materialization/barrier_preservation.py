"""Preservation of barriers until XLA's CPU back end has fused, and the passes to disable for it.

XLA's pipeline removes barriers before fusion. Most of the later code supports them; two code generators do not,
and abort the process at one: that of the smallest loops (some hundred bytes), which a separate pass selects, and
that of the computations that reductions, sorts and similar operations apply to elements.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Set
from typing import Any, NamedTuple

from ..mlir.operation_log import LoggedBlock, ModuleLog
from .graph import CALLEE_ATTRIBUTES, size_of

#: The pass that removes barriers, and the one that selects the smallest loops.
BARRIER_EXPANDER_PASS, LOOP_HOISTING_PASS = "cse_barrier_expander", "small-while-loop-hoisting"

#: The context of a barrier: the program itself or its branches, a loop, or a computation applied to elements. The
#: later ones hold for everything nested in them.
_AT_TOP_LEVEL, _IN_LOOP, _IN_ELEMENTWISE_BODY = range(3)
_REGION_CONTEXTS = {
    "stablehlo.while": _IN_LOOP,
    "stablehlo.case": _AT_TOP_LEVEL,
    "stablehlo.if": _AT_TOP_LEVEL,
    "sdy.manual_computation": _AT_TOP_LEVEL,
}


#: A loop that carries this many bytes is certainly not one of the smallest: XLA counts what a loop reads and writes,
#: and selects it below 1,024.
_MIN_CARRIED_BYTES = 4096


#: The result of an operation in the log.
_RESULT = operator.itemgetter(3)


class _FunctionSummary(NamedTuple):
    """Contexts in which a function has barriers, its calls with their contexts, and the bytes that its loops carry.

    A context is ``_AT_TOP_LEVEL``, ``_IN_LOOP`` or ``_IN_ELEMENTWISE_BODY``. ``calls`` has pairs of the called
    function's symbol and the context of the call; ``loop_bytes`` has a number for each loop.
    """

    barriers: set[int]
    calls: set[tuple[str, int]]
    loop_bytes: list[int]


def is_at_top_level(value: Any) -> bool:
    """Return whether the operation that defines a value is in the main function of its module itself."""
    outer = value.owner.parent
    return outer.name == "func.func" and outer.attributes["sym_name"].value == "main"


def passes_to_disable(module: Any, log: ModuleLog | None = None, inserted: Iterable[Any] = ()) -> tuple[str, ...]:
    """Return the XLA passes to disable so that a module's barriers survive until fusion; () where they cannot.

    They cannot in computations that a reduction or a sort applies to elements, nor in loops if the module has a loop
    so small that it might become slower without one of the passes. If there is a complete ``log`` of the module, it is
    read instead; it does not have the barriers behind the values ``inserted``.
    """
    functions = _summarize_functions(module, log, inserted)
    contexts = _barrier_contexts(functions)
    if _IN_ELEMENTWISE_BODY in contexts:
        return ()
    if _IN_LOOP not in contexts:
        return (BARRIER_EXPANDER_PASS,)
    return () if _has_small_loops(functions) else (BARRIER_EXPANDER_PASS, LOOP_HOISTING_PASS)


def has_small_loops(module: Any, log: ModuleLog | None = None) -> bool:
    """Return whether a module has a loop that may be one of the smallest, for which XLA has faster code."""
    return _has_small_loops(_summarize_functions(module, log))


def _has_small_loops(functions: dict[str, _FunctionSummary]) -> bool:
    return any(carried < _MIN_CARRIED_BYTES for function in functions.values() for carried in function.loop_bytes)


def _summarize_functions(
    module: Any, log: ModuleLog | None, inserted: Iterable[Any] = ()
) -> dict[str, _FunctionSummary]:
    if log is not None:
        ids = frozenset(map(id, inserted))
        return {symbol: _summarize_log(block, ids) for symbol, block in log.functions.items()}
    return {
        view.operation.attributes["sym_name"].value: _summarize(view.operation)
        for view in module.body.operations
        if view.operation.name == "func.func"
    }


def _summarize(function: Any) -> _FunctionSummary:
    """Summarize the barriers, calls and loops of a function (``func.func``)."""
    summary = _FunctionSummary(set(), set(), [])
    pending = [(function, _AT_TOP_LEVEL)]
    while pending:
        outer, context = pending.pop()
        for region in outer.regions:
            for block in region.blocks:
                for view in block.operations:
                    operation = view.operation
                    name = operation.name
                    if name == "stablehlo.optimization_barrier":
                        summary.barriers.add(context)
                    elif name in CALLEE_ATTRIBUTES:
                        summary.calls.add((operation.attributes[CALLEE_ATTRIBUTES[name]].value, context))
                    elif operation.regions:
                        if name == "stablehlo.while":
                            summary.loop_bytes.append(sum(size_of(x.type).bytes for x in operation.operands))
                        pending.append((operation, max(context, _REGION_CONTEXTS.get(name, _IN_ELEMENTWISE_BODY))))
    return summary


def _summarize_log(block: LoggedBlock, barrier_ids: Set[int]) -> _FunctionSummary:
    """Summarize a function by the log of its operations, with barriers behind the values with these ids."""
    summary = _FunctionSummary(set(), set(), [])
    pending = [(block, _AT_TOP_LEVEL)]
    while pending:
        block, context = pending.pop()
        if not barrier_ids.isdisjoint(map(id, map(_RESULT, block.entries))):
            summary.barriers.add(context)
        for name, operands, _, result, attributes in [entry for entry in block.entries if entry[2] is None]:
            if name == "stablehlo.optimization_barrier" or not barrier_ids.isdisjoint(map(id, result.results)):
                summary.barriers.add(context)
            if name in CALLEE_ATTRIBUTES:
                if attributes:
                    callee = attributes["callee"]
                else:
                    callee = result.operation.attributes[CALLEE_ATTRIBUTES[name]].value
                summary.calls.add((callee, context))
            elif result.blocks:
                if name == "stablehlo.while":
                    summary.loop_bytes.append(sum(size_of(x.type).bytes for x in operands))
                inner = max(context, _REGION_CONTEXTS.get(name, _IN_ELEMENTWISE_BODY))
                pending += [(inner_block, inner) for inner_block in result.blocks]
    return summary


def _barrier_contexts(functions: dict[str, _FunctionSummary]) -> set[int]:
    """Return the contexts in which a module has barriers once calls are inlined.

    ``functions`` are the summaries by symbol; ``main`` is where the program begins.
    """
    contexts: set[int] = set()
    visited: set[tuple[str, int]] = set()
    pending = [("main", _AT_TOP_LEVEL)]
    while pending:
        name, context = pending.pop()
        if (name, context) in visited:
            continue
        visited.add((name, context))
        contexts.update(max(context, inner) for inner in functions[name].barriers)
        pending += [(callee, max(context, inner)) for callee, inner in functions[name].calls]
    return contexts
