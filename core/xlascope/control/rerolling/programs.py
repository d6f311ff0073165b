"""A program with those of its repeats as loops that are worth it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from ...ir.jaxpr import Atom, ClosedJaxpr, Jaxpr, RawEquation
from ...xla.compilation.reroll import Reroll
from ..flow.scan import Scan
from ..programs.call import Calling
from .gathering import gathered
from .loop import Loop
from .loops import loops_of
from .stacks import Stacks
from .steps import Step, Steps, steps_of
from .weighing import LEAST, Of, is_worth_it, spares_compiling, weight_of
from .writing import written

#: A program of fewer equations does not repeat enough, and one of more takes seconds to look through.
_FEWEST, _MOST = 6, 100_000


class Rule(NamedTuple):
    """Which repeats become loops: those that are ``worth`` it (a loop, what is known of its stacks, the steps, and the
    program's weight) and spare at least so many equations.
    """

    worth: Callable[[Loop, Of, Sequence[Step], int], bool]
    least: int = 0


_RULES = {"auto": Rule(is_worth_it, LEAST), "always": Rule(spares_compiling, LEAST)}


def rerolled(program: ClosedJaxpr, how: Reroll) -> ClosedJaxpr:
    """The program with loops in place of repeats, in the programs that it calls too; itself where there are none."""
    return rerolled_by(_RULES[how], program)


def rerolled_by(rule: Rule, program: ClosedJaxpr) -> ClosedJaxpr:
    """The program with loops in place of those repeats that a rule says."""
    key = ("rerolled", rule)
    found: ClosedJaxpr | Literal["itself"] | None = program.derived.get(key)
    if found is None:
        jaxpr = _with_loops(_inside(program.jaxpr, rule), rule)
        # a program that held itself would live until cycles are looked for
        found = "itself" if jaxpr is program.jaxpr else ClosedJaxpr(jaxpr, program.consts)
        program.derived[key] = found
    return program if found == "itself" else found


def _inside(jaxpr: Jaxpr, rule: Rule) -> Jaxpr:
    """The program with loops in the programs that it calls."""
    raw = [_inside_of(equation, rule) for equation in jaxpr.raw]
    if all(a is b for a, b in zip(raw, jaxpr.raw, strict=True)):
        return jaxpr
    return Jaxpr(jaxpr.constvars, jaxpr.invars, jaxpr.outvars, raw, jaxpr.name, lambda: jaxpr.argument_names)


def _inside_of(equation: RawEquation, rule: Rule) -> RawEquation:
    operation: Any = equation[0]
    if not isinstance(operation, Calling | Scan):
        return equation
    body = rerolled_by(rule, operation.jaxpr)
    if body is operation.jaxpr:
        return equation
    if isinstance(operation, Scan):
        return operation.of(body, operation.num_consts, operation.num_carry), *equation[1:]
    return operation.of(body), *equation[1:]


def _with_loops(jaxpr: Jaxpr, rule: Rule) -> Jaxpr:
    if not _FEWEST <= len(jaxpr.raw) <= _MOST:
        return jaxpr
    given = frozenset(map(id, (*jaxpr.constvars, *jaxpr.invars)))
    found = steps_of(jaxpr)
    orders = found.steps, gathered(found.steps)
    plans = [_Plan(steps, found.results, given, rule) for steps in orders if steps is not None]
    best = max(plans, key=lambda plan: plan.spared)
    return written(jaxpr, Steps(best.steps, found.results), best.stacks) if best.stacks.loops else jaxpr


class _Plan:
    """The loops of steps in some order that are worth it, and their stacks."""

    def __init__(self, steps: list[Step], results: Sequence[Atom], given: frozenset[int], rule: Rule) -> None:
        self.steps, self.results, self.rule = steps, results, rule
        self.weights = [weight_of(step.operation) for step in steps]
        self.whole = sum(self.weights)
        loops = loops_of(steps, results, lambda loop: self._worth(loop, given), self.weights, rule.least)
        self.stacks = self._stacks(loops)

    @property
    def spared(self) -> int:
        """How many equations less are compiled."""
        loops = self.stacks.loops
        return sum((each.repeats - 1) * sum(self.weights[each.begin : each.begin + each.period]) for each in loops)

    def _worth(self, loop: Loop, of: Of) -> bool:
        return self.rule.worth(loop, of, self.steps, self.whole)

    def _stacks(self, loops: list[Loop]) -> Stacks:
        """The stacks of those loops that are worth it: without one, what others need may be another matter."""
        while True:
            stacks = Stacks(self.steps, self.results, loops)
            kept = [loop for n, loop in enumerate(loops) if self._worth(loop, (n, stacks))]
            if len(kept) == len(loops):
                return stacks
            loops = kept
