"""Lowering of a call to StableHLO with each platform's rules."""

from __future__ import annotations

from ...xla.compilation.compile import lower_keeping, module_name
from ...xla.keeping import LEFT_OUT
from ...xla.known_faults import workaround_options
from ...xla.mlir.builder import bytecode
from ...xla.mlir.stablehlo import StableHLO
from ..program import Source
from .calls import Call


def lowered_for(call: Call, platform: str) -> Source:
    """Return the StableHLO of a call for a platform.

    Raises NotImplementedError, which names the operation, if the platform lacks one.
    """
    request = call.jitted.request(call.traced, call.arguments)._replace(partition=call.place.partition)
    module = module_name(request.name)
    lowered, materialized = lower_keeping(request, module, platform)
    options = workaround_options(request.program.jaxpr, platform, request.options.flags)
    if materialized.passes:
        options = (*options, (LEFT_OUT, ",".join(materialized.passes)))
    stablehlo = StableHLO(bytecode(lowered.module), module, (), len(lowered.callbacks))
    return Source(stablehlo, kept=lowered.kept, options=options, kept_values=materialized.values)
