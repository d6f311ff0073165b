"""A StableHLO program as XLA's fusion sees it: a graph of values for each computation, with calls inlined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from .cost_model import (
    CHEAP_OP_NANOSECONDS,
    EXPENSIVE_OPS,
    FREE_OPS,
    FUSIBLE_OPS,
    LIBRARY_REDUCERS,
    MIN_LIBRARY_REDUCE_ELEMENTS,
    MULTIPLY_ADD_NANOSECONDS,
    OP_NANOSECONDS,
)
from .operand_layouts import LayoutChange, operand_layout_changes

#: A value that is in memory when the computation begins: an operand, or a value from outside of a loop.
PARAMETER = "parameter"
#: A value behind a barrier.
BARRIER = "barrier"
#: A reduction that a library carries out.
LIBRARY_REDUCE = "library_reduce"


#: Operations that call a function, and the attribute that names it.
CALLEE_ATTRIBUTES = {"func.call": "callee", "stablehlo.composite": "decomposition"}


class ValueSize(NamedTuple):
    """Size of a value: its elements, its bytes, and how many of its axes are longer than one (``rank``)."""

    elements: int
    bytes: int
    rank: int


class DefiningOp(NamedTuple):
    """Value in the module, and the names of the calls around the operation that defines it, as a prefix of its name."""

    value: Any
    prefix: str


class ValueGraph:
    """Values of one computation in topological order.

    A value is a number, the index of its facts in the graph's lists: ``kind`` has its operation's name, ``size`` its
    size, ``operands`` and ``users`` other values, ``nanoseconds`` its cost. ``results`` are the values that the
    computation returns.
    """

    def __init__(self, module: Any, in_loop: bool) -> None:
        self.module = module  # keeps the values in it alive
        #: True for the body of a loop and what is nested in it.
        self.in_loop = in_loop
        #: The operation, by StableHLO's name.
        self.kind: list[str] = []
        self.size: list[ValueSize] = []
        #: The operands, each once, and the users of the value.
        self.operands: list[tuple[int, ...]] = []
        self.users: list[list[int]] = []
        #: Nanoseconds to compute it once from its operands, in memory or not.
        self.nanoseconds: list[float] = []
        #: Whether it can be fused into its users, and whether into a single user only.
        self.is_fusible: list[bool] = []
        self.is_expensive: list[bool] = []
        #: Where a barrier can be placed; None where none can.
        self.defining_ops: list[DefiningOp | None] = []
        #: Operands that products want in another order or shape, by the original value and the change.
        self.relaid_operands: dict[tuple[int, LayoutChange], int] = {}
        #: The values that the computation returns.
        self.results: set[int] = set()

    def __len__(self) -> int:
        return len(self.kind)

    def add(
        self,
        op_name: str,
        size: ValueSize,
        operands: Sequence[int],
        work: float,
        expensive: bool,
        defining_op: DefiningOp | None,
    ) -> int:
        """Add a value and return its number.

        ``op_name`` is StableHLO's name of the operation without the dialect, ``work`` the nanoseconds to compute the
        value once. ``expensive`` says that XLA fuses it into a single user only, ``defining_op`` where a barrier can
        be placed (None: nowhere).
        """
        number = len(self.kind)
        distinct = tuple(dict.fromkeys(operands))
        self.kind.append(op_name)
        self.size.append(size)
        self.operands.append(distinct)
        self.users.append([])
        self.nanoseconds.append(work)
        self.is_fusible.append(op_name in FUSIBLE_OPS)
        self.is_expensive.append(expensive)
        self.defining_ops.append(defining_op)
        for operand in distinct:
            self.users[operand].append(number)
        return number


def build_graphs(module: Any) -> list[ValueGraph]:
    """Build the graphs of a module's computations: its main function, and the bodies of its loops and branches.

    The main function comes first. Calls are inlined.
    """
    reader = _ModuleReader(module)
    reader.read_computation(reader.functions["main"].regions[0].blocks[0], "", in_loop=False)
    return reader.graphs


class _ModuleReader:
    """Reader of one StableHLO module, which collects the graphs of its computations in ``graphs``."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.functions = {
            view.operation.attributes["sym_name"].value: view.operation
            for view in module.body.operations
            if view.operation.name == "func.func"
        }
        self.sizes: dict[Any, ValueSize] = {}
        self.graphs: list[ValueGraph] = []

    def size(self, value: Any) -> ValueSize:
        mlir_type = value.type
        size = self.sizes.get(mlir_type)
        if size is None:
            size = self.sizes[mlir_type] = size_of(mlir_type)
        return size

    def read_computation(self, block: Any, prefix: str, *, in_loop: bool) -> None:
        """Read a block as a separate computation, to which values from outside are in memory.

        ``prefix`` is put in front of the names of its operations; ``in_loop`` says whether it is in the body of a
        loop.
        """
        graph = ValueGraph(self.module, in_loop)
        self.graphs.append(graph)
        arguments = [self.add_in_memory(graph, argument) for argument in block.arguments]
        graph.results.update(self.read_block(graph, block, arguments, prefix))

    def add_in_memory(self, graph: ValueGraph, value: Any, *operands: int) -> int:
        return graph.add(BARRIER if operands else PARAMETER, self.size(value), operands, 0.0, False, None)

    def read_block(self, graph: ValueGraph, block: Any, arguments: Sequence[int], prefix: str | None) -> list[int]:
        """Add a block's operations to a graph, calls inlined, and return the numbers of its results.

        ``arguments`` are the numbers of the block's arguments. ``prefix`` is put in front of the names of its
        operations; None means that no value in it can get a barrier.
        """
        values: dict[Any, int] = dict(zip(block.arguments, arguments, strict=True))
        operands: list[int] = []
        for view in block.operations:
            operation = view.operation
            operands = []
            for operand in operation.operands:
                number = values.get(operand)
                if number is None:
                    number = values[operand] = self.add_in_memory(graph, operand)
                operands.append(number)
            results = list(operation.results)
            name = operation.name
            if name in CALLEE_ATTRIBUTES:
                numbers = self.inline_call(graph, operation, operands, prefix)
                values.update(zip(results, numbers, strict=True))
            elif name == "stablehlo.optimization_barrier":
                values.update((x, self.add_in_memory(graph, x, n)) for x, n in zip(results, operands, strict=True))
            elif results:
                for region in operation.regions if name in _CONTROL_FLOW_OPS else ():
                    for inner_block in region.blocks:
                        in_loop = graph.in_loop or name == "stablehlo.while"
                        self.read_computation(inner_block, prefix or "", in_loop=in_loop)
                values.update(dict.fromkeys(results, self.value(graph, operation, operands, results, prefix)))
            elif name not in _TERMINATORS:
                graph.results.update(operands)
        return operands

    def inline_call(self, graph: ValueGraph, operation: Any, operands: Sequence[int], prefix: str | None) -> list[int]:
        body = self.functions[operation.attributes[CALLEE_ATTRIBUTES[operation.name]].value]
        name = _local_op_name(operation)
        scope = None if prefix is None or _REMAT_SCOPE in name else f"{prefix}{name}/"
        if scope is not None and operation.name == "stablehlo.composite":  # names inside of a composite are complete
            scope = ""
        return self.read_block(graph, body.regions[0].blocks[0], operands, scope)

    def value(
        self, graph: ValueGraph, operation: Any, operands: Sequence[int], results: Sequence[Any], prefix: str | None
    ) -> int:
        """Add the result of an operation to a graph and return its number; several results are one unfusible value.

        ``operands`` are numbers and ``results`` values of the module; ``prefix`` is that of :meth:`read_block`.
        """
        size, op_name = self.size(results[0]), operation.name.partition(".")[2]
        expensive = op_name in EXPENSIVE_OPS
        if len(results) > 1:
            op_name += "s"
        elif op_name == "reduce" and graph.size[operands[0]].elements == size.elements:
            op_name, expensive, operands = "reshape", False, operands[:1]  # the initial value changes nothing
        elif op_name == "divide" and _is_uniform(graph, operands[1]):  # XLA multiplies
            op_name, expensive = "multiply", False
        for index, changes in enumerate(operand_layout_changes(operation)):
            for change in changes:
                operands = [
                    *operands[:index],
                    self.relay_operand(graph, operands[index], change),
                    *operands[index + 1 :],
                ]
        defining_op = None if prefix is None or len(results) > 1 else DefiningOp(results[0], prefix)
        work = _compute_nanoseconds(graph, op_name, operation, operands, size)
        if op_name == "reduce" and _is_library_reduction(operation, graph.size[operands[0]]):
            op_name = LIBRARY_REDUCE
        return graph.add(op_name, size, operands, work, expensive, defining_op)

    def relay_operand(self, graph: ValueGraph, number: int, change: LayoutChange) -> int:
        """Return the number of value ``number`` after the layout ``change`` that a product makes to its operand.

        The changed value is added to ``graph`` once, and shared by all products that make this change.
        """
        relaid = graph.relaid_operands.get((number, change))
        if relaid is None:
            op_name, size = change[0], graph.size[number]
            work = 0.0 if op_name in FREE_OPS else size.elements * CHEAP_OP_NANOSECONDS
            relaid = graph.relaid_operands[number, change] = graph.add(op_name, size, (number,), work, False, None)
        return relaid


#: Operations whose regions are separate computations; regions of other operations apply to elements.
_CONTROL_FLOW_OPS = frozenset({"stablehlo.while", "stablehlo.case", "stablehlo.if"})
_TERMINATORS = frozenset({"func.return", "stablehlo.return"})
#: Part of the name of a call whose values the user wants to be rematerialized.
_REMAT_SCOPE = "/remat2/"


def _compute_nanoseconds(
    graph: ValueGraph, op_name: str, operation: Any, operands: Sequence[int], size: ValueSize
) -> float:
    """Estimate the nanoseconds to compute a value once from its operands.

    ``op_name`` is the name of the operation as fusion sees it, ``size`` that of the result.
    """
    if op_name in FREE_OPS:
        return 0.0
    if op_name == "reduce":
        return graph.size[operands[0]].elements * CHEAP_OP_NANOSECONDS
    if op_name == "dot_general":
        numbers = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
        shape, multiplications = ir.RankedTensorType(operation.operands[0].type).shape, size.elements
        for axis in numbers.lhs_contracting_dimensions:
            multiplications *= shape[axis]
        return multiplications * MULTIPLY_ADD_NANOSECONDS
    if op_name == "convolution":
        return size.elements * graph.size[operands[1]].elements ** 0.67 * MULTIPLY_ADD_NANOSECONDS
    return size.elements * OP_NANOSECONDS.get(op_name, CHEAP_OP_NANOSECONDS)


def _is_library_reduction(reduction: Any, size: ValueSize) -> bool:
    """Return whether a library computes a reduction: a sum, minimum or maximum of many floats.

    ``size`` is that of the operand.
    """
    first, *later_operations = reduction.regions[0].blocks[0].operations
    return (
        size.elements >= MIN_LIBRARY_REDUCE_ELEMENTS
        and len(later_operations) == 1
        and first.operation.name.partition(".")[2] in LIBRARY_REDUCERS
        and "f" in str(ir.RankedTensorType(reduction.results[0].type).element_type)[:2]
    )


def _is_uniform(graph: ValueGraph, number: int) -> bool:
    """Return whether all elements of a value are one constant."""
    while graph.kind[number] in ("broadcast_in_dim", "convert", "reshape"):
        (number,) = graph.operands[number]
    return graph.kind[number] == "constant" and graph.size[number].rank == 0


def _local_op_name(operation: Any) -> str:
    location = operation.location
    return location.name_str if isinstance(location, ir.NameLoc) else ""


def full_op_name(defining_op: DefiningOp) -> str:
    """Return the name of the operation that defines a value as XLA writes it: with those of the calls around it."""
    return defining_op.prefix + _local_op_name(defining_op.value.owner)


_ELEMENT_BITS = {"f16": 16, "bf16": 16, "complex<f32>": 64, "complex<f64>": 128}


def size_of(mlir_type: Any) -> ValueSize:
    """Return the size of values of an MLIR type; zeros for a token."""
    if not isinstance(mlir_type, ir.RankedTensorType):  # a token
        return ValueSize(0, 0, 0)
    elements = 1
    for length in mlir_type.shape:
        elements *= length
    name = str(mlir_type.element_type)
    digits = "".join(filter(str.isdigit, name.partition("E")[0]))
    bits = _ELEMENT_BITS.get(name) or int(digits or 32)
    return ValueSize(elements, elements * max(bits // 8, 1), sum(length > 1 for length in mlir_type.shape))
