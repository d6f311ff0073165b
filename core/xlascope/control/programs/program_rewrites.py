"""Programs with the same equations and other operands or results."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.jaxpr import ClosedJaxpr, Jaxpr
from .interning import intern_program


def convert_constvars_to_operands(program: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program with its constants as leading operands; the result is cached with the program."""
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


def latest_program(programs: Sequence[ClosedJaxpr]) -> ClosedJaxpr:
    """Return the most recently created of several programs, in which to cache what is derived from all of them.

    An entry there does not outlive the youngest: a loop that combines a new function in each run with one that is
    always the same leaves no entries in the latter.
    """
    return max(programs, key=lambda program: program.serial)


def permute_program(program: ClosedJaxpr, operands: Sequence[int], results: Sequence[int]) -> ClosedJaxpr:
    """Return the program with its operands and results in another order.

    ``operands`` and ``results`` are the indices of the old ones; those whose index is missing are dropped.
    """
    key = ("permuted", tuple(operands), tuple(results))
    permuted_program = program.derived.get(key)
    if permuted_program is None:
        jaxpr = program.jaxpr
        invars = [jaxpr.invars[i] for i in operands]
        outvars = [jaxpr.outvars[i] for i in results]
        permuted_program = program.derived[key] = ClosedJaxpr(Jaxpr((), invars, outvars, jaxpr.raw, jaxpr.name))
    return permuted_program
