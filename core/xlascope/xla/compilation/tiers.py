"""Programs compiled twice: quickly, to answer the first calls, and as well as XLA can, meanwhile, on another thread."""

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

#: By what XLA's CPU back end compiles sooner: LLVM looks for less, and each operation stays as it was rounded.
QUICKLY = (("xla_backend_optimization_level", "0"),)


class OptimizedVersion:
    """The optimized version of a program, while it is compiled and when it is there."""

    def __init__(self, program: LoweredProgram, device: Any) -> None:
        self._name, self._number = program.name, program.number
        self._work = Work(lambda: compile_lowered(program, device), self._ended)
        self._began = 0.0
        self._failed = False

    def start(self) -> None:
        """Begin to compile it."""
        self._began = time.time()
        if watchers:
            records.publish(records.Continued(self._number, self._name, self._began))
        self._work.start_elsewhere()

    def _ended(self) -> None:
        if watchers:
            records.publish(records.Continued(self._number, self._name, self._began, self._work.seconds))

    @property
    def awaited(self) -> bool:
        """Whether it is going to be there, or is."""
        return not self._failed

    def compilation(self) -> Compilation | None:
        """The version; None while there is none. The first who asks after XLA has failed is warned."""
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
    """A program lowered and compiled quickly, while another thread compiles it well; raises what those two raise.

    It is compiled well at once where that is on disk, where it calls Python, and for other platforms and several
    devices.
    """
    require_room(request.program, request.donated, device)
    lowered = lower_program(request, device.platform)
    alone = device.platform == "cpu" and request.partition is None and not lowered.lowered.callbacks
    if not alone or is_on_disk(lowered, device):
        return compile_lowered(lowered, device)
    better = OptimizedVersion(_under_another_name(lowered), device)
    flags = dict(QUICKLY) | dict(request.options.flags)  # what the user says has the last word
    found = compile_lowered(lowered.with_flags(tuple(flags.items())), device, better)
    better.start()
    return found


def _under_another_name(program: LoweredProgram) -> LoweredProgram:
    """The same program in a context of its own, for another thread, and told apart from the first in profiles."""
    module, name = of_its_own(program.lowered.module), module_name(program.name)
    module.operation.attributes["sym_name"] = ir.StringAttr.get(name, module.context)
    return program._replace(lowered=program.lowered._replace(module=module, chosen=()), module=name)
