"""Graphs of a module's values from the log of its operations, which is several times as fast as reading the module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..mlir.operation_log import LoggedBlock, LoggedOperation, ModuleLog
from .cost_model import CHEAP_OP_NANOSECONDS, FREE_OPS, OP_NANOSECONDS
from .graph import (
    CALLEE_ATTRIBUTES,
    CONTROL_FLOW_OPS,
    NAMES_WITH_RULES,
    DefiningOp,
    ModuleReader,
    ValueGraph,
)


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
    return reader.graphs


class _PlainOp(NamedTuple):
    """An operation of one result for which the graph needs its name alone: without its dialect; cost of an element."""

    name: str
    nanoseconds: float


class _PlainOps(dict[str, _PlainOp | None]):
    """The plain operations by full name; None for those whose attributes or operands matter."""

    def __missing__(self, full_name: str) -> _PlainOp | None:
        name = full_name.partition(".")[2]
        plain = None
        if name not in NAMES_WITH_RULES and full_name not in CALLEE_ATTRIBUTES:
            cost = 0.0 if name in FREE_OPS else OP_NANOSECONDS.get(name, CHEAP_OP_NANOSECONDS)
            plain = _PlainOp(name, cost)
        self[full_name] = plain
        return plain


class _Numbers(dict[int, int]):
    """Numbers of values in one computation, by the identity of the MLIR values.

    A value that is not there is in memory if it is from outside of the computation. Some values have other objects in
    the log than those that define them, which are compared then.
    """

    def __init__(self, reader: _LogReader, graph: ValueGraph) -> None:
        self.reader, self.graph = reader, graph
        self.by_value: dict[Any, int] = {}

    def define(self, values: Sequence[Any], numbers: Sequence[int]) -> None:
        """Set the numbers of values."""
        self.update(zip(map(id, values), numbers, strict=True))
        self.reader.defined.update(map(id, values))

    def define_results(self, operation: LoggedOperation, numbers: Sequence[int]) -> None:
        """Set the numbers of an operation's results, which may be used by other objects."""
        self.define(operation.results, numbers)
        self.by_value.update(zip(operation.results, numbers, strict=True))
        self.reader.shared.update(operation.results)

    def find(self, value: Any) -> int:
        """Return the number of a value that is not there by its identity; it is in memory if it is from outside.

        Raises IncompleteLogError if nothing in the log defines it.
        """
        number = self.by_value.get(value)
        if number is None:
            if id(value) not in self.reader.defined and value not in self.reader.shared:
                raise IncompleteLogError
            number = self.by_value[value] = self[id(value)] = self.reader.add_in_memory(self.graph, value)
        return number


class _LogReader(ModuleReader):
    """Reader of one module's log.

    ``defined`` has the identities of all values that the log defines, ``shared`` those values that are compared.
    """

    def __init__(self, module: Any, log: ModuleLog) -> None:
        super().__init__(module)
        self.log = log
        self.defined: set[int] = set()
        self.shared: set[Any] = set()

    def read_logged_computation(self, block: LoggedBlock, prefix: str, *, in_loop: bool) -> None:
        """Read a block as a separate computation; see :meth:`.ModuleReader.read_computation`."""
        graph = ValueGraph(self.module, in_loop)
        self.graphs.append(graph)
        arguments = [self.add_in_memory(graph, argument) for argument in block.arguments]
        graph.results.update(self.read_log(graph, block, arguments, prefix))

    def read_log(
        self, graph: ValueGraph, block: LoggedBlock, arguments: Sequence[int], prefix: str | None
    ) -> list[int]:
        """Add a block's operations to a graph, calls inlined; see :meth:`.ModuleReader.read_block`."""
        numbers = _Numbers(self, graph)
        numbers.define(block.arguments, arguments)
        defined, sizes, plain_ops, add = self.defined, self.sizes, _PLAIN_OPS, graph.add
        for name, operands, mlir_type, result in block.entries:
            try:
                operand_numbers = [numbers[id(x)] for x in operands]
            except KeyError:
                operand_numbers = [numbers[id(x)] if id(x) in numbers else numbers.find(x) for x in operands]
            if mlir_type is None:
                self.read_operation(graph, numbers, name, operand_numbers, result, prefix)
                continue
            plain = plain_ops[name]
            if plain is None:
                number = self.value(graph, result.owner, operand_numbers, (result,), prefix)
            else:
                size = sizes.get(mlir_type) or self.size(result)
                defining_op = None if prefix is None else DefiningOp(result, prefix)
                op_name, cost = plain
                number = add(op_name, size, operand_numbers, size.elements * cost, defining_op)
            key = id(result)
            numbers[key] = number
            defined.add(key)
        return [numbers[id(x)] if id(x) in numbers else numbers.find(x) for x in block.returned]

    def read_operation(
        self,
        graph: ValueGraph,
        numbers: _Numbers,
        name: str,
        operands: Sequence[int],
        logged: LoggedOperation,
        prefix: str | None,
    ) -> None:
        """Add an operation with several results or with regions to a graph, and set the numbers of its results.

        ``name`` is the operation's, ``operands`` are numbers.
        """
        results = logged.results
        if name in CALLEE_ATTRIBUTES:
            numbers.define_results(logged, self.inline_call(graph, logged.operation, operands, prefix))
        elif name == "stablehlo.optimization_barrier":
            behind = [self.add_in_memory(graph, x, n) for x, n in zip(results, operands, strict=True)]
            numbers.define_results(logged, behind)
        elif results:
            for block in logged.blocks if name in CONTROL_FLOW_OPS else ():
                self.read_logged_computation(block, prefix or "", in_loop=graph.in_loop or name == "stablehlo.while")
            number = self.value(graph, logged.operation, operands, results, prefix)
            numbers.define_results(logged, [number] * len(results))
        else:
            graph.results.update(operands)

    def inline_function(self, graph: ValueGraph, symbol: str, operands: Sequence[int], prefix: str | None) -> list[int]:
        return self.read_log(graph, self.log.functions[symbol], operands, prefix)


_PLAIN_OPS = _PlainOps()
