"""The bridge while it stands: jax's places taken, and the programs told to whoever asks and whoever watches."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from pathlib import Path

import jax
from jax._src import source_info_util, traceback_util

from xlascope.inspect import register_producer
from xlascope.inspect.running.runs import register_runs
from xlascope.runtime.quiet_log import quiet_log

from .producer import JaxProducer
from .programs import Programs
from .runs import JaxRuns
from .stages import Stages

_log = logging.getLogger(__name__)
_HERE = str(Path(__file__).parent) + "/"


class Bridge:
    """Watches jax from when it is made until :meth:`close`."""

    def __init__(self, tried: Collection[str]) -> None:
        self._undo: list[Callable[[], None]] = []
        if jax.__version__ not in tried:
            raise RuntimeError(f"jax {jax.__version__} was not tried; known are {', '.join(sorted(tried))}")
        quiet_log()  # jaxlib may be loaded before jax could say it
        # Frames of ours are no user's: neither in the lines that jax keeps of operations, nor in tracebacks.
        source_info_util.register_exclusion(_HERE)
        traceback_util.register_exclusion(_HERE)
        stages = Stages(PROGRAMS)
        stages.install()
        self._undo += [stages.uninstall, register_producer(JaxProducer(stages)), register_runs(JaxRuns(stages))]

    def close(self) -> None:
        """Leave jax as it was. What was met stays known, for as long as jax itself keeps it."""
        while self._undo:
            self._undo.pop()()


#: Met once, a program is known: also to the next who watches.
PROGRAMS = Programs()
