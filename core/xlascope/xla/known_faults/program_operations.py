"""Summaries of a program's operations for the matchers of faults, read from a jaxpr or from StableHLO."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from ...ir.avals import ShapedArray
from ...ir.jaxpr import Jaxpr, Literal
from ..materialization.graph import CALLEE_ATTRIBUTES


class TensorType(NamedTuple):
    """Shape of a value and StableHLO's name of its element type (``f32``)."""

    shape: tuple[int, ...]
    element: str


class OperationSummary(NamedTuple):
    """Operation by StableHLO's name, without the dialect, with the types of its operands and first result.

    ``contracted`` and ``batched`` are the contracting and the batch axes of the left operand of a ``dot_general``.
    ``is_nan`` says that a ``constant`` contains a NaN.
    """

    name: str
    operands: tuple[TensorType, ...] = ()
    result: TensorType = TensorType((), "")
    contracted: tuple[int, ...] = ()
    batched: tuple[int, ...] = ()
    is_nan: bool = False


#: The name for maxima and minima of elements whose NaN matters (in StableHLO: all).
EXTREME_OF_ELEMENTS = "extreme of elements"
#: The name for exponentials, logarithms and similar functions of bfloat16 that is multiplied by a number.
FUNCTION_OF_SCALED = "function of scaled bfloat16"

_AFFECTED_FUNCTIONS = frozenset({"exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "erf"})
_VALUE_PRESERVING_OPS = frozenset({"convert", "reshape", "transpose", "broadcast_in_dim"})
_BFLOAT16 = "bfloat16"
#: StableHLO's names of operations that have another name in jaxprs.
_STABLEHLO_NAMES = {
    **dict.fromkeys(("reduce_sum", "reduce_max", "reduce_min", "reduce_prod"), "reduce"),
    **dict.fromkeys(("expand_dims", "squeeze"), "reshape"),
    **{"mul": "multiply", "div": "divide", "sub": "subtract", "exp": "exponential", "convert_element_type": "convert"},
    **{"expm1": "exponential_minus_one", "log1p": "log_plus_one"},
}
_ELEMENT_NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", _BFLOAT16: "bf16"}


class _ScaledValueFlow:
    """Values of one block that are constants, converted bfloat16, or bfloat16 multiplied by a constant (*scaled*).

    A matcher's fault affects functions of scaled values.
    """

    def __init__(self) -> None:
        self.numbers: set[Any] = set()
        self.converted: set[Any] = set()
        self.scaled: set[Any] = set()

    def is_function_of_scaled(
        self, name: str, operands: Sequence[Any], result: Any, is_bfloat16: Callable[[Any], bool]
    ) -> bool:
        """Return whether an operation is a function of a scaled value that the fault affects, and note its result.

        ``name`` is StableHLO's without the dialect. The result is noted if it is a constant, converted or scaled.
        ``is_bfloat16`` returns whether an operand has that dtype.
        """
        if name in _AFFECTED_FUNCTIONS:
            return operands[0] in self.scaled
        if name in ("multiply", "divide"):
            factors = [x for x in operands if x not in self.numbers]
            if len(factors) == 1 and (is_bfloat16(factors[0]) or factors[0] in self.converted):
                self.scaled.add(result)
        elif name in ("add", "subtract"):
            if any(x in self.scaled for x in operands) and any(x in self.numbers for x in operands):
                self.scaled.add(result)  # XLA removes the addition of 0
        elif name in _VALUE_PRESERVING_OPS:
            (x,) = operands
            for values in (self.numbers, self.converted, self.scaled):
                if x in values:
                    values.add(result)
            if name == "convert" and is_bfloat16(x):
                self.converted.add(result)
        return False


def operations_of_jaxpr(program: Jaxpr, names: Collection[str]) -> list[OperationSummary]:
    """Return the operations of a jaxpr and its bodies that have one of the names.

    These are StableHLO's names, :data:`FUNCTION_OF_SCALED` and :data:`EXTREME_OF_ELEMENTS`.
    """
    reader = _JaxprReader(names)
    reader.read_jaxpr(program, scaled=False)
    return reader.operations


class _JaxprReader:
    """Reader of a jaxpr and its bodies, which collects the operations that have one of the names in ``operations``.

    Each is read once, and once more if it is called with scaled values (bfloat16 multiplied by a number).
    """

    def __init__(self, names: Collection[str]) -> None:
        self.names = names
        self.tracks_scaling = FUNCTION_OF_SCALED in names
        self.operations: list[OperationSummary] = []
        self.results: dict[tuple[int, bool], bool] = {}

    def read_jaxpr(self, jaxpr: Jaxpr, *, scaled: bool) -> bool:
        """Read a jaxpr and return whether one of its results is scaled; ``scaled`` says that of all its operands.

        Scaled values are bfloat16 multiplied by a constant.
        """
        cached = self.results.get((id(jaxpr), scaled))
        if cached is not None:
            return cached
        flow = _ScaledValueFlow()
        if scaled:
            flow.scaled.update(jaxpr.invars)
        if "constant" in self.names:
            self.operations += _nan_literals(jaxpr)
        if self.names == _LITERALS_ALONE:
            operations = list(map(operator.itemgetter(0), jaxpr.raw))
            for operation in dict(zip(map(id, operations), operations, strict=True)).values():
                for body in operation.bodies() if operation.composite else ():
                    self.read_jaxpr(body.jaxpr, scaled=False)
            self.results[id(jaxpr), scaled] = False
            return False
        for operation, inputs, outputs, *_ in jaxpr.raw:
            if operation.composite:
                has_scaled_input = any(x.__class__ is not Literal and x in flow.scaled for x in inputs)
                results = [self.read_jaxpr(body.jaxpr, scaled=has_scaled_input) for body in operation.bodies()]
                if any(results):
                    flow.scaled.update(outputs)
            name = _STABLEHLO_NAMES.get(operation.name, operation.name)
            if EXTREME_OF_ELEMENTS in self.names and getattr(operation, "propagates_nan", False):
                self.operations.append(_summarize_equation(operation, EXTREME_OF_ELEMENTS, inputs, outputs[0]))
            if name in self.names:
                self.operations.append(_summarize_equation(operation, name, inputs, outputs[0]))
            elif self.tracks_scaling and name in _TRACKED_OPS:
                self.track_scaling(flow, name, operation, inputs, outputs[0])
        result = any(v.__class__ is not Literal and v in flow.scaled for v in jaxpr.outvars)
        self.results[id(jaxpr), scaled] = result
        return result

    def track_scaling(
        self, flow: _ScaledValueFlow, name: str, operation: Any, inputs: Sequence[Any], output: Any
    ) -> None:
        """Follow scaled values through an equation, and collect it if it is an affected function of one.

        Scaled values are bfloat16 multiplied by a constant. ``name`` is StableHLO's name of the operation, ``output``
        the equation's first result.
        """
        operands = []
        for x in inputs:
            is_literal = x.__class__ is Literal
            operands.append(id(x) if is_literal else x)
            if is_literal:
                flow.numbers.add(id(x))
        if flow.is_function_of_scaled(name, operands, output, _is_bfloat16_atom):
            self.operations.append(OperationSummary(FUNCTION_OF_SCALED, (), _tensor_type(output.aval)))


#: Names by which only literals are collected, which takes a third of the time.
_LITERALS_ALONE = frozenset({"constant"})
_TRACKED_OPS = frozenset({*_AFFECTED_FUNCTIONS, *_VALUE_PRESERVING_OPS, "multiply", "divide", "add", "subtract"})


def _is_bfloat16_atom(x: Any) -> bool:
    return hasattr(x, "aval") and x.aval.dtype.name == _BFLOAT16


def _summarize_equation(operation: Any, name: str, inputs: Sequence[Any], output: Any) -> OperationSummary:
    contracted, batched = (), ()
    if name == "dot_general":
        (contracted, _), (batched, _) = operation.dimension_numbers
    return OperationSummary(
        name, tuple(_tensor_type(x.aval) for x in inputs), _tensor_type(output.aval), contracted, batched
    )


def _nan_literals(jaxpr: Jaxpr) -> Iterator[OperationSummary]:
    operands = itertools.chain.from_iterable(map(operator.itemgetter(1), jaxpr.raw))
    # Few are literals, and to look at a type costs less than to hash.
    for x in dict.fromkeys([x for x in itertools.chain(jaxpr.outvars, operands) if type(x) is Literal]):
        if bool(x.val != x.val):
            yield OperationSummary("constant", (), _tensor_type(x.aval), is_nan=True)


def _tensor_type(aval: ShapedArray) -> TensorType:
    name = aval.dtype.name
    return TensorType(aval.shape, _ELEMENT_NAMES.get(name, name))


def operations_of_module(module: Any, names: Collection[str]) -> list[OperationSummary]:
    """Return the operations of a StableHLO module that have one of the names.

    These are StableHLO's names without the dialect, :data:`FUNCTION_OF_SCALED` and :data:`EXTREME_OF_ELEMENTS`.
    """
    reader = _StableHLOReader(module, names)
    reader.read_function("main", scaled=False)
    return reader.operations


class _StableHLOReader:
    """Reader of a module's functions from ``main`` on, which collects the operations with one of the names.

    Each is read once, and once more if it is called with scaled values (bfloat16 multiplied by a number).
    """

    def __init__(self, module: Any, names: Collection[str]) -> None:
        self.names = names
        self.functions = {
            view.operation.attributes["sym_name"].value: view.operation
            for view in module.body.operations
            if view.operation.name == "func.func"
        }
        self.operations: list[OperationSummary] = []
        self.called: dict[tuple[str, bool], bool] = {}

    def read_function(self, symbol: str, *, scaled: bool) -> bool:
        """Read a function and return whether one of its results is scaled; ``scaled`` says that of all its operands.

        Scaled values are bfloat16 multiplied by a constant.
        """
        result = self.called.get((symbol, scaled))
        if result is None:
            block = self.functions[symbol].regions[0].blocks[0]
            result = self.called[symbol, scaled] = self.read_block(block, _ScaledValueFlow(), scaled=scaled)
        return result

    def read_block(self, block: Any, flow: _ScaledValueFlow, *, scaled: bool) -> bool:
        """Read a block and return whether one of its results is scaled; ``scaled`` says that of all its arguments.

        Scaled values are bfloat16 multiplied by a constant. ``flow`` has the values from outside of the block.
        """
        if scaled:
            flow.scaled.update(block.arguments)
        result = False
        for view in block.operations:
            operation = view.operation
            name = operation.name.partition(".")[2]
            operands = list(operation.operands)
            has_scaled_operand = any(x in flow.scaled for x in operands)
            if operation.name in CALLEE_ATTRIBUTES:
                if self.read_function(
                    operation.attributes[CALLEE_ATTRIBUTES[operation.name]].value, scaled=has_scaled_operand
                ):
                    flow.scaled.update(operation.results)
            elif name == "return":
                result = has_scaled_operand
            elif operation.regions and name != "reduce":
                for region in operation.regions:
                    for inner_block in region.blocks:
                        self.read_block(inner_block, flow, scaled=has_scaled_operand)
            self.operation(flow, operation, name, operands)
        return result

    def operation(self, flow: _ScaledValueFlow, operation: Any, name: str, operands: Sequence[Any]) -> None:
        """Collect an operation if its name is wanted, and follow scaled values through it; its regions are not read.

        ``name`` is StableHLO's, without the dialect.
        """
        if EXTREME_OF_ELEMENTS in self.names and name == "reduce" and _takes_extreme(operation):
            self.operations.append(_summarize_operation(operation, EXTREME_OF_ELEMENTS))
        if name in self.names and operation.results:
            self.operations.append(_summarize_operation(operation, name))
        if FUNCTION_OF_SCALED in self.names:
            if name == "constant":
                flow.numbers.add(operation.results[0])
            elif name in _TRACKED_OPS and flow.is_function_of_scaled(
                name, operands, operation.results[0], _is_bfloat16
            ):
                self.operations.append(
                    OperationSummary(FUNCTION_OF_SCALED, (), _tensor_type_of_value(operation.results[0]))
                )


def _summarize_operation(operation: Any, name: str) -> OperationSummary:
    """Return the summary of an operation of a StableHLO module; ``name`` is its name without the dialect."""
    contracted, batched, is_nan = (), (), False
    if name == "dot_general":
        numbers = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
        contracted = tuple(numbers.lhs_contracting_dimensions)
        batched = tuple(numbers.lhs_batching_dimensions)
    elif name == "constant":
        is_nan = _has_nan(operation.attributes["value"])
    operands = tuple(_tensor_type_of_value(x) for x in operation.operands)
    return OperationSummary(name, operands, _tensor_type_of_value(operation.results[0]), contracted, batched, is_nan)


def _takes_extreme(operation: Any) -> bool:
    """Return whether a reduction of a StableHLO module combines elements by their maximum or minimum."""
    (block,) = operation.regions[0].blocks
    return block.operations[0].operation.name in ("stablehlo.maximum", "stablehlo.minimum")


def _is_bfloat16(value: Any) -> bool:
    return _tensor_type_of_value(value).element == _ELEMENT_NAMES[_BFLOAT16]


def _tensor_type_of_value(value: Any) -> TensorType:
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
