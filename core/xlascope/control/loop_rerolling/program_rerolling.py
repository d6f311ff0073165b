"""Rerolling of a program: repeats that a rule selects become loops."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ...ir.jaxpr import ClosedJaxpr, Jaxpr
from ...ir.operation import Operation
from ...xla.compilation.reroll_policy import RerollPolicy
from ..flow.scan_op import Scan
from ..programs.call import CallOperation
from .cost_model import (
    MIN_REMOVED_EQUATIONS,
    LoopContext,
    RegionCosts,
    count_equations,
    is_profitable,
    may_have_profitable_loops,
    saves_compile_time,
)
from .equation_arrays import EquationArrays
from .loop_detection import find_loops, search_regions
from .loop_ir import Loop
from .normalized_steps import NormalizedSteps, OperationTable, RerollStep, normalize_steps
from .reordering import MIN_LARGE_CALL_EQUATIONS, group_large_calls, has_large_calls
from .repeated_regions import RepeatedRegion, RepeatedRegions
from .rewrite import rewrite_with_loops
from .value_stacks import Stacks

#: Operations whose programs are rerolled as well.
_HOLDERS = (CallOperation, Scan)
#: A smaller program does not repeat enough, and a larger one takes seconds to search.
_MIN_EQUATIONS, _MAX_EQUATIONS = 6, 100_000


class RerollRule(NamedTuple):
    """Rule that selects the repeats that become loops.

    ``is_worth(loop, context, steps, program_weight)`` decides about one loop (see
    :func:`~.cost_model.is_profitable`); a loop saves at least ``min_saved_equations``. ``may_be_worth(costs, region)``
    and ``may_have_loops(jaxpr)`` are False only if ``is_worth`` is for each loop in the region or in the program, and
    cost less.
    """

    is_worth: Callable[[Loop, LoopContext, Sequence[RerollStep], int], bool]
    min_saved_equations: int = 0
    may_be_worth: Callable[[RegionCosts, RepeatedRegion], bool] = lambda costs, region: True
    may_have_loops: Callable[[Jaxpr], bool] = lambda jaxpr: True


_RULES = {
    "auto": RerollRule(is_profitable, MIN_REMOVED_EQUATIONS, RegionCosts.may_be_profitable, may_have_profitable_loops),
    "always": RerollRule(saves_compile_time, MIN_REMOVED_EQUATIONS, RegionCosts.may_save_compile_time),
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
    operations = list(map(operator.itemgetter(0), jaxpr.raw))
    if not any(issubclass(kind, _HOLDERS) for kind in set(map(type, operations))):
        return jaxpr
    rerolled = {
        id(operation): changed
        for operation in dict(zip(map(id, operations), operations, strict=True)).values()
        if (changed := _reroll_operation(operation, rule)) is not operation
    }
    if not rerolled:
        return jaxpr
    raw = [(rerolled.get(id(equation[0]), equation[0]), *equation[1:]) for equation in jaxpr.raw]
    return Jaxpr(jaxpr.constvars, jaxpr.invars, jaxpr.outvars, raw, jaxpr.name, lambda: jaxpr.argument_names)


def _reroll_operation(operation: Operation, rule: RerollRule) -> Operation:
    """Return an operation with loops in the program that it calls or scans over; itself if nothing changes."""
    if not isinstance(operation, _HOLDERS):
        return operation
    body = reroll_by_rule(rule, operation.jaxpr)
    if body is operation.jaxpr:
        return operation
    if isinstance(operation, Scan):
        return operation.with_body(body, operation.num_consts, operation.num_carry)
    return operation.with_program(body)


def _reroll_jaxpr(jaxpr: Jaxpr, rule: RerollRule) -> Jaxpr:
    """Return a program with the selected repeats of its own equations replaced by loops; itself if there are none.

    Two orders of the equations are tried, and the one that saves more equations is used.
    """
    if not _MIN_EQUATIONS <= len(jaxpr.raw) <= _MAX_EQUATIONS:
        return jaxpr
    weights = _Weights()
    equation_weights = weights.of_all(list(map(operator.itemgetter(0), jaxpr.raw)))
    if sum(equation_weights) < rule.min_saved_equations:
        return jaxpr
    if not rule.may_have_loops(jaxpr):
        return jaxpr
    if not _may_have_worthwhile_regions(jaxpr, rule, equation_weights):
        return jaxpr
    input_ids = frozenset(map(id, (*jaxpr.constvars, *jaxpr.invars)))
    normalized = normalize_steps(jaxpr)
    orders = normalized.steps, group_large_calls(normalized.steps)
    plans = [
        _LoopPlan(normalized._replace(steps=steps), input_ids, rule, weights) for steps in orders if steps is not None
    ]
    best = max(plans, key=lambda plan: plan.saved_equations)
    return rewrite_with_loops(jaxpr, normalized._replace(steps=best.steps), best.stacks) if best.stacks.loops else jaxpr


class _PromisingRegionError(Exception):
    """A region may have a loop that is worth it."""


def _may_have_worthwhile_regions(jaxpr: Jaxpr, rule: RerollRule, weights: Sequence[int]) -> bool:
    """Return False if no loop that is found in a program is worth it, which costs less than to build the loops.

    ``weights`` are the numbers of equations of the program's equations.
    """
    if max(weights) >= MIN_LARGE_CALL_EQUATIONS and has_large_calls(jaxpr):  # whose order may change
        return True
    arrays = EquationArrays(jaxpr, OperationTable())
    step_weights = np.array(weights)[arrays.order]
    costs = RegionCosts(step_weights, arrays.kinds, arrays.step, arrays.min_copied_bytes)

    def find(candidates: Sequence[RepeatedRegion]) -> None:
        if any(rule.may_be_worth(costs, region) for region in candidates):
            raise _PromisingRegionError

    finders = RepeatedRegions(arrays.kinds), RepeatedRegions(arrays.kinds_with_operands)
    before = np.concatenate(([0], np.cumsum(step_weights)))
    try:
        search_regions(arrays.kinds.tolist(), finders, before, rule.min_saved_equations, find)
    except _PromisingRegionError:
        return True
    return False


class _Weights(dict[int, int]):
    """Numbers of equations of operations, by the identity of the operations, which the program keeps alive."""

    def of(self, operation: Operation) -> int:
        """Return the number of equations of an operation."""
        weight = self.get(id(operation))
        if weight is None:
            weight = self[id(operation)] = count_equations(operation)
        return weight

    def of_all(self, operations: Sequence[Operation]) -> list[int]:
        """Return the numbers of equations of many operations, of which many are the same object."""
        kinds: set[Any] = set(map(type, operations))
        if not any(kind.composite for kind in kinds):
            return [1] * len(operations)
        ids = list(map(id, operations))
        for operation in dict(zip(ids, operations, strict=True)).values():
            self.of(operation)
        return list(map(self.__getitem__, ids))


class _LoopPlan:
    """Loops that a rule selects for one order of steps, and the stacks that they need.

    ``normalized`` has the steps and the program's results, ``input_ids`` are the ids of its constants and operands, and
    ``weights`` the numbers of equations of its operations.
    """

    def __init__(
        self, normalized: NormalizedSteps, input_ids: frozenset[int], rule: RerollRule, weights: _Weights
    ) -> None:
        self.steps, self.results, self.rule = normalized.steps, normalized.results, rule
        self.weights = weights.of_all([step.operation for step in self.steps])
        self.total_weight = sum(self.weights)
        self.costs: RegionCosts | None = None
        loops = find_loops(
            self.steps,
            self.results,
            lambda loop: self._is_worth(loop, input_ids),
            self.weights,
            rule.min_saved_equations,
            self._may_be_worth,
            normalized.operations,
        )
        self.stacks = self._select_stacks(loops)

    @property
    def saved_equations(self) -> int:
        """Return the number of equations that need not be compiled thanks to the loops."""
        loops = self.stacks.loops
        return sum((loop.repeats - 1) * sum(self.weights[loop.begin : loop.begin + loop.period]) for loop in loops)

    def _is_worth(self, loop: Loop, context: LoopContext) -> bool:
        return self.rule.is_worth(loop, context, self.steps, self.total_weight)

    def _may_be_worth(self, region: RepeatedRegion, kinds: Sequence[int]) -> bool:
        if self.costs is None:
            self.costs = RegionCosts(self.weights, kinds, self.steps.__getitem__)
        return self.rule.may_be_worth(self.costs, region)

    def _select_stacks(self, loops: list[Loop]) -> Stacks:
        """Return the stacks of those ``loops`` that are worth it with these stacks.

        Stacks depend on all loops, so they are built anew after loops are rejected.
        """
        if not loops:
            return Stacks([], [], [])
        while True:
            stacks = Stacks(self.steps, self.results, loops)
            worthwhile = [loop for index, loop in enumerate(loops) if self._is_worth(loop, (index, stacks))]
            if len(worthwhile) == len(loops):
                return stacks
            loops = worthwhile
