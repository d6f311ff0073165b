"""The runs of jax's functions, for the sampler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jax._src.interpreters import pxla

from xlascope import records
from xlascope.inspect.running.engines import ArgumentHolder
from xlascope.inspect.running.engines import WatchedProgram as Running
from xlascope.inspect.running.program_reader import ArgumentPath

from .call_signatures import signature_of
from .held_arguments import JaxArgumentHolder
from .jax_compat import ClosedJaxpr
from .kernel_runs import KernelRuns, as_running_programs
from .programs import ProgramEntry, module_labels
from .stage_hooks import StageHooks, ensure_compiled_record, get_traced_record


class JaxRuns(KernelRuns):
    """Execution engine of jax's programs, including those whose tracing and compilation were watched by ``stages``."""

    def __init__(self, stages: StageHooks) -> None:
        super().__init__(stages.programs)
        self._stages, self._programs = stages, stages.programs
        self.dispatched = stages.dispatched

    def key(self, function: Any) -> Any:
        """Return a jitted function itself, or the program of a call outside of jit or an ahead-of-time executable."""
        return function if is_jitted(function) else self._program_of_wrapper(function)

    def is_operation(self, key: Any) -> bool:
        """Return whether it is a call outside of jit, or a function that jax defines."""
        return key.origin == "operation" if isinstance(key, ProgramEntry) else super().is_operation(key)

    def programs(self, key: Any) -> Sequence[Running]:
        """Return the programs of the function with this key, or if none were watched, the live ones of its name."""
        if isinstance(key, ProgramEntry):
            return as_running_programs([key])
        return as_running_programs(self._programs.of_function(key._fun)) or super().programs(key)

    def find_program(self, key: Any, arguments: Any) -> int | None:
        """Return the number of the program whose traced call had arguments like those of a call; None of two such."""
        if isinstance(key, ProgramEntry):
            return key.number
        try:
            args, kwargs = arguments
            signature = signature_of(key._jit_info, args, kwargs or {})
        except Exception:  # arguments that were deleted since, or another version of jax
            return None
        numbers = [
            entry.number
            for entry in self._programs.of_function(key._fun)
            if any(traced.signature == signature for traced in entry.traced_arguments)
        ]
        return numbers[0] if len(numbers) == 1 else None

    def argument_types(self, key: Any) -> dict[int, Mapping[ArgumentPath, Any]]:
        """Return the types of the arguments that the programs of a function were traced for, by number and path."""
        entries = [] if isinstance(key, ProgramEntry) else self._programs.of_function(key._fun)
        return {entry.number: entry.traced_arguments[0].types for entry in entries if entry.traced_arguments}

    def records_of(self, number: int) -> Iterable[records.Record]:
        """Return the records of the program with a number, built if needed; none if they are about to be published."""
        entry = self._programs.of_number(number)
        if entry is None:
            return super().records_of(number)
        if entry.is_trace_pending:
            return ()
        traced = get_traced_record(entry)
        return [
            *([traced] if traced is not None else []),
            *(ensure_compiled_record(entry, executable) for executable in entry.executables),
        ]

    def argument_holder(self) -> ArgumentHolder:
        """Return a new holder of the arguments of the latest calls."""
        return JaxArgumentHolder(self._stages)

    def labels(self) -> Mapping[tuple[str, int], str]:
        """Return the labels of the modules of all programs."""
        return {**super().labels(), **module_labels(self._programs.all_programs())}

    def _program_of_wrapper(self, function: Any) -> ProgramEntry | None:
        """Return the program of a wrapper that jax creates for a call outside of jit, found in its closure, or None."""
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
