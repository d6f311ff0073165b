"""A StableHLO program as XLA's fusion sees it: a graph of values for each computation, with calls inlined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from .operand_orders import Move, moves_of
from .rates import BY_LIBRARY, CHEAP, EXPENSIVE, FREE, FUSIBLE, NANOSECONDS, PRODUCT, REDUCED_BY_LIBRARY

#: A value that is in memory when the computation begins: an operand, or a value from outside of a loop.
PARAMETER = "parameter"
#: A value behind a barrier.
BARRIER = "barrier"
#: A reduction that a library carries out.
LIBRARY_REDUCE = "library_reduce"


#: Operations that call a function, and the attribute that names it.
CALLING = {"func.call": "callee", "stablehlo.composite": "decomposition"}


class Size(NamedTuple):
    """Number of elements, of bytes, and of axes longer than one of a value."""

    elements: int
    bytes: int
    rank: int


class Maker(NamedTuple):
    """Value in the module that an operation defines, and the prefix of that operation's name."""

    value: Any
    prefix: str


class Graph:
    """Values of one computation in topological order.

    A value is a number, the index of its facts in the graph's lists.
    """

    def __init__(self, module: Any, in_loop: bool) -> None:
        self.module = module  # keeps the values in it alive
        #: True for the body of a loop and what is nested in it.
        self.in_loop = in_loop
        #: The operation, by StableHLO's name.
        self.kind: list[str] = []
        self.size: list[Size] = []
        #: The operands, each once, and the users of the value.
        self.operands: list[tuple[int, ...]] = []
        self.users: list[list[int]] = []
        #: Nanoseconds to compute it once from its operands, in memory or not.
        self.work: list[float] = []
        #: Whether it can be fused into its users, and whether into a single user only.
        self.fusible: list[bool] = []
        self.expensive: list[bool] = []
        #: Where a barrier can be placed; None where none can.
        self.made_by: list[Maker | None] = []
        #: Operands that products want in another order or shape, by the original value and the change.
        self.moved: dict[tuple[int, Move], int] = {}
        #: The values that the computation returns.
        self.results: set[int] = set()

    def __len__(self) -> int:
        return len(self.kind)

    def add(
        self, op_name: str, size: Size, operands: Sequence[int], work: float, expensive: bool, defining_op: Maker | None
    ) -> int:
        """Add a value and return its number."""
        number = len(self.kind)
        distinct = tuple(dict.fromkeys(operands))
        self.kind.append(op_name)
        self.size.append(size)
        self.operands.append(distinct)
        self.users.append([])
        self.work.append(work)
        self.fusible.append(op_name in FUSIBLE)
        self.expensive.append(expensive)
        self.made_by.append(defining_op)
        for operand in distinct:
            self.users[operand].append(number)
        return number


def graphs_of(module: Any) -> list[Graph]:
    """Build the graphs of a module's computations: its main function, and the bodies of its loops and branches."""
    reader = _Reader(module)
    reader.computation(reader.functions["main"].regions[0].blocks[0], "", in_loop=False)
    return reader.graphs


class _Reader:
    """Reader of one module, which builds its graphs."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.functions = {
            view.operation.attributes["sym_name"].value: view.operation
            for view in module.body.operations
            if view.operation.name == "func.func"
        }
        self.sizes: dict[Any, Size] = {}
        self.graphs: list[Graph] = []

    def size(self, value: Any) -> Size:
        mlir_type = value.type
        size = self.sizes.get(mlir_type)
        if size is None:
            size = self.sizes[mlir_type] = size_of(mlir_type)
        return size

    def computation(self, block: Any, prefix: str, *, in_loop: bool) -> None:
        """Read a block as a separate computation: values from outside are in memory."""
        graph = Graph(self.module, in_loop)
        self.graphs.append(graph)
        arguments = [self.in_memory(graph, argument) for argument in block.arguments]
        graph.results.update(self.block(graph, block, arguments, prefix))

    def in_memory(self, graph: Graph, value: Any, *operands: int) -> int:
        return graph.add(BARRIER if operands else PARAMETER, self.size(value), operands, 0.0, False, None)

    def block(self, graph: Graph, block: Any, arguments: Sequence[int], prefix: str | None) -> list[int]:
        """Add a block's operations to a graph, calls inlined; returns the numbers of its results.

        Nothing in it can be marked where ``prefix`` is None.
        """
        values: dict[Any, int] = dict(zip(block.arguments, arguments, strict=True))
        operands: list[int] = []
        for view in block.operations:
            operation = view.operation
            operands = []
            for operand in operation.operands:
                number = values.get(operand)
                if number is None:
                    number = values[operand] = self.in_memory(graph, operand)
                operands.append(number)
            results = list(operation.results)
            name = operation.name
            if name in CALLING:
                numbers = self.call(graph, operation, operands, prefix)
                values.update(zip(results, numbers, strict=True))
            elif name == "stablehlo.optimization_barrier":
                values.update((x, self.in_memory(graph, x, n)) for x, n in zip(results, operands, strict=True))
            elif results:
                for region in operation.regions if name in _HOLD_COMPUTATIONS else ():
                    for inner_block in region.blocks:
                        in_loop = graph.in_loop or name == "stablehlo.while"
                        self.computation(inner_block, prefix or "", in_loop=in_loop)
                values.update(dict.fromkeys(results, self.value(graph, operation, operands, results, prefix)))
            elif name not in _ENDS:
                graph.results.update(operands)
        return operands

    def call(self, graph: Graph, operation: Any, operands: Sequence[int], prefix: str | None) -> list[int]:
        body = self.functions[operation.attributes[CALLING[operation.name]].value]
        name = _name_of(operation)
        scope = None if prefix is None or _COMPUTED_AGAIN in name else f"{prefix}{name}/"
        if scope is not None and operation.name == "stablehlo.composite":  # names inside of a composite are complete
            scope = ""
        return self.block(graph, body.regions[0].blocks[0], operands, scope)

    def value(
        self, graph: Graph, operation: Any, operands: Sequence[int], results: Sequence[Any], prefix: str | None
    ) -> int:
        """Add the result of an operation. Several results are one value, which nothing is fused with."""
        size, op_name = self.size(results[0]), operation.name.partition(".")[2]
        expensive = op_name in EXPENSIVE
        if len(results) > 1:
            op_name += "s"
        elif op_name == "reduce" and graph.size[operands[0]].elements == size.elements:
            op_name, expensive, operands = "reshape", False, operands[:1]  # the initial value changes nothing
        elif op_name == "divide" and _is_constant(graph, operands[1]):  # XLA multiplies
            op_name, expensive = "multiply", False
        for index, changes in enumerate(moves_of(operation)):
            for change in changes:
                operands = [*operands[:index], self.moved(graph, operands[index], change), *operands[index + 1 :]]
        defining_op = None if prefix is None or len(results) > 1 else Maker(results[0], prefix)
        work = _work(graph, op_name, operation, operands, size)
        if op_name == "reduce" and _is_by_library(operation, graph.size[operands[0]]):
            op_name = LIBRARY_REDUCE
        return graph.add(op_name, size, operands, work, expensive, defining_op)

    def moved(self, graph: Graph, number: int, change: Move) -> int:
        """Return an operand in another order or shape, which is added once for all products that want it so."""
        relaid = graph.moved.get((number, change))
        if relaid is None:
            op_name, size = change[0], graph.size[number]
            work = 0.0 if op_name in FREE else size.elements * CHEAP
            relaid = graph.moved[number, change] = graph.add(op_name, size, (number,), work, False, None)
        return relaid


#: Operations whose regions are separate computations; regions of other operations apply to elements.
_HOLD_COMPUTATIONS = frozenset({"stablehlo.while", "stablehlo.case", "stablehlo.if"})
_ENDS = frozenset({"func.return", "stablehlo.return"})
#: Part of the name of a call whose values the user wants to be rematerialized.
_COMPUTED_AGAIN = "/remat2/"


def _work(graph: Graph, op_name: str, operation: Any, operands: Sequence[int], size: Size) -> float:
    """Estimate the nanoseconds to compute a value once."""
    if op_name in FREE:
        return 0.0
    if op_name == "reduce":
        return graph.size[operands[0]].elements * CHEAP
    if op_name == "dot_general":
        numbers = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
        shape, multiplications = ir.RankedTensorType(operation.operands[0].type).shape, size.elements
        for axis in numbers.lhs_contracting_dimensions:
            multiplications *= shape[axis]
        return multiplications * PRODUCT
    if op_name == "convolution":
        return size.elements * graph.size[operands[1]].elements ** 0.67 * PRODUCT
    return size.elements * NANOSECONDS.get(op_name, CHEAP)


def _is_by_library(reduction: Any, size: Size) -> bool:
    """Return whether a library computes the reduction: a sum, minimum or maximum of that many floats."""
    first, *later_operations = reduction.regions[0].blocks[0].operations
    return (
        size.elements >= BY_LIBRARY
        and len(later_operations) == 1
        and first.operation.name.partition(".")[2] in REDUCED_BY_LIBRARY
        and "f" in str(ir.RankedTensorType(reduction.results[0].type).element_type)[:2]
    )


def _is_constant(graph: Graph, number: int) -> bool:
    """Return whether all elements of a value are one constant."""
    while graph.kind[number] in ("broadcast_in_dim", "convert", "reshape"):
        (number,) = graph.operands[number]
    return graph.kind[number] == "constant" and graph.size[number].rank == 0


def _name_of(operation: Any) -> str:
    location = operation.location
    return location.name_str if isinstance(location, ir.NameLoc) else ""


def name_of(defining_op: Maker) -> str:
    """Return the name of the operation that defines a value as XLA writes it: with the calls around it."""
    return defining_op.prefix + _name_of(defining_op.value.owner)


_BITS = {"f16": 16, "bf16": 16, "complex<f32>": 64, "complex<f64>": 128}


def size_of(mlir_type: Any) -> Size:
    """Return the size of values of an MLIR type."""
    if not isinstance(mlir_type, ir.RankedTensorType):  # a token
        return Size(0, 0, 0)
    elements = 1
    for length in mlir_type.shape:
        elements *= length
    name = str(mlir_type.element_type)
    digits = "".join(filter(str.isdigit, name.partition("E")[0]))
    bits = _BITS.get(name) or int(digits or 32)
    return Size(elements, elements * max(bits // 8, 1), sum(length > 1 for length in mlir_type.shape))
