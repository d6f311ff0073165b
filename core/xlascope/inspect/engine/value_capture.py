"""One value of a call computed again: the program cut down to what that value needs, with the value as its result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...control.flow.scan_op import Scan
from ...control.flow.while_op import While
from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr, Jaxpr
from ...ir.operation import Operation
from ...key_types import is_key
from ...operations.bits import bitwise_and, bitwise_or
from ...operations.comparisons import eq
from ...operations.conversion import convert_element_type
from ...operations.random_keys import random_unwrap
from ...operations.selection import select
from ...operations.shapes import broadcast_in_dim, full, reshape
from ...operations.sharding_constraints import drop_explicit_sharding
from ...records.paths import EquationPath
from ...records.values import Position
from ...settings import enable_x64
from ...trace.values import aval_of
from ...xla.arrays.key_array import keys_from_words
from ..program import CapturedValue, QuestionError
from ..value_measurements import (
    UNKNOWN_LENGTH,
    Site,
    check_captured_size,
    choose_iterations,
    describe_missing,
)
from .traced_calls import InspectedCall
from .value_probes import State
from .value_runs import twin_executable
from .value_twin import Twin, TwinInterpreter, twin_of


@dataclass(frozen=True)
class Capture:
    """Probe that takes one operand or result of an equation as it is, in the chosen or the last iteration.

    ``iterations`` are those of the loops around it, outermost first; ``()``: the last in which it was computed. The
    state is (values, ``dtype[n, *shape]``; whether they were computed, bool[n]), n the devices of a ``shard_map``.
    """

    position: Position
    index: int
    shape: tuple[int, ...]
    dtype: Any
    iterations: tuple[int, ...]

    @property
    def interpreter(self) -> type[TwinInterpreter]:
        """Return the interpreter that builds twins with this probe."""
        return CaptureInterpreter

    def needs_operands(self, results: Sequence[Any]) -> bool:
        """Return False: the interpreter chooses the value."""
        return False

    @property
    def marks_final(self) -> bool:
        """Return True: the value is taken alone."""
        return True

    def measure(self, x: Any) -> State:
        """Return the state of the value."""
        words = random_unwrap(x) if is_key(aval_of(x).dtype) else x
        if aval_of(words).dtype != self.dtype:  # a literal of Python, which is wider while 64 bits are enabled
            words = convert_element_type(words, self.dtype)
        return [reshape(words, (1, *self.shape)), full((1,), np.bool_(True))]

    def mark(self, state: State, results: Sequence[Any]) -> State:
        """Return the state, to which the equation's results add nothing."""
        return state

    def initial(self, count: int, depth: int) -> State:
        """Return the state of a value that was not computed."""
        return [full((count, *self.shape), self.dtype.type(0)), full((count,), np.bool_(False))]

    def pad(self, state: State, count: int, depth: int, new_depth: int) -> State:
        """Return the state, which is the same in any number of loops."""
        return state

    def enter_loop(self, state: State, count: int, depth: int, iteration: Any) -> State:
        """Return the state of an iteration as one of the loop: computed where it is the chosen one."""
        if not self.iterations:
            return state
        is_chosen = eq(iteration, np.int32(self.iterations[len(self.iterations) - 1 - depth]))
        return [state[0], bitwise_and(state[1], broadcast_in_dim(is_chosen, (count,), ()))]

    def update(self, old: State, new: State, count: int, depth: int) -> State:
        """Return the state after an iteration: the newest value that was computed."""
        takes_new = broadcast_in_dim(new[1], (count, *self.shape), (0,))
        return [select(takes_new, new[0], old[0]), bitwise_or(old[1], new[1])]


class CaptureInterpreter(TwinInterpreter):
    """Interpreter of twins that return one value, of any type, without barriers."""

    def _apply(
        self, path: EquationPath, operation: Operation, operands: Sequence[Any], is_literal: Sequence[bool]
    ) -> Sequence[Any]:
        results = super()._apply(path, operation, operands, is_literal)
        probe = self.probe
        if isinstance(probe, Capture) and self.selection is not None and path in self.selection:
            value = (results if probe.position == "result" else operands)[probe.index]
            with enable_x64(True):
                self._add_state(probe.measure(drop_explicit_sharding(value)), Site(path, probe.position, probe.index))
        return results

    def _probe_equation(
        self, path: EquationPath, operands: Sequence[Any], is_literal: Sequence[bool], results: Sequence[Any]
    ) -> list[Any]:
        return list(results)


class _Place(NamedTuple):
    """Value in a program: its type, and the lengths of the loops around it, outermost first."""

    aval: ShapedArray
    loops: tuple[int, ...]


def capture(
    call: InspectedCall,
    path: EquationPath,
    position: Position,
    index: int,
    iterations: Sequence[int],
    max_bytes: int,
) -> CapturedValue:
    """Run what one value of a call needs, and return the value; see :meth:`.Host.captured_value`."""
    program = call.traced.program
    if position == "argument":
        return CapturedValue((*program.consts, *call.arguments.operands)[index], (), (), 1)
    site = _find_place(program, path, position, index)
    key_type: Any = site.aval.dtype if is_key(site.aval.dtype) else None
    shape, dtype = site.aval.shape, site.aval.dtype
    if key_type is not None:
        shape, dtype = (*shape, key_type.words), np.dtype(np.uint32)
    check_captured_size(math.prod(shape) * dtype.itemsize, max_bytes)
    chosen = choose_iterations(iterations, site.loops)
    twin = twin_of(program, Capture(position, index, shape, dtype, chosen), frozenset([path]))
    if not twin.sites:
        raise QuestionError("this value cannot be computed again: conditions of loops are not looked at")
    devices = len(twin.sites)
    check_captured_size(devices * math.prod(shape) * dtype.itemsize, max_bytes)
    executable = twin_executable(call, _without_results(program, twin))
    values, is_computed = executable(call.put_operands(executable), call.avals)
    if not np.asarray(is_computed).any():
        raise QuestionError(describe_missing(site.loops, chosen))
    array: Any = np.asarray(values)  # on a CPU a view: one axis is taken off without a copy
    array = array if devices > 1 else array[0]
    array = array if key_type is None else keys_from_words(array, key_type)
    return CapturedValue(array, site.loops, chosen, devices)


def _find_place(program: ClosedJaxpr, path: EquationPath, position: Position, index: int) -> _Place:
    """Return where a value is; raise QuestionError if there is none."""
    loops: list[int] = []
    steps = path.steps
    try:
        for step, following in zip(steps, (*steps[1:], None), strict=True):
            operation, inputs, outputs, *_ = program.jaxpr.raw[step.number]
            if following is None:
                return _Place((outputs if position == "result" else inputs)[index].aval, tuple(loops))
            if isinstance(operation, Scan | While):
                loops.append(operation.length if isinstance(operation, Scan) else UNKNOWN_LENGTH)
            program = operation.bodies()[following.body]
    except IndexError:
        pass
    raise QuestionError(f"the program has no {position} {index} of an equation {path or 'without a path'}")


def _without_results(program: ClosedJaxpr, twin: Twin) -> Twin:
    """Return a twin that returns its state alone, so that XLA leaves out what the state does not need; cached."""
    key = "state alone"
    derived = twin.program.derived
    if key not in derived:
        jaxpr = twin.program.jaxpr
        outvars = jaxpr.outvars[len(program.jaxpr.outvars) :]
        cut = Jaxpr(jaxpr.constvars, jaxpr.invars, outvars, jaxpr.raw, jaxpr.name, lambda: jaxpr.argument_names)
        derived[key] = ClosedJaxpr(cut, twin.program.consts)
    return twin._replace(program=derived[key])
