"""Graphs of a module's values from the log of its operations, which is several times as fast as reading the module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..mlir.operation_log import LoggedBlock, LoggedOperation, ModuleLog
from .cost_model import (
    CHEAP_OP_NANOSECONDS,
    FREE_OPS,
    MIN_LIBRARY_REDUCE_ELEMENTS,
    MULTIPLY_ADD_NANOSECONDS,
    OP_NANOSECONDS,
)
from .graph import (
    CALLEE_ATTRIBUTES,
    CONTROL_FLOW_OPS,
    NAMES_WITH_RULES,
    PARAMETER,
    ModuleReader,
    ValueGraph,
    ValueSize,
    is_uniform,
)
from .operand_layouts import LayoutChange


class IncompleteLogError(Exception):
    """An operand in the log is the result of an operation that is not in the log."""


def build_graphs_from_log(module: Any, log: ModuleLog) -> list[ValueGraph] | None:
    """Build the graphs of a module's computations from the log of its operations; None if the log misses some.

    They are those of :func:`~.graph.build_graphs`.
    """
    reader = _LogReader(module, log)
    try:
        reader.read_logged_computation(log.functions["main"], "", in_loop=False)
    except IncompleteLogError:
        return None
    finally:
        reader.numbers.clear()  # they refer to the reader
    return reader.graphs


class _PlainOp(NamedTuple):
    """An operation for which the graph needs its name without its dialect, the size of its result, and its cost.

    The name is "" for an operation whose attributes or operands matter.
    """

    name: str
    size: ValueSize
    nanoseconds: float


class _PlainFunction(NamedTuple):
    """Function of plain operations: these, with their operands and their values in the log, and what is returned.

    Operands, and what is returned, are indices among the function's arguments and, after them, its operations.
    """

    ops: list[_PlainOp]
    operands: list[list[int]]
    values: list[Any]
    returned: list[int]

    def add_to(self, graph: ValueGraph, arguments: Sequence[int], prefix: str | None) -> list[int]:
        """Add the operations to a graph, as :meth:`.ValueGraph.add` does one, and return the numbers of the results."""
        first, count = len(graph), len(self.ops)
        numbers = [*arguments, *range(first, first + count)]
        kinds, sizes, work = zip(*self.ops, strict=True) if self.ops else ((), (), ())
        graph.kind += kinds
        graph.size += sizes
        graph.nanoseconds += work
        graph.operands += [tuple(dict.fromkeys([numbers[index] for index in indices])) for indices in self.operands]
        graph.defining_values += self.values
        graph.prefixes += [prefix] * count
        return [numbers[index] for index in self.returned]


class _PlainOps(dict[str, _PlainOp]):
    """Operations with a result of one size, by full name."""

    def __init__(self, size: ValueSize) -> None:
        super().__init__()
        self.size = size
        self[""] = _PlainOp("", size, 0.0)  # an empty dictionary would count as none

    def __missing__(self, full_name: str) -> _PlainOp:
        name = full_name.partition(".")[2]
        if name in NAMES_WITH_RULES or full_name in CALLEE_ATTRIBUTES:
            name = ""
        cost = 0.0 if name in FREE_OPS else OP_NANOSECONDS.get(name, CHEAP_OP_NANOSECONDS)
        plain = self[full_name] = _PlainOp(name, self.size, self.size.elements * cost)
        return plain


class _Numbers:
    """Numbers of values in one computation, ``by_id`` of the MLIR values.

    A value that is not there is in memory if it is from outside of the computation. Some values have other objects in
    the log than those that define them, which are compared then.
    """

    def __init__(self, reader: _LogReader, graph: ValueGraph) -> None:
        self.reader, self.graph = reader, graph
        self.by_id: dict[int, int] = {}
        self.by_value: dict[Any, int] = {}

    def define(self, values: Sequence[Any], numbers: Sequence[int]) -> None:
        """Set the numbers of values."""
        self.by_id.update(zip(map(id, values), numbers, strict=True))

    def define_results(self, operation: LoggedOperation, numbers: Sequence[int]) -> None:
        """Set the numbers of an operation's results, which may be used by other objects."""
        self.define(operation.results, numbers)
        self.by_value.update(zip(operation.results, numbers, strict=True))
        self.reader.shared.update(operation.results)

    def find(self, value: Any) -> int:
        """Return the number of a value; one that is not there is in memory if it is from outside.

        Raises IncompleteLogError if nothing in the log defines it.
        """
        number = self.by_id.get(id(value))
        if number is None:
            number = self.by_value.get(value)
        if number is None:
            if value not in self.reader.shared and not any(id(value) in other.by_id for other in self.reader.numbers):
                raise IncompleteLogError
            number = self.by_value[value] = self.by_id[id(value)] = self.reader.add_in_memory(self.graph, value)
        return number


class _LogReader(ModuleReader):
    """Reader of one module's log.

    ``numbers`` has those of all values that the log defines so far, by block, and ``shared`` those values that are
    compared.
    """

    def __init__(self, module: Any, log: ModuleLog) -> None:
        super().__init__(module)
        self.log = log
        self.numbers: list[_Numbers] = []
        #: Plain operations by the identity of the types of their results in the log: hashing these costs more.
        self.plain_ops: dict[int, _PlainOps] = {}
        self.shared: set[Any] = set()
        #: Functions by symbol; None for one whose operations are not all plain.
        self.plain_functions: dict[str, _PlainFunction | None] = {}
        #: Descriptions of products by the identities of their attribute and of their operands' sizes.
        self.logged_products: dict[tuple[int, ...], tuple[Sequence[Sequence[LayoutChange]], int]] = {}

    def read_logged_computation(self, block: LoggedBlock, prefix: str, *, in_loop: bool) -> None:
        """Read a block as a separate computation; see :meth:`.ModuleReader.read_computation`."""
        graph = ValueGraph(self.module, in_loop)
        self.graphs.append(graph)
        types_and_values = zip(block.types, block.arguments, strict=True)
        sizes = [(self.plain_ops.get(id(type_)) or self.plain_ops_of(type_, x)).size for type_, x in types_and_values]
        arguments = [graph.add(PARAMETER, size, (), 0.0, None, None) for size in sizes]
        graph.results.update(self.read_log(graph, block, arguments, prefix))

    def read_log(
        self, graph: ValueGraph, block: LoggedBlock, arguments: Sequence[int], prefix: str | None
    ) -> list[int]:
        """Add a block's operations to a graph, calls inlined; see :meth:`.ModuleReader.read_block`."""
        numbers = _Numbers(self, graph)
        self.numbers.append(numbers)
        numbers.define(block.arguments, arguments)
        by_id = numbers.by_id
        find_ops, kinds, prefixes = self.plain_ops.get, graph.kind, graph.prefixes
        add_kind, add_size, add_operands = kinds.append, graph.size.append, graph.operands.append
        add_work, add_value = graph.nanoseconds.append, graph.defining_values.append
        for name, operands, mlir_type, result, attributes in block.entries:
            try:
                count = len(operands)
                if count == 2:  # without a loop: most operations have two operands or one
                    x, y = operands
                    first, second = by_id[id(x)], by_id[id(y)]
                    operand_numbers: tuple[int, ...] = first, second
                    different = operand_numbers if first != second else (first,)
                elif count == 1:
                    different = operand_numbers = (by_id[id(operands[0])],)
                else:
                    operand_numbers = tuple([by_id[id(x)] for x in operands])
                    different = tuple(dict.fromkeys(operand_numbers)) if count else ()
            except KeyError:
                operand_numbers = tuple(map(numbers.find, operands))
                different = tuple(dict.fromkeys(operand_numbers))
            if mlir_type is None:
                prefixes += [prefix] * (len(kinds) - len(prefixes))
                self.read_operation(graph, numbers, name, operand_numbers, result, attributes, prefix)
                continue
            op_name, size, work = (find_ops(id(mlir_type)) or self.plain_ops_of(mlir_type, result))[name]
            if not op_name:
                prefixes += [prefix] * (len(kinds) - len(prefixes))
                by_id[id(result)] = self.read_rule(
                    graph, name, operand_numbers, size, result, attributes, operands, prefix
                )
                continue
            # This is ValueGraph.add, which most operations need alone; prefixes are added for several at once.
            by_id[id(result)] = len(kinds)
            add_kind(op_name)
            add_size(size)
            add_operands(different)
            add_work(work)
            add_value(result)
        prefixes += [prefix] * (len(kinds) - len(prefixes))
        return list(map(numbers.find, block.returned))

    def plain_ops_of(self, mlir_type: Any, value: Any) -> _PlainOps:
        """Return the plain operations with results of the type of ``value``, and store them by the type's identity.

        ``mlir_type`` is that type, which the log keeps alive.
        """
        plain_ops = self.plain_ops[id(mlir_type)] = _PlainOps(self.size(value))
        return plain_ops

    def read_rule(
        self,
        graph: ValueGraph,
        name: str,
        operands: Sequence[int],
        size: ValueSize,
        result: Any,
        attributes: Mapping[str, Any] | None,
        values: Sequence[Any],
        prefix: str | None,
    ) -> int:
        """Add an operation whose attributes or operands matter to a graph, and return the number of its result.

        ``size`` is that of the result, ``values`` are the operands' values, ``attributes`` the operation's.
        """
        if name == "stablehlo.reduce":
            elements = graph.size[operands[0]].elements
            if size.elements < elements < MIN_LIBRARY_REDUCE_ELEMENTS:
                return graph.add("reduce", size, operands, elements * CHEAP_OP_NANOSECONDS, result, prefix)
            if elements == size.elements:  # the initial value changes nothing
                return graph.add("reshape", size, operands[:1], 0.0, result, prefix)
        if name == "stablehlo.divide":
            op_name = "multiply" if is_uniform(graph, operands[1]) else "divide"  # XLA multiplies
            work = size.elements * OP_NANOSECONDS.get(op_name, CHEAP_OP_NANOSECONDS)
            return graph.add(op_name, size, operands, work, result, prefix)
        if name == "stablehlo.dot_general" and attributes is not None:
            sizes = graph.size[operands[0]], graph.size[operands[1]]
            changes, multiplications = self.describe_logged_product(attributes, sizes, values, result)
            work = size.elements * multiplications * MULTIPLY_ADD_NANOSECONDS
            if any(changes):
                operands = self.relay_operands(graph, operands, changes)
            return graph.add("dot_general", size, operands, work, result, prefix)
        return self.value(graph, name, result.owner, operands, (result,), prefix)

    def describe_logged_product(
        self, attributes: Mapping[str, Any], sizes: tuple[ValueSize, ValueSize], values: Sequence[Any], result: Any
    ) -> tuple[Sequence[Sequence[LayoutChange]], int]:
        """Return what :meth:`.ModuleReader.describe_product` does for the product ``result`` of ``values``.

        Products with attributes and operands' ``sizes`` that are the same objects are described once: values of one
        type share the object of their size.
        """
        dimensions = attributes["dot_dimension_numbers"]
        key = id(dimensions), *map(id, sizes)  # the log and the graphs keep them alive
        described = self.logged_products.get(key)
        if described is None:
            types = [x.type for x in values]
            described = self.describe_product(dimensions, types, result.owner)
            if all(self.sizes.get(x) is size for x, size in zip(types, sizes, strict=True)):
                self.logged_products[key] = described
        return described

    def read_operation(
        self,
        graph: ValueGraph,
        numbers: _Numbers,
        name: str,
        operands: Sequence[int],
        logged: LoggedOperation,
        attributes: Mapping[str, Any] | None,
        prefix: str | None,
    ) -> None:
        """Add an operation with several results or with regions to a graph, and set the numbers of its results.

        ``name`` is the operation's, ``operands`` are numbers; ``attributes`` has the symbol and the name of a call.
        """
        results = logged.results
        if name == "func.call" and attributes is not None:
            scope = self.scope_of_call(attributes["name"], prefix)
            numbers.define(results, self.inline_function(graph, attributes["callee"], operands, scope))
        elif name in CALLEE_ATTRIBUTES:
            numbers.define_results(logged, self.inline_call(graph, logged.operation, operands, prefix))
        elif name == "stablehlo.optimization_barrier":
            behind = [self.add_in_memory(graph, x, n) for x, n in zip(results, operands, strict=True)]
            numbers.define_results(logged, behind)
        elif results:
            for block in logged.blocks if name in CONTROL_FLOW_OPS else ():
                self.read_logged_computation(block, prefix or "", in_loop=graph.in_loop or name == "stablehlo.while")
            number = self.value(graph, name, logged.operation, operands, results, prefix)
            numbers.define_results(logged, [number] * len(results))
        else:
            graph.results.update(operands)

    def inline_function(self, graph: ValueGraph, symbol: str, operands: Sequence[int], prefix: str | None) -> list[int]:
        block = self.log.functions[symbol]
        if symbol not in self.plain_functions:
            self.plain_functions[symbol] = self.read_plain_function(block)
        function = self.plain_functions[symbol]
        return (
            self.read_log(graph, block, operands, prefix)
            if function is None
            else function.add_to(graph, operands, prefix)
        )

    def read_plain_function(self, block: LoggedBlock) -> _PlainFunction | None:
        """Return a function as what each of its calls adds to a graph; None if its operations are not all plain."""
        indices = {id(argument): index for index, argument in enumerate(block.arguments)}
        ops, operands = [], []
        for name, values, mlir_type, result, _ in block.entries:
            if mlir_type is None or any(id(x) not in indices for x in values):
                return None
            ops.append((self.plain_ops.get(id(mlir_type)) or self.plain_ops_of(mlir_type, result))[name])
            operands.append([indices[id(x)] for x in values])
            indices[id(result)] = len(indices)
        if not all(op.name for op in ops) or any(id(x) not in indices for x in block.returned):
            return None
        results = [result for _, _, _, result, _ in block.entries]
        return _PlainFunction(ops, operands, results, [indices[id(x)] for x in block.returned])
