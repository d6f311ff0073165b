"""Count of what a stretch of Python dispatches: eager operations, programs, and values fetched to the host.

Nothing is installed while nobody counts. Counting sets the hook that jaxlib calls after each jitted call, eager
operations included, and replaces the conversions of arrays for a while. Calls that go through Python are not
reported by jaxlib: the first of each kind, so count a warm stretch.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from ...bootstrap import get_engine, is_started
from ...ir.user_frames import LIBRARY
from ...records.programs import SourceRange
from .engines import registered_engines

#: Conversions that fetch an array to the host.
_FETCHES = ("__float__", "__int__", "__bool__", "__complex__", "__index__", "__array__", "item", "tolist")
#: Parts of the paths of files that are not the user's.
_LIBRARY_PARTS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}", f"{os.sep}lib{os.sep}python")
#: Packages whose jitted functions are operations to their users, such as ``jax.numpy.mean``.
_ENGINE_PACKAGES = frozenset({"jax", "jaxlib", "xlascope"})

Line = tuple[str, int, str]


@dataclass(slots=True)
class DispatchCount:
    """Dispatches of one thread: ``operations`` and ``programs`` by name, and operations by the user's line.

    ``fetches`` are conversions of arrays to Python or NumPy by line, ``fetch_seconds`` the time in these. A line is a
    file, a number and a function.
    """

    operations: Counter[str] = field(default_factory=Counter)
    programs: Counter[str] = field(default_factory=Counter)
    lines: Counter[Line] = field(default_factory=Counter)
    fetches: Counter[Line] = field(default_factory=Counter)
    fetch_seconds: float = 0.0

    @property
    def busiest_line(self) -> tuple[SourceRange | None, int]:
        """Return the line that starts most operations, and how many; (None, 0) if no line is known."""
        return _most_common_line(self.lines)

    @property
    def fetching_line(self) -> tuple[SourceRange | None, int]:
        """Return the line that fetches most often, and how often; (None, 0) if no line is known."""
        return _most_common_line(self.fetches)


def _most_common_line(lines: Counter[Line]) -> tuple[SourceRange | None, int]:
    for (file, line, function), count in lines.most_common(1):
        return SourceRange(file, line, 0, line, 0, function), count
    return None, 0


@contextmanager
def count_dispatches() -> Iterator[DispatchCount]:
    """Count the dispatches of this thread in a ``with`` block, in all engines of the process.

    Hooks that are set already are called as before. Other threads are not counted.
    >>> import xlascope.numpy as jnp
    >>> x = jnp.arange(4.0)
    >>> warm = jnp.sin(x) + 1
    >>> with count_dispatches() as count:
    ...     y = jnp.sin(x) + 1
    >>> count.operations.total(), count.programs.total()
    (2, 0)
    """
    count, thread = DispatchCount(), threading.get_ident()
    if is_started():
        get_engine()  # it registers itself
    # One engine's hook is called for the calls of all.
    engine = next(iter(registered_engines()), None)
    previous = engine.hook() if engine is not None else None

    def hook(function: Any, args: Any, kwargs: Any, out: Any) -> None:
        if threading.get_ident() == thread:
            _add_call(count, function, sys._getframe(1))
        if previous is not None:
            previous(function, args, kwargs, out)

    if engine is not None:
        engine.set_hook(hook)
    try:
        with _timed_fetches(count, thread):
            yield count
    finally:
        if engine is not None and engine.hook() is hook:
            engine.set_hook(previous)


def _add_call(count: DispatchCount, function: Any, frame: FrameType | None) -> None:
    name = str(getattr(function, "__name__", "operation"))
    if _is_user_program(function):
        count.programs[name] += 1
        return
    count.operations[name] += 1
    line = _user_line(frame)
    if line is not None:
        count.lines[line] += 1


def _is_user_program(function: Any) -> bool:
    """Return whether a jitted function is the user's: an operation and the library's own functions are not."""
    if not (hasattr(function, "_jitted") or hasattr(function, "_fun")):
        return False
    return str(getattr(function, "__module__", None)).partition(".")[0] not in _ENGINE_PACKAGES


def _user_line(frame: FrameType | None) -> Line | None:
    """Return the innermost line outside of installed packages, None if there is none."""
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if not file.startswith(LIBRARY) and not any(part in file for part in _LIBRARY_PARTS):
            return file, frame.f_lineno, code.co_qualname
        frame = frame.f_back
    return None


@contextmanager
def _timed_fetches(count: DispatchCount, thread: int) -> Iterator[None]:
    """Count and time conversions of arrays on a thread in a ``with`` block."""
    jaxlib = sys.modules.get("jaxlib._jax")  # without it there are no arrays, and importing inspect does not load it
    array_class: Any = getattr(jaxlib, "ArrayImpl", None)
    originals = {name: getattr(array_class, name) for name in _FETCHES if hasattr(array_class, name)}
    inside = [False]

    def make_timed(convert: Callable[..., Any]) -> Callable[..., Any]:
        def convert_timed(self: Any, *args: Any, **kwargs: Any) -> Any:
            if inside[0] or threading.get_ident() != thread:
                return convert(self, *args, **kwargs)
            inside[0], began = True, time.perf_counter()
            try:
                return convert(self, *args, **kwargs)
            finally:
                count.fetch_seconds += time.perf_counter() - began
                inside[0] = False
                count.fetches[_user_line(sys._getframe(1)) or ("", 0, "")] += 1

        return convert_timed

    for name, convert in originals.items():
        setattr(array_class, name, make_timed(convert))
    try:
        yield
    finally:
        for name, convert in originals.items():
            setattr(array_class, name, convert)
