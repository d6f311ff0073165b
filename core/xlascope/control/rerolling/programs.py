"""Rerolling of a program: its repeats that are worth it become loops."""

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

#: A smaller program does not repeat enough, and a larger one takes seconds to search.
_FEWEST, _MOST = 6, 100_000


class Rule(NamedTuple):
    """Rule that selects the repeats that become loops.

    They are ``is_worth`` it (called with a loop, its stacks, the steps, and the program's weight) and save at
    least ``min_saved_equations``.
    """

    worth: Callable[[Loop, Of, Sequence[Step], int], bool]
    least: int = 0


_RULES = {"auto": Rule(is_worth_it, LEAST), "always": Rule(spares_compiling, LEAST)}


def rerolled(program: ClosedJaxpr, mode: Reroll) -> ClosedJaxpr:
    """Return the program with repeats replaced by loops, also in programs that it calls; itself if there are none."""
    return rerolled_by(_RULES[mode], program)


def rerolled_by(rule: Rule, program: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program with those repeats replaced by loops that a rule selects."""
    key = ("rerolled", rule)
    rerolled: ClosedJaxpr | Literal["itself"] | None = program.derived.get(key)
    if rerolled is None:
        jaxpr = _with_loops(_inside(program.jaxpr, rule), rule)
        # a program that references itself would live until the next garbage collection
        rerolled = "itself" if jaxpr is program.jaxpr else ClosedJaxpr(jaxpr, program.consts)
        program.derived[key] = rerolled
    return program if rerolled == "itself" else rerolled


def _inside(jaxpr: Jaxpr, rule: Rule) -> Jaxpr:
    """Return the program with loops in the programs that it calls."""
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
    input_ids = frozenset(map(id, (*jaxpr.constvars, *jaxpr.invars)))
    normalized = steps_of(jaxpr)
    orders = normalized.steps, gathered(normalized.steps)
    plans = [_Plan(steps, normalized.results, input_ids, rule) for steps in orders if steps is not None]
    best = max(plans, key=lambda plan: plan.spared)
    return written(jaxpr, Steps(best.steps, normalized.results), best.stacks) if best.stacks.loops else jaxpr


class _Plan:
    """Loops worth their cost for one order of steps, and their stacks."""

    def __init__(self, steps: list[Step], results: Sequence[Atom], input_ids: frozenset[int], rule: Rule) -> None:
        self.steps, self.results, self.rule = steps, results, rule
        self.weights = [weight_of(step.operation) for step in steps]
        self.whole = sum(self.weights)
        loops = loops_of(steps, results, lambda loop: self._worth(loop, input_ids), self.weights, rule.least)
        self.stacks = self._stacks(loops)

    @property
    def spared(self) -> int:
        """Return the number of equations that need not be compiled."""
        loops = self.stacks.loops
        return sum((loop.repeats - 1) * sum(self.weights[loop.begin : loop.begin + loop.period]) for loop in loops)

    def _worth(self, loop: Loop, context: Of) -> bool:
        return self.rule.worth(loop, context, self.steps, self.whole)

    def _stacks(self, loops: list[Loop]) -> Stacks:
        """Return the stacks of the loops that are worth it, chosen anew after each rejected loop."""
        while True:
            stacks = Stacks(self.steps, self.results, loops)
            worthwhile = [loop for index, loop in enumerate(loops) if self._worth(loop, (index, stacks))]
            if len(worthwhile) == len(loops):
                return stacks
            loops = worthwhile
