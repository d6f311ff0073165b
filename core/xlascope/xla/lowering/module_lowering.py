"""Lowering of a jaxpr to a StableHLO module in which every operation carries its equation's path and line.

A body is lowered once, as a private function whose operations have names relative to it (``e4/dot_general``); XLA
puts the name of the call (``jit(f)/e12/jit(loss)``) in front when it inlines. It does not when the two begin
alike, so a call's segment contains the function's symbol, which is unique in the module.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir

from ...ir.avals import ShapedArray, physical_aval
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Literal
from ...ir.operation import Operation
from ...ir.user_frames import locate
from ...key_types import KEY_TYPES, is_key
from ...records.op_names import FORMULA, body_prefix, scoped_name
from ..known_faults.nan_propagation import has_nan_literal
from ..mlir.attributes import to_attribute
from ..mlir.builder import (
    TOKEN,
    Builder,
    attribute,
    context,
    lowering_context,
    needs_token,
    packed_type,
    tensor_type,
)
from ..mlir.narrow_types import CARRIERS, wrap_in_carrier
from ..mlir.operation_log import LoggedBlock, ModuleLog
from ..sharding.meshes import PartitionSpec, axis_names_of
from ..sharding.named_shardings import NamedSharding
from ..sharding.partitions import Partition, axis_text, mesh_text, sharding_text
from ..system.hooks import HOOKS
from .callbacks import SharedFailure
from .collectives import ManualMesh, axis_index, run_on_automatic_axes, sum_or_any

#: Results of these dtypes need a conversion of the value that an operation's rule returns.
_CONVERTED_DTYPES = frozenset({*CARRIERS, *KEY_TYPES.values()})

#: Equations that are looked at at once for the operands that they use.
_EQUATIONS_PER_BATCH = 256
#: Programs with more random draws take too long to compile if each draw is inlined.
_MAX_INLINED_DRAWS = 8


class LoweredModule(NamedTuple):
    """StableHLO module with the program's operands that it takes (constants first), and the Python functions it calls.

    ``operations`` is the number of equations written. ``requested_values`` are the values whose materialization was
    requested; ``has_barriers`` says whether the program has barriers, ``has_rerolled_loops`` whether repeated regions
    became loops in it, and ``returns_token`` whether it has one more result, the token of its calls of Python.
    ``failure`` stores the exceptions of these if several devices share the program. ``log`` has the operations, if they
    were logged.
    """

    module: Any
    kept_operands: tuple[bool, ...]
    operations: int
    callbacks: tuple[Callable[..., Any], ...]
    requested_values: tuple[Any, ...] = ()
    has_barriers: bool = False
    has_rerolled_loops: bool = False
    returns_token: bool = False
    failure: SharedFailure | None = None
    log: ModuleLog | None = None


#: Returns whether to materialize the results of an operation on operands of these types.
RequestsMaterialization = Callable[[Operation, Sequence[ShapedArray]], bool]


def lower(
    program: ClosedJaxpr,
    module_name: str,
    *,
    donated: Sequence[bool] = (),
    keep_unused: bool = False,
    platform: str = "cpu",
    partition: Partition | None = None,
    requests: RequestsMaterialization | None = None,
    with_log: bool = False,
) -> LoweredModule:
    """Lower a program to a StableHLO module, with its constants as leading arguments.

    Operands that no equation uses are dropped unless ``keep_unused``; ``donated`` says for each operand (without
    constants) whether its memory may be reused. A ``partition`` has the operands' shardings, and its devices share the
    program. ``requests`` gets each operation with the types of its operands, and returns whether its results are among
    the ``requested_values``. ``with_log`` logs the operations for those who read them.
    """
    jaxpr = program.jaxpr
    variables = [*jaxpr.constvars, *jaxpr.invars]
    used = tuple(keep_unused or use for use in _find_used(jaxpr))
    with lowering_context(), ir.Location.unknown():
        module = ir.Module.create()
        module.operation.attributes["sym_name"] = ir.StringAttr.get(module_name)
        lowering = _ModuleLowering(module, jaxpr, platform, partition, requests)
        lowering.log = ModuleLog({}) if with_log else None
        parameters = [v for v, is_kept in zip(variables, used, strict=True) if is_kept]
        function = lowering.write_function(
            "main", parameters, jaxpr, f"jit({_sanitize_name(jaxpr.name)})/", public=True
        )
        donations = [*[False] * len(jaxpr.constvars), *(donated or [False] * len(jaxpr.invars))]
        if any(donations) or partition is not None:
            sharding_attributes = _operand_sharding_attributes(lowering, variables, len(jaxpr.constvars))
            marks = [
                attribute("{" + ", ".join((*(("jax.buffer_donor = true",) if d else ()), *where)) + "}")
                for d, where, is_kept in zip(donations, sharding_attributes, used, strict=True)
                if is_kept
            ]
            function.attributes["arg_attrs"] = ir.ArrayAttr.get(marks)
        if partition is not None:
            module.operation.attributes["mhlo.num_partitions"] = attribute(f"{len(partition.devices)} : i32")
            module.operation.attributes["mhlo.num_replicas"] = attribute("1 : i32")
            if partition.results:
                function.attributes["res_attrs"] = ir.ArrayAttr.get(
                    [
                        attribute("{" + ", ".join(lowering.sharding_attributes(s, v.aval)) + "}")
                        for s, v in zip(partition.results, jaxpr.outvars, strict=True)
                    ]
                    + [attribute("{}")] * lowering.returns_token
                )
    callbacks, requested = tuple(lowering.callbacks), tuple(lowering.requested_values)
    operations, barriers, gives_token, failure = (
        lowering.operations,
        lowering.has_barriers,
        lowering.returns_token,
        lowering.failure,
    )
    return LoweredModule(
        module,
        used,
        operations,
        callbacks,
        requested,
        barriers,
        returns_token=gives_token,
        failure=failure,
        log=lowering.log,
    )


def _operand_sharding_attributes(
    lowering: _ModuleLowering, variables: Sequence[Any], constant_count: int
) -> list[tuple[str, ...]]:
    """Return the texts of each operand's sharding attributes; () for each if one device runs the program.

    The first ``constant_count`` of ``variables`` are constants, which are replicated.
    """
    partition = lowering.partition
    if partition is None:
        return [()] * len(variables)
    shardings = [*[partition.replicated_sharding] * constant_count, *partition.operands]
    return [lowering.sharding_attributes(s, v.aval) for s, v in zip(shardings, variables, strict=True)]


def _sanitize_name(name: str) -> str:
    return name.replace("/", "_")


def _find_used(jaxpr: Jaxpr) -> list[bool]:
    """Return for each constant and operand of a program whether an equation uses it, or it is a result."""
    variables = *jaxpr.constvars, *jaxpr.invars
    unused = set(variables).difference(jaxpr.outvars)
    operands = map(operator.itemgetter(1), jaxpr.raw)
    # In batches: most programs have used all of their operands long before they end.
    while unused and (batch := list(itertools.islice(operands, _EQUATIONS_PER_BATCH))):
        unused.difference_update(itertools.chain.from_iterable(batch))
    return [v not in unused for v in variables]


class _PlainType(NamedTuple):
    """MLIR type of values that an operation's rule returns as they are, alone and in a list."""

    mlir_type: Any
    mlir_types: list[Any]


class _SingleOperation(NamedTuple):
    """StableHLO operation, with its attributes, that an operation is lowered to as a whole; "" if there is none.

    ``suffix`` ends the names of the operation's equations. ``broadcasts`` says that operands are broadcast to the shape
    of the result before.
    """

    operation: Operation
    suffix: str
    name: str
    attributes: dict[str, Any] | None
    broadcasts: bool


class _BodyFunction(NamedTuple):
    """Function of a module that a body is written as: its symbol, and the attributes and results' types of its calls.

    It keeps the body alive, by whose identity it is found.
    """

    body: ClosedJaxpr
    symbol: str
    attributes: dict[str, Any]
    results: list[Any]


@functools.lru_cache(maxsize=1024)
def is_lowered_as_stablehlo(kind: type[Operation]) -> bool:
    """Return whether ``as_stablehlo`` of a class describes its ``to_stablehlo``: no subclass has overridden that."""
    classes = kind.__mro__
    rules = ("as_stablehlo", "to_stablehlo")
    single, rule = (next(index for index, c in enumerate(classes) if name in vars(c)) for name in rules)
    return single <= rule


class _ModuleLowering:
    """Writer of the functions of one module.

    ``symbols`` has the names taken in the module. A body is written once as a function and found in ``bodies`` by
    identity, index in its equation and manual axes; ``meshes`` has the symbols of meshes, and ``lines`` MLIR locations
    by bytecode instruction.
    """

    def __init__(
        self,
        module: Any,
        program: Jaxpr,
        platform: str,
        partition: Partition | None,
        requests: RequestsMaterialization | None,
    ) -> None:
        self.module = module
        self.program = program
        self.requests = requests
        self.requested_values: list[Any] = []
        self.has_barriers = False
        self.partition = partition
        self.meshes: dict[Any, str] = {}
        self.platform = platform
        self.symbols: set[str] = {"main"}
        self.bodies: dict[tuple[int, int, Any, bool], _BodyFunction] = {}
        self.lines: dict[tuple[int, int], Any] = {}
        #: Types whose values an operation's rule returns as they are.
        self.plain_types: dict[ShapedArray, _PlainType] = {}
        self.single_operations: dict[int, _SingleOperation] = {}
        self.callbacks: list[Callable[..., Any]] = []
        self.returns_token = False
        self.failure = None if partition is None else SharedFailure()
        self.operations = 0
        self.log: ModuleLog | None = None

    @functools.cached_property
    def first_device_symbol(self) -> str:
        """Return the symbol of a mesh of the program's first device alone, which is written on first use."""
        symbol = self.fresh_symbol("first_device")
        attributes = {
            "sym_name": ir.StringAttr.get(symbol),
            "mesh": attribute("#sdy.mesh<[], device_ids=[0]>"),
        }
        ir.Operation.create("sdy.mesh", attributes=attributes, ip=ir.InsertionPoint.at_block_begin(self.module.body))
        return symbol

    @functools.cached_property
    def can_fold_nan(self) -> bool:
        """Return whether the compiler may find NaN in the program and drop what depends on it (a known fault)."""
        return self.platform == "cpu" and has_nan_literal(self.program)

    @functools.cached_property
    def draw_count(self) -> int:
        """Return how many times the program draws random bits by Threefry."""
        return _count_draws(self.program, {})

    def write_function(
        self,
        symbol: str,
        parameters: Sequence[Any],
        jaxpr: Jaxpr,
        prefix: str,
        *,
        public: bool,
        manual: Any = None,
        is_formula: bool = False,
    ) -> Any:
        """Write a jaxpr as a function of ``parameters`` and return the function.

        ``symbol`` is its name, and ``prefix`` the beginning of its operations' names. The program itself is
        ``public``: it takes and returns packed elements. ``manual`` is the :class:`.ManualMesh` inside of
        ``shard_map``, else None. In a formula (``is_formula``) operations have no numbers. A function that calls Python
        takes the token as its last parameter, and returns it as its last result; the program itself only returns it, or
        XLA would know that no result depends on the calls.
        """
        type_of = packed_type if public else tensor_type
        types = [type_of(v.aval) for v in parameters]
        results = [type_of(v.aval) for v in jaxpr.outvars]
        with_token = not public and needs_token(jaxpr.effects)
        if with_token:
            types.append(tensor_type(TOKEN))
            results.append(tensor_type(TOKEN))
        function = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get(symbol),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, results)),
                "sym_visibility": ir.StringAttr.get("public" if public else "private"),
            },
            regions=1,
            ip=ir.InsertionPoint(self.module.body),
        )
        block = function.regions[0].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
        with ir.InsertionPoint(block):
            builder = _FunctionBuilder(self, prefix, manual, is_formula=is_formula)
            block_arguments = list(block.arguments)
            if self.log is not None:
                logged = self.log.functions[symbol] = LoggedBlock(block_arguments, types, [], [])
                builder.log = logged.entries
            environment = dict(zip(parameters, block_arguments, strict=not with_token))
            if public:
                environment = {v: builder.unpack(value, v.aval) for v, value in environment.items()}
            if with_token:
                builder.token = block_arguments[len(parameters)]
            outputs = self.equations(builder, jaxpr, environment)
            if public:
                outputs = [builder.pack(y, v.aval) for v, y in zip(jaxpr.outvars, outputs, strict=True)]
            if with_token:
                outputs.append(builder.token)
            elif public and builder.token is not None:
                self.returns_token = True
                outputs.append(builder.token)
                with_token_type = ir.FunctionType.get(types, [*results, tensor_type(TOKEN)])
                function.attributes["function_type"] = ir.TypeAttr.get(with_token_type)
            ir.Operation.create("func.return", operands=outputs)
            if self.log is not None:
                logged.returned.extend(outputs)
        return function

    def equations(self, builder: _FunctionBuilder, jaxpr: Jaxpr, environment: dict[Any, Any]) -> list[Any]:
        """Write the equations of a jaxpr and return the values of its results.

        ``environment`` has the values of the jaxpr's operands by variable, and gets those of all equations.
        """
        literal, name_location, lines, prefix = builder.literal, ir.Location.name, self.lines, builder.prefix
        requests, segments = self.requests, [FORMULA] * len(jaxpr.raw) if builder.is_formula else jaxpr.segments
        find_plain, find_single, create = self.plain_types.get, self.single_operations.get, ir.Operation.create
        insertion, log = builder.insertion, builder.log
        line_code, line_lasti, line = None, None, None  # those of the last equation, which the next one often shares
        for index, equation in enumerate(jaxpr.raw):
            operation, inputs, outputs, code, lasti, origin = equation
            if code is not line_code or lasti != line_lasti:
                line_code, line_lasti = code, lasti
                line = lines.get((id(code), lasti)) or self.mlir_location(code, lasti)
            _, suffix, name, attributes, broadcasts = find_single(id(operation)) or self.find_single_operation(
                operation
            )
            segment = f"e{index}" if segments is None else segments[index]
            scope = prefix + segment
            if origin is not None and origin[4]:  # its scope, by number since it is read for each equation
                scope = scoped_name(prefix, origin.scope, segment)
            location = name_location(scope + suffix, line)
            count = len(inputs)
            try:
                if count == 2:  # without a loop: most equations have two operands or one
                    x, y = inputs
                    operands = [environment[x], environment[y]]
                elif count == 1:
                    operands = [environment[inputs[0]]]
                else:
                    operands = [environment[x] for x in inputs]
            except KeyError:  # a literal that no equation had
                builder.location = location
                environment.update((x, literal(x)) for x in inputs if x.__class__ is Literal)
                operands = [environment[x] for x in inputs]
            plain = find_plain(outputs[0].aval) if len(outputs) == 1 else None
            if plain and name:
                type_, types = plain
                if broadcasts:
                    aval = outputs[0].aval
                    if not (count == 2 and x.aval is aval and y.aval is aval):
                        builder.location = location
                        operands = builder.stretch(operands, inputs, aval.shape)
                # The rest is Builder.emit, which most operations need alone.
                value = create(name, types, operands, attributes, None, 0, location, insertion).result
                if log is not None:
                    log.append((name, operands, type_, value, attributes))
                environment[outputs[0]] = value
            else:
                builder.location = location
                builder.scope_name = scope
                builder.equation = equation
                builder.inputs = inputs
                builder.outputs = outputs
                if plain:
                    environment[outputs[0]] = operation.to_stablehlo(builder, operands)[0]
                else:
                    self.write_converted(builder, equation, operands, environment)
            if requests is not None and requests(operation, [x.aval for x in inputs]):
                self.requested_values += [environment[v] for v in outputs]
        self.operations += len(jaxpr.raw)
        builder.location = ir.Location.unknown()
        return [literal(x) if x.__class__ is Literal else environment[x] for x in jaxpr.outvars]

    def write_converted(
        self, builder: _FunctionBuilder, equation: Any, operands: Sequence[Any], environment: dict[Any, Any]
    ) -> None:
        """Write an equation whose results may have to be converted or constrained; see :meth:`equations`."""
        operation, outputs = equation[0], equation[2]
        if len(outputs) == 1 and outputs[0].aval.dtype not in _CONVERTED_DTYPES:
            values = operation.to_stablehlo(builder, operands)[:1]
            if outputs[0].aval.explicit is None:
                type_ = tensor_type(outputs[0].aval)
                self.plain_types[outputs[0].aval] = _PlainType(type_, [type_])
        else:
            values = builder.lower_on_physical(operands) or operation.to_stablehlo(builder, operands)
            values = list(map(builder.wrap_narrow, values, outputs))
        environment.update(
            (v, value if v.aval.explicit is None else builder.constrain_to_type(value, v.aval))
            for v, value in zip(outputs, values, strict=True)
        )

    def find_single_operation(self, operation: Operation) -> _SingleOperation:
        """Return the StableHLO operation that an operation is lowered to as a whole, and store it by identity."""
        emitted = operation.as_stablehlo() if is_lowered_as_stablehlo(operation.__class__) else None
        name, attributes = emitted or ("", None)
        single = _SingleOperation(operation, f"/{operation.name}", name, attributes, operation.broadcasts_operands)
        self.single_operations[id(operation)] = single
        return single

    def mesh_symbol(self, mesh: Any) -> str:
        """Return the symbol of a mesh in the module, which is written on first use."""
        assert self.partition is not None
        key = (mesh.flat, mesh.shape_tuple)  # the types of its axes do not matter in the module
        symbol = self.meshes.get(key)
        if symbol is None:
            symbol = self.meshes[key] = self.fresh_symbol("mesh")
            ir.Operation.create(
                "sdy.mesh",
                attributes={
                    "sym_name": ir.StringAttr.get(symbol),
                    "mesh": attribute(mesh_text(mesh, self.partition.devices)),
                },
                ip=ir.InsertionPoint.at_block_begin(self.module.body),
            )
        return symbol

    def sharding_attributes(self, sharding: Any, aval: ShapedArray) -> tuple[str, ...]:
        """Return the text of the sharding attribute of an operand or a result of type ``aval``; () for None."""
        if not isinstance(sharding, NamedSharding):
            return () if sharding is None else (f'mhlo.sharding = "{sharding.hlo_sharding(len(aval.shape))}"',)
        rank = len(physical_aval(aval).shape)
        return (f"sdy.sharding = #sdy.sharding{sharding_text(sharding, rank, self.mesh_symbol(sharding.mesh))}",)

    def call(
        self,
        body: ClosedJaxpr,
        operands: Sequence[Any],
        index: int,
        builder: _FunctionBuilder,
    ) -> list[Any]:
        """Call a body as a function, which is written at the first call, and return the values of its results.

        The body is the ``index``-th of the equation that ``builder`` writes. ``operands`` may have the token as an
        additional last one; then the last result is the token.
        """
        key = (id(body), index, builder.manual, builder.is_formula)
        function = self.bodies.get(key)
        if function is None:
            function = self.bodies[key] = self.write_body_function(body, len(operands), *key[1:])
        symbol, attributes, results = function[1:]
        name = f"{builder.scope_name}/jit({symbol})"
        _, _, _, code, lasti, _ = builder.equation
        location = ir.Location.name(name, self.mlir_location(code, lasti))
        call = ir.Operation.create("func.call", results, operands, attributes, None, 0, location, builder.insertion)
        return builder.log_operation("func.call", operands, call, {"callee": symbol, "name": name})

    def write_body_function(
        self, body: ClosedJaxpr, operand_count: int, index: int, manual: Any, is_formula: bool
    ) -> _BodyFunction:
        """Write a body as a function and return that; for the parameters see :meth:`call` and :meth:`write_function`.

        A function of one more operand than the body has takes and returns the token.
        """
        symbol, jaxpr = self.fresh_symbol(body.name or "body"), body.jaxpr
        results = [tensor_type(aval) for aval in body.out_avals]
        results += [tensor_type(TOKEN)] * (operand_count - len(body.in_avals))
        prefix, options = body_prefix(index), {"manual": manual, "is_formula": is_formula}
        self.write_function(symbol, jaxpr.invars, jaxpr, prefix, public=False, **options)
        return _BodyFunction(body, symbol, {"callee": ir.FlatSymbolRefAttr.get(symbol)}, results)

    def fresh_symbol(self, name: str) -> str:
        """Return a symbol like ``name`` that the module does not have yet, and take it."""
        base = _sanitize_name(name)
        symbol, count = base, 0
        while symbol in self.symbols:
            count += 1
            symbol = f"{base}_{count}"
        self.symbols.add(symbol)
        return symbol

    def mlir_location(self, code: Any, lasti: int) -> Any:
        """Return the MLIR location of the source line of a bytecode instruction.

        ``lasti`` is the instruction's offset in the code object ``code``.
        """
        key = (id(code), lasti)  # hashing a code object costs more than writing the operation
        location = self.lines.get(key)
        if location is None:
            source = locate(code, lasti)
            location = (
                ir.Location.unknown()
                if source is None
                else ir.Location.file(source.file, source.line, source.column, context())
            )
            self.lines[key] = location
        return location


def _count_draws(jaxpr: Jaxpr, counts: dict[int, int]) -> int:
    """Return how many Threefry equations a program executes, counting every call of its bodies.

    ``counts`` caches the numbers by the identity of the jaxpr.
    """
    count = counts.get(id(jaxpr))
    if count is None:
        count = 0
        for operation, *_ in jaxpr.raw:
            if operation.composite:
                count += sum(_count_draws(body.jaxpr, counts) for body in operation.bodies())
            else:
                count += operation.name == "threefry2x32"
        counts[id(jaxpr)] = count
    return count


class _FunctionBuilder(Builder):
    """Builder of one function, which names operations by their equations' paths and calls bodies.

    ``prefix`` begins the names, ``manual`` is the :class:`.ManualMesh` inside of ``shard_map``. In a formula
    (``is_formula``) all operations work for the equation that it belongs to, and have no numbers of their own.
    """

    def __init__(self, lowering: _ModuleLowering, prefix: str, manual: Any = None, *, is_formula: bool = False) -> None:
        super().__init__(lowering.platform)
        self.lowering = lowering
        self.manual = manual
        self.prefix = prefix
        self.is_formula = is_formula
        self.scope_name = ""
        self.equation: Any = None
        #: True while bodies are inlined at their calls.
        self.is_inlining = False

    @property
    def can_fold_nan(self) -> bool:
        return self.lowering.can_fold_nan

    @property
    def is_partitioned(self) -> bool:
        partition = self.lowering.partition
        return partition is not None and len(partition.devices) > 1

    @property
    def has_many_draws(self) -> bool:
        return self.platform == "cpu" and self.lowering.draw_count > _MAX_INLINED_DRAWS

    def call_body(self, body: Any, operands: Sequence[Any], index: int = 0) -> list[Any]:
        with_token = self.needs_token(body.effects)
        if self.is_inlining and not with_token:
            return self.write_body(body, operands, index)
        if with_token:
            operands = [*operands, self.current_token()]
        results = self.lowering.call(body, operands, index, self)
        if with_token:
            self.token = results.pop()
        return results

    def call_formula(self, body: Any, operands: Sequence[Any]) -> list[Any]:
        outside, self.is_formula = self.is_formula, True
        try:
            return self.call_body(body, operands)
        finally:
            self.is_formula = outside

    @contextmanager
    def name_scope(self, segment: str) -> Iterator[None]:
        outer = self.location
        _, _, _, code, lasti, _ = self.equation
        self.location = ir.Location.name(f"{self.scope_name}/{segment}", self.lowering.mlir_location(code, lasti))
        try:
            yield
        finally:
            self.location = outer

    def call_composite(
        self, body: Any, operands: Sequence[Any], name: str, attributes: dict[str, Any], version: int
    ) -> list[Any]:
        if self.is_inlining or self.needs_token(body.effects):
            return self.call_body(body, operands)
        # XLA does not put the call's name in front when it inlines a composite: the names are complete, and the
        # function is for this equation alone.
        symbol = self.lowering.fresh_symbol(body.name or "body")
        scope = f"{self.scope_name}/jit({symbol})"
        prefix = f"{scope}/{body_prefix(0)}"
        jaxpr, manual, is_formula = body.jaxpr, self.manual, self.is_formula
        self.lowering.write_function(
            symbol, jaxpr.invars, jaxpr, prefix, public=False, manual=manual, is_formula=is_formula
        )
        _, _, _, code, lasti, _ = self.equation
        composite = ir.Operation.create(
            "stablehlo.composite",
            results=[tensor_type(aval) for aval in body.out_avals],
            operands=operands,
            attributes={
                "name": ir.StringAttr.get(name),
                "composite_attributes": to_attribute(attributes),
                "decomposition": ir.FlatSymbolRefAttr.get(symbol),
                "version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), version),
            },
            loc=ir.Location.name(scope, self.lowering.mlir_location(code, lasti)),
            ip=self.insertion,
        )
        return self.log_operation("stablehlo.composite", operands, composite)

    def write_body(self, body: Any, operands: Sequence[Any], index: int = 0) -> list[Any]:
        # The same names as XLA gives to a call's operations when it inlines the call.
        prefix = f"{self.scope_name}/jit({body.name or 'body'})/{body_prefix(index)}"
        inner = _FunctionBuilder(self.lowering, prefix, self.manual, is_formula=self.is_formula)
        inner.insertion, inner.is_inlining, inner.log = self.insertion, True, self.log
        environment = dict(zip(body.jaxpr.invars, operands, strict=True))
        return self.lowering.equations(inner, body.jaxpr, environment)

    def constrain_sharding(self, value: Any, sharding: Any) -> Any:
        return self._constrain(value, self.out_avals[0], sharding)

    def constrain_to_type(self, value: Any, aval: ShapedArray) -> Any:
        """Return a result constrained to the sharding in its type ``aval``.

        That sharding is along explicit axes of the mesh; along other axes XLA chooses.
        """
        mesh = aval.explicit.mesh
        if mesh.all_explicit:
            return self._constrain(value, aval, aval.explicit)
        spec = [PartitionSpec.UNCONSTRAINED if part is None else part for part in aval.explicit.spec]
        return self._constrain(value, aval, aval.explicit.with_spec(spec))

    def _constrain(self, value: Any, aval: ShapedArray, sharding: Any) -> Any:
        if self.lowering.partition is None or is_key(aval.dtype):
            return value
        if self.manual is not None and not self._can_constrain(sharding):
            return value
        text = sharding_text(sharding, len(aval.shape), self.lowering.mesh_symbol(sharding.mesh))
        return self.emit1("sdy.sharding_constraint", [value], aval, {"sharding": attribute(f"#sdy.sharding{text}")})

    def call_python(
        self, function: Callable[..., Any], operands: Sequence[Any], *, with_token: bool = False, pure: bool = False
    ) -> list[Any]:
        call = functools.partial(super().call_python, function, with_token=with_token, pure=pure)
        if pure or self.manual is None or not self.manual.is_partial:
            return call(operands)
        axes, out_avals, tokens = self.manual.automatic_axes, self.out_avals, [TOKEN] * with_token

        def write(*values: Any) -> list[Any]:
            if with_token:
                self.token = values[-1]
            branches = [lambda: call(values[: len(operands)]), lambda: [self.constant(0, aval) for aval in out_avals]]
            results = self.case(axis_index(self, axes), branches, with_token=with_token)
            results = [sum_or_any(self, x, aval, axes) for x, aval in zip(results, out_avals, strict=True)]
            return [*results, self.token] if with_token else results

        operands_and_token = [*operands, self.current_token()] if with_token else operands
        results = run_on_automatic_axes(
            self, operands_and_token, [*self.in_avals, *tokens], [*out_avals, *tokens], write
        )
        if with_token:
            self.token = results.pop()
        return results

    def single_device_attributes(self, results: int) -> dict[str, Any]:
        if self.lowering.partition is None or self.manual is not None:
            return {}
        shardings = ", ".join([f"<@{self.lowering.first_device_symbol}, []>"] * max(results, 1))
        return {"sdy.sharding": attribute(f"#sdy.sharding_per_value<[{shardings}]>")}

    def _can_constrain(self, sharding: Any) -> bool:
        """Return whether a sharding inside of ``shard_map`` names only axes that are not manual."""
        return self.manual.is_partial and all(
            name in self.manual.automatic_axes for part in sharding.spec for name in axis_names_of(part)
        )

    def call_on_each_device(
        self, body: Any, operands: Sequence[Any], mesh: Any, ins: Sequence[Any], outs: Any, axes: Sequence[Any]
    ) -> list[Any]:
        partition, outer = self.lowering.partition, self.manual
        before = () if outer is None else outer.names
        if partition is None or (outer is not None and (outer.mesh != mesh or set(before) & set(axes))):
            raise NotImplementedError(
                "a program that runs on each device of a mesh can neither be compiled for another target nor hold "
                "another such program"
            )
        manual = ManualMesh(mesh, (*before, *axes), partition)
        with_token = needs_token(body.effects)
        if with_token:
            operands, ins, outs = [*operands, self.current_token()], [*ins, PartitionSpec()], [*outs, PartitionSpec()]
        token_avals = [TOKEN] * with_token
        in_avals, out_avals = [*self.in_avals, *token_avals], [*self.out_avals, *token_avals]
        symbol = self.lowering.mesh_symbol(mesh)
        shardings = [
            ", ".join(
                sharding_text(
                    NamedSharding(mesh, spec), len(physical_aval(aval).shape), symbol, is_open=manual.is_partial
                )
                for spec, aval in zip(specs, avals, strict=True)
            )
            for specs, avals in ((ins, in_avals), (outs, out_avals))
        ]
        names = ", ".join(axis_text(mesh, name) for name in axes)
        attributes = {
            "in_shardings": attribute(f"#sdy.sharding_per_value<[{shardings[0]}]>"),
            "out_shardings": attribute(f"#sdy.sharding_per_value<[{shardings[1]}]>"),
            "manual_axes": attribute(f"#sdy<manual_axes{{{names}}}>"),
        }
        computation = self.operation("sdy.manual_computation", operands, attributes, out_avals, regions=1)

        def write(*values: Any) -> list[Any]:
            if not with_token:
                return self.call_body(body, values)
            self.token = values[-1]
            return [*self.call_body(body, values[:-1]), self.token]

        self.manual = manual
        try:
            self.fill_region(computation, [*body.in_avals, *token_avals], write, end="sdy.return")
        finally:
            self.manual = outer
        results = list(computation.results)
        if with_token:
            self.token = results.pop()
        return results

    def barrier(self, operands: Sequence[Any]) -> list[Any]:
        self.lowering.has_barriers = True
        return super().barrier(operands)

    def lower_on_physical(self, operands: Sequence[Any]) -> list[Any]:
        """Return the results of the current equation if some are keys, computed on their key words; else an empty list.

        It is empty as well for operations whose own rule works on key words.
        """
        operation, inputs, outputs, *_ = self.equation
        if operation.composite or operation.has_uniform_lowering or not any(is_key(v.aval.dtype) for v in outputs):
            return []
        program = HOOKS.lower_on_physical(operation, [x.aval for x in inputs])
        values: dict[Any, Any] = dict(zip(program.jaxpr.invars, operands, strict=True))
        for part, self.inputs, self.outputs, *_ in program.jaxpr.raw:
            values_of_inputs = [self.literal(x) if x.__class__ is Literal else values[x] for x in self.inputs]
            values.update(zip(self.outputs, part.to_stablehlo(self, values_of_inputs), strict=True))
        return [values[v] for v in program.jaxpr.outvars]

    def wrap_narrow(self, value: Any, v: Any) -> Any:
        """Return the value of the variable ``v``, wrapped into its type's range if a wider carrier type computed it."""
        return wrap_in_carrier(self, value, v.aval) if v.aval.dtype in CARRIERS else value

    def add_callback(self, function: Callable[..., Any], results: Sequence[ShapedArray]) -> int:
        if self.lowering.failure is not None:
            zeros = [np.zeros(aval.shape, CARRIERS.get(aval.dtype, aval.dtype)) for aval in results]
            function = self.lowering.failure.wrap_callback(function, zeros)
        self.lowering.callbacks.append(function)
        return len(self.lowering.callbacks) - 1
