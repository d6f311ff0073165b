"""Log of functions that were traced again: why, where, at what cost, and how to avoid it."""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .. import records
from ..analysis.retraces import Retrace, Retraces, new_function_location, retraces_text
from ..ir.user_frames import title_of
from ..records import Compiled, Lowered, Missed, Record, SourceRange, Traced
from .inspection_scope import inspecting
from .result import Inspection

#: Maximum number of stored records, without their programs; the oldest are dropped first.
MAX_RECORDS = 3_000


class RecompileLog:
    """Recorder of avoidable traces and calls from :meth:`start` to :meth:`stop`.

    It can be started several times, and records until it is stopped as often.
    """

    def __init__(self) -> None:
        self._records: OrderedDict[int, Record] = OrderedDict()
        self._programs: set[int] = set()
        self._lock = threading.Lock()
        self._next = 0
        self._subscription: records.Subscription | None = None
        self._start_count = 0

    @property
    def watching(self) -> bool:
        """Return whether it is started."""
        return self._subscription is not None

    def start(self) -> RecompileLog:
        """Start recording."""
        self._start_count += 1
        if self._subscription is None:
            self._subscription = records.watch(self.receive)
        return self

    def stop(self) -> None:
        """Stop recording; the records stay."""
        self._start_count -= 1
        if self._subscription is not None and self._start_count <= 0:
            self._subscription.close()
            self._subscription = None

    def __enter__(self) -> RecompileLog:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def receive(self, record: Record) -> None:
        """Store a record if it is about a retrace; from any thread."""
        if inspecting():
            return
        match record:
            case Traced() if record.fix or record.origin == "first":
                stored: Record = _without_program(record)
            case Missed() if record.fix:
                stored = dataclasses.replace(record, call_site=_with_cell_title(record.call_site))
            case Lowered() if record.program in self._programs:
                stored = record
            case Compiled() if record.program in self._programs:
                stored = dataclasses.replace(record, kernels=(), hlo="", memory=None)
            case _:
                return
        with self._lock:
            self._programs.add(record.program)
            self._records[self._next] = stored
            self._next += 1
            while len(self._records) > MAX_RECORDS:
                self._programs.discard(self._records.popitem(last=False)[1].program or 0)

    def recompiles(self, function: Callable[..., Any] | str | None = None) -> Inspection:
        """Return the recorded retraces of all functions, or of one, given itself or by name."""
        with self._lock:
            stored = tuple(self._records.values())
        name = None if function is None else function if isinstance(function, str) else _function_name(function)
        selected = [item for item in stored if name in (None, item.function)]
        retraces = Retraces.of(selected if name is None else _add_outer_traces(stored, selected))
        functions = [item for item in retraces.by_cost() if name in (None, item.function)]
        return Inspection("recompiles", selected, retraces_text(functions) or _no_retraces_text(name))

    def avoidable_traces(self, numbers: frozenset[int]) -> tuple[Retrace, ...]:
        """Return the avoidable traces of a function, newest first.

        They are those of its programs, by number, and of functions created from the same code in a loop.
        """
        with self._lock:
            stored = tuple(self._records.values())
        retraces = [retrace for function in Retraces.of(stored).functions.values() for retrace in function.retraces]
        codes = {
            code
            for retrace in retraces
            if retrace.program in numbers and (code := new_function_location(retrace.reason))
        }
        matching = (
            retrace
            for retrace in retraces
            if retrace.program in numbers or new_function_location(retrace.reason) in codes
        )
        return tuple(sorted(matching, key=lambda retrace: -retrace.time))


_LOG = RecompileLog()


class RecompileWatch:
    """Handle that keeps a log recording until it is closed (or its ``with`` block is left)."""

    def __init__(self, log: RecompileLog) -> None:
        self._log: RecompileLog | None = log.start()

    def close(self) -> None:
        """Stop watching; closing twice is harmless."""
        if self._log is not None:
            self._log.stop()
            self._log = None

    def __enter__(self) -> RecompileWatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def watch_recompiles() -> RecompileWatch:
    """Start recording why functions are traced again, for :func:`recompiles`.

    Closing the result, or leaving its ``with`` block, ends that; the records stay. Watching costs nothing per
    call, and a description of each program that is traced or compiled.
    """
    return RecompileWatch(_LOG)


def recompiles(function: Callable[..., Any] | str | None = None) -> Inspection:
    """Show which functions were traced again since :func:`watch_recompiles`: where, why, the cost, and the fix.

    ``function``, itself or its name, selects one. ``%load_ext xlascope`` starts watching. Raises RuntimeError if
    nothing was ever watched.

    >>> import numpy as np, xlascope as xs
    >>> doubled = xs.jit(lambda x: x * 2)
    >>> with xs.inspect.watch_recompiles():
    ...     y = doubled(np.ones(2)), doubled(np.ones(3))
    >>> for line in xs.inspect.recompiles(doubled).text.splitlines()[:3]:
    ...     print(line)
    <lambda>: traced again ... lost (measured)
      trace 2 ... x: f32[2] → f32[3]
         fix: Pad or batch the data to one shape, or expect one trace per shape.
    """
    if not _LOG.watching and not _LOG._records:
        raise RuntimeError(
            "nothing is remembered: call xlascope.inspect.watch_recompiles() before the calls (%load_ext xlascope does)"
        )
    return _LOG.recompiles(function)


def avoidable_traces(numbers: frozenset[int]) -> tuple[Retrace, ...]:
    """Return the recorded avoidable traces of a function, by the numbers of its programs."""
    return _LOG.avoidable_traces(numbers)


def _function_name(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _no_retraces_text(name: str | None) -> str:
    return f"nothing was traced again{f' of {name}' if name else ''}"


def _add_outer_traces(stored: tuple[Record, ...], selected: list[Record]) -> list[Record]:
    """Return the selected records and all traces in ``stored``, in the order of ``stored``.

    A trace may contain those that are selected.
    """
    selected_ids = {id(record) for record in selected}
    return [record for record in stored if id(record) in selected_ids or isinstance(record, Traced)]


def _without_program(record: Traced) -> Traced:
    """Return a trace without its program, which is not needed here and may be large."""
    empty = dataclasses.replace(record.jaxpr, equations=(), variables={}, constants=(), inputs=(), outputs=())
    return dataclasses.replace(record, jaxpr=empty, text="", sources=(), call_site=_with_cell_title(record.call_site))


def _with_cell_title(site: SourceRange | None) -> SourceRange | None:
    """Return a location in a notebook cell with the cell's title as file: the kernel's file name is artificial."""
    title = None if site is None else title_of(site.file)
    return site if site is None or title is None else dataclasses.replace(site, file=title)
