"""``with xlascope.watch("run.html"):``: watch a part of a script and write it as a whole run is written."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType

from .durations import parse_duration
from .output_files import OutputFiles
from .progress import Progress, ProgressMode
from .recorder import ScriptRecorder
from .run_info import RunInfo
from .watcher import ScriptWatcher


class watch:  # noqa: N801 -- it is called like a function
    """Watch the programs of a ``with`` block, and write them to an HTML page and a file of records when it ends.

    ``output`` names both files, with or without the suffix of one of them: ``"run.html"`` writes ``run.html``
    and ``run.json`` (default: the script's name and ``.xlascope``). ``every`` rewrites them while the block
    runs; it is in seconds, or a text such as ``"60s"`` or ``"5min"``. ``progress`` prints the progress on
    standard error: ``"line"`` (overwritten), ``"plain"``, ``"auto"`` or, by default, ``"off"``. An exception
    in the block propagates and is recorded in the files. To receive single records, use
    :class:`~xlascope.records.Subscription` instead.

    ``html`` and ``json`` are the paths of the files; :func:`xlascope.records.load` reads ``json``. Raises
    OSError before the block runs if the files cannot be written, and ValueError for an invalid ``every``.

    >>> import os, tempfile
    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with xs.watch(os.path.join(folder, "run.html")) as run:
    ...         y = xs.jit(lambda x: jnp.sin(x) * 2)(jnp.ones(3))
    ...     stored = xs.records.load(run.json)
    ...     run.html.exists(), {type(record).__name__ for record in stored} >= {"ScriptRun", "Traced", "Compiled"}
    (True, True)
    """

    def __init__(
        self,
        output: str | os.PathLike[str] | None = None,
        *,
        every: float | str | None = None,
        progress: ProgressMode = "off",
    ) -> None:
        self._every = None if every is None else parse_duration(every)
        self._progress = progress
        script = os.path.basename(sys.argv[0] if sys.argv else "") or "session"
        self._info = RunInfo(script, (os.path.basename(sys.executable), *sys.argv))
        self._files = OutputFiles.from_name(output, script, self._info.rank)
        self._watcher: ScriptWatcher | None = None

    @property
    def html(self) -> Path:
        """Return the path of the page."""
        return self._files.html

    @property
    def json(self) -> Path:
        """Return the path of the file of records."""
        return self._files.json

    def __enter__(self) -> watch:
        if self._watcher is not None:
            raise RuntimeError("this block is watched already: make another xlascope.watch(...) for another block")
        self._files.check_writable()
        info = RunInfo(self._info.script, self._info.command)
        recorder = ScriptRecorder()
        self._watcher = ScriptWatcher(info, self._files, recorder, Progress(recorder, self._progress), self._every)
        self._watcher.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        watcher = self._watcher
        assert watcher is not None
        watcher.stop_watching()
        if error is not None and not isinstance(error, SystemExit):
            watcher.record_failure(error)
        watcher.finish("ended" if kind is None else kind.__name__)
