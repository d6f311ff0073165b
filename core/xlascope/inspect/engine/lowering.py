"""Lowering of a call to StableHLO with each platform's rules."""

from __future__ import annotations

from ...xla.compilation.compile_program import choose_options, lower_with_materialization, unique_module_name
from ...xla.materialization import DISABLED_PASSES_OPTION
from ...xla.mlir.builder import bytecode
from ...xla.mlir.stablehlo_reader import StableHLOProgram
from ..program import Source
from .traced_calls import InspectedCall


def lower_for(call: InspectedCall, platform: str) -> Source:
    """Return the StableHLO of a call for a platform.

    Raises NotImplementedError, which names the operation, if the platform lacks one.
    """
    request = call.jitted.request(call.traced, call.arguments)._replace(partition=call.place.partition)
    module = unique_module_name(request.name)
    lowered, materialized = lower_with_materialization(request, module, platform)
    options = choose_options(request, platform, request.program.jaxpr)
    if materialized.disabled_passes:
        options = (*options, (DISABLED_PASSES_OPTION, ",".join(materialized.disabled_passes)))
    stablehlo = StableHLOProgram(bytecode(lowered.module), module, (), len(lowered.callbacks))
    return Source(stablehlo, kept=lowered.kept_operands, options=options, kept_values=materialized.values)
