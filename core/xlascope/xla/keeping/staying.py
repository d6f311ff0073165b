"""Whether barriers can stay in a module until XLA's CPU back end has fused, and what has to be left out for it.

Its pipeline takes them out before. Most of what comes after knows them; two writers of code do not, and end the process
over one: what writes the smallest loops (some hundred bytes), which a pass of its own picks out, and what writes the
programs that reductions, sorts and their kin apply to elements.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .graph import CALLING, size_of

#: The pass that takes barriers out, and the one that picks out the smallest loops.
TAKING_OUT, PICKING_LOOPS = "cse_barrier_expander", "small-while-loop-hoisting"

#: Where a barrier is: in the program itself or its branches, in a loop, in what is applied to elements. The later ones
#: hold for all that is within them.
_IN_PROGRAM, _IN_LOOP, _FOR_ELEMENTS = range(3)
_WITHIN = {
    "stablehlo.while": _IN_LOOP,
    "stablehlo.case": _IN_PROGRAM,
    "stablehlo.if": _IN_PROGRAM,
    "sdy.manual_computation": _IN_PROGRAM,
}


#: What a loop carries at least, in bytes, that is certainly none of the smallest: XLA counts what it reads and writes,
#: and takes a loop for one below 1,024.
_CARRIED = 4096


class _Function(NamedTuple):
    """Where a function has barriers, what it calls from where, and the bytes that its loops carry."""

    barriers: set[int]
    calls: set[tuple[str, int]]
    loops: list[int]


def passes_left_out(module: Any) -> tuple[str, ...]:
    """The passes that XLA is told to leave out for the barriers of a module; none where they cannot stay.

    They cannot in loops either where the smallest ones might be slower for it.
    """
    functions = _functions(module)
    places = _places(functions)
    if _FOR_ELEMENTS in places:
        return ()
    if _IN_LOOP not in places:
        return (TAKING_OUT,)
    return () if _has_small_loops(functions) else (TAKING_OUT, PICKING_LOOPS)


def has_small_loops(module: Any) -> bool:
    """Whether some loop may be one of the smallest, which are faster as XLA writes them."""
    return _has_small_loops(_functions(module))


def _has_small_loops(functions: dict[str, _Function]) -> bool:
    return any(carried < _CARRIED for each in functions.values() for carried in each.loops)


def _functions(module: Any) -> dict[str, _Function]:
    return {
        view.operation.attributes["sym_name"].value: _look(view.operation)
        for view in module.body.operations
        if view.operation.name == "func.func"
    }


def _look(function: Any) -> _Function:
    """What is in a function."""
    found = _Function(set(), set(), [])
    pending = [(function, _IN_PROGRAM)]
    while pending:
        outer, place = pending.pop()
        for region in outer.regions:
            for block in region.blocks:
                for view in block.operations:
                    operation = view.operation
                    name = operation.name
                    if name == "stablehlo.optimization_barrier":
                        found.barriers.add(place)
                    elif name in CALLING:
                        found.calls.add((operation.attributes[CALLING[name]].value, place))
                    elif operation.regions:
                        if name == "stablehlo.while":
                            found.loops.append(sum(size_of(x.type).bytes for x in operation.operands))
                        pending.append((operation, max(place, _WITHIN.get(name, _FOR_ELEMENTS))))
    return found


def _places(functions: dict[str, _Function]) -> set[int]:
    """Where barriers are, calls written out."""
    found: set[int] = set()
    known: set[tuple[str, int]] = set()
    pending = [("main", _IN_PROGRAM)]
    while pending:
        name, place = pending.pop()
        if (name, place) in known:
            continue
        known.add((name, place))
        found.update(max(place, inner) for inner in functions[name].barriers)
        pending += [(callee, max(place, inner)) for callee, inner in functions[name].calls]
    return found
