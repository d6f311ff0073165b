"""Preservation of barriers until XLA's CPU back end has fused, and the passes to disable for it.

XLA's pipeline removes barriers before fusion. Most of the later code supports them; two code generators do not,
and abort the process at one: that of the smallest loops (some hundred bytes), which a separate pass selects, and
that of the computations that reductions, sorts and similar operations apply to elements.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .graph import CALLING, size_of

#: The pass that removes barriers, and the one that selects the smallest loops.
TAKING_OUT, PICKING_LOOPS = "cse_barrier_expander", "small-while-loop-hoisting"

#: The context of a barrier: the program itself or its branches, a loop, or a computation applied to elements. The
#: later ones hold for everything nested in them.
_IN_PROGRAM, _IN_LOOP, _FOR_ELEMENTS = range(3)
_WITHIN = {
    "stablehlo.while": _IN_LOOP,
    "stablehlo.case": _IN_PROGRAM,
    "stablehlo.if": _IN_PROGRAM,
    "sdy.manual_computation": _IN_PROGRAM,
}


#: A loop that carries this many bytes is certainly not one of the smallest: XLA counts what a loop reads and writes,
#: and selects it below 1,024.
_CARRIED = 4096


class _Function(NamedTuple):
    """Contexts in which a function has barriers, its calls with their contexts, and the bytes its loops carry."""

    barriers: set[int]
    calls: set[tuple[str, int]]
    loops: list[int]


def passes_left_out(module: Any) -> tuple[str, ...]:
    """Return the XLA passes to disable so that a module's barriers survive; none where they cannot.

    They cannot survive in loops either if the smallest ones might become slower.
    """
    functions = _functions(module)
    contexts = _places(functions)
    if _FOR_ELEMENTS in contexts:
        return ()
    if _IN_LOOP not in contexts:
        return (TAKING_OUT,)
    return () if _has_small_loops(functions) else (TAKING_OUT, PICKING_LOOPS)


def has_small_loops(module: Any) -> bool:
    """Return whether some loop may be one of the smallest, for which XLA has faster code."""
    return _has_small_loops(_functions(module))


def _has_small_loops(functions: dict[str, _Function]) -> bool:
    return any(carried < _CARRIED for function in functions.values() for carried in function.loops)


def _functions(module: Any) -> dict[str, _Function]:
    return {
        view.operation.attributes["sym_name"].value: _look(view.operation)
        for view in module.body.operations
        if view.operation.name == "func.func"
    }


def _look(function: Any) -> _Function:
    """Summarize the barriers, calls and loops of a function."""
    summary = _Function(set(), set(), [])
    pending = [(function, _IN_PROGRAM)]
    while pending:
        outer, context = pending.pop()
        for region in outer.regions:
            for block in region.blocks:
                for view in block.operations:
                    operation = view.operation
                    name = operation.name
                    if name == "stablehlo.optimization_barrier":
                        summary.barriers.add(context)
                    elif name in CALLING:
                        summary.calls.add((operation.attributes[CALLING[name]].value, context))
                    elif operation.regions:
                        if name == "stablehlo.while":
                            summary.loops.append(sum(size_of(x.type).bytes for x in operation.operands))
                        pending.append((operation, max(context, _WITHIN.get(name, _FOR_ELEMENTS))))
    return summary


def _places(functions: dict[str, _Function]) -> set[int]:
    """Return the contexts in which barriers are, with calls inlined."""
    contexts: set[int] = set()
    visited: set[tuple[str, int]] = set()
    pending = [("main", _IN_PROGRAM)]
    while pending:
        name, context = pending.pop()
        if (name, context) in visited:
            continue
        visited.add((name, context))
        contexts.update(max(context, inner) for inner in functions[name].barriers)
        pending += [(callee, max(context, inner)) for callee, inner in functions[name].calls]
    return contexts
