"""Tiered compilation: quickly for the first calls, and fully optimized on another thread meanwhile."""

from __future__ import annotations

import time
import warnings
from typing import Any

from jaxlib.mlir import ir

from ... import records
from ...records.watchers import watchers
from ..arrays.runtime_errors import require_memory
from ..mlir.builder import copy_to_new_context
from ..system.worker_thread import UninterruptibleTask
from .compile_program import (
    Compilation,
    LoweredProgram,
    compile_lowered,
    is_executable_cached,
    lower_program,
    unique_module_name,
)
from .compile_request import CompileRequest

#: Flags with which XLA's CPU back end compiles faster: LLVM optimizes less, and every operation rounds its result.
QUICK_FLAGS = (("xla_backend_optimization_level", "0"),)


class OptimizedVersion:
    """Compilation of a lowered program with all optimizations on a worker thread, once it is started."""

    def __init__(self, program: LoweredProgram, device: Any) -> None:
        self._name, self._number = program.name, program.number
        self._work = UninterruptibleTask(lambda: compile_lowered(program, device), self._on_done)
        self._began = 0.0
        self._failed = False

    def start(self) -> None:
        """Start the compilation on a worker thread and publish that it goes on."""
        self._began = time.time()
        if watchers:
            records.publish(records.Continued(self._number, self._name, self._began))
        self._work.start_on_worker()

    def _on_done(self) -> None:
        if watchers:
            records.publish(records.Continued(self._number, self._name, self._began, self._work.seconds))

    @property
    def is_pending(self) -> bool:
        """Return whether the optimized version is being compiled or is ready; False after that failed."""
        return not self._failed

    def compilation(self) -> Compilation | None:
        """Return the optimized version; None until it is ready, and if XLA failed, with one warning."""
        if self._failed or not self._work.is_done:
            return None
        try:
            return self._work.result()
        except Exception as error:
            self._failed = True
            warnings.warn(
                f"{self._name} goes on with the version that was compiled quickly, and is slower: the optimized one "
                f"could not be compiled ({error})",
                stacklevel=2,
            )
            return None


def compile_in_tiers(request: CompileRequest, device: Any) -> Compilation:
    """Lower a program and compile it quickly, while another thread compiles it with all optimizations.

    Returns the quick version; its ``replacement`` gives the optimized one when that is ready. The program is compiled
    with all optimizations at once where that executable is cached on disk, where it calls Python, on other platforms
    than a CPU and on several devices. Raises what lowering and compiling raise.
    """
    require_memory(request.program, request.donated, device)
    lowered = lower_program(request, device.platform)
    can_tier = device.platform == "cpu" and request.partition is None and not lowered.lowered_module.callbacks
    if not can_tier or is_executable_cached(lowered, device):
        return compile_lowered(lowered, device)
    replacement = OptimizedVersion(_copy_with_new_name(lowered), device)
    flags = dict(QUICK_FLAGS) | dict(request.options.flags)  # the user's flags take precedence
    quick = compile_lowered(lowered.with_flags(tuple(flags.items())), device, replacement)
    replacement.start()
    return quick


def _copy_with_new_name(program: LoweredProgram) -> LoweredProgram:
    """Copy the program to a new context for another thread, under a module name that is distinct in profiles."""
    module, name = copy_to_new_context(program.lowered_module.module), unique_module_name(program.name)
    module.operation.attributes["sym_name"] = ir.StringAttr.get(name, module.context)
    return program._replace(
        lowered_module=program.lowered_module._replace(module=module, requested_values=()), module=name
    )
