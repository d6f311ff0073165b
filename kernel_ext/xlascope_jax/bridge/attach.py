"""Attachment of the full bridge: hooks in jax, and its programs registered for questions and for the sampler."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jax._src import source_info_util, traceback_util

from xlascope.inspect import register_producer
from xlascope.inspect.running.engines import register_engine
from xlascope.runtime.xla_log_level import set_xla_log_level

from .producer import JaxProducer
from .programs import ProgramRegistry
from .runs import JaxRuns
from .stage_hooks import StageHooks

_BRIDGE_FOLDER = str(Path(__file__).parent) + "/"

#: The registry outlives the hooks, so that programs stay known when the bridge is attached again.
REGISTRY = ProgramRegistry()


def attach() -> Callable[[], None]:
    """Watch jax from now on; return a function that restores jax.

    Registered programs stay registered for as long as jax keeps them.
    """
    set_xla_log_level()  # jaxlib may have been loaded before jax could set this
    # Hide the bridge's frames from the source lines that jax stores and from its tracebacks.
    source_info_util.register_exclusion(_BRIDGE_FOLDER)
    traceback_util.register_exclusion(_BRIDGE_FOLDER)
    stages = StageHooks(REGISTRY)
    stages.install()
    undo = [stages.uninstall, register_producer(JaxProducer(stages)), register_engine(JaxRuns(stages))]

    def detach() -> None:
        while undo:
            undo.pop()()

    return detach
