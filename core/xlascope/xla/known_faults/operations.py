"""The operations of a program, as matchers of faults see them: read from a jaxpr, or from StableHLO."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from ...ir.avals import ShapedArray
from ...ir.jaxpr import Jaxpr, Literal


class TensorType(NamedTuple):
    """The shape of a value and StableHLO's name of its element type (``f32``)."""

    shape: tuple[int, ...]
    element: str


class Operation(NamedTuple):
    """An operation by StableHLO's name, without the dialect; types of its operands and of its first result.

    ``contracted`` and ``batched`` are the axes of the left operand of a ``dot_general`` that are summed over, and that
    both operands share. ``is_nan`` says that a ``constant`` has a NaN, ``scales`` that one operand of a ``multiply`` or
    ``divide`` is a number that the program has.
    """

    name: str
    operands: tuple[TensorType, ...] = ()
    result: TensorType = TensorType((), "")
    contracted: tuple[int, ...] = ()
    batched: tuple[int, ...] = ()
    is_nan: bool = False
    scales: bool = False


#: Elementwise operations, which are read where they give bfloat16 alone: there are many, and one fault in that type.
ELEMENTWISE = frozenset(
    {"multiply", "divide", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "erf"}
)
_BFLOAT16 = "bfloat16"
#: StableHLO's names of operations that are not called so in jaxprs.
_STABLEHLO_NAMES = {
    **dict.fromkeys(("reduce_sum", "reduce_max", "reduce_min", "reduce_prod"), "reduce"),
    **{"mul": "multiply", "div": "divide", "exp": "exponential", "exp2": "exponential"},
    **{"expm1": "exponential_minus_one", "log1p": "log_plus_one"},
}
_NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}


def operations_of_jaxpr(program: Jaxpr, names: Collection[str]) -> Iterator[Operation]:
    """Yield the operations of a jaxpr with some names, those of the programs that it holds included."""
    seen: set[int] = set()
    pending = [program]
    while pending:
        jaxpr = pending.pop()
        if "constant" in names:
            yield from _nan_literals(jaxpr)
        for operation, inputs, outputs, *_ in jaxpr.raw:
            if operation.composite:
                for body in operation.bodies():
                    if id(body) not in seen:
                        seen.add(id(body))
                        pending.append(body.jaxpr)
            name = _STABLEHLO_NAMES.get(operation.name, operation.name)
            if name in names and (name not in ELEMENTWISE or outputs[0].aval.dtype.name == _BFLOAT16):
                yield _operation_of_equation(operation, name, inputs, outputs[0])
                if operation.name == "exp2":  # the exponential of a multiple
                    yield Operation("multiply", result=_type_of(outputs[0].aval), scales=True)


def _operation_of_equation(operation: Any, name: str, inputs: Sequence[Any], output: Any) -> Operation:
    contracted, batched = (), ()
    if name == "dot_general":
        (contracted, _), (batched, _) = operation.dimension_numbers
    scales = name in ("multiply", "divide") and any(x.__class__ is Literal for x in inputs)
    operands = tuple(_type_of(x.aval) for x in inputs)
    return Operation(name, operands, _type_of(output.aval), contracted, batched, scales=scales)


def _nan_literals(jaxpr: Jaxpr) -> Iterator[Operation]:
    for atoms in (jaxpr.outvars, *(raw[1] for raw in jaxpr.raw)):
        for x in atoms:
            if x.__class__ is Literal and bool(x.val != x.val):
                yield Operation("constant", (), _type_of(x.aval), is_nan=True)


def _type_of(aval: ShapedArray) -> TensorType:
    name = aval.dtype.name
    return TensorType(aval.shape, _NAMES.get(name, name))


def operations_of_module(module: Any, names: Collection[str]) -> Iterator[Operation]:
    """Yield the operations of a StableHLO module with some names."""
    pending = [module.operation]
    while pending:
        for region in pending.pop().regions:
            for block in region.blocks:
                for view in block.operations:
                    operation = view.operation
                    name = operation.name.partition(".")[2]
                    if name in names and operation.results and (name not in ELEMENTWISE or _is_bfloat16(operation)):
                        yield _operation_of(operation, name)
                    if operation.regions and name != "reduce":
                        pending.append(operation)


def _operation_of(operation: Any, name: str) -> Operation:
    contracted, batched, is_nan = (), (), False
    if name == "dot_general":
        numbers = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
        contracted = tuple(numbers.lhs_contracting_dimensions)
        batched = tuple(numbers.lhs_batching_dimensions)
    elif name == "constant":
        is_nan = _has_nan(operation.attributes["value"])
    scales = name in ("multiply", "divide") and any(map(_is_constant, operation.operands))
    operands = tuple(_type_of_value(x) for x in operation.operands)
    return Operation(name, operands, _type_of_value(operation.results[0]), contracted, batched, is_nan, scales)


def _is_bfloat16(operation: Any) -> bool:
    return _type_of_value(operation.results[0]).element == _NAMES[_BFLOAT16]


def _is_constant(value: Any) -> bool:
    """Whether a value is a constant, or one that is broadcast."""
    while isinstance(value, ir.OpResult) and value.owner.name in ("stablehlo.broadcast_in_dim", "stablehlo.convert"):
        value = value.owner.operands[0]
    return isinstance(value, ir.OpResult) and value.owner.name == "stablehlo.constant"


def _type_of_value(value: Any) -> TensorType:
    if not isinstance(value.type, ir.RankedTensorType):
        return TensorType((), "")
    return TensorType(tuple(value.type.shape), str(value.type.element_type))


def _has_nan(value: Any) -> bool:
    if not isinstance(value, ir.DenseFPElementsAttr):
        return False
    if value.is_splat:
        number = ir.FloatAttr(value.get_splat_value()).value
        return bool(number != number)
    return bool(np.isnan(np.asarray(value, np.float64)).any())
