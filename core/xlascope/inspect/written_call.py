"""Measurement of a call of a function that is not jitted, made as its user wrote it."""

from __future__ import annotations

import functools
import io
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .. import records
from ..analysis.eager_call import EagerCall
from ..runtime.debug_output import debug_output_discarded
from .inspection_scope import inspection
from .running.dispatch_count import DispatchCount, count_dispatches

#: Approximate seconds of all timed calls, of a round of short calls, and numbers of rounds.
TIMED_SECONDS, ROUND_SECONDS, MIN_ROUNDS, MAX_ROUNDS = 0.4, 0.002, 3, 60
#: No further call is made after so many seconds; two are made in any case, the first of which compiles.
MAX_SECONDS = 10.0
#: Number of characters of an error that says why a function cannot be jitted.
MAX_REASON_CHARS = 240


class WrittenCall(NamedTuple):
    """Call of a function that is not jitted, with the tools of the engine that its operations belong to.

    ``map_leaves(function, tree)`` applies a function to the leaves of nested containers, ``leaves(tree)`` returns
    them. ``copy_array`` returns a copy of an array of the engine, and any other leaf as it is.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    map_leaves: Callable[[Callable[[Any], Any], Any], Any]
    leaves: Callable[[Any], list[Any]]
    copy_array: Callable[[Any], Any] = copy

    @property
    def name(self) -> str:
        """Return the name of the function, for a partial that of the function it calls."""
        function = self.function
        while isinstance(function, functools.partial):
            function = function.func
        return str(getattr(function, "__name__", type(function).__name__))

    def copy_arguments(self) -> tuple[Any, Any]:
        """Return copies of the arguments: a call may donate arrays of the device, or write into NumPy's."""
        return self.map_leaves(self._copy_leaf, (self.args, self.kwargs))  # type: ignore[no-any-return]

    def _copy_leaf(self, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return x.copy()
        return self.copy_array(x) if hasattr(x, "block_until_ready") else x

    def run(self, arguments: tuple[Any, Any]) -> None:
        """Make the call with these arguments and wait for its results."""
        for result in self.leaves(self.function(*arguments[0], **arguments[1])):
            if hasattr(result, "block_until_ready"):
                result.block_until_ready()

    def is_donating(self, arguments: tuple[Any, Any]) -> bool:
        """Return whether a call with these arguments has donated one of them."""
        return any(x.is_deleted() for x in self.leaves(arguments) if hasattr(x, "is_deleted"))

    def make_runner(self) -> Callable[[], None]:
        """Return a function that makes the call and waits; arguments are copied for it if the call donates some.

        The call is made once, to see that.
        """
        arguments = self.copy_arguments()
        with inspection():
            self.run(arguments)
        if self.is_donating(arguments):
            return lambda: self.run(self.copy_arguments())
        return lambda: self.run(arguments)


def measure_written_call(call: WrittenCall) -> EagerCall:
    """Make a call as written, several times, and return its times and what it dispatches.

    The first call compiles, the second is counted, and the others are timed. What they print is discarded, except for
    the first. Each call gets copies of the arguments if the function donates some or if it is the first: the user's
    stay as they are. Raises what the first call raises; what a later one raises ends the measurement and is noted.
    """
    began = time.perf_counter()
    arguments = call.copy_arguments()
    with inspection():
        call.run(arguments)
    first = time.perf_counter() - began
    donates = call.is_donating(arguments)
    count, calls = DispatchCount(), 1
    rounds: list[float] = []
    notes: tuple[str, ...] = ()
    try:
        with inspection(), prints_discarded():
            fresh = call.copy_arguments() if donates else arguments
            with count_dispatches() as count:
                started = time.perf_counter()
                call.run(fresh)
                counted = time.perf_counter() - started
            calls += 1
            if first + counted < MAX_SECONDS:
                timed_calls, rounds = _time_rounds(call, arguments, counted, began, donates=donates)
                calls += timed_calls
            rounds = rounds or [counted]
    except Exception as error:
        notes = (f"a repeated call failed ({type(error).__name__}: {error}): times are of those before",)
    line, line_operations = count.busiest_line
    return EagerCall(
        call.name,
        calls,
        tuple(rounds or [first]),
        count.operations.total(),
        count.programs.total(),
        line,
        line_operations,
        count.fetches.total(),
        count.fetch_seconds,
        count.fetching_line[0],
        notes=notes,
    )


def _time_rounds(
    call: WrittenCall, arguments: tuple[Any, Any], estimate: float, began: float, *, donates: bool
) -> tuple[int, list[float]]:
    """Return the number of calls, and the mean seconds of a call for each round.

    ``estimate`` are the seconds of a call, ``began`` is when the measurement began. With ``donates``, each call gets
    copies of ``arguments``, made outside of the time.
    """
    per_round = 1 if donates else max(1, int(ROUND_SECONDS / max(estimate, 1e-7)))
    rounds: list[float] = []
    while len(rounds) < MAX_ROUNDS and time.perf_counter() - began < MAX_SECONDS:
        if len(rounds) >= MIN_ROUNDS and sum(rounds) * per_round > TIMED_SECONDS:
            break
        used = call.copy_arguments() if donates else arguments
        started = time.perf_counter()
        for _ in range(per_round):
            call.run(used)
        rounds.append((time.perf_counter() - started) / per_round)
    return per_round * len(rounds), rounds


class _SilentHere(io.TextIOBase):
    """Text stream that discards what one thread writes and passes on what others write."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream, self._thread = stream, threading.get_ident()

    def write(self, text: str) -> int:
        """Write text unless the thread is that which made the stream."""
        return len(text) if threading.get_ident() == self._thread else self._stream.write(text)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()


@contextmanager
def prints_discarded() -> Iterator[None]:
    """Discard what this thread prints in a ``with`` block, and what programs print."""
    stream = sys.stdout
    sys.stdout = silent = _SilentHere(stream)
    try:
        with debug_output_discarded():
            yield
    finally:
        if sys.stdout is silent:
            sys.stdout = stream


def measure_unjittable_call(call: WrittenCall, error: Exception) -> EagerCall:
    """Measure a call as written whose function cannot be jitted because of ``error``.

    Raises ``error`` if the call cannot be made as written either.
    """
    try:
        return replace(measure_written_call(call), cannot_jit=explain_jit_failure(error))
    except Exception:
        raise error from None


def add_eager_note(measured: Sequence[records.Record], eager: EagerCall) -> list[records.Record]:
    """Return records with a note in the measurement that says what the times are of: the function, jitted."""
    note = f"{eager.summary}; times of kernels and lines are those of the jitted function"
    return [
        replace(record, notes=(*record.notes, note)) if isinstance(record, records.Executed) else record
        for record in measured
    ]


def explain_jit_failure(error: BaseException) -> str:
    """Return why a function cannot be jitted, from the error of tracing it: its class and first sentence."""
    text = " ".join(str(error).split())
    sentence = text.partition(". ")[0].removesuffix(".")
    shown = sentence if len(sentence) <= MAX_REASON_CHARS else sentence[: MAX_REASON_CHARS - 1] + "…"
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__
