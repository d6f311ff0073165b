"""``with xlascope.watch("run.html"):``: a part of a script, watched and written like a whole one."""

from __future__ import annotations

import os
import sys
from types import TracebackType

from .about import About
from .durations import duration
from .files import Files
from .progress import How, Progress
from .seen import Seen
from .watched import Watched


class watch:  # noqa: N801 -- it is called like a function
    """Watch the programs of a ``with`` block, and write them to an HTML page and a file of records when it ends.

    ``output`` names both files, with or without the suffix of one of them: ``"run.html"`` writes ``run.html`` and
    ``run.json`` (by default the script's name and ``.xlascope``). ``every`` writes them anew while the block runs:
    seconds, or a text such as ``"60s"`` or ``"5min"``. ``progress`` says what goes on, on standard error: ``"line"``
    (written over), ``"plain"``, ``"auto"`` or, by default, ``"off"``. What is raised in the block leaves it, and is in
    the files. The block of a :class:`~xlascope.records.Subscription` gives single records; this gives the whole story.

    ``html`` and ``json`` are the paths of the files. ``json`` is read by :func:`xlascope.records.load`. Raises OSError
    where they could not be written, before the block runs, and ValueError for an ``every`` that is no duration.

    >>> import os, tempfile
    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with xs.watch(os.path.join(folder, "run.html")) as run:
    ...         y = xs.jit(lambda x: jnp.sin(x) * 2)(jnp.ones(3))
    ...     kept = xs.records.load(run.json)
    ...     run.html.exists(), {type(each).__name__ for each in kept} >= {"ScriptRun", "Traced", "Compiled"}
    (True, True)
    """

    def __init__(
        self, output: str | os.PathLike[str] | None = None, *, every: float | str | None = None, progress: How = "off"
    ) -> None:
        self._every = None if every is None else duration(every)
        self._progress = progress
        script = os.path.basename(sys.argv[0] if sys.argv else "") or "session"
        self._about = About(script, (os.path.basename(sys.executable), *sys.argv))
        self._files = Files.named(output, script, self._about.rank)
        self._watched: Watched | None = None
        self.html, self.json = self._files.html, self._files.json

    def __enter__(self) -> watch:
        if self._watched is not None:
            raise RuntimeError("this block is watched already: make another xlascope.watch(...) for another block")
        self._files.check()
        about = About(self._about.script, self._about.command)
        seen = Seen()
        self._watched = Watched(about, self._files, seen, Progress(seen, self._progress), self._every)
        self._watched.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        watched = self._watched
        assert watched is not None
        watched.settle()
        if error is not None and not isinstance(error, SystemExit):
            watched.fail(error)
        watched.finish("ended" if kind is None else kind.__name__)
