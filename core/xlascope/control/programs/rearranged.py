"""Programs with the same equations and other operands or results."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.jaxpr import ClosedJaxpr, Jaxpr
from .interning import intern_program


def without_constants(program: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program with its constants as leading operands."""
    converted = program.derived.get("without constants")
    if converted is None:
        jaxpr = program.jaxpr
        converted_jaxpr = type(jaxpr)(
            (),
            (*jaxpr.constvars, *jaxpr.invars),
            jaxpr.outvars,
            jaxpr.raw,
            jaxpr.name,
            lambda: ("",) * len(jaxpr.constvars) + jaxpr.argument_names,
        )
        converted = program.derived["without constants"] = intern_program(ClosedJaxpr(converted_jaxpr))
    return converted


def youngest(programs: Sequence[ClosedJaxpr]) -> ClosedJaxpr:
    """Return the most recently created program, which holds what is derived from several.

    So a loop that combines a new function at each run with one that is always the same leaves no entries in the
    latter.
    """
    return max(programs, key=lambda program: program.serial)


def permuted(program: ClosedJaxpr, operands: Sequence[int], results: Sequence[int]) -> ClosedJaxpr:
    """Return the program with its operands and results in another order; indices that are not given are dropped."""
    key = ("permuted", tuple(operands), tuple(results))
    permuted_program = program.derived.get(key)
    if permuted_program is None:
        jaxpr = program.jaxpr
        invars = [jaxpr.invars[i] for i in operands]
        outvars = [jaxpr.outvars[i] for i in results]
        permuted_program = program.derived[key] = ClosedJaxpr(Jaxpr((), invars, outvars, jaxpr.raw, jaxpr.name))
    return permuted_program
