"""Tiered compilation: quickly for the first calls, and fully optimized on another thread meanwhile."""

from __future__ import annotations

import time
import warnings
from typing import Any

from jaxlib.mlir import ir

from ... import records
from ...records.watchers import watchers
from ..arrays.failures import require_room
from ..mlir.builder import of_its_own
from ..system.uninterrupted import Work
from .compile import Compilation, LoweredProgram, compile_lowered, is_on_disk, lower_program, module_name
from .compile_request import CompileRequest

#: Flags with which XLA's CPU back end compiles faster: LLVM optimizes less, and every operation rounds its result.
QUICKLY = (("xla_backend_optimization_level", "0"),)


class OptimizedVersion:
    """Optimized version of a program, while it is being compiled and afterwards."""

    def __init__(self, program: LoweredProgram, device: Any) -> None:
        self._name, self._number = program.name, program.number
        self._work = Work(lambda: compile_lowered(program, device), self._ended)
        self._began = 0.0
        self._failed = False

    def start(self) -> None:
        """Start to compile it on a worker thread."""
        self._began = time.time()
        if watchers:
            records.publish(records.Continued(self._number, self._name, self._began))
        self._work.start_elsewhere()

    def _ended(self) -> None:
        if watchers:
            records.publish(records.Continued(self._number, self._name, self._began, self._work.seconds))

    @property
    def awaited(self) -> bool:
        """Return whether it is being compiled or is ready."""
        return not self._failed

    def compilation(self) -> Compilation | None:
        """Return the optimized version; None until it is ready. Warns once if XLA failed."""
        if self._failed or not self._work.ended:
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

    It is compiled with all optimizations at once where that is cached on disk, where it calls Python, and for other
    platforms and several devices. Raises what lowering and compiling raise.
    """
    require_room(request.program, request.donated, device)
    lowered = lower_program(request, device.platform)
    can_tier = device.platform == "cpu" and request.partition is None and not lowered.lowered.callbacks
    if not can_tier or is_on_disk(lowered, device):
        return compile_lowered(lowered, device)
    replacement = OptimizedVersion(_under_another_name(lowered), device)
    flags = dict(QUICKLY) | dict(request.options.flags)  # the user's flags take precedence
    quick = compile_lowered(lowered.with_flags(tuple(flags.items())), device, replacement)
    replacement.start()
    return quick


def _under_another_name(program: LoweredProgram) -> LoweredProgram:
    """Copy the program to a new context for another thread, under a name that is distinct in profiles."""
    module, name = of_its_own(program.lowered.module), module_name(program.name)
    module.operation.attributes["sym_name"] = ir.StringAttr.get(name, module.context)
    return program._replace(lowered=program.lowered._replace(module=module, chosen=()), module=name)
