"""The StableHLO of a call, with each platform's rules."""

from __future__ import annotations

from ...xla.builder import bytecode
from ...xla.compile import module_name
from ...xla.lowering import lower
from ...xla.stablehlo import StableHLO
from ..program import Source
from .calls import Call


def lowered_for(call: Call, platform: str) -> Source:
    """The StableHLO of a call for a platform; raises NotImplementedError, naming what the platform does not have."""
    module = module_name(call.traced.program.name or "main")
    keep_unused = call.jitted.options.keep_unused
    made = lower(
        call.traced.program,
        module,
        donated=call.donated,
        keep_unused=keep_unused,
        platform=platform,
        partition=call.place.partition,
    )
    return Source(StableHLO(bytecode(made.module), module, (), len(made.callbacks)), kept=made.kept)
