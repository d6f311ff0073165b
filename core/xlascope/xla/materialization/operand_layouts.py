"""Operand layouts that products and convolutions want.

XLA's CPU back end copies an operand that it cannot read in the required order, and fuses the operand's computation
into that copy, a second time where other users need it in the original order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

#: A change to an operand, by StableHLO's name: ``transpose`` with the order of axes, or ``reshape`` with how many
#: axes are merged into one.
LayoutChange = tuple[str, tuple[int, ...]]


def operand_layout_changes(operation: Any) -> Sequence[Sequence[LayoutChange]]:
    """Return the layout changes that XLA makes to each operand of a matrix product or a convolution, in order.

    The result is empty for other operations.
    """
    if operation.name == "stablehlo.dot_general":
        return _product_layout_changes(operation)
    if operation.name == "stablehlo.convolution":
        return _convolution_layout_changes(operation)
    return ()


def _product_layout_changes(product: Any) -> list[list[LayoutChange]]:
    """Return the layout changes of a product's operands.

    Batch axes come first, then the free axes, then the contracting ones (of the second operand contracting before
    free), each group merged into one axis. Two last axes are read in either order.
    """
    numbers = stablehlo.DotDimensionNumbers(product.attributes["dot_dimension_numbers"])
    batch_axes = numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions
    contracting_axes = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
    changes_by_operand = []
    for index, (value, batch, reduced) in enumerate(zip(product.operands, batch_axes, contracting_axes, strict=True)):
        axes = tuple(range(len(ir.RankedTensorType(value.type).shape)))
        free = [axis for axis in axes if axis not in (*batch, *reduced)]
        order = (*batch, *reduced, *free) if index else (*batch, *free, *reduced)
        single = len(free) < 2 and len(reduced) < 2
        changes: list[LayoutChange] = []
        if order != axes and not (single and tuple(batch) == axes[: len(batch)]):
            changes.append(("transpose", order))
        if not single:
            changes.append(("reshape", (len(free), len(reduced))))
        changes_by_operand.append(changes)
    return changes_by_operand


def _convolution_layout_changes(convolution: Any) -> list[list[LayoutChange]]:
    """Return the layout changes of a convolution's operands.

    Features come last; in the kernel the input features before the output features.
    """
    numbers = stablehlo.ConvDimensionNumbers(convolution.attributes["dimension_numbers"])
    images = numbers.input_batch_dimension, *numbers.input_spatial_dimensions, numbers.input_feature_dimension
    features = numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension
    orders = images, (*numbers.kernel_spatial_dimensions, *features)
    return [[] if list(order) == sorted(order) else [("transpose", order)] for order in orders]
