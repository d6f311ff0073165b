"""A StableHLO program as XLA's fusion sees it: a graph of values for each computation, with calls inlined."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from .cost_model import (
    CHEAP_OP_NANOSECONDS,
    DATA_MOVEMENT_OPS,
    EXPENSIVE_OPS,
    FREE_OPS,
    FUSIBLE_OPS,
    LIBRARY_REDUCERS,
    MIN_LIBRARY_REDUCE_ELEMENTS,
    MULTIPLY_ADD_NANOSECONDS,
    OP_NANOSECONDS,
    REUSING_OPS,
)
from .operand_layouts import LayoutChange, operand_layout_changes

#: A value that is in memory when the computation begins: an operand, or a value from outside of a loop.
PARAMETER = "parameter"
#: A value behind a barrier.
BARRIER = "barrier"
#: A reduction that a library carries out.
LIBRARY_REDUCE = "library_reduce"

#: How a value is fused into kernels that need it: not at all, always, or if it is computed at few enough indices, into
#: several kernels, into a single one only, or as a reduction, of which a kernel has a limited number as well.
NEVER_FUSED, ALWAYS_FUSED, FUSED_INTO_SEVERAL, FUSED_INTO_ONE, FUSED_REDUCTION = range(5)
_MAX_CONCATENATED_OPERANDS = 8

#: Traits of values: it can be fused into its users, into a single one only; its elements are at other indices than its
#: operands', it uses an element of them several times; it is a scalar constant, which each kernel computes itself.
FUSIBLE, EXPENSIVE, MOVES_DATA, REUSES_OPERANDS, CONSTANT = 1, 2, 4, 8, 16
#: Which traits, as bytes, are those of values that can be fused into no user, and of those into a single one only.
_IS_UNFUSIBLE = bytes(not traits & FUSIBLE for traits in range(256))
_IS_EXPENSIVE = bytes(bool(traits & FUSIBLE and traits & EXPENSIVE) for traits in range(256))

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
    computation returns. What follows from these facts is derived once all values are there.
    """

    def __init__(self, module: Any, in_loop: bool) -> None:
        self.module = module  # keeps the values in it alive
        #: True for the body of a loop and what is nested in it.
        self.in_loop = in_loop
        #: The operation, by StableHLO's name without the dialect.
        self.kind: list[str] = []
        self.size: list[ValueSize] = []
        #: The operands, each once.
        self.operands: list[tuple[int, ...]] = []
        #: Nanoseconds to compute it once from its operands, in memory or not.
        self.nanoseconds: list[float] = []
        #: Values of the module behind which a barrier can be placed; None where none can.
        self.defining_values: list[Any] = []
        #: The names of the calls around the operations that define them; None where no barrier can be placed.
        self.prefixes: list[str | None] = []
        #: Operands that products want in another order or shape, by the original value and the change.
        self.relaid_operands: dict[tuple[int, LayoutChange], int] = {}
        #: The values that the computation returns.
        self.results: set[int] = set()

    def __len__(self) -> int:
        return len(self.kind)

    def add(
        self, op_name: str, size: ValueSize, operands: Sequence[int], work: float, value: Any, prefix: str | None
    ) -> int:
        """Add a value and return its number.

        ``op_name`` is StableHLO's name of the operation without the dialect, ``work`` the nanoseconds to compute the
        value once. ``value`` is that of the module, and ``prefix`` the names of the calls around its operation; None
        if no barrier can be placed behind it.
        """
        number = len(self.kind)
        self.kind.append(op_name)
        self.size.append(size)
        self.operands.append(tuple(operands) if len(operands) < 2 else tuple(dict.fromkeys(operands)))
        self.nanoseconds.append(work)
        self.defining_values.append(value)
        self.prefixes.append(prefix)
        return number

    def defining_op(self, number: int) -> DefiningOp | None:
        """Return where a barrier can be placed behind a value; None if it cannot."""
        prefix = self.prefixes[number]
        return None if prefix is None else DefiningOp(self.defining_values[number], prefix)

    @functools.cached_property
    def users(self) -> list[list[int]]:
        """Return the values that use each value."""
        users: list[list[int]] = [[] for _ in self.kind]
        for number, operands in enumerate(self.operands):
            for operand in operands:
                users[operand].append(number)
        return users

    @functools.cached_property
    def traits(self) -> list[int]:
        """Return for each value its traits: a sum of ``FUSIBLE``, ``EXPENSIVE``, ``MOVES_DATA``, …."""
        traits = list(map(_TRAITS.__getitem__, self.kind))
        for number in self.constants:
            if self.size[number].rank:
                traits[number] -= CONSTANT
        return traits

    @functools.cached_property
    def constants(self) -> list[int]:
        """Return the values that are constants."""
        return self._numbers_of("constant")

    @functools.cached_property
    def reshapes(self) -> list[int]:
        """Return the values that are reshaped operands."""
        return self._numbers_of("reshape")

    @functools.cached_property
    def byte_counts(self) -> list[int]:
        """Return for each value its size in bytes."""
        return [size.bytes for size in self.size]

    def _numbers_of(self, op_name: str) -> list[int]:
        """Return the values that an operation computes."""
        kind, end, numbers = self.kind, 0, []
        for _ in range(kind.count(op_name)):
            number = kind.index(op_name, end)
            numbers.append(number)
            end = number + 1
        return numbers

    @functools.cached_property
    def rules(self) -> list[int]:
        """Return how each value is fused into its users: ``NEVER_FUSED``, …."""
        rules = list(map(_FUSION_RULES.__getitem__, self.kind))
        for number in self.constants:
            if self.size[number].rank:
                rules[number] = NEVER_FUSED
        for number in self._numbers_of("concatenate"):
            if len(self.operands[number]) > _MAX_CONCATENATED_OPERANDS:
                rules[number] = NEVER_FUSED
        return rules

    @functools.cached_property
    def reads_more_than_it_writes(self) -> list[int]:
        """Return the fusible values with operands of at least their rank that have more elements, the last first."""
        sizes, kind, numbers = self.size, self.kind, []
        for number, (operands, traits) in enumerate(zip(self.operands, self.traits, strict=True)):
            if len(operands) < 2 or not traits & FUSIBLE:
                continue
            size = sizes[number]
            if len(operands) == 2 and sizes[operands[0]] is size and sizes[operands[1]] is size:  # elementwise
                if size[0] and kind[operands[0]] not in _SMALL_OPS and kind[operands[1]] not in _SMALL_OPS:
                    numbers.append(number)
                continue
            elements, _, rank = size
            read, count = 0, 0
            for operand in operands:
                size = sizes[operand]
                read += size[0]
                if size[2] >= rank and kind[operand] not in _SMALL_OPS:
                    count += 1
            if count > 1 and read > elements:
                numbers.append(number)
        return numbers[::-1]

    @functools.cached_property
    def interrupts(self) -> bytes:
        """Return for each value 1 if it cannot be fused into some user, whatever is materialized."""
        all_users, kind, traits = self.users, self.kind, bytes(self.traits)
        interrupts = bytearray(traits.translate(_IS_UNFUSIBLE))
        for number in itertools.compress(itertools.count(), traits.translate(_IS_EXPENSIVE)):
            users = all_users[number]
            if len(users) + (number in self.results) > 1 or (users and kind[users[0]] in REUSING_OPS):
                interrupts[number] = 1
        return bytes(interrupts)

    @functools.cached_property
    def dependencies(self) -> Dependencies:
        """Return which values depend on those that read more than they write and have several users."""
        return Dependencies(self, [n for n in self.reads_more_than_it_writes if len(self.users[n]) > 1])


class Dependencies:
    """What each value of a graph depends on, of some ``producers`` that are still used there or later.

    These are bit sets. Where there are many producers, each begins at the first one that is still used, so that they
    stay small in long programs.
    """

    def __init__(self, graph: ValueGraph, producers: Sequence[int]) -> None:
        self._bits: list[int] = []
        self._positions = {producer: position for position, producer in enumerate(sorted(producers))}
        own_bits = [0] * len(graph)
        for producer, position in self._positions.items():
            own_bits[producer] = 1 << (0 if len(producers) > _MAX_UNSHIFTED_PRODUCERS else position)
        self._begins: list[int] | None = None
        if len(producers) > _MAX_UNSHIFTED_PRODUCERS:
            self._begins = self._read_shifted(graph, own_bits)
            return
        bits_of = self._bits
        for bits, operands in zip(own_bits, graph.operands, strict=True):
            for operand in operands:
                bits |= bits_of[operand]
            bits_of.append(bits)

    def _read_shifted(self, graph: ValueGraph, is_producer: Sequence[int]) -> list[int]:
        """Set the bit sets, and return for each value the position of the producer at which its bit set begins."""
        begins: list[int] = []
        bits_of, begin, position = self._bits, 0, -1
        last_users = [graph.users[producer][-1] for producer in self._positions]
        for number, operands in enumerate(graph.operands):
            while begin <= position and last_users[begin] < number:
                begin += 1
            bits = 0
            if is_producer[number]:
                position += 1
                bits = 1 << (position - begin)
            for operand in operands:
                bits |= bits_of[operand] >> (begin - begins[operand])
            bits_of.append(bits)
            begins.append(begin)
        return begins

    def has(self, number: int, producer: int) -> bool:
        """Return whether value ``number`` depends on ``producer``, which a later value than that uses."""
        position = self._positions[producer]
        if self._begins is not None:
            position -= self._begins[number]
        return position >= 0 and bool(self._bits[number] >> position & 1)


#: With more producers than these, bit sets are shifted.
_MAX_UNSHIFTED_PRODUCERS = 1024


#: Values that are small, or are computed from something small.
_SMALL_OPS = frozenset({"broadcast_in_dim", "constant", "iota"})


class _ByName(dict[str, int]):
    """Numbers by an operation's name; 0 for others, which are added."""

    def __missing__(self, name: str) -> int:
        return self.setdefault(name, 0)


_FUSION_RULES = _ByName(
    {
        **dict.fromkeys(FUSIBLE_OPS, FUSED_INTO_SEVERAL),
        **dict.fromkeys(EXPENSIVE_OPS, FUSED_INTO_ONE),
        "reduce": FUSED_REDUCTION,
        "constant": ALWAYS_FUSED,
        "broadcast_in_dim": ALWAYS_FUSED,
    }
)
_TRAITS = _ByName(
    {
        name: FUSIBLE * (name in FUSIBLE_OPS)
        + EXPENSIVE * (name in EXPENSIVE_OPS)
        + MOVES_DATA * (name in DATA_MOVEMENT_OPS)
        + REUSES_OPERANDS * (name in REUSING_OPS)
        + CONSTANT * (name == "constant")
        for name in FUSIBLE_OPS | DATA_MOVEMENT_OPS | REUSING_OPS
    }
)


def build_graphs(module: Any) -> list[ValueGraph]:
    """Build the graphs of a module's computations: its main function, and the bodies of its loops and branches.

    The main function comes first. Calls are inlined.
    """
    reader = ModuleReader(module)
    reader.read_computation(reader.functions["main"].regions[0].blocks[0], "", in_loop=False)
    return reader.graphs


class ModuleReader:
    """Reader of one StableHLO module, which collects the graphs of its computations in ``graphs``."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.sizes: dict[Any, ValueSize] = {}
        self.products: dict[Any, tuple[Sequence[Sequence[LayoutChange]], int]] = {}
        self.graphs: list[ValueGraph] = []

    @functools.cached_property
    def functions(self) -> dict[str, Any]:
        """Return the module's functions by symbol."""
        return {
            view.operation.attributes["sym_name"].value: view.operation
            for view in self.module.body.operations
            if view.operation.name == "func.func"
        }

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
        return graph.add(BARRIER if operands else PARAMETER, self.size(value), operands, 0.0, None, None)

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
                for region in operation.regions if name in CONTROL_FLOW_OPS else ():
                    for inner_block in region.blocks:
                        in_loop = graph.in_loop or name == "stablehlo.while"
                        self.read_computation(inner_block, prefix or "", in_loop=in_loop)
                values.update(dict.fromkeys(results, self.value(graph, name, operation, operands, results, prefix)))
            elif name not in _TERMINATORS:
                graph.results.update(operands)
        return operands

    def inline_call(self, graph: ValueGraph, operation: Any, operands: Sequence[int], prefix: str | None) -> list[int]:
        symbol = operation.attributes[CALLEE_ATTRIBUTES[operation.name]].value
        scope = self.scope_of_call(_local_op_name(operation), prefix)
        if scope is not None and operation.name == "stablehlo.composite":  # names inside of a composite are complete
            scope = ""
        return self.inline_function(graph, symbol, operands, scope)

    def scope_of_call(self, name: str, prefix: str | None) -> str | None:
        """Return what is put in front of the names of a called function's operations; ``name`` is the call's."""
        return None if prefix is None or _REMAT_SCOPE in name else f"{prefix}{name}/"

    def inline_function(self, graph: ValueGraph, symbol: str, operands: Sequence[int], prefix: str | None) -> list[int]:
        """Add the operations of a function to a graph and return the numbers of its results."""
        return self.read_block(graph, self.functions[symbol].regions[0].blocks[0], operands, prefix)

    def value(
        self,
        graph: ValueGraph,
        name: str,
        operation: Any,
        operands: Sequence[int],
        results: Sequence[Any],
        prefix: str | None,
    ) -> int:
        """Add the result of an operation to a graph and return its number; several results are one unfusible value.

        ``name`` is the operation's. ``operands`` are numbers and ``results`` values of the module; ``prefix`` is that
        of :meth:`read_block`.
        """
        size, op_name = self.size(results[0]), name.partition(".")[2]
        if len(results) > 1:
            op_name, prefix, size = op_name + "s", None, ValueSize(*size)  # not the size of values of one type
        elif op_name == "reduce" and graph.size[operands[0]].elements == size.elements:
            op_name, operands = "reshape", operands[:1]  # the initial value changes nothing
        elif op_name == "divide" and is_uniform(graph, operands[1]):  # XLA multiplies
            op_name = "multiply"
        multiplications = 0
        if op_name in _PRODUCTS:
            types = [x.type for x in operation.operands]
            changes, multiplications = self.describe_product(operation.attributes[_PRODUCTS[op_name]], types, operation)
            operands = self.relay_operands(graph, operands, changes)
        work = _compute_nanoseconds(graph, op_name, operands, size, multiplications)
        if op_name == "reduce" and _is_library_reduction(operation, graph.size[operands[0]]):
            op_name = LIBRARY_REDUCE
        return graph.add(op_name, size, operands, work, None if prefix is None else results[0], prefix)

    def describe_product(
        self, dimensions: Any, types: Sequence[Any], operation: Any
    ) -> tuple[Sequence[Sequence[LayoutChange]], int]:
        """Return the layout changes of a product's operands, and the multiplications for an element of its result.

        ``dimensions`` is the attribute that says which axes are multiplied, ``types`` are those of the operands. The
        second number is 0 for a convolution.
        """
        key = dimensions, *types
        described = self.products.get(key)
        if described is None:
            described = operand_layout_changes(operation), _count_multiplications(operation)
            self.products[key] = described
        return described

    def relay_operands(
        self, graph: ValueGraph, operands: Sequence[int], changes_by_operand: Sequence[Sequence[LayoutChange]]
    ) -> list[int]:
        """Return the numbers of a product's operands after the layout changes that it makes to them."""
        operands = list(operands)
        for index, changes in enumerate(changes_by_operand):
            for change in changes:
                operands[index] = self.relay_operand(graph, operands[index], change)
        return operands

    def relay_operand(self, graph: ValueGraph, number: int, change: LayoutChange) -> int:
        """Return the number of value ``number`` after the layout ``change`` that a product makes to its operand.

        The changed value is added to ``graph`` once, and shared by all products that make this change.
        """
        relaid = graph.relaid_operands.get((number, change))
        if relaid is None:
            op_name, size = change[0], graph.size[number]
            work = 0.0 if op_name in FREE_OPS else size.elements * CHEAP_OP_NANOSECONDS
            relaid = graph.relaid_operands[number, change] = graph.add(op_name, size, (number,), work, None, None)
        return relaid


#: Operations whose regions are separate computations; regions of other operations apply to elements.
CONTROL_FLOW_OPS = frozenset({"stablehlo.while", "stablehlo.case", "stablehlo.if"})
_TERMINATORS = frozenset({"func.return", "stablehlo.return"})
#: Operations whose attributes or operands decide what they are in a graph, by name: see :meth:`ModuleReader.value`.
NAMES_WITH_RULES = frozenset({"reduce", "divide", "dot_general", "convolution"})
#: Products, and the attribute that says which axes are multiplied.
_PRODUCTS = {"dot_general": "dot_dimension_numbers", "convolution": "dimension_numbers"}
#: Part of the name of a call whose values the user wants to be rematerialized.
_REMAT_SCOPE = "/remat2/"


def _count_multiplications(operation: Any) -> int:
    """Return the multiplications of a matrix product for an element of its result; 0 for other operations."""
    if operation.name != "stablehlo.dot_general":
        return 0
    numbers = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
    shape = ir.RankedTensorType(operation.operands[0].type).shape
    return math.prod(shape[axis] for axis in numbers.lhs_contracting_dimensions)


def _compute_nanoseconds(
    graph: ValueGraph, op_name: str, operands: Sequence[int], size: ValueSize, multiplications: int
) -> float:
    """Estimate the nanoseconds to compute a value once from its operands.

    ``op_name`` is the name of the operation as fusion sees it, ``size`` that of the result. ``multiplications`` are
    those for an element of a matrix product.
    """
    if op_name in FREE_OPS:
        return 0.0
    if op_name == "reduce":
        return graph.size[operands[0]].elements * CHEAP_OP_NANOSECONDS
    if op_name == "dot_general":
        return size.elements * multiplications * MULTIPLY_ADD_NANOSECONDS
    if op_name == "convolution":
        return size.elements * graph.size[operands[1]].elements ** 0.67 * MULTIPLY_ADD_NANOSECONDS
    return size.elements * OP_NANOSECONDS.get(op_name, CHEAP_OP_NANOSECONDS)


def _is_library_reduction(reduction: Any, size: ValueSize) -> bool:
    """Return whether a library computes a reduction: a sum, minimum or maximum of many floats.

    ``size`` is that of the operand.
    """
    if size.elements < MIN_LIBRARY_REDUCE_ELEMENTS:
        return False
    first, *later_operations = reduction.regions[0].blocks[0].operations
    return (
        len(later_operations) == 1
        and first.operation.name.partition(".")[2] in LIBRARY_REDUCERS
        and "f" in str(ir.RankedTensorType(reduction.results[0].type).element_type)[:2]
    )


def is_uniform(graph: ValueGraph, number: int) -> bool:
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
