"""Which functions were traced again, since somebody watches: why, where, what it cost, and how to avoid it."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .. import records
from ..analysis.retraces import Retrace, Retraces, made_from, retraces_text
from ..ir.sources import title_of
from ..records import Compiled, Lowered, Missed, Record, SourceRange, Traced
from .quiet import inspecting
from .result import Inspection

#: Records kept, without the programs in them; of more the oldest are forgotten.
MOST_RECORDS = 3_000


class RecompileLog:
    """Remembers, from :meth:`start` to :meth:`stop`, the traces and calls that could have been spared.

    Several may start it: it remembers until as many have stopped it.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Record] = OrderedDict()
        self._programs: set[int] = set()
        self._lock = threading.Lock()
        self._next = 0
        self._subscription: records.Subscription | None = None
        self._watching = 0

    @property
    def watching(self) -> bool:
        """Whether it is started."""
        return self._subscription is not None

    def start(self) -> RecompileLog:
        """Remember from now on."""
        self._watching += 1
        if self._subscription is None:
            self._subscription = records.watch(self.receive)
        return self

    def stop(self) -> None:
        """Remember no more; what is remembered stays."""
        self._watching -= 1
        if self._subscription is not None and self._watching <= 0:
            self._subscription.close()
            self._subscription = None

    def __enter__(self) -> RecompileLog:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stop()

    def receive(self, record: Record) -> None:
        """Remember a record if it is about a trace that had an earlier one; from any thread."""
        if inspecting():
            return
        match record:
            case Traced() if record.fix or record.origin == "first":
                kept: Record = _light(record)
            case Missed() if record.fix:
                kept = dataclasses.replace(record, call_site=_titled(record.call_site))
            case Lowered() if record.program in self._programs:
                kept = record
            case Compiled() if record.program in self._programs:
                kept = dataclasses.replace(record, kernels=(), hlo="", memory=None)
            case _:
                return
        with self._lock:
            self._programs.add(record.program)
            self._kept[self._next] = kept
            self._next += 1
            while len(self._kept) > MOST_RECORDS:
                self._programs.discard(self._kept.popitem(last=False)[1].program or 0)

    def recompiles(self, function: Callable[..., Any] | str | None = None) -> Inspection:
        """What is remembered, of every function or of one, given itself or by its name."""
        with self._lock:
            found = tuple(self._kept.values())
        name = None if function is None else function if isinstance(function, str) else _name(function)
        mine = [each for each in found if name in (None, each.function)]
        gathered = Retraces.of(mine if name is None else _with_outer(found, mine))
        functions = [each for each in gathered.by_cost() if name in (None, each.function)]
        return Inspection("recompiles", mine, retraces_text(functions) or _nothing(name))

    def spared(self, numbers: frozenset[int]) -> tuple[Retrace, ...]:
        """The traces of a function that could have been spared, newest first.

        They are those of its programs, by number, and of the functions that were made from the same code in a loop.
        """
        with self._lock:
            found = tuple(self._kept.values())
        known = [each for function in Retraces.of(found).functions.values() for each in function.retraces]
        codes = {code for each in known if each.program in numbers and (code := made_from(each.reason))}
        mine = (each for each in known if each.program in numbers or made_from(each.reason) in codes)
        return tuple(sorted(mine, key=lambda each: -each.time))


_LOG = RecompileLog()


class Watching:
    """Somebody watches, until this is closed (or its ``with`` block is left)."""

    def __init__(self, log: RecompileLog) -> None:
        self._log: RecompileLog | None = log.start()

    def close(self) -> None:
        """Watch no more; closing twice is harmless."""
        if self._log is not None:
            self._log.stop()
            self._log = None

    def __enter__(self) -> Watching:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


def watch_recompiles() -> Watching:
    """Remember from now on why functions are traced again, for :func:`recompiles`.

    Closing what is returned, or leaving its ``with`` block, ends that; what is remembered stays. Watching costs nothing
    per call, and a description of each program that is traced or compiled.
    """
    return Watching(_LOG)


def recompiles(function: Callable[..., Any] | str | None = None) -> Inspection:
    """Which functions were traced again since :func:`watch_recompiles`: where, what differed, seconds lost, the fix.

    ``function``, itself or its name, chooses one. ``%load_ext xlascope`` watches. Raises RuntimeError when nobody has
    watched.

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
    if not _LOG.watching and not _LOG._kept:
        raise RuntimeError(
            "nothing is remembered: call xlascope.inspect.watch_recompiles() before the calls (%load_ext xlascope does)"
        )
    return _LOG.recompiles(function)


def spared_traces(numbers: frozenset[int]) -> tuple[Retrace, ...]:
    """The traces of a function, by the numbers of its programs, that could have been spared, as far as one watched."""
    return _LOG.spared(numbers)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _nothing(name: str | None) -> str:
    return f"nothing was traced again{f' of {name}' if name else ''}"


def _with_outer(found: tuple[Record, ...], mine: list[Record]) -> list[Record]:
    """With the traces of other functions, which may contain those of this one."""
    chosen = {id(each) for each in mine}
    return [each for each in found if id(each) in chosen or isinstance(each, Traced)]


def _light(record: Traced) -> Traced:
    """A trace without its program, which nobody needs here and which may be large."""
    empty = dataclasses.replace(record.jaxpr, equations=(), variables={}, constants=(), inputs=(), outputs=())
    return dataclasses.replace(record, jaxpr=empty, text="", sources=(), call_site=_titled(record.call_site))


def _titled(site: SourceRange | None) -> SourceRange | None:
    """A place in a notebook's cell called by the cell's number: the file was made up by the kernel."""
    title = None if site is None else title_of(site.file)
    return site if site is None or title is None else dataclasses.replace(site, file=title)
