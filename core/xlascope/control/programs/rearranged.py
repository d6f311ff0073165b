"""The same program with its operands and results in another order."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.jaxpr import ClosedJaxpr, Jaxpr
from .interning import intern_program


def without_constants(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program with its constants as leading operands."""
    found = program.derived.get("without constants")
    if found is None:
        jaxpr = program.jaxpr
        opened = type(jaxpr)(
            (),
            (*jaxpr.constvars, *jaxpr.invars),
            jaxpr.outvars,
            jaxpr.raw,
            jaxpr.name,
            lambda: ("",) * len(jaxpr.constvars) + jaxpr.argument_names,
        )
        found = program.derived["without constants"] = intern_program(ClosedJaxpr(opened))
    return found


def youngest(programs: Sequence[ClosedJaxpr]) -> ClosedJaxpr:
    """The program that was made last: what is derived from several is kept with it.

    So a loop with a function of its own each time it is run, beside one that is always the same, leaves nothing with
    the latter.
    """
    return max(programs, key=lambda program: program.serial)


def permuted(program: ClosedJaxpr, operands: Sequence[int], results: Sequence[int]) -> ClosedJaxpr:
    """The program with its operands and results in another order; those that are not named are left out."""
    key = ("permuted", tuple(operands), tuple(results))
    found = program.derived.get(key)
    if found is None:
        jaxpr = program.jaxpr
        invars = [jaxpr.invars[i] for i in operands]
        outvars = [jaxpr.outvars[i] for i in results]
        found = program.derived[key] = ClosedJaxpr(Jaxpr((), invars, outvars, jaxpr.raw, jaxpr.name))
    return found
