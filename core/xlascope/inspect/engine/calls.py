"""Programs behind jitted functions and their records, including those that were not watched."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ... import records
from ...api import abstract
from ...control.jit.arguments import Arguments, Options
from ...control.jit.functions import jit_function
from ...control.jit.jitted import Jitted
from ...control.jit.traces import TracedCall, kept_calls
from ...ir.avals import ShapedArray
from ...ir.describe import traced_record
from ...ir.jaxpr import ClosedJaxpr
from ...xla.arrays.transfers import put
from ...xla.compilation.describe import describe_executable
from ...xla.running.call_cache import PjitFunction
from ...xla.running.executables import Executable, executable_of
from ...xla.running.places import Place, with_meshes
from ...xla.sharding.partitions import lying_texts

#: The reason of a trace that was not watched, whose actual reason is lost.
BEFORE = "traced before anybody watched"
#: Maximum number of compilations of one trace, for other devices or placements, that are reported.
MOST_COMPILED = 8
#: Minimum number of characters of a program's text for its records to be cached.
LARGE = 100_000


class Call(NamedTuple):
    """Call of a function, traced but not run."""

    function: Any
    jitted: Jitted
    arguments: Arguments
    avals: tuple[ShapedArray, ...]
    traced: TracedCall

    @property
    def place(self) -> Place:
        """Return the devices on which the call would run."""
        return with_meshes(self.traced.program, self.jitted.place(self.arguments, self.avals, self.traced))

    def placed(self, executable: Executable) -> list[Any]:
        """Return the operands, moved to where the program expects them."""
        places = executable.places[len(executable.consts) :]
        items = zip(self.arguments.operands, self.avals, places, strict=True)
        return [put(x, aval, target_place) for x, aval, target_place in items]

    @property
    def donated(self) -> tuple[bool, ...]:
        """Return which operands the call would donate."""
        return self.jitted.donated(self.arguments)

    def executable(self) -> Executable:
        """Return the executable that the function itself runs; compile it if necessary."""
        request = self.jitted.request(self.traced, self.arguments)
        at_once = request.options._replace(tiered=False)
        return executable_of(request._replace(options=at_once), self.place)


def jitted_of(function: Any) -> Jitted | None:
    """Return the tracing side of a jitted function; None for any other function."""
    return function._jitted if isinstance(function, PjitFunction) and hasattr(function, "_jitted") else None


def trace_call(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    """Trace a call, as :func:`xlascope.jit` would; an earlier trace of an equal call is used again."""
    jit_fn: Any = function if jitted_of(function) else jit_function(function, Options())
    jitted: Jitted = jit_fn._jitted
    arguments = jitted.split(args, kwargs)
    avals = _avals(jitted, arguments)
    return Call(jit_fn, jitted, arguments, avals, jitted.trace(arguments, avals))


def _avals(jitted: Jitted, arguments: Arguments) -> tuple[ShapedArray, ...]:
    try:
        return tuple(abstract(x) for x in arguments.operands)
    except TypeError:
        return jitted.avals(arguments)  # names the argument in its error


def traces_of(function: Any) -> list[TracedCall]:
    """Return all programs of a jitted function so far, oldest first; none for any other function."""
    jitted = jitted_of(function)
    return list(jitted.traces.all().values()) if jitted else []


def executables_of(program: ClosedJaxpr) -> list[Executable]:
    """Return the program's executables so far."""
    return [value for value in program.derived.all().values() if isinstance(value, Executable)]


def known_records(traced: TracedCall) -> Iterator[records.Record]:
    """Yield the rebuilt records of an existing program: the trace, and the last compilations."""
    yield traced_again(traced)
    for executable in executables_of(traced.program)[-MOST_COMPILED:]:
        yield compiled_again(executable, traced)


def traced_again(traced: TracedCall) -> records.Traced:
    """Return the rebuilt record of an existing trace."""
    derived = traced.program.derived
    key = ("record", traced.number)
    if key not in derived:
        derived[key] = traced_record(traced.program, traced.number, traced.began, traced.seconds, BEFORE, "", None)
    return derived[key]  # type: ignore[no-any-return]


def compiled_again(executable: Executable, traced: TracedCall) -> records.Compiled:
    """Return the rebuilt record of an existing compilation."""
    derived, compilation = traced.program.derived, executable.compilation
    key = ("record", compilation.module)
    if key not in derived:
        derived[key] = describe_executable(
            compilation.executable,
            compilation.devices,
            traced.number,
            traced.program.name,
            compilation.began,
            compilation.seconds,
            compilation.cache,
            compilation.kept,
            None if compilation.partition is None else lying_texts(compilation.partition, len(compilation.kept)),
            kept_values=compilation.kept_values,
        )
    return derived[key]  # type: ignore[no-any-return]


def remember(record: records.Traced | records.Compiled) -> None:
    """Cache the record of a large program, which was watched, for later watchers.

    Rebuilding it takes about a second of processor time for some thousand instructions.
    """
    text = record.text if isinstance(record, records.Traced) else record.hlo
    if len(text) < LARGE:
        return
    program = next((traced.program for *_, traced in kept_calls() if traced.number == record.program), None)
    if program is None:
        return
    if isinstance(record, records.Traced):
        stored = dataclasses.replace(record, reason=BEFORE, fix="", call_site=None)
        program.derived.setdefault(("record", record.program), stored)
    else:
        program.derived.setdefault(("record", record.module), record)


def traced_call(fun: Any, args: Any, kwargs: Any) -> tuple[Call, records.Traced]:
    """Trace a call and return it with the record of its trace."""
    observed: list[records.Record] = []
    with records.watch(observed.append):
        call = trace_call(fun, args, kwargs)
    matching = (
        record for record in observed if isinstance(record, records.Traced) and record.program == call.traced.number
    )
    return call, next(matching, None) or traced_again(call.traced)


def compiled_records(call: Call, traced: records.Traced) -> list[records.Record]:
    """Compile a call, if necessary, and return its records: Compiled, and Lowered if it happened now."""
    observed: list[records.Record] = []
    with records.watch(observed.append):
        executable = call.executable()
    kinds = records.Lowered | records.Compiled
    matching = [record for record in observed if isinstance(record, kinds) and record.program == traced.program]
    return [*matching] or [compiled_again(executable, call.traced)]
