"""One value of a call of jax computed again: the program cut down to what that value needs, with it as its result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from xlascope.inspect.program import CapturedValue, QuestionError
from xlascope.inspect.value_measurements import (
    UNKNOWN_LENGTH,
    Site,
    check_captured_size,
    choose_iterations,
    describe_missing,
)
from xlascope.records.paths import EquationPath
from xlascope.records.values import Position

from .bodies import open_jaxpr, programs_in
from .jax_compat import consts_of
from .value_probes import State
from .value_runs import ProbedCall, jit_twin, twin_settings
from .value_twin import Probed, TwinBuilder, TwinInterpreter, without_explicit_sharding


@dataclass(frozen=True)
class Capture:
    """Probe that takes one operand or result of an equation as it is, in the chosen or the last iteration.

    ``iterations`` are those of the loops around it, outermost first; ``()``: the last in which it was computed. The
    state is (values, ``dtype[1, *shape]``; whether they were computed, bool[1]).
    """

    position: Position
    index: int
    shape: tuple[int, ...]
    dtype: Any
    iterations: tuple[int, ...]

    @property
    def marks_final(self) -> bool:
        """Return True: the value is taken alone."""
        return True

    def needs_operands(self, results: Sequence[Any]) -> bool:
        """Return False: the interpreter chooses the value."""
        return False

    def measure(self, x: Any) -> State:
        """Return the state of the value."""
        return [jnp.reshape(jnp.asarray(x, self.dtype), (1, *self.shape)), jnp.ones((1,), bool)]

    def mark(self, state: State, results: Sequence[Any]) -> State:
        """Return the state, to which the equation's results add nothing."""
        return state

    def initial(self, count: int, depth: int) -> State:
        """Return the state of a value that was not computed."""
        return [jnp.zeros((count, *self.shape), self.dtype), jnp.zeros((count,), bool)]

    def pad(self, state: State, count: int, depth: int, new_depth: int) -> State:
        """Return the state, which is the same in any number of loops."""
        return state

    def enter_loop(self, state: State, count: int, depth: int, iteration: Any) -> State:
        """Return the state of an iteration as one of the loop: computed where it is the chosen one."""
        if not self.iterations:
            return state
        return [state[0], state[1] & (iteration == self.iterations[len(self.iterations) - 1 - depth])]

    def update(self, old: State, new: State, count: int, depth: int) -> State:
        """Return the state after an iteration: the newest value that was computed."""
        takes_new = new[1].reshape(count, *[1] * len(self.shape))
        return [jnp.where(takes_new, new[0], old[0]), old[1] | new[1]]


class _CaptureInterpreter(TwinInterpreter):
    """Interpreter of twins that return one value, of any type, without barriers."""

    def _apply(self, path: EquationPath, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        results = super()._apply(path, equation, operands)
        probe = self.probe
        if isinstance(probe, Capture) and self._selects(path):
            value = (results if probe.position == "result" else operands)[probe.index]
            site = Site(path, probe.position, probe.index)
            self.parts.append(Probed(probe.measure(without_explicit_sharding(_without_key(value))), [site], 0))
        return results

    def _probe_equation(
        self, path: EquationPath, equation: Any, operands: Sequence[Any], results: Sequence[Any]
    ) -> list[Any]:
        return list(results)


class _Place(NamedTuple):
    """Value in a program: its type, and the lengths of the loops around it, outermost first."""

    aval: Any
    loops: tuple[int, ...]


def capture(
    call: ProbedCall,
    path: EquationPath,
    position: Position,
    index: int,
    iterations: Sequence[int],
    max_bytes: int,
) -> CapturedValue:
    """Run what one value of a call needs, and return the value; see :meth:`.Host.captured_value`."""
    consts = consts_of(call.program)
    if position == "argument":
        return CapturedValue(_without_key((*consts, *call.operands)[index]), (), (), 1)
    source = _find_place(call.program, path, position, index)
    value_type = jax.eval_shape(_without_key, jax.ShapeDtypeStruct(source.aval.shape, source.aval.dtype))
    shape, dtype = value_type.shape, value_type.dtype
    check_captured_size(math.prod(shape) * dtype.itemsize, max_bytes)
    chosen = choose_iterations(iterations, source.loops)
    probe = Capture(position, index, shape, dtype, chosen)
    key = "captured value", probe, path
    if key not in call.twins:
        builder = TwinBuilder(call.program, probe, frozenset([path]), _CaptureInterpreter)
        call.twins[key] = jit_twin(call, lambda consts, operands: builder(consts, operands)[1])
    with twin_settings(call.stages):
        state = call.twins[key](consts, call.operands)
    if not state:
        raise QuestionError(
            "this value cannot be computed again: what conditions of loops, shard_map and custom calls compute inside "
            "is not looked at"
        )
    values, is_computed = state
    if not np.asarray(is_computed).any():
        raise QuestionError(describe_missing(source.loops, chosen))
    return CapturedValue(np.asarray(values)[0], source.loops, chosen, 1)


def _without_key(x: Any) -> Any:
    """Return the words of random keys, and any other value as it is."""
    return jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x


def _find_place(program: Any, path: EquationPath, position: Position, index: int) -> _Place:
    """Return where a value is; raise QuestionError if there is none."""
    loops: list[int] = []
    steps = path.steps
    try:
        for step, following in zip(steps, (*steps[1:], None), strict=True):
            equation = open_jaxpr(program).eqns[step.number]
            if following is None:
                return _Place((equation.outvars if position == "result" else equation.invars)[index].aval, tuple(loops))
            if equation.primitive.name in ("scan", "while"):
                loops.append(equation.params.get("length", UNKNOWN_LENGTH))
            program = programs_in(equation)[following.body]
    except IndexError:
        pass
    raise QuestionError(f"the program has no {position} {index} of an equation {path or 'without a path'}")
