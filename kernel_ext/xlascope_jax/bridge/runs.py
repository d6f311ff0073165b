"""jax's functions and calls, for whoever watches programs run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jax._src.interpreters import pxla

from xlascope import records
from xlascope.inspect.running.runs import Known as Running

from .differences import ClosedJaxpr
from .kernel_runs import KernelRuns, running
from .programs import Known, labels_of
from .stages import Stages, compiled_again, traced_again


class JaxRuns(KernelRuns):
    """The same with the programs that were watched on their way."""

    def __init__(self, stages: Stages) -> None:
        super().__init__(stages.programs)
        self._programs = stages.programs
        self.dispatched = stages.dispatched

    def key(self, function: Any) -> Any:
        """A function that ``jax.jit`` made; of a call outside of jit, and of one compiled ahead, its program."""
        return function if is_jitted(function) else self._program_behind(function)

    def programs(self, key: Any) -> Sequence[Running]:
        """What the function was traced to; of one that was compiled before, what is alive under its name."""
        if isinstance(key, Known):
            return running([key])
        return running(self._programs.of_function(key._fun)) or super().programs(key)

    def records_of(self, number: int) -> Iterable[records.Record]:
        """What was told, or put together now; nothing of what is about to be told."""
        known = self._programs.of_number(number)
        if known is None:
            return super().records_of(number)
        if known.coming:
            return ()
        traced = traced_again(known)
        return [*([traced] if traced is not None else []), *(compiled_again(known, made) for made in known.made)]

    def labels(self) -> Mapping[tuple[str, int], str]:
        """Of all programs that are known."""
        return {**super().labels(), **labels_of(self._programs.every())}

    def _program_behind(self, function: Any) -> Known | None:
        """What jax calls outside of jit is made for each call; what it closes over tells the program."""
        cells = getattr(getattr(function, "_cache_miss", None), "__closure__", None) or ()
        for each in cells:
            held = each.cell_contents
            if isinstance(held, ClosedJaxpr):
                return self._programs.of_jaxpr(held.jaxpr)
            if isinstance(held, pxla.MeshExecutable):
                return self._programs.of_executable(held.xla_executable)
        return None


def is_jitted(function: Any) -> bool:
    """Whether ``jax.jit`` made a function."""
    return hasattr(function, "_jit_info") and hasattr(function, "_fun")
