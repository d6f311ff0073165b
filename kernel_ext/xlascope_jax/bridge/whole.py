"""The whole bridge: jax's places taken, and the programs told to whoever asks and whoever watches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jax._src import source_info_util, traceback_util

from xlascope.inspect import register_producer
from xlascope.inspect.running.runs import register_runs
from xlascope.runtime.quiet_log import quiet_log

from .producer import JaxProducer
from .programs import Programs
from .runs import JaxRuns
from .stages import Stages

_HERE = str(Path(__file__).parent) + "/"

#: Met once, a program is known: also to the next who watches.
PROGRAMS = Programs()


def stand() -> Callable[[], None]:
    """Watch jax from now on; returns what leaves jax as it was.

    What was met stays known, for as long as jax itself keeps it.
    """
    quiet_log()  # jaxlib may be loaded before jax could say it
    # Frames of ours are no user's: neither in the lines that jax keeps of operations, nor in tracebacks.
    source_info_util.register_exclusion(_HERE)
    traceback_util.register_exclusion(_HERE)
    stages = Stages(PROGRAMS)
    stages.install()
    undo = [stages.uninstall, register_producer(JaxProducer(stages)), register_runs(JaxRuns(stages))]

    def leave() -> None:
        while undo:
            undo.pop()()

    return leave
