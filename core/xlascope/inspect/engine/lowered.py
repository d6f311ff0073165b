"""The StableHLO of a call, with each platform's rules."""

from __future__ import annotations

from ...xla.builder import bytecode
from ...xla.compile import lower_keeping, module_name
from ...xla.keeping import LEFT_OUT
from ...xla.keeping.policy import asked_for
from ...xla.known_faults import workaround_options
from ...xla.reroll import asked_to_reroll
from ...xla.stablehlo import StableHLO
from ..program import Source
from .calls import Call


def lowered_for(call: Call, platform: str) -> Source:
    """The StableHLO of a call for a platform; raises NotImplementedError, naming what the platform does not have."""
    module = module_name(call.traced.program.name or "main")
    keep_unused = call.jitted.options.keep_unused
    made, kept = lower_keeping(
        call.traced.program,
        module,
        asked_for(call.jitted.options.keep),
        asked_to_reroll(call.jitted.options.reroll),
        donated=call.donated,
        keep_unused=keep_unused,
        platform=platform,
        partition=call.place.partition,
    )
    options = workaround_options(call.traced.program.jaxpr, platform, call.jitted.options.compiler_options)
    if kept.passes:
        options = (*options, (LEFT_OUT, ",".join(kept.passes)))
    stablehlo = StableHLO(bytecode(made.module), module, (), len(made.callbacks))
    return Source(stablehlo, kept=made.kept, options=options, kept_values=kept.values)
