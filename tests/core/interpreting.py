"""StableHLO's reference interpreter, for programs by either library: XLA would compile for minutes."""

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo


def interpreted(module, constants=()):
    """What a StableHLO program gives."""
    found = []

    def collect(operation):
        if operation.name in ("stablehlo.scatter", "stablehlo.dynamic_update_slice", "chlo.square"):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    with module.context, ir.Location.unknown():
        module.operation.walk(collect)
        for operation in found:
            x = operation.operands[0]
            with ir.InsertionPoint(operation):
                if operation.name == "chlo.square":  # the interpreter knows no operations of the dialect CHLO
                    operation.results[0].replace_all_uses_with(stablehlo.multiply(x, x))
                    operation.erase()
                else:  # it writes into the operand itself, which others may use
                    operation.operands[0] = stablehlo.concatenate([x], 0)
        return [np.asarray(y) for y in stablehlo.eval_module(module, list(constants))]


def attribute(array):
    """An array as an argument of a program."""
    if array.dtype == np.bool_:
        return ir.DenseElementsAttr.get(array.astype(np.uint8), type=ir.IntegerType.get_signless(1), shape=array.shape)
    unsigned = ir.IntegerType.get_unsigned(8 * array.itemsize) if array.dtype.kind == "u" else None
    return ir.DenseElementsAttr.get(np.ascontiguousarray(array), type=unsigned, shape=array.shape)


def interpreted_closed(program, lower):
    """What a jaxpr of ours without arguments gives, once it is lowered."""
    lowered = lower(program, "whole")
    with lowered.module.context, ir.Location.unknown():  # in which constants and program have to be
        kept = [c for c, keep in zip(program.consts, lowered.kept_operands, strict=True) if keep]
        constants = [attribute(np.asarray(c).astype(c.dtype)) for c in kept]
    return interpreted(lowered.module, constants)
