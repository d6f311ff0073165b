"""Arrays that panels look into: values of the calls that ``%values`` ran, computed again, and arrays of the user's."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from xlascope.inspect.arrays.array_store import ArrayStore
from xlascope.inspect.arrays.host_array import MAX_FREE_MEMORY_SHARE, free_bytes
from xlascope.inspect.arrays.look import ARRAYS, Look
from xlascope.inspect.producers import Query, program_of
from xlascope.inspect.values import value_listeners
from xlascope.records import EquationPath, ValueReport
from xlascope.records.values import Position

JSON = dict[str, Any]

#: The number of calls whose arguments are held.
MAX_HELD_CALLS = 8
_POSITIONS: tuple[Position, ...] = ("argument", "operand", "result")


class _ValueCall(NamedTuple):
    """Call whose values were asked for, the report about it, and the bytes of its arguments."""

    query: Query
    report: ValueReport
    size: int


class ValueViews:
    """Source of the arrays that panels show; see :class:`xlascope_widgets.array_views.ArraySource`.

    It holds the arguments of the latest eight calls whose values were asked for, while together they take less than 5 %
    of the free memory, so that one value can be computed again when a panel asks for it.
    """

    def __init__(self, arrays: ArrayStore) -> None:
        self._arrays = arrays
        self._lock = threading.Lock()
        self._calls: OrderedDict[int, _ValueCall] = OrderedDict()
        self._too_large: set[int] = set()

    def hold(self, query: Query, report: ValueReport, size: int) -> None:
        """Hold the arguments of a call whose values were asked for, of ``size`` bytes, if there is memory for them."""
        limit = MAX_FREE_MEMORY_SHARE * free_bytes()
        with self._lock:
            self._calls.pop(report.program, None)
            self._too_large = {report.program} if size > limit else self._too_large - {report.program}
            if size > limit:
                return
            self._calls[report.program] = _ValueCall(query, report, size)
            while len(self._calls) > MAX_HELD_CALLS or sum(call.size for call in self._calls.values()) > limit:
                self._calls.popitem(last=False)

    def release(self) -> None:
        """Release all arguments."""
        with self._lock:
            self._calls.clear()

    def add(self, looked: Look) -> str:
        """Return the handle of an array that the user looks at."""
        return self._arrays.add(looked.array, looked.name, looked.facts)

    def open(self, question: JSON) -> JSON:
        """Return the description of an array: of ``question["handle"]``, or of a value that is computed again.

        Such a value has a ``path``, a ``position`` (``argument``, ``operand``, ``result``) and an ``index`` in the
        ``program``, and ``iterations`` of the loops around it; without them it is the iteration in which NaN or
        infinity was born there, or the last. Raises LookupError, which says what to do, if the call is not held.
        """
        handle = question.get("handle")
        if isinstance(handle, str):
            return self._arrays.describe(handle)
        call = self._find_call(question.get("program"))
        path = EquationPath.parse(str(question["path"])) if question.get("path") else EquationPath("")
        position, index = question.get("position"), question.get("index")
        if position not in _POSITIONS or not isinstance(index, int) or index < 0:
            raise ValueError(f"a value is an argument, operand or result with an index, got {position!r} {index!r}")
        iterations = _parse_iterations(question.get("iterations")) or _born_in(call.report, path)
        program = program_of(call.query)
        limit = int(MAX_FREE_MEMORY_SHARE * free_bytes())
        value = program.host.captured_value(path, position, index, iterations, limit)
        name = _name_value(program.record, path, position, index)
        handle = self._arrays.add(value.array, name)
        return {
            **self._arrays.describe(handle),
            "loops": value.loops,
            "iterations": value.iterations,
            "devices": value.devices,
            "of": {"path": path, "position": position, "index": index, "program": call.report.program},
        }

    def measure(self, handle: str) -> JSON:
        """Return the statistics of an array."""
        return self._arrays.measure(handle)

    def read(self, handle: str, question: JSON) -> tuple[JSON, list[bytes]]:
        """Return a slice of an array, as JSON and buffers."""
        return self._arrays.read(handle, question)

    def _find_call(self, number: object) -> _ValueCall:
        with self._lock:
            call = self._calls.get(number) if isinstance(number, int) else None
            is_too_large = number in self._too_large
        if call is not None:
            return call
        if is_too_large:
            raise LookupError(
                "its arguments take more than 5 % of the free memory, so they were not kept: return the value from the "
                "function, and run %look on it"
            )
        raise LookupError("the arguments of this call are not kept any more: run %values again, then ask")


def _parse_iterations(values: Any) -> tuple[int, ...]:
    if values is None:
        return ()
    if not isinstance(values, Sequence) or not all(isinstance(value, int) for value in values):
        raise ValueError(f"iterations are whole numbers, got {values!r}")
    return tuple(values)


def _born_in(report: ValueReport, path: EquationPath) -> tuple[int, ...]:
    """Return the iterations in which NaN or infinity was born in an equation, ``()`` if none was."""
    return next((birth.iterations for birth in report.births if birth.path == path), ())


def _name_value(traced: Any, path: EquationPath, position: Position, index: int) -> str:
    """Return what a value is called: the user's name, or the operation and the variable."""
    if position == "argument":
        names, operation = (*traced.jaxpr.constants, *traced.jaxpr.inputs), "argument"
        variables = traced.jaxpr.variables
    else:
        level, equation = _find_equation(traced.jaxpr, path)
        names, variables = equation.outputs if position == "result" else equation.inputs, level.variables
        operation = equation.operation if position == "result" else f"operand of {equation.operation}"
    name = names[index] if index < len(names) else str(index)
    label = variables[name].label if name in variables else ""
    return f"{label or name}, {operation}"


def _find_equation(jaxpr: Any, path: EquationPath) -> tuple[Any, Any]:
    """Return an equation and the program or body that has it."""
    equation = None
    for step in path.steps:
        jaxpr = jaxpr if equation is None else equation.bodies[step.body]
        equation = jaxpr.equations[step.number]
    return jaxpr, equation


#: The arrays of this kernel.
VIEWS = ValueViews(ARRAYS)


def watch_value_calls() -> Any:
    """Hold the arguments of calls whose values are asked for; return a function that ends that and releases them."""
    value_listeners.append(VIEWS.hold)

    def end() -> None:
        if VIEWS.hold in value_listeners:
            value_listeners.remove(VIEWS.hold)
        VIEWS.release()

    return end
