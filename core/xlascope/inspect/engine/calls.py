"""The programs behind functions, and their records, whether or not somebody watched when they were made."""

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

#: Why a program was traced, when nobody watched and it cannot be told any more.
BEFORE = "traced before anybody watched"
#: Compilations of one trace, for other devices or placements, that are told.
MOST_COMPILED = 8
#: Characters of a program's text from which on its records are kept.
LARGE = 100_000


class Call(NamedTuple):
    """One call of a function, traced but not run."""

    function: Any
    jitted: Jitted
    arguments: Arguments
    avals: tuple[ShapedArray, ...]
    traced: TracedCall

    @property
    def place(self) -> Place:
        """Where the call would run."""
        return with_meshes(self.traced.program, self.jitted.place(self.arguments, self.avals, self.traced))

    def placed(self, executable: Executable) -> list[Any]:
        """The operands, where the program wants them."""
        places = executable.places[len(executable.consts) :]
        given = zip(self.arguments.operands, self.avals, places, strict=True)
        return [put(x, aval, place) for x, aval, place in given]

    @property
    def donated(self) -> tuple[bool, ...]:
        """Which operands' memory the call would reuse."""
        return self.jitted.donated(self.arguments)

    def executable(self) -> Executable:
        """The compiled program, the one that the function itself runs: compiled now, if it has not been before."""
        request = self.jitted.request(self.traced, self.arguments)
        at_once = request.options._replace(tiered=False)
        return executable_of(request._replace(options=at_once), self.place)


def jitted_of(function: Any) -> Jitted | None:
    """The tracing side of a jitted function; None for any other function."""
    return function._jitted if isinstance(function, PjitFunction) and hasattr(function, "_jitted") else None


def trace_call(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    """Trace a call, as :func:`xlascope.jit` would; an earlier trace of a call like it is used again."""
    made: Any = function if jitted_of(function) else jit_function(function, Options())
    jitted: Jitted = made._jitted
    arguments = jitted.split(args, kwargs)
    avals = _avals(jitted, arguments)
    return Call(made, jitted, arguments, avals, jitted.trace(arguments, avals))


def _avals(jitted: Jitted, arguments: Arguments) -> tuple[ShapedArray, ...]:
    try:
        return tuple(abstract(x) for x in arguments.operands)
    except TypeError:
        return jitted.avals(arguments)  # says which argument it was


def traces_of(function: Any) -> list[TracedCall]:
    """All programs of a jitted function so far, oldest first; none for any other function."""
    jitted = jitted_of(function)
    return list(jitted.traces.all().values()) if jitted else []


def executables_of(program: ClosedJaxpr) -> list[Executable]:
    """The program's executables so far."""
    return [found for found in program.derived.all().values() if isinstance(found, Executable)]


def known_records(traced: TracedCall) -> Iterator[records.Record]:
    """What is known of a program that was made before, put together again: the compilations asked for last."""
    yield traced_again(traced)
    for executable in executables_of(traced.program)[-MOST_COMPILED:]:
        yield compiled_again(executable, traced)


def traced_again(traced: TracedCall) -> records.Traced:
    """The record of a trace that was made before."""
    kept = traced.program.derived
    key = ("record", traced.number)
    if key not in kept:
        kept[key] = traced_record(traced.program, traced.number, traced.began, traced.seconds, BEFORE, "", None)
    return kept[key]  # type: ignore[no-any-return]


def compiled_again(executable: Executable, traced: TracedCall) -> records.Compiled:
    """The record of a compilation that was made before."""
    kept, made = traced.program.derived, executable.compilation
    key = ("record", made.module)
    if key not in kept:
        kept[key] = describe_executable(
            made.executable,
            made.devices,
            traced.number,
            traced.program.name,
            made.began,
            made.seconds,
            made.cache,
            made.kept,
            None if made.partition is None else lying_texts(made.partition, len(made.kept)),
            kept_values=made.kept_values,
        )
    return kept[key]  # type: ignore[no-any-return]


def remember(record: records.Traced | records.Compiled) -> None:
    """Keep the record of a large program, made while somebody watched, for those who watch it later.

    To put it together again takes a second of a processor where there are some thousand instructions.
    """
    large = record.text if isinstance(record, records.Traced) else record.hlo
    if len(large) < LARGE:
        return
    program = next((traced.program for *_, traced in kept_calls() if traced.number == record.program), None)
    if program is None:
        return
    if isinstance(record, records.Traced):
        again = dataclasses.replace(record, reason=BEFORE, fix="", call_site=None)
        program.derived.setdefault(("record", record.program), again)
    else:
        program.derived.setdefault(("record", record.module), record)


def traced_call(fun: Any, args: Any, kwargs: Any) -> tuple[Call, records.Traced]:
    """The call, and the record of its trace."""
    seen: list[records.Record] = []
    with records.watch(seen.append):
        call = trace_call(fun, args, kwargs)
    mine = (each for each in seen if isinstance(each, records.Traced) and each.program == call.traced.number)
    return call, next(mine, None) or traced_again(call.traced)


def compiled_records(call: Call, traced: records.Traced) -> list[records.Record]:
    """The records of a call's compilation, made now if it was not before: Compiled, and Lowered if it is now."""
    seen: list[records.Record] = []
    with records.watch(seen.append):
        executable = call.executable()
    kinds = records.Lowered | records.Compiled
    made = [each for each in seen if isinstance(each, kinds) and each.program == traced.program]
    return [*made] or [compiled_again(executable, call.traced)]
