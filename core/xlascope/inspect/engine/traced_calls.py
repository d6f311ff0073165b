"""Programs behind jitted functions and their records, including those that were not watched."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ... import records
from ...api import abstract
from ...control.jit.arguments import CallArguments
from ...control.jit.jit_function import jit_function
from ...control.jit.jitted import Jitted
from ...control.jit.trace_cache import TracedCall, iterate_traces
from ...control.jit.trace_signature import TraceSignature
from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.jaxpr_record import make_traced_record
from ...xla.arrays.transfers import put_on_device
from ...xla.compilation.executable_record import describe_executable
from ...xla.execution.call_cache import PjitFunction
from ...xla.execution.executables import Executable, find_or_compile
from ...xla.execution.placement import Placement, resolve_placement
from ...xla.sharding.partitions import sharding_descriptions
from .static_arguments import options_for_call

#: The reason of a trace that was not watched, whose actual reason is lost.
TRACED_BEFORE_WATCHING = "traced before anybody watched"
#: Maximum number of compilations of one trace, for other devices or placements, that are reported.
MAX_COMPILATIONS = 8
#: Minimum number of characters of a program's text for its records to be cached.
LARGE_TEXT_CHARS = 100_000


class InspectedCall(NamedTuple):
    """Call of a jitted function, traced but not run.

    ``function`` is the user's function, jitted if it was not, and ``jitted`` its tracing side; ``avals`` are the
    abstract values of the operands.
    """

    function: Any
    jitted: Jitted
    arguments: CallArguments
    avals: tuple[ShapedArray, ...]
    traced: TracedCall

    @property
    def place(self) -> Placement:
        """Return the devices on which the call would run."""
        return resolve_placement(
            self.traced.program, self.jitted.resolve_place(self.arguments, self.avals, self.traced)
        )

    def put_operands(self, executable: Executable) -> list[Any]:
        """Return the operands of the call on the devices and in the layout that an executable expects."""
        places = executable.operand_targets[len(executable.consts) :]
        items = zip(self.arguments.operands, self.avals, places, strict=True)
        return [put_on_device(x, aval, target_place) for x, aval, target_place in items]

    @property
    def donated_operands(self) -> tuple[bool, ...]:
        """Return the mask of operands that the call would donate; ``()`` for none."""
        return self.jitted.donation_mask(self.arguments)

    def executable(self) -> Executable:
        """Return the executable that the function itself runs; compile it if necessary."""
        request = self.jitted.request(self.traced, self.arguments)
        at_once = request.options._replace(tiered=False)
        return find_or_compile(request._replace(options=at_once), self.place)


def jitted_of(function: Any) -> Jitted | None:
    """Return the tracing side of a jitted function; None for any other function."""
    return function._jitted if isinstance(function, PjitFunction) and hasattr(function, "_jitted") else None


def trace_call(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> InspectedCall:
    """Trace a call, as :func:`xlascope.jit` would; an earlier trace of an equal call is used again.

    Arguments of a function that is not jitted stay Python values if they cannot be arrays.
    """
    jit_fn: Any = function if jitted_of(function) else jit_function(function, options_for_call(function, args, kwargs))
    jitted: Jitted = jit_fn._jitted
    arguments = jitted.split_arguments(args, kwargs)
    avals = _avals(jitted, arguments)
    return InspectedCall(jit_fn, jitted, arguments, avals, jitted.trace(arguments, avals))


def _avals(jitted: Jitted, arguments: CallArguments) -> tuple[ShapedArray, ...]:
    try:
        return tuple(abstract(x) for x in arguments.operands)
    except TypeError:
        return jitted.avals(arguments)  # names the argument in its error


def traces_of(function: Any) -> list[TracedCall]:
    """Return all programs of a jitted function so far, oldest first; none for any other function."""
    jitted = jitted_of(function)
    return list(jitted.traces.all().values()) if jitted else []


def signatures_of(function: Any) -> list[tuple[TraceSignature, TracedCall]]:
    """Return the programs of a jitted function so far with their signatures; none for any other function."""
    jitted = jitted_of(function)
    return list(jitted.traces.all().items()) if jitted else []


def executables_of(program: ClosedJaxpr) -> list[Executable]:
    """Return the program's executables so far."""
    return [value for value in program.derived.all().values() if isinstance(value, Executable)]


def rebuild_records(traced: TracedCall) -> Iterator[records.Record]:
    """Yield the rebuilt records of an existing program: the trace, and the last compilations."""
    yield rebuild_traced(traced)
    for executable in executables_of(traced.program)[-MAX_COMPILATIONS:]:
        yield rebuild_compiled(executable, traced)


def rebuild_traced(traced: TracedCall) -> records.Traced:
    """Return the rebuilt record of an existing trace, cached with its program."""
    derived = traced.program.derived
    key = ("record", traced.number)
    if key not in derived:
        origin: records.Origin = "operation" if traced.reason.origin == "operation" else "again"
        derived[key] = make_traced_record(
            traced.program, traced.number, traced.began, traced.seconds, TRACED_BEFORE_WATCHING, "", None, origin
        )
    return derived[key]  # type: ignore[no-any-return]


def rebuild_compiled(executable: Executable, traced: TracedCall) -> records.Compiled:
    """Return the rebuilt record of an existing compilation, cached with the program of its trace."""
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
            compilation.kept_operands,
            None
            if compilation.partition is None
            else sharding_descriptions(compilation.partition, len(compilation.kept_operands)),
            materialized_ops=compilation.materialized_ops,
        )
    return derived[key]  # type: ignore[no-any-return]


def cache_record(record: records.Traced | records.Compiled) -> None:
    """Cache the record of a large program, which was watched, for later watchers.

    Rebuilding it takes about a second of processor time for some thousand instructions.
    """
    text = record.text if isinstance(record, records.Traced) else record.hlo
    if len(text) < LARGE_TEXT_CHARS:
        return
    program = next((traced.program for *_, traced in iterate_traces() if traced.number == record.program), None)
    if program is None:
        return
    if isinstance(record, records.Traced):
        stored = dataclasses.replace(record, reason=TRACED_BEFORE_WATCHING, fix="", call_site=None)
        program.derived.setdefault(("record", record.program), stored)
    else:
        program.derived.setdefault(("record", record.module), record)


def trace_with_record(fun: Any, args: Any, kwargs: Any) -> tuple[InspectedCall, records.Traced]:
    """Trace a call and return it with the record of its trace."""
    observed: list[records.Record] = []
    with records.watch(observed.append):
        call = trace_call(fun, args, kwargs)
    matching = (
        record for record in observed if isinstance(record, records.Traced) and record.program == call.traced.number
    )
    return call, next(matching, None) or rebuild_traced(call.traced)


def compile_with_records(call: InspectedCall, traced: records.Traced) -> list[records.Record]:
    """Compile a call, if necessary, and return its records: Compiled, and Lowered if it is compiled now."""
    observed: list[records.Record] = []
    with records.watch(observed.append):
        executable = call.executable()
    kinds = records.Lowered | records.Compiled
    matching = [record for record in observed if isinstance(record, kinds) and record.program == traced.program]
    return [*matching] or [rebuild_compiled(executable, call.traced)]
