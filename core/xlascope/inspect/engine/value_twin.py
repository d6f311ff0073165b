"""Twin of a program: the same equations, with a barrier behind and a probe of each value, in every body.

A twin takes the operands of its program and returns the program's results and then the probe's state
(:mod:`.value_probes`). Barriers make XLA compute each probed value once, for the program and for its probe. Rules of
custom derivatives are dropped, because a twin is not differentiated any more; effects without results (prints,
checks) are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...control.checkpoint.remat import Remat
from ...control.flow.cond_op import Cond
from ...control.flow.scan_op import Scan
from ...control.flow.while_op import While
from ...control.parallel.shard_map_call import ShardMap
from ...control.programs.call import CallOperation, bind_call
from ...control.rules.custom_rule_call import CustomRuleCall
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, Origin
from ...ir.operation import Operation
from ...operations.arithmetic import add
from ...operations.barriers import optimization_barrier
from ...operations.shapes import reshape
from ...operations.sharding_constraints import drop_explicit_sharding
from ...operations.slicing import concatenate
from ...records.paths import PROGRAM, EquationPath
from ...records.traits import Trait
from ...records.values import Position
from ...settings import enable_x64
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.state import STATE
from ...trace.values import aval_of, exact_result, literal_operand
from ...transforms.evaluate import evaluate
from ...transforms.staging import stage_with_consts
from ...xla.sharding.meshes import PartitionSpec
from ..value_measurements import (
    MAX_SMALL_ELEMENTS,
    MAX_TABLE_ROWS,
    MAX_WAITING_BYTES,
    TRANSPARENT_OPERATIONS,
    Selection,
    Site,
    join_paths,
    selection_within,
)
from .value_probes import Magnitudes, Probe, State, Sums, as_row, concatenate_states, is_probed, probe_in_loop


class Twin(NamedTuple):
    """Twin of a program, with the values that it probes; ``depth`` is the largest number of nested loops."""

    program: ClosedJaxpr
    sites: tuple[Site, ...]
    depth: int


class _Small(NamedTuple):
    """Small value that waits to be measured with others."""

    site: Site
    array: Any


class _Probed(NamedTuple):
    """State of some sites."""

    state: State
    sites: list[Site]
    depth: int


def twin_of(program: ClosedJaxpr, probe: Probe, selection: Selection = None) -> Twin:
    """Return the twin of a whole program, whose arguments and constants are probed as well; cached with the program."""
    return _get_twin(program, probe, selection, is_whole=True)


def _get_twin(program: ClosedJaxpr, probe: Probe, selection: Selection, is_whole: bool = False) -> Twin:
    key = ("value twin", probe, selection, is_whole)
    twin: Twin | None = program.derived.get(key)
    if twin is None:
        twin = program.derived[key] = _build_twin(program, probe, selection, is_whole)
    return twin


def _build_twin(program: ClosedJaxpr, probe: Probe, selection: Selection, is_whole: bool) -> Twin:
    interpreter = getattr(probe, "interpreter", TwinInterpreter)(probe, selection)
    joined: list[_Probed] = []

    def function(*operands: Any) -> list[Any]:
        if is_whole and isinstance(probe, Magnitudes):
            interpreter.probe_whole("argument", [*program.consts, *operands])
        results = interpreter.evaluate(program, operands)
        if is_whole and isinstance(probe, Magnitudes):
            interpreter.probe_whole("output", results)
        probed = interpreter.join_sites()
        joined.append(probed)
        return [*results, *probed.state]

    build = stage if is_whole else stage_with_consts
    staged = build(function, program.in_avals, program.name)
    jaxpr = staged.jaxpr
    named = Jaxpr(
        jaxpr.constvars, jaxpr.invars, jaxpr.outvars, jaxpr.raw, jaxpr.name, lambda: program.jaxpr.argument_names
    )
    return Twin(ClosedJaxpr(named, staged.consts), tuple(joined[0].sites), joined[0].depth)


class TwinInterpreter:
    """Interpreter that evaluates a program under the current trace and probes what its equations compute."""

    def __init__(self, probe: Probe, selection: Selection) -> None:
        self.probe, self.selection = probe, selection
        self.parts: list[_Probed] = []
        self._small: dict[tuple[Any, int], list[_Small]] = {}
        self._small_bytes = 0

    # Sites ----------------------------------------------------------------------------------------------------------

    def probe_whole(self, position: Position, values: Sequence[Any]) -> None:
        """Probe the constants and arguments, or the outputs, of a whole program."""
        for number, x in enumerate(values):
            if is_probed(aval_of(x)):
                self._add_value(x, (), Site(PROGRAM, position, number))

    def _add_value(self, x: Any, results: Sequence[Any], site: Site) -> None:
        """Probe a value of an equation with these results; its sharding is left to XLA.

        Small values wait for others of their dtype and size, with which they are measured as one table.
        """
        x, *results = map(drop_explicit_sharding, (x, *results))
        aval = aval_of(x)
        if aval.size <= MAX_SMALL_ELEMENTS and not self.probe.marks_final:
            self._small.setdefault((aval.dtype, aval.size), []).append(_Small(site, x))
            self._small_bytes += aval.size * aval.dtype.itemsize
            if self._small_bytes > MAX_WAITING_BYTES:
                self._measure_small()
            return
        with enable_x64(True):
            state = self.probe.mark(self.probe.measure(as_row(x)), results)
        self._add_state(state, site)

    def _add_state(self, state: State, site: Site) -> None:
        self.parts.append(_Probed(state, [site], 0))

    def _measure_small(self) -> None:
        """Measure the small values that wait."""
        groups, self._small, self._small_bytes = self._small, {}, 0
        with enable_x64(True):
            for values in groups.values():
                for first in range(0, len(values), MAX_TABLE_ROWS):
                    part = values[first : first + MAX_TABLE_ROWS]
                    rows = [as_row(value.array) for value in part]
                    table = optimization_barrier([concatenate(rows, 0)])[0] if len(rows) > 1 else rows[0]
                    self.parts.append(_Probed(self.probe.measure(table), [value.site for value in part], 0))

    def join_sites(self) -> _Probed:
        """Return all sites so far with one state; it is ``[]`` if there are none."""
        self._measure_small()
        depth = max((part.depth for part in self.parts), default=0)
        sites = [site for part in self.parts for site in part.sites]
        if not sites:
            return _Probed([], [], 0)
        with enable_x64(True):
            states = [self.probe.pad(part.state, len(part.sites), part.depth, depth) for part in self.parts]
            return _Probed(concatenate_states(states), sites, depth)

    def _selects(self, path: EquationPath) -> bool:
        return self.selection is None or path in self.selection

    # Equations ------------------------------------------------------------------------------------------------------

    def evaluate(self, program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
        """Evaluate a program on operands, and return its results."""
        jaxpr = program.jaxpr
        values: dict[int, Any] = {id(v): x for v, x in zip(jaxpr.constvars, program.consts, strict=True)}
        values.update((id(v), x) for v, x in zip(jaxpr.invars, operands, strict=True))
        outside = STATE.origin
        try:
            for index, (operation, inputs, outputs, code, lasti, origin) in enumerate(jaxpr.raw):
                if not outputs:
                    continue
                STATE.origin = origin or Origin("forward", None, code, lasti, "")
                arguments = [literal_operand(x) if x.__class__ is Literal else values[id(x)] for x in inputs]
                is_literal = [x.__class__ is Literal for x in inputs]
                results = self._apply(PROGRAM.child(index), operation, arguments, is_literal)
                values.update((id(v), x) for v, x in zip(outputs, results, strict=True))
        finally:
            STATE.origin = outside
        return [exact_result(x.operand, x.aval) if x.__class__ is Literal else values[id(x)] for x in jaxpr.outvars]

    def _apply(
        self, path: EquationPath, operation: Operation, operands: Sequence[Any], is_literal: Sequence[bool]
    ) -> Sequence[Any]:
        """Return the results of an equation, behind barriers where they are probed."""
        if isinstance(operation, (CallOperation, CustomRuleCall)) and operation.bodies():
            return self._apply_call(path, operation, operands)
        if isinstance(operation, Scan):
            results = self._apply_scan(path, operation, operands)
        elif isinstance(operation, While):
            results = self._apply_while(path, operation, operands)
        elif isinstance(operation, Cond):
            results = self._apply_cond(path, operation, operands)
        elif isinstance(operation, ShardMap):
            results = self._apply_shard_map(path, operation, operands)
        else:
            results = bind(operation, *operands)
        if not self._selects(path) or (is_transparent(operation) and not isinstance(self.probe, Sums)):
            return results
        return self._probe_equation(path, operands, is_literal, results)

    def _probe_equation(
        self, path: EquationPath, operands: Sequence[Any], is_literal: Sequence[bool], results: Sequence[Any]
    ) -> list[Any]:
        mask = [is_probed(aval_of(x)) for x in results]
        behind = iter(optimization_barrier([x for x, probed in zip(results, mask, strict=True) if probed]))
        results = [next(behind) if probed else x for x, probed in zip(results, mask, strict=True)]
        chosen: list[tuple[Position, int, Any]] = [
            ("result", index, x) for index, x in enumerate(results) if mask[index]
        ]
        if self.probe.needs_operands(results):
            numbered = enumerate(zip(operands, is_literal, strict=True))
            chosen += [
                ("operand", index, x) for index, (x, literal) in numbered if not literal and is_probed(aval_of(x))
            ]
        for position, index, x in chosen:
            self._add_value(x, results, Site(path, position, index))
        return results

    # Equations that hold programs -----------------------------------------------------------------------------------

    def _body_twin(self, path: EquationPath, operation: Operation, body: int = 0) -> Twin:
        probe = probe_in_loop(self.probe) if isinstance(operation, (Scan, While)) else self.probe
        return _get_twin(operation.bodies()[body], probe, selection_within(self.selection, path, body))

    def _add_body(self, path: EquationPath, body: int, twin: Twin, state: State, depth: int, loops: int = 0) -> None:
        """Add the sites of a body to those of this program; ``loops`` is 1 for the body of a loop."""
        sites = [site._replace(path=join_paths(path, body, site.path), depth=site.depth + loops) for site in twin.sites]
        if sites:
            self.parts.append(_Probed(list(state), sites, depth))

    def _apply_call(self, path: EquationPath, operation: Operation, operands: Sequence[Any]) -> Sequence[Any]:
        twin = self._body_twin(path, operation)
        if isinstance(operation, Remat) and operation.differentiated and operation.prevent_cse and operands:
            operands = optimization_barrier(operands)
        results = bind_call(twin.program, operands)
        count = len(operation.bodies()[0].jaxpr.outvars)
        self._add_body(path, 0, twin, results[count:], twin.depth)
        return results[:count]

    def _apply_cond(self, path: EquationPath, operation: Cond, operands: Sequence[Any]) -> Sequence[Any]:
        twins = [self._body_twin(path, operation, body) for body in range(len(operation.branches))]
        count = len(operation.branches[0].jaxpr.outvars)

        def branch(selected: int) -> ClosedJaxpr:
            def function(*values: Any) -> list[Any]:
                results = bind_call(twins[selected].program, values)
                states = [
                    results[count:] if number == selected else self._initial(twin, twin.depth)
                    for number, twin in enumerate(twins)
                ]
                return [*results[:count], *(array for state in states for array in state)]

            return stage_with_consts(function, operation.branches[selected].in_avals, operation.branches[selected].name)

        results = bind(Cond(tuple(map(branch, range(len(twins))))), *operands)
        rest = results[count:]
        for body, twin in enumerate(twins):
            size = len(twin.program.jaxpr.outvars) - count
            self._add_body(path, body, twin, rest[:size], twin.depth)
            rest = rest[size:]
        return results[:count]

    def _initial(self, twin: Twin, depth: int) -> State:
        with enable_x64(True):
            return self.probe.initial(len(twin.sites), depth) if twin.sites else []

    def _loop_step(
        self, twin: Twin, run: Callable[[], Sequence[Any]], count: int, iteration: Any, state: State
    ) -> tuple[list[Any], list[Any]]:
        """Run the twin of a loop's body; return its results and the loop's next (iteration, state)."""
        results = list(run())
        with enable_x64(True):
            number = len(twin.sites)
            new = self.probe.enter_loop(results[count:], number, twin.depth, iteration) if number else []
            new = self.probe.update(state, new, number, twin.depth + 1) if number else []
        return results[:count], [add(iteration, np.int32(1)), *new]

    def _apply_scan(self, path: EquationPath, operation: Scan, operands: Sequence[Any]) -> Sequence[Any]:
        twin = self._body_twin(path, operation)
        consts, carry, xs = operation.split_operands(operands)
        count, carried = len(operation.jaxpr.jaxpr.outvars), operation.num_carry
        start = [np.int32(0), *self._initial(twin, twin.depth + 1)]
        extra = len(start)

        def body(*values: Any) -> list[Any]:
            first = len(consts) + carried
            iteration, *state = values[first : first + extra]
            results, following = self._loop_step(
                twin,
                lambda: bind_call(twin.program, [*values[:first], *values[first + extra :]]),
                count,
                iteration,
                state,
            )
            return [*results[:carried], *following, *results[carried:]]

        in_avals = operation.jaxpr.in_avals
        first = len(consts) + carried
        avals = [*in_avals[:first], *map(aval_of, start), *in_avals[first:]]
        staged = stage_with_consts(body, avals, operation.jaxpr.name)
        scan = operation.with_body(staged, len(consts), carried + extra)
        results = bind(scan, *consts, *carry, *start, *xs)
        self._add_body(path, 0, twin, results[carried + 1 : carried + extra], twin.depth + 1, loops=1)
        return [*results[:carried], *results[carried + extra :]]

    def _apply_while(self, path: EquationPath, operation: While, operands: Sequence[Any]) -> Sequence[Any]:
        twin = self._body_twin(path, operation)
        count = len(operation.body_jaxpr.jaxpr.outvars)
        start = [np.int32(0), *self._initial(twin, twin.depth + 1)]
        extra_avals = list(map(aval_of, start))
        num_operands = len(operation.body_jaxpr.in_avals)

        def body(*values: Any) -> list[Any]:
            iteration, *state = values[num_operands:]
            results, following = self._loop_step(
                twin, lambda: bind_call(twin.program, values[:num_operands]), count, iteration, state
            )
            return [*results, *following]

        def condition(*values: Any) -> list[Any]:
            return evaluate(operation.cond_jaxpr, *values[: len(operation.cond_jaxpr.in_avals)])

        body_program = stage_with_consts(
            body, [*operation.body_jaxpr.in_avals, *extra_avals], operation.body_jaxpr.name
        )
        cond_program = stage_with_consts(
            condition, [*operation.cond_jaxpr.in_avals, *extra_avals], operation.cond_jaxpr.name
        )
        loop = While(body_program, operation.body_nconsts, cond_program, operation.cond_nconsts)
        results = bind(loop, *operands, *start)
        self._add_body(path, 0, twin, results[count + 1 :], twin.depth + 1, loops=1)
        return results[:count]

    def _apply_shard_map(self, path: EquationPath, operation: ShardMap, operands: Sequence[Any]) -> Sequence[Any]:
        with operation.bind_mesh_axes():
            twin = self._body_twin(path, operation)
            count = len(operation.jaxpr.jaxpr.outvars)

            def function(*values: Any) -> list[Any]:
                results = bind_call(twin.program, values)
                return [*results[:count], *(reshape(x, (1, *aval_of(x).shape)) for x in results[count:])]

            program = stage_with_consts(function, operation.jaxpr.in_avals, operation.jaxpr.name)
        extra = len(program.jaxpr.outvars) - count
        out_specs = (*operation.out_specs, *[PartitionSpec(operation.axes)] * extra)
        results = bind(operation.of_program(program, operation.in_specs, out_specs), *operands)
        devices = math.prod(operation.on.shape[name] for name in operation.axes)
        state = [
            reshape(x, (devices * len(twin.sites), *aval_of(x).shape[2:]))
            for x in map(drop_explicit_sharding, results[count:])
        ]
        sites = tuple(
            site._replace(devices=(device, *site.devices)) for device in range(devices) for site in twin.sites
        )
        self._add_body(path, 0, twin._replace(sites=sites), state, twin.depth)
        return results[:count]


def is_transparent(operation: Operation) -> bool:
    """Return whether results of an operation are NaN or infinite exactly where its operands are."""
    return operation.name in TRANSPARENT_OPERATIONS or Trait.BARRIER in operation.traits
