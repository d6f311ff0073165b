"""The bridge to an untested version of jax: it counts calls and times kernels, and replaces nothing in jax."""

from __future__ import annotations

from collections.abc import Callable

import jax

from xlascope.inspect import Program, QuestionError, register_producer
from xlascope.inspect.producers import Query
from xlascope.inspect.running.engines import register_engine
from xlascope.runtime.xla_log_level import set_xla_log_level

from .. import watching
from .functions import lowerable_function
from .kernel_runs import KernelRuns
from .programs import ProgramRegistry


class UnknownJaxProducer:
    """Producer that says of functions of jax that questions about them need a version of jax that is known."""

    def program(self, query: Query) -> Program | None:
        """Raise QuestionError if the function of a call is jax's; return None for any other."""
        if lowerable_function(query) is None:
            return None
        raise QuestionError(
            f"questions about functions of jax are answered for jax {', '.join(watching.TRIED)}, and this is jax "
            f"{jax.__version__}: its calls and kernels are shown, its equations and values are not known"
        )

    def find(self, number: int) -> Program | None:
        """Return None: no programs are known by number."""
        return None

    def written_call(self, query: Query) -> None:
        """Return None: calls are not known as their user wrote them."""


def attach() -> Callable[[], None]:
    """Watch jax from now on; return a function that stops it."""
    set_xla_log_level()
    undo = [register_engine(KernelRuns(ProgramRegistry())), register_producer(UnknownJaxProducer())]

    def detach() -> None:
        while undo:
            undo.pop()()

    return detach
