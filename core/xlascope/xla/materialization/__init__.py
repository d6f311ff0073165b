"""Materialization of values that XLA's CPU back end would compute again in many kernels.

XLA's fusion duplicates a value that is cheap to compute into each kernel that needs it, and has no model of the
total cost. Where layers use the results of the layers before them, copies of copies grow with depth: a gradient of
twelve transformer blocks executes twelve times the instructions that it was written with. This package is the
opposite of rematerialization. ``graph`` reads a program as fusion sees it (with ``operand_layouts``: operands as
products want them), ``fusion_model`` simulates which kernels would compute what (``globally_unfusible``: what XLA
leaves in memory anyway), ``selection`` weighs recomputing against writing and reading, by ``cost_model``,
``barriers`` puts a barrier behind what is worth materializing, and ``barrier_preservation`` names the XLA passes
to disable so that barriers survive. ``policy`` reads what a function or the settings ask for.
"""

from .barrier_preservation import BARRIER_EXPANDER_PASS, LOOP_HOISTING_PASS
from .barriers import (
    DISABLED_PASSES_OPTION,
    MAX_OPERATIONS,
    Materialization,
    MaterializedValue,
    disable_passes,
    is_size_analyzable,
    materialize,
)

__all__ = [
    "BARRIER_EXPANDER_PASS",
    "DISABLED_PASSES_OPTION",
    "LOOP_HOISTING_PASS",
    "MAX_OPERATIONS",
    "Materialization",
    "MaterializedValue",
    "disable_passes",
    "is_size_analyzable",
    "materialize",
]
