"""A program with those of its repeats as loops that are worth it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from ...ir.jaxpr import Atom, ClosedJaxpr, Jaxpr, RawEquation
from ...xla.reroll import Reroll
from ..flow.scan import Scan
from ..programs.call import Calling
from .gathering import gathered
from .loops import Loop, loops_of
from .stacks import Stacks
from .steps import Step, Steps, steps_of
from .weighing import is_worth_it, spares_compiling, weight_of
from .writing import written

#: A program of fewer equations does not repeat enough, and one of more takes seconds to look through.
_FEWEST, _MOST = 6, 100_000

#: Says if a loop is worth it, of the loop, its number among those of some stacks with these (None while stacks are not
#: looked at), the steps, and the program's weight.
Worth = Callable[[Loop, tuple[int, Stacks] | None, Sequence[Step], int], bool]


def rerolled(program: ClosedJaxpr, how: Reroll) -> ClosedJaxpr:
    """The program with loops in place of repeats, in the programs that it calls too; itself where there are none."""
    return rerolled_where(program, is_worth_it if how == "auto" else spares_compiling)


def rerolled_where(program: ClosedJaxpr, worth: Worth) -> ClosedJaxpr:
    """The program with those of its repeats as loops that are ``worth`` it."""
    key = ("rerolled", worth)
    found: ClosedJaxpr | Literal["itself"] | None = program.derived.get(key)
    if found is None:
        jaxpr = _with_loops(_inside(program.jaxpr, worth), worth)
        # a program that held itself would live until cycles are looked for
        found = "itself" if jaxpr is program.jaxpr else ClosedJaxpr(jaxpr, program.consts)
        program.derived[key] = found
    return program if found == "itself" else found


def _inside(jaxpr: Jaxpr, worth: Worth) -> Jaxpr:
    """The program with loops in the programs that it calls."""
    raw = [_inside_of(equation, worth) for equation in jaxpr.raw]
    if all(a is b for a, b in zip(raw, jaxpr.raw, strict=True)):
        return jaxpr
    return Jaxpr(jaxpr.constvars, jaxpr.invars, jaxpr.outvars, raw, jaxpr.name, lambda: jaxpr.argument_names)


def _inside_of(equation: RawEquation, worth: Worth) -> RawEquation:
    operation: Any = equation[0]
    if not isinstance(operation, Calling | Scan):
        return equation
    body = rerolled_where(operation.jaxpr, worth)
    if body is operation.jaxpr:
        return equation
    if isinstance(operation, Scan):
        return operation.of(body, operation.num_consts, operation.num_carry), *equation[1:]
    return operation.of(body), *equation[1:]


def _with_loops(jaxpr: Jaxpr, worth: Worth) -> Jaxpr:
    if not _FEWEST <= len(jaxpr.raw) <= _MOST:
        return jaxpr
    found = steps_of(jaxpr)
    whole = sum(weight_of(step.operation) for step in found.steps)
    orders = [found.steps, gathered(found.steps)]
    plans = [(steps, _stacks_of(steps, found.results, worth, whole)) for steps in orders if steps is not None]
    steps, stacks = max(plans, key=lambda plan: _spared(*plan))
    return written(jaxpr, Steps(steps, found.results), stacks) if stacks.loops else jaxpr


def _stacks_of(steps: Sequence[Step], results: Sequence[Atom], worth: Worth, whole: int) -> Stacks:
    """The stacks of those loops that are worth it: without one, what others need may be another matter."""
    loops = [loop for loop in loops_of(steps, results) if worth(loop, None, steps, whole)]
    while True:
        stacks = Stacks(steps, results, loops)
        kept = [loop for n, loop in enumerate(loops) if worth(loop, (n, stacks), steps, whole)]
        if len(kept) == len(loops):
            return stacks
        loops = kept


def _spared(steps: Sequence[Step], stacks: Stacks) -> int:
    """How many equations less are compiled."""
    return sum((each.repeats - 1) * sum(weight_of(s.operation) for s in each.steps(steps, 0)) for each in stacks.loops)
