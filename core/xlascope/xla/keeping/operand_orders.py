"""How products and convolutions want their operands: XLA's CPU back end writes anew what it cannot read in their order,
and computes that on the way, a second time where others need it as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

#: What is done to an operand, by StableHLO's name: ``transpose`` with the order of axes, or ``reshape`` with how many
#: axes become one.
Move = tuple[str, tuple[int, ...]]


def moves_of(operation: Any) -> Sequence[Sequence[Move]]:
    """What is done to each operand of an operation before it is carried out."""
    if operation.name == "stablehlo.dot_general":
        return _moves_of_product(operation)
    if operation.name == "stablehlo.convolution":
        return _moves_of_convolution(operation)
    return ()


def _moves_of_product(product: Any) -> list[list[Move]]:
    """Batch axes come first, then those that stay, and those that are summed over (of the second operand before those
    that stay), as one axis each. Two last axes are read in any order.
    """
    numbers = stablehlo.DotDimensionNumbers(product.attributes["dot_dimension_numbers"])
    batches = numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions
    sums = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
    found = []
    for place, (value, batch, summed) in enumerate(zip(product.operands, batches, sums, strict=True)):
        axes = tuple(range(len(ir.RankedTensorType(value.type).shape)))
        stay = [axis for axis in axes if axis not in (*batch, *summed)]
        order = (*batch, *summed, *stay) if place else (*batch, *stay, *summed)
        single = len(stay) < 2 and len(summed) < 2
        moves: list[Move] = []
        if order != axes and not (single and tuple(batch) == axes[: len(batch)]):
            moves.append(("transpose", order))
        if not single:
            moves.append(("reshape", (len(stay), len(summed))))
        found.append(moves)
    return found


def _moves_of_convolution(convolution: Any) -> list[list[Move]]:
    """Features come last; of the kernel those that go in before those that come out."""
    numbers = stablehlo.ConvDimensionNumbers(convolution.attributes["dimension_numbers"])
    images = numbers.input_batch_dimension, *numbers.input_spatial_dimensions, numbers.input_feature_dimension
    features = numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension
    orders = images, (*numbers.kernel_spatial_dimensions, *features)
    return [[] if list(order) == sorted(order) else [("transpose", order)] for order in orders]
