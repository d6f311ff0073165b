"""A StableHLO program as XLA's fusion sees it: a graph of values for each computation, calls written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from .operand_orders import Move, moves_of
from .rates import BY_LIBRARY, CHEAP, EXPENSIVE, FREE, FUSIBLE, NANOSECONDS, PRODUCT, REDUCED_BY_LIBRARY

#: A value that is in memory when the computation begins: an operand, or a value of what is around a loop.
PARAMETER = "parameter"
#: A value behind a barrier.
BARRIER = "barrier"
#: A reduction that a library carries out.
LIBRARY_REDUCE = "library_reduce"


#: Operations that call a function, and which attribute names it.
CALLING = {"func.call": "callee", "stablehlo.composite": "decomposition"}


class Size(NamedTuple):
    """Of a value: how many elements, bytes, and axes longer than one."""

    elements: int
    bytes: int
    rank: int


class Maker(NamedTuple):
    """The value in the module, and what stands before the name of its operation."""

    value: Any
    prefix: str


class Graph:
    """The values of one computation, in an order in which they can be computed: a value is a number, and what is known
    of it stands in lists under that number.
    """

    def __init__(self, module: Any, in_loop: bool) -> None:
        self.module = module  # the values in it are gone when it is
        #: Whether it is, or is within, the body of a loop.
        self.in_loop = in_loop
        #: The operation, by StableHLO's name.
        self.kind: list[str] = []
        self.size: list[Size] = []
        #: The operands, each once, and who uses the value.
        self.operands: list[tuple[int, ...]] = []
        self.users: list[list[int]] = []
        #: Nanoseconds to compute it once from its operands, in memory or not.
        self.work: list[float] = []
        #: Whether it may be computed on the way to another value, and whether for one alone.
        self.fusible: list[bool] = []
        self.expensive: list[bool] = []
        #: Where it can be marked; None where it cannot.
        self.made_by: list[Maker | None] = []
        #: What products want in another order or shape: by the value it is of, and how.
        self.moved: dict[tuple[int, Move], int] = {}
        #: What the computation gives.
        self.results: set[int] = set()

    def __len__(self) -> int:
        return len(self.kind)

    def add(
        self, kind: str, size: Size, operands: Sequence[int], work: float, expensive: bool, made_by: Maker | None
    ) -> int:
        """A new value, and its number."""
        number = len(self.kind)
        distinct = tuple(dict.fromkeys(operands))
        self.kind.append(kind)
        self.size.append(size)
        self.operands.append(distinct)
        self.users.append([])
        self.work.append(work)
        self.fusible.append(kind in FUSIBLE)
        self.expensive.append(expensive)
        self.made_by.append(made_by)
        for operand in distinct:
            self.users[operand].append(number)
        return number


def graphs_of(module: Any) -> list[Graph]:
    """The computations of a module: its main function, and the bodies of its loops and branches."""
    reader = _Reader(module)
    reader.computation(reader.functions["main"].regions[0].blocks[0], "", in_loop=False)
    return reader.graphs


class _Reader:
    """Reads one module."""

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
        kind = value.type
        found = self.sizes.get(kind)
        if found is None:
            found = self.sizes[kind] = size_of(kind)
        return found

    def computation(self, block: Any, prefix: str, *, in_loop: bool) -> None:
        """Read a block as a computation of its own: what it takes from outside is in memory."""
        graph = Graph(self.module, in_loop)
        self.graphs.append(graph)
        given = [self.in_memory(graph, each) for each in block.arguments]
        graph.results.update(self.block(graph, block, given, prefix))

    def in_memory(self, graph: Graph, value: Any, *operands: int) -> int:
        return graph.add(BARRIER if operands else PARAMETER, self.size(value), operands, 0.0, False, None)

    def block(self, graph: Graph, block: Any, given: Sequence[int], prefix: str | None) -> list[int]:
        """Add a block's operations to a graph, those of what it calls included; returns its results.

        Nothing is marked where there is no ``prefix``.
        """
        values: dict[Any, int] = dict(zip(block.arguments, given, strict=True))
        operands: list[int] = []
        for view in block.operations:
            operation = view.operation
            operands = []
            for each in operation.operands:
                number = values.get(each)
                if number is None:
                    number = values[each] = self.in_memory(graph, each)
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
                    for inner in region.blocks:
                        within = graph.in_loop or name == "stablehlo.while"
                        self.computation(inner, prefix or "", in_loop=within)
                values.update(dict.fromkeys(results, self.value(graph, operation, operands, results, prefix)))
            elif name not in _ENDS:
                graph.results.update(operands)
        return operands

    def call(self, graph: Graph, operation: Any, operands: Sequence[int], prefix: str | None) -> list[int]:
        body = self.functions[operation.attributes[CALLING[operation.name]].value]
        name = _name_of(operation)
        inside = None if prefix is None or _COMPUTED_AGAIN in name else f"{prefix}{name}/"
        if inside is not None and operation.name == "stablehlo.composite":  # the names in there are whole
            inside = ""
        return self.block(graph, body.regions[0].blocks[0], operands, inside)

    def value(
        self, graph: Graph, operation: Any, operands: Sequence[int], results: Sequence[Any], prefix: str | None
    ) -> int:
        """Add what an operation gives. Several results are one value, which nothing else is computed with."""
        size, kind = self.size(results[0]), operation.name.partition(".")[2]
        expensive = kind in EXPENSIVE
        if len(results) > 1:
            kind += "s"
        elif kind == "reduce" and graph.size[operands[0]].elements == size.elements:
            kind, expensive, operands = "reshape", False, operands[:1]  # what it begins with changes nothing
        elif kind == "divide" and _is_constant(graph, operands[1]):  # XLA multiplies
            kind, expensive = "multiply", False
        for place, moves in enumerate(moves_of(operation)):
            for move in moves:
                operands = [*operands[:place], self.moved(graph, operands[place], move), *operands[place + 1 :]]
        made_by = None if prefix is None or len(results) > 1 else Maker(results[0], prefix)
        work = _work(graph, kind, operation, operands, size)
        if kind == "reduce" and _is_by_library(operation, graph.size[operands[0]]):
            kind = LIBRARY_REDUCE
        return graph.add(kind, size, operands, work, expensive, made_by)

    def moved(self, graph: Graph, number: int, move: Move) -> int:
        """The same elements in another order or shape: once, however many products want them so."""
        found = graph.moved.get((number, move))
        if found is None:
            kind, size = move[0], graph.size[number]
            work = 0.0 if kind in FREE else size.elements * CHEAP
            found = graph.moved[number, move] = graph.add(kind, size, (number,), work, False, None)
        return found


#: Operations whose regions are computations of their own; those of others say what is done with elements.
_HOLD_COMPUTATIONS = frozenset({"stablehlo.while", "stablehlo.case", "stablehlo.if"})
_ENDS = frozenset({"func.return", "stablehlo.return"})
#: What stands in the name of a call whose values somebody wants to have computed again.
_COMPUTED_AGAIN = "/remat2/"


def _work(graph: Graph, kind: str, operation: Any, operands: Sequence[int], size: Size) -> float:
    """Nanoseconds to compute a value once."""
    if kind in FREE:
        return 0.0
    if kind == "reduce":
        return graph.size[operands[0]].elements * CHEAP
    if kind == "dot_general":
        numbers = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
        shape, times = ir.RankedTensorType(operation.operands[0].type).shape, size.elements
        for axis in numbers.lhs_contracting_dimensions:
            times *= shape[axis]
        return times * PRODUCT
    if kind == "convolution":
        return size.elements * graph.size[operands[1]].elements ** 0.67 * PRODUCT
    return size.elements * NANOSECONDS.get(kind, CHEAP)


def _is_by_library(reduction: Any, size: Size) -> bool:
    """Whether a library sums an array of that size, or finds its largest or smallest number."""
    first, *others = reduction.regions[0].blocks[0].operations
    return (
        size.elements >= BY_LIBRARY
        and len(others) == 1
        and first.operation.name.partition(".")[2] in REDUCED_BY_LIBRARY
        and "f" in str(ir.RankedTensorType(reduction.results[0].type).element_type)[:2]
    )


def _is_constant(graph: Graph, number: int) -> bool:
    """Whether a value is one number throughout."""
    while graph.kind[number] in ("broadcast_in_dim", "convert", "reshape"):
        (number,) = graph.operands[number]
    return graph.kind[number] == "constant" and graph.size[number].rank == 0


def _name_of(operation: Any) -> str:
    location = operation.location
    return location.name_str if isinstance(location, ir.NameLoc) else ""


def name_of(maker: Maker) -> str:
    """The name of the operation that makes a value, as XLA writes it: with the calls around it."""
    return maker.prefix + _name_of(maker.value.owner)


_BITS = {"f16": 16, "bf16": 16, "complex<f32>": 64, "complex<f64>": 128}


def size_of(kind: Any) -> Size:
    """The size of values of an MLIR type."""
    if not isinstance(kind, ir.RankedTensorType):  # a token
        return Size(0, 0, 0)
    elements = 1
    for length in kind.shape:
        elements *= length
    name = str(kind.element_type)
    digits = "".join(filter(str.isdigit, name.partition("E")[0]))
    bits = _BITS.get(name) or int(digits or 32)
    return Size(elements, elements * max(bits // 8, 1), sum(length > 1 for length in kind.shape))
