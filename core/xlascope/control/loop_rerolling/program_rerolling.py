"""Rerolling of a program: repeats that a rule selects become loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from ...ir.jaxpr import Atom, ClosedJaxpr, Jaxpr, RawEquation
from ...xla.compilation.reroll_policy import RerollPolicy
from ..flow.scan_op import Scan
from ..programs.call import CallOperation
from .cost_model import MIN_REMOVED_EQUATIONS, LoopContext, count_equations, is_profitable, saves_compile_time
from .loop_detection import find_loops
from .loop_ir import Loop
from .normalized_steps import NormalizedSteps, RerollStep, normalize_steps
from .reordering import group_large_calls
from .rewrite import rewrite_with_loops
from .value_stacks import Stacks

#: A smaller program does not repeat enough, and a larger one takes seconds to search.
_MIN_EQUATIONS, _MAX_EQUATIONS = 6, 100_000


class RerollRule(NamedTuple):
    """Rule that selects the repeats that become loops.

    ``is_worth(loop, context, steps, program_weight)`` decides about one loop (see
    :func:`~.cost_model.is_profitable`); a loop saves at least ``min_saved_equations``.
    """

    is_worth: Callable[[Loop, LoopContext, Sequence[RerollStep], int], bool]
    min_saved_equations: int = 0


_RULES = {
    "auto": RerollRule(is_profitable, MIN_REMOVED_EQUATIONS),
    "always": RerollRule(saves_compile_time, MIN_REMOVED_EQUATIONS),
}


def reroll_program(program: ClosedJaxpr, mode: RerollPolicy) -> ClosedJaxpr:
    """Return the program with repeats replaced by loops, also in programs that it calls; itself if there are none.

    ``mode`` is ``"auto"`` (loops that are profitable) or ``"always"`` (all that save compile time).
    """
    return reroll_by_rule(_RULES[mode], program)


def reroll_by_rule(rule: RerollRule, program: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program with the repeats that a rule selects replaced by loops; the program itself if there are none.

    The result is cached in ``program.derived``. Programs that it calls or scans over are rerolled as well.
    """
    key = ("rerolled", rule)
    rerolled: ClosedJaxpr | Literal["itself"] | None = program.derived.get(key)
    if rerolled is None:
        jaxpr = _reroll_jaxpr(_reroll_called_programs(program.jaxpr, rule), rule)
        # a program that references itself would live until the next garbage collection
        rerolled = "itself" if jaxpr is program.jaxpr else ClosedJaxpr(jaxpr, program.consts)
        program.derived[key] = rerolled
    return program if rerolled == "itself" else rerolled


def _reroll_called_programs(jaxpr: Jaxpr, rule: RerollRule) -> Jaxpr:
    """Return the program with loops in the programs that it calls or scans over; itself if nothing changes."""
    raw = [_reroll_equation(equation, rule) for equation in jaxpr.raw]
    if all(a is b for a, b in zip(raw, jaxpr.raw, strict=True)):
        return jaxpr
    return Jaxpr(jaxpr.constvars, jaxpr.invars, jaxpr.outvars, raw, jaxpr.name, lambda: jaxpr.argument_names)


def _reroll_equation(equation: RawEquation, rule: RerollRule) -> RawEquation:
    """Return an equation with loops in the program that it calls or scans over; itself if nothing changes."""
    operation: Any = equation[0]
    if not isinstance(operation, CallOperation | Scan):
        return equation
    body = reroll_by_rule(rule, operation.jaxpr)
    if body is operation.jaxpr:
        return equation
    if isinstance(operation, Scan):
        return operation.with_body(body, operation.num_consts, operation.num_carry), *equation[1:]
    return operation.with_program(body), *equation[1:]


def _reroll_jaxpr(jaxpr: Jaxpr, rule: RerollRule) -> Jaxpr:
    """Return a program with the selected repeats of its own equations replaced by loops; itself if there are none.

    Two orders of the equations are tried, and the one that saves more equations is used.
    """
    if not _MIN_EQUATIONS <= len(jaxpr.raw) <= _MAX_EQUATIONS:
        return jaxpr
    input_ids = frozenset(map(id, (*jaxpr.constvars, *jaxpr.invars)))
    normalized = normalize_steps(jaxpr)
    orders = normalized.steps, group_large_calls(normalized.steps)
    plans = [_LoopPlan(steps, normalized.results, input_ids, rule) for steps in orders if steps is not None]
    best = max(plans, key=lambda plan: plan.saved_equations)
    return (
        rewrite_with_loops(jaxpr, NormalizedSteps(best.steps, normalized.results), best.stacks)
        if best.stacks.loops
        else jaxpr
    )


class _LoopPlan:
    """Loops that a rule selects for one order of steps, and the stacks that they need.

    ``results`` are the program's results, ``input_ids`` the ids of its constants and operands.
    """

    def __init__(
        self, steps: list[RerollStep], results: Sequence[Atom], input_ids: frozenset[int], rule: RerollRule
    ) -> None:
        self.steps, self.results, self.rule = steps, results, rule
        self.weights = [count_equations(step.operation) for step in steps]
        self.total_weight = sum(self.weights)
        loops = find_loops(
            steps, results, lambda loop: self._is_worth(loop, input_ids), self.weights, rule.min_saved_equations
        )
        self.stacks = self._select_stacks(loops)

    @property
    def saved_equations(self) -> int:
        """Return the number of equations that need not be compiled thanks to the loops."""
        loops = self.stacks.loops
        return sum((loop.repeats - 1) * sum(self.weights[loop.begin : loop.begin + loop.period]) for loop in loops)

    def _is_worth(self, loop: Loop, context: LoopContext) -> bool:
        return self.rule.is_worth(loop, context, self.steps, self.total_weight)

    def _select_stacks(self, loops: list[Loop]) -> Stacks:
        """Return the stacks of those ``loops`` that are worth it with these stacks.

        Stacks depend on all loops, so they are built anew after loops are rejected.
        """
        while True:
            stacks = Stacks(self.steps, self.results, loops)
            worthwhile = [loop for index, loop in enumerate(loops) if self._is_worth(loop, (index, stacks))]
            if len(worthwhile) == len(loops):
                return stacks
            loops = worthwhile
