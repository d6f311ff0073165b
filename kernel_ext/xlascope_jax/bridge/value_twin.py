"""Twin of a jax program: the same equations, with a barrier behind and a probe of each value, in every body.

A twin takes the operands of its program and returns the program's results and then the probe's state
(:mod:`.value_probes`). Barriers make XLA compute each probed value once, for the program and for its probe. Rules of
custom derivatives are dropped, because a twin is not differentiated any more; effects without results (prints) are left
out. Equations that hold programs which cannot be evaluated here (``shard_map``, Pallas, reductions with a function) are
applied as they are, and their results are probed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xlascope.inspect.value_measurements import (
    MAX_SMALL_ELEMENTS,
    MAX_TABLE_ROWS,
    MAX_WAITING_BYTES,
    TRANSPARENT_OPERATIONS,
    Selection,
    Site,
    join_paths,
    selection_within,
)
from xlascope.records.paths import PROGRAM, EquationPath
from xlascope.records.values import Position

from .bodies import open_jaxpr, programs_in
from .jax_compat import Literal, consts_of, evaluate_equation, evaluate_jaxpr, literal_value, scan_counts
from .value_probes import Magnitudes, Probe, State, as_row, concatenate_states, is_probed, probe_in_loop

#: Equations whose only body is evaluated in place of them.
_CALLS = frozenset(
    {"checkpoint", "closed_call", "core_call", "core_closed_call", "custom_jvp_call", "custom_vjp_call"}
    | {"custom_vjp_call_jaxpr", "jit", "pjit", "remat", "remat2"}
)
#: Equations that compute something inside into which a twin does not look.
CLOSED_OPERATIONS = frozenset(
    {"composite", "custom_call", "custom_linear_solve", "custom_vmap_call", "ffi_call", "pallas_call", "run_scoped"}
    | {"run_state", "shard_map", "tpu_custom_call", "xla_pmap"}
)
#: Operations of jax whose results are bad exactly where an operand is, besides those of xlascope.
_TRANSPARENT = TRANSPARENT_OPERATIONS | {"copy_p", "mesh_cast", "pbroadcast", "pvary", "reshard"}


class _Small(NamedTuple):
    """Small value that waits to be measured with others."""

    site: Site
    array: Any


class Probed(NamedTuple):
    """State of some sites."""

    state: State
    sites: list[Site]
    depth: int


class _Body(NamedTuple):
    """Twin of a body: a closed jaxpr of its results and then the state of its ``sites``."""

    program: Any
    sites: list[Site]
    depth: int

    def run(self, operands: Sequence[Any]) -> list[Any]:
        """Evaluate it; return the results and then the state."""
        return evaluate_jaxpr(self.program, operands)


class TwinBuilder:
    """Function that evaluates a program on operands, constants first, and returns its results and the probe's state.

    Once it was traced, ``sites`` are the values that it probes, with one row of the state each, and ``depth`` is the
    largest number of nested loops.
    """

    __name__ = "values_twin"  # jax names the compiled module so

    def __init__(
        self,
        program: Any,
        probe: Probe,
        selection: Selection,
        interpreter: Callable[[Probe, Selection], TwinInterpreter] | None = None,
    ) -> None:
        self._program = weakref.ref(program)  # the twin is cached with it, which would keep it alive
        self._probe, self._selection = probe, selection
        self._interpreter = interpreter or TwinInterpreter
        self.sites: list[Site] = []
        self.depth, self.is_traced = 0, False

    def __call__(self, consts: Sequence[Any], operands: Sequence[Any]) -> tuple[list[Any], State]:
        """Return the results of the program, and the state of its probe."""
        interpreter = self._interpreter(self._probe, self._selection)
        is_first_pass = isinstance(self._probe, Magnitudes)
        if is_first_pass:
            interpreter.probe_whole("argument", [*consts, *operands])
        results = interpreter.evaluate(open_jaxpr(self._program()), consts, operands)
        if is_first_pass:
            interpreter.probe_whole("output", results)
        state, self.sites, self.depth = interpreter.join_sites()
        self.is_traced = True
        return results, state


def find_operations(jaxpr: Any, names: frozenset[str]) -> dict[str, int]:
    """Return how many equations of a jaxpr and its bodies have each of these operations; those without any left out."""
    counts: dict[str, int] = {}
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name in names:
            counts[name] = counts.get(name, 0) + 1
        for body in programs_in(equation):
            for inner, count in find_operations(open_jaxpr(body), names).items():
                counts[inner] = counts.get(inner, 0) + count
    return counts


class TwinInterpreter:
    """Interpreter that evaluates a jaxpr under jax's current trace and probes what its equations compute."""

    def __init__(self, probe: Probe, selection: Selection) -> None:
        self.probe, self.selection = probe, selection
        self.parts: list[Probed] = []
        self._small: dict[tuple[Any, int], list[_Small]] = {}
        self._small_bytes = 0

    # Sites ----------------------------------------------------------------------------------------------------------

    def probe_whole(self, position: Position, values: Sequence[Any]) -> None:
        """Probe the constants and arguments, or the outputs, of a whole program."""
        for number, x in enumerate(values):
            if is_probed(x):
                self._add_value(x, (), Site(PROGRAM, position, number))

    def _add_value(self, x: Any, results: Sequence[Any], site: Site) -> None:
        """Probe a value of an equation with these results.

        Small values wait for others of their dtype and size, with which they are measured as one table.
        """
        x = without_explicit_sharding(x)
        if x.size <= MAX_SMALL_ELEMENTS and not self.probe.marks_final:
            self._small.setdefault((x.dtype, x.size), []).append(_Small(site, x))
            self._small_bytes += x.size * x.dtype.itemsize
            if self._small_bytes > MAX_WAITING_BYTES:
                self._measure_small()
            return
        results = list(map(without_explicit_sharding, results))
        self.parts.append(Probed(self.probe.mark(self.probe.measure(as_row(x)), results), [site], 0))

    def _measure_small(self) -> None:
        """Measure the small values that wait."""
        groups, self._small, self._small_bytes = self._small, {}, 0
        for values in groups.values():
            for first in range(0, len(values), MAX_TABLE_ROWS):
                part = values[first : first + MAX_TABLE_ROWS]
                rows = [as_row(value.array) for value in part]
                table = lax.optimization_barrier(jnp.concatenate(rows, 0)) if len(rows) > 1 else rows[0]
                self.parts.append(Probed(self.probe.measure(table), [value.site for value in part], 0))

    def join_sites(self) -> Probed:
        """Return all sites so far with one state; it is ``[]`` if there are none."""
        self._measure_small()
        depth = max((part.depth for part in self.parts), default=0)
        sites = [site for part in self.parts for site in part.sites]
        if not sites:
            return Probed([], [], 0)
        states = [self.probe.pad(part.state, len(part.sites), part.depth, depth) for part in self.parts]
        return Probed(concatenate_states(states), sites, depth)

    def _selects(self, path: EquationPath) -> bool:
        return self.selection is None or path in self.selection

    # Equations ------------------------------------------------------------------------------------------------------

    def evaluate(
        self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[Any], outer: EquationPath = PROGRAM, body: int = 0
    ) -> list[Any]:
        """Evaluate an open jaxpr, and return its results; ``outer`` and ``body`` say of which equation it is a body."""
        values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        values.update(zip(jaxpr.invars, operands, strict=True))

        def read(atom: Any) -> Any:
            return literal_value(atom) if isinstance(atom, Literal) else values[atom]

        for index, equation in enumerate(jaxpr.eqns):
            if not equation.outvars:
                continue  # prints and checks
            results = self._apply(outer.child(index, body), equation, list(map(read, equation.invars)))
            values.update(zip(equation.outvars, results, strict=True))
        return list(map(read, jaxpr.outvars))

    def _apply(self, path: EquationPath, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """Return the results of an equation, behind barriers where they are probed."""
        name = equation.primitive.name
        if name in _CALLS and len(programs := programs_in(equation)) == 1:
            return self._apply_call(path, equation, programs[0], operands)
        apply = {"scan": self._apply_scan, "while": self._apply_while, "cond": self._apply_cond}.get(name)
        results = evaluate_equation(equation, operands) if apply is None else apply(path, equation, operands)
        if not self._selects(path) or name in _TRANSPARENT:
            return results
        return self._probe_equation(path, equation, operands, results)

    def _probe_equation(
        self, path: EquationPath, equation: Any, operands: Sequence[Any], results: Sequence[Any]
    ) -> list[Any]:
        mask = list(map(is_probed, results))
        if not any(mask):
            return list(results)
        behind = iter(lax.optimization_barrier([x for x, probed in zip(results, mask, strict=True) if probed]))
        results = [next(behind) if probed else x for x, probed in zip(results, mask, strict=True)]
        chosen: list[tuple[Position, int, Any]] = [
            ("result", index, x) for index, x in enumerate(results) if mask[index]
        ]
        if self.probe.needs_operands(results):
            atoms = enumerate(zip(operands, equation.invars, strict=True))
            chosen += [
                ("operand", index, x) for index, (x, atom) in atoms if not isinstance(atom, Literal) and is_probed(x)
            ]
        for position, index, x in chosen:
            self._add_value(x, results, Site(path, position, index))
        return results

    # Equations that hold programs -----------------------------------------------------------------------------------

    def _apply_call(self, path: EquationPath, equation: Any, program: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """Evaluate the body of a call in place of it."""
        params = equation.params
        if params.get("differentiated") and params.get("prevent_cse") and operands:
            operands = lax.optimization_barrier(list(operands))
        inner = type(self)(self.probe, selection_within(self.selection, path, 0))
        results = inner.evaluate(open_jaxpr(program), consts_of(program), operands)
        state, sites, depth = inner.join_sites()
        self._add_body(path, 0, sites, state, depth)
        return results

    def _trace_body(self, path: EquationPath, program: Any, operands: Sequence[Any], body: int, probe: Probe) -> _Body:
        """Return the twin of a body for operands (or types) like these."""
        interpreter = type(self)(probe, selection_within(self.selection, path, body))
        joined: list[Probed] = []

        def function(*values: Any) -> list[Any]:
            results = interpreter.evaluate(open_jaxpr(program), consts_of(program), values)
            joined.append(interpreter.join_sites())
            return [*results, *joined[0].state]

        closed = jax.make_jaxpr(function)(*operands)
        return _Body(closed, joined[0].sites, joined[0].depth)

    def _add_body(
        self, path: EquationPath, body: int, sites: Sequence[Site], state: State, depth: int, loops: int = 0
    ) -> None:
        """Add the sites of a body to those of this program; ``loops`` is 1 for the body of a loop."""
        moved = [site._replace(path=join_paths(path, body, site.path), depth=site.depth + loops) for site in sites]
        if moved:
            self.parts.append(Probed(list(state), moved, depth))

    def _initial(self, body: _Body, depth: int) -> State:
        return self.probe.initial(len(body.sites), depth) if body.sites else []

    def _apply_cond(self, path: EquationPath, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        index, *arguments = operands
        programs = programs_in(equation)
        twins = [
            self._trace_body(path, program, arguments, number, self.probe) for number, program in enumerate(programs)
        ]
        count = len(equation.outvars)

        def branch(selected: int) -> Callable[..., Any]:
            def function(*values: Any) -> tuple[list[Any], list[State]]:
                results = twins[selected].run(values)
                states = [
                    results[count:] if number == selected else self._initial(twin, twin.depth)
                    for number, twin in enumerate(twins)
                ]
                return results[:count], states

            return function

        results, states = lax.switch(index, list(map(branch, range(len(twins)))), *arguments)
        for number, (twin, state) in enumerate(zip(twins, states, strict=True)):
            self._add_body(path, number, twin.sites, state, twin.depth)
        return list(results)

    def _loop_step(self, twin: _Body, operands: Sequence[Any], count: int, loop: Any) -> tuple[list[Any], Any]:
        """Run the twin of a loop's body; return its results and the loop's next (iteration, state)."""
        iteration, state = loop
        results, number = twin.run(operands), len(twin.sites)
        new = self.probe.enter_loop(results[count:], number, twin.depth, iteration) if number else []
        new = self.probe.update(state, new, number, twin.depth + 1) if number else []
        return results[:count], (iteration + np.int32(1), new)

    def _begin_loop(self, twin: _Body) -> tuple[Any, State]:
        return jnp.zeros((), np.int32), self._initial(twin, twin.depth + 1)

    def _apply_scan(self, path: EquationPath, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        params = equation.params
        num_consts, carried = scan_counts(equation)
        consts, carry = operands[:num_consts], operands[num_consts : num_consts + carried]
        xs = operands[num_consts + carried :]
        (program,) = programs_in(equation)
        types = [_type_of(variable.aval) for variable in open_jaxpr(program).invars]
        twin = self._trace_body(path, program, types, 0, probe_in_loop(self.probe))
        count = len(equation.outvars)

        def body(carry: Any, x: Any) -> Any:
            values, loop = carry
            results, following = self._loop_step(twin, [*consts, *values, *x], count, loop)
            return (results[:carried], following), results[carried:]

        start = [_as_array(x) for x in carry], self._begin_loop(twin)
        (results, (_, state)), ys = lax.scan(
            body, start, xs, length=params["length"], reverse=params["reverse"], unroll=params.get("unroll", 1)
        )
        self._add_body(path, 0, twin.sites, state, twin.depth + 1, loops=1)
        return [*results, *ys]

    def _apply_while(self, path: EquationPath, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        cond_count, body_count = equation.params["cond_nconsts"], equation.params["body_nconsts"]
        cond_consts, body_consts = operands[:cond_count], operands[cond_count : cond_count + body_count]
        initial = [_as_array(x) for x in operands[cond_count + body_count :]]
        program, condition_program = programs_in(equation)
        types = [_type_of(variable.aval) for variable in open_jaxpr(program).invars]
        twin = self._trace_body(path, program, types, 0, probe_in_loop(self.probe))
        is_batched = bool(open_jaxpr(condition_program).outvars[0].aval.shape)

        def evaluate_condition(values: Sequence[Any]) -> Any:
            return evaluate_jaxpr(condition_program, [*cond_consts, *values])[0]

        def condition(carry: Any) -> Any:
            goes_on = evaluate_condition(carry[0])
            return jnp.any(goes_on) if is_batched else goes_on

        def body(carry: Any) -> Any:
            values, loop = carry
            results, following = self._loop_step(twin, [*body_consts, *values], len(values), loop)
            if is_batched:
                results = _select_rows(evaluate_condition(values), results, values)
            return results, following

        results, (_, state) = lax.while_loop(condition, body, (initial, self._begin_loop(twin)))
        self._add_body(path, 0, twin.sites, state, twin.depth + 1, loops=1)
        return list(results)


def _type_of(aval: Any) -> jax.ShapeDtypeStruct:
    sharding = aval.sharding if _is_explicitly_sharded(aval) else None
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding)


def _is_explicitly_sharded(aval: Any) -> bool:
    """Return whether an axis of a type is divided among devices, which says so only if the mesh axis is explicit."""
    sharding = getattr(aval, "sharding", None)
    return sharding is not None and not sharding.mesh.empty and any(axis is not None for axis in sharding.spec)


def _as_array(x: Any) -> Any:
    """Return a literal as an array of its dtype, and anything else as it is."""
    return jnp.asarray(x, x.dtype) if isinstance(x, np.generic | np.ndarray) else x


def _select_rows(takes_new: Any, new: Sequence[Any], old: Sequence[Any]) -> list[Any]:
    """Return ``new`` in those examples of a batched loop that go on, and ``old`` in those that have ended."""
    return [
        jnp.where(takes_new.reshape(takes_new.shape + (1,) * (n.ndim - takes_new.ndim)), n, o)
        for n, o in zip(new, old, strict=True)
    ]


def without_explicit_sharding(x: Any) -> Any:
    """Return an array whose type does not divide it among devices, so that it can be reshaped."""
    aval = jax.typeof(x)
    if not _is_explicitly_sharded(aval):
        return x
    spec = jax.sharding.PartitionSpec(*[None] * aval.ndim)
    return jax.sharding.reshard(x, jax.sharding.NamedSharding(aval.sharding.mesh, spec))
