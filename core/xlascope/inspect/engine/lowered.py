"""The StableHLO of a call, with each platform's rules."""

from __future__ import annotations

from ...xla.compilation.compile import lower_keeping, module_name
from ...xla.keeping import LEFT_OUT
from ...xla.known_faults import workaround_options
from ...xla.mlir.builder import bytecode
from ...xla.mlir.stablehlo import StableHLO
from ..program import Source
from .calls import Call


def lowered_for(call: Call, platform: str) -> Source:
    """The StableHLO of a call for a platform; raises NotImplementedError, naming what the platform does not have."""
    request = call.jitted.request(call.traced, call.arguments)._replace(partition=call.place.partition)
    module = module_name(request.name)
    made, kept = lower_keeping(request, module, platform)
    options = workaround_options(request.program.jaxpr, platform, request.options.flags)
    if kept.passes:
        options = (*options, (LEFT_OUT, ",".join(kept.passes)))
    stablehlo = StableHLO(bytecode(made.module), module, (), len(made.callbacks))
    return Source(stablehlo, kept=made.kept, options=options, kept_values=kept.values)
