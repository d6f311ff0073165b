"""The runs of jax's functions, for the sampler."""

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
    """The runs of jax's programs, including those whose tracing and compilation were watched."""

    def __init__(self, stages: Stages) -> None:
        super().__init__(stages.programs)
        self._programs = stages.programs
        self.dispatched = stages.dispatched

    def key(self, function: Any) -> Any:
        """Return a jitted function itself; for a call outside of jit or an ahead-of-time executable, its program."""
        return function if is_jitted(function) else self._program_behind(function)

    def programs(self, key: Any) -> Sequence[Running]:
        """Return the programs of a function, or if none were watched, the live ones of its name."""
        if isinstance(key, Known):
            return running([key])
        return running(self._programs.of_function(key._fun)) or super().programs(key)

    def records_of(self, number: int) -> Iterable[records.Record]:
        """Return the records of a program, building them if needed; none if they are about to be published."""
        entry = self._programs.of_number(number)
        if entry is None:
            return super().records_of(number)
        if entry.coming:
            return ()
        traced = traced_again(entry)
        return [
            *([traced] if traced is not None else []),
            *(compiled_again(entry, executable) for executable in entry.made),
        ]

    def labels(self) -> Mapping[tuple[str, int], str]:
        """Return the labels of the modules of all programs."""
        return {**super().labels(), **labels_of(self._programs.every())}

    def _program_behind(self, function: Any) -> Known | None:
        """Return the program in the closure of a wrapper that jax creates for each call outside of jit."""
        cells = getattr(getattr(function, "_cache_miss", None), "__closure__", None) or ()
        for cell in cells:
            content = cell.cell_contents
            if isinstance(content, ClosedJaxpr):
                return self._programs.of_jaxpr(content.jaxpr)
            if isinstance(content, pxla.MeshExecutable):
                return self._programs.of_executable(content.xla_executable)
        return None


def is_jitted(function: Any) -> bool:
    """Return whether ``jax.jit`` made a function."""
    return hasattr(function, "_jit_info") and hasattr(function, "_fun")
