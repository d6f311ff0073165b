"""Attachment of the full bridge: hooks in jax, and its programs registered for questions and for the sampler."""

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

#: The registry outlives the hooks, so that programs stay known when the bridge is attached again.
PROGRAMS = Programs()


def stand() -> Callable[[], None]:
    """Watch jax from now on; return a function that restores jax.

    Registered programs stay registered for as long as jax keeps them.
    """
    quiet_log()  # jaxlib may have been loaded before jax could set this
    # Hide the bridge's frames from the source lines that jax stores and from its tracebacks.
    source_info_util.register_exclusion(_HERE)
    traceback_util.register_exclusion(_HERE)
    stages = Stages(PROGRAMS)
    stages.install()
    undo = [stages.uninstall, register_producer(JaxProducer(stages)), register_runs(JaxRuns(stages))]

    def detach() -> None:
        while undo:
            undo.pop()()

    return detach
