"""Lowering of a jaxpr to a StableHLO module in which every operation carries its equation's path and line.

A body is lowered once, as a private function whose operations have names relative to it (``e4/dot_general``); XLA
puts the name of the call (``jit(f)/e12/jit(loss)``) in front when it inlines. It does not when the two begin
alike, so a call's segment contains the function's symbol, which is unique in the module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir

from ...ir.avals import ShapedArray, in_words
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Literal
from ...ir.operation import Operation
from ...ir.sources import locate
from ...key_types import KEY_TYPES, is_key
from ...records.op_names import body_prefix, scoped
from ..known_faults.nan import holds_nan
from ..mlir.attributes import attribute_of
from ..mlir.builder import (
    TOKEN,
    Builder,
    attribute,
    context,
    lowering_context,
    packed_type,
    passes_token,
    tensor_type,
)
from ..mlir.narrow_types import CARRIERS, brought_back
from ..sharding.meshes import PartitionSpec, names_of
from ..sharding.named_shardings import NamedSharding
from ..sharding.partitions import Partition, axis_text, mesh_text, sharding_text
from ..system.hooks import HOOKS
from .callbacks import SharedFailure
from .collectives import Manual

#: Results of these dtypes need a conversion of the value that an operation's rule returns.
_UNLIKE = frozenset({*CARRIERS, *KEY_TYPES.values()})

#: Programs with more random draws take too long to compile if each draw is inlined.
_MOST_DRAWS = 8


class Lowered(NamedTuple):
    """Module with the program's operands that it takes (constants first), and the Python functions that it calls.

    ``requested_values`` are the values whose materialization was requested; ``has_barriers`` says whether the program
    has barriers, ``has_rerolled_loops`` whether repeats became loops in it, and ``returns_token`` whether it has one
    more result, the token of its calls of Python. ``failure`` stores the exceptions of these if several devices share
    the program.
    """

    module: Any
    kept: tuple[bool, ...]
    operations: int
    callbacks: tuple[Callable[..., Any], ...]
    chosen: tuple[Any, ...] = ()
    barriers: bool = False
    rerolled: bool = False
    gives_token: bool = False
    failure: SharedFailure | None = None


#: Returns whether to materialize the results of an operation on operands of these types.
Chooses = Callable[[Operation, Sequence[ShapedArray]], bool]


def lower(
    program: ClosedJaxpr,
    module_name: str,
    *,
    donated: Sequence[bool] = (),
    keep_unused: bool = False,
    platform: str = "cpu",
    partition: Partition | None = None,
    requests: Chooses | None = None,
) -> Lowered:
    """Lower a program to a StableHLO module, with its constants as leading arguments.

    Operands that no equation uses are dropped unless ``keep_unused``; ``donated`` marks operands whose memory may be
    reused. A ``partition`` has the operands' shardings, and its devices share the program. ``requests`` says which
    values are among the ``requested_values``.
    """
    jaxpr = program.jaxpr
    variables = [*jaxpr.constvars, *jaxpr.invars]
    used = tuple(keep_unused or use for use in _used(jaxpr))
    with lowering_context(), ir.Location.unknown():
        module = ir.Module.create()
        module.operation.attributes["sym_name"] = ir.StringAttr.get(module_name)
        lowering = _ModuleLowering(module, jaxpr, platform, partition, requests)
        parameters = [v for v, is_kept in zip(variables, used, strict=True) if is_kept]
        function = lowering.function("main", parameters, jaxpr, f"jit({_plain(jaxpr.name)})/", public=True)
        donations = [*[False] * len(jaxpr.constvars), *(donated or [False] * len(jaxpr.invars))]
        if any(donations) or partition is not None:
            sharding_attributes = _lying(lowering, variables, len(jaxpr.constvars))
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
                        attribute("{" + ", ".join(lowering.lies(s, v.aval)) + "}")
                        for s, v in zip(partition.results, jaxpr.outvars, strict=True)
                    ]
                    + [attribute("{}")] * lowering.gives_token
                )
    callbacks, chosen = tuple(lowering.callbacks), tuple(lowering.chosen)
    operations, barriers, gives_token, failure = (
        lowering.operations,
        lowering.barriers,
        lowering.gives_token,
        lowering.failure,
    )
    return Lowered(module, used, operations, callbacks, chosen, barriers, gives_token=gives_token, failure=failure)


def _lying(lowering: _ModuleLowering, variables: Sequence[Any], constant_count: int) -> list[tuple[str, ...]]:
    """Return the sharding attributes of a program's operands; its constants are replicated."""
    partition = lowering.partition
    if partition is None:
        return [()] * len(variables)
    shardings = [*[partition.whole] * constant_count, *partition.operands]
    return [lowering.lies(s, v.aval) for s, v in zip(shardings, variables, strict=True)]


def _plain(name: str) -> str:
    return name.replace("/", "_")


def _used(jaxpr: Jaxpr) -> list[bool]:
    used: set[Any] = set(jaxpr.outvars)
    for raw in jaxpr.raw:
        used.update(raw[1])
    return [v in used for v in (*jaxpr.constvars, *jaxpr.invars)]


class _ModuleLowering:
    """Writer of the functions of one module."""

    def __init__(
        self, module: Any, program: Jaxpr, platform: str, partition: Partition | None, requests: Chooses | None
    ) -> None:
        self.module = module
        self.program = program
        self.chooses = requests
        self.chosen: list[Any] = []
        self.barriers = False
        self.partition = partition
        self.meshes: dict[Any, str] = {}
        self.platform = platform
        self.symbols: set[str] = {"main"}
        self.bodies: dict[tuple[int, int, Any], str] = {}
        self.held: list[ClosedJaxpr] = []  # keeps bodies alive while their ids are keys
        self.lines: dict[tuple[int, int], Any] = {}
        self.callbacks: list[Callable[..., Any]] = []
        self.gives_token = False
        self.failure = None if partition is None else SharedFailure()
        self.operations = 0

    @functools.cached_property
    def first_device(self) -> str:
        """Return the symbol of a mesh of the first device alone."""
        symbol = self.fresh("first_device")
        attributes = {
            "sym_name": ir.StringAttr.get(symbol),
            "mesh": attribute("#sdy.mesh<[], device_ids=[0]>"),
        }
        ir.Operation.create("sdy.mesh", attributes=attributes, ip=ir.InsertionPoint.at_block_begin(self.module.body))
        return symbol

    @functools.cached_property
    def knows_nan(self) -> bool:
        """Return whether the compiler may find NaN in the program and drop what depends on it."""
        return self.platform == "cpu" and holds_nan(self.program)

    @functools.cached_property
    def draws(self) -> int:
        """Return how many times the program draws random bits by Threefry."""
        return _count_draws(self.program, {})

    def function(
        self, symbol: str, parameters: Sequence[Any], jaxpr: Jaxpr, prefix: str, *, public: bool, manual: Any = None
    ) -> Any:
        """Write a jaxpr as a function of ``parameters`` and return the function.

        One that calls Python takes the token as its last parameter, and returns it as its last result; the program
        itself only returns it, or XLA would know that no result depends on the calls.
        """
        type_of = packed_type if public else tensor_type
        types = [type_of(v.aval) for v in parameters]
        results = [type_of(v.aval) for v in jaxpr.outvars]
        with_token = not public and passes_token(jaxpr.effects)
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
            builder = _FunctionBuilder(self, prefix, manual)
            environment = dict(zip(parameters, block.arguments, strict=not with_token))
            if public:
                environment = {v: builder.unpack(value, v.aval) for v, value in environment.items()}
            if with_token:
                builder.token = block.arguments[len(parameters)]
            outputs = self.equations(builder, jaxpr, environment)
            if public:
                outputs = [builder.pack(y, v.aval) for v, y in zip(jaxpr.outvars, outputs, strict=True)]
            if with_token:
                outputs.append(builder.token)
            elif public and builder.token is not None:
                self.gives_token = True
                outputs.append(builder.token)
                with_token_type = ir.FunctionType.get(types, [*results, tensor_type(TOKEN)])
                function.attributes["function_type"] = ir.TypeAttr.get(with_token_type)
            ir.Operation.create("func.return", operands=outputs)
        return function

    def equations(self, builder: _FunctionBuilder, jaxpr: Jaxpr, environment: dict[Any, Any]) -> list[Any]:
        """Write the equations of a jaxpr and return the values of its results."""
        literal, named, lines, prefix = builder.literal, ir.Location.name, self.lines, builder.prefix
        requests, segments = self.chooses, jaxpr.segments
        for index, equation in enumerate(jaxpr.raw):
            operation, inputs, outputs, code, lasti, origin = equation
            line = lines.get((id(code), lasti)) or self.line(code, lasti)
            segment = f"e{index}" if segments is None else segments[index]
            scope = prefix + segment if origin is None or not origin.scope else scoped(prefix, origin.scope, segment)
            builder.location = named(f"{scope}/{operation.name}", line)
            builder.place = scope
            builder.equation = equation
            builder.inputs = inputs
            builder.outputs = outputs
            operands = [literal(x) if x.__class__ is Literal else environment[x] for x in inputs]
            if len(outputs) == 1 and outputs[0].aval.dtype not in _UNLIKE:
                (v,) = outputs
                value = operation.to_stablehlo(builder, operands)[0]
                environment[v] = value if v.aval.explicit is None else builder.lying(value, v.aval)
            else:
                values = builder.equation_on_words(operands) or operation.to_stablehlo(builder, operands)
                environment.update(
                    (v, value if v.aval.explicit is None else builder.lying(value, v.aval))
                    for v, value in zip(outputs, map(builder.in_type, values, outputs), strict=True)
                )
            if requests is not None and requests(operation, [x.aval for x in inputs]):
                self.chosen += [environment[v] for v in outputs]
        self.operations += len(jaxpr.raw)
        builder.location = ir.Location.unknown()
        return [literal(x) if x.__class__ is Literal else environment[x] for x in jaxpr.outvars]

    def mesh_symbol(self, mesh: Any) -> str:
        """Return the symbol of a mesh in the module."""
        assert self.partition is not None
        key = (mesh.flat, mesh.shape_tuple)  # the types of its axes do not matter in the module
        symbol = self.meshes.get(key)
        if symbol is None:
            symbol = self.meshes[key] = self.fresh("mesh")
            ir.Operation.create(
                "sdy.mesh",
                attributes={
                    "sym_name": ir.StringAttr.get(symbol),
                    "mesh": attribute(mesh_text(mesh, self.partition.devices)),
                },
                ip=ir.InsertionPoint.at_block_begin(self.module.body),
            )
        return symbol

    def lies(self, sharding: Any, aval: ShapedArray) -> tuple[str, ...]:
        """Return the attribute with the sharding of an operand or a result; () if it has none."""
        if not isinstance(sharding, NamedSharding):
            return () if sharding is None else (f'mhlo.sharding = "{sharding.tiles(len(aval.shape))}"',)
        rank = len(in_words(aval).shape)
        return (f"sdy.sharding = #sdy.sharding{sharding_text(sharding, rank, self.mesh_symbol(sharding.mesh))}",)

    def call(
        self,
        body: ClosedJaxpr,
        operands: Sequence[Any],
        scope: str,
        line: tuple[Any, int],
        index: int,
        insertion: Any,
        manual: Any = None,
    ) -> list[Any]:
        """Call a body, the ``index``-th of its equation, writing it as a function at its first call."""
        symbol = self.bodies.get((id(body), index, manual))
        if symbol is None:
            symbol = self.bodies[id(body), index, manual] = self.fresh(body.name or "body")
            self.held.append(body)
            self.function(symbol, body.jaxpr.invars, body.jaxpr, body_prefix(index), public=False, manual=manual)
        results = [tensor_type(aval) for aval in body.out_avals]
        results += [tensor_type(TOKEN)] * (len(operands) - len(body.in_avals))
        call = ir.Operation.create(
            "func.call",
            results=results,
            operands=operands,
            attributes={"callee": ir.FlatSymbolRefAttr.get(symbol)},
            loc=ir.Location.name(f"{scope}/jit({symbol})", self.line(*line)),
            ip=insertion,
        )
        return list(call.results)

    def fresh(self, name: str) -> str:
        """Return an unused symbol for a function."""
        base = _plain(name)
        symbol, count = base, 0
        while symbol in self.symbols:
            count += 1
            symbol = f"{base}_{count}"
        self.symbols.add(symbol)
        return symbol

    def line(self, code: Any, lasti: int) -> Any:
        """Return the MLIR location of an instruction."""
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
    """Return how many Threefry equations a program executes, counting every call of its inner programs."""
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
    """Builder of one function, which names its equations and calls bodies."""

    def __init__(self, lowering: _ModuleLowering, prefix: str, manual: Any = None) -> None:
        super().__init__(lowering.platform)
        self.lowering = lowering
        self.manual = manual
        self.prefix = prefix
        self.place = ""
        self.equation: Any = None
        #: True while bodies are inlined at their calls.
        self.in_place = False

    @property
    def knows_nan(self) -> bool:
        return self.lowering.knows_nan

    @property
    def has_many_draws(self) -> bool:
        return self.platform == "cpu" and self.lowering.draws > _MOST_DRAWS

    def call_body(self, body: Any, operands: Sequence[Any], index: int = 0) -> list[Any]:
        _, _, _, code, lasti, _ = self.equation
        with_token = self.passes_token(body.effects)
        if self.in_place and not with_token:
            return self.write_body(body, operands, index)
        if with_token:
            operands = [*operands, self.current_token()]
        results = self.lowering.call(body, operands, self.place, (code, lasti), index, self.insertion, self.manual)
        if with_token:
            self.token = results.pop()
        return results

    @contextmanager
    def called(self, segment: str) -> Iterator[None]:
        outer = self.location
        _, _, _, code, lasti, _ = self.equation
        self.location = ir.Location.name(f"{self.place}/{segment}", self.lowering.line(code, lasti))
        try:
            yield
        finally:
            self.location = outer

    def call_composite(
        self, body: Any, operands: Sequence[Any], name: str, attributes: dict[str, Any], version: int
    ) -> list[Any]:
        if self.in_place or self.passes_token(body.effects):
            return self.call_body(body, operands)
        # XLA does not put the call's name in front when it inlines a composite: the names are complete, and the
        # function is for this equation alone.
        symbol = self.lowering.fresh(body.name or "body")
        scope = f"{self.place}/jit({symbol})"
        prefix = f"{scope}/{body_prefix(0)}"
        self.lowering.function(symbol, body.jaxpr.invars, body.jaxpr, prefix, public=False, manual=self.manual)
        _, _, _, code, lasti, _ = self.equation
        composite = ir.Operation.create(
            "stablehlo.composite",
            results=[tensor_type(aval) for aval in body.out_avals],
            operands=operands,
            attributes={
                "name": ir.StringAttr.get(name),
                "composite_attributes": attribute_of(attributes),
                "decomposition": ir.FlatSymbolRefAttr.get(symbol),
                "version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), version),
            },
            loc=ir.Location.name(scope, self.lowering.line(code, lasti)),
            ip=self.insertion,
        )
        return list(composite.results)

    def write_body(self, body: Any, operands: Sequence[Any], index: int = 0) -> list[Any]:
        # The same names as XLA gives to a call's operations when it inlines the call.
        prefix = f"{self.place}/jit({body.name or 'body'})/{body_prefix(index)}"
        inner = _FunctionBuilder(self.lowering, prefix, self.manual)
        inner.insertion, inner.in_place = self.insertion, True
        environment = dict(zip(body.jaxpr.invars, operands, strict=True))
        return self.lowering.equations(inner, body.jaxpr, environment)

    def constrained(self, value: Any, sharding: Any) -> Any:
        return self._constrained(value, self.out_avals[0], sharding)

    def lying(self, value: Any, aval: ShapedArray) -> Any:
        """Constrain a result's sharding to that of its type; axes that are not explicit are left to XLA."""
        mesh = aval.explicit.mesh
        if mesh.all_explicit:
            return self._constrained(value, aval, aval.explicit)
        spec = [PartitionSpec.UNCONSTRAINED if part is None else part for part in aval.explicit.spec]
        return self._constrained(value, aval, aval.explicit.with_spec(spec))

    def _constrained(self, value: Any, aval: ShapedArray, sharding: Any) -> Any:
        if self.lowering.partition is None or is_key(aval.dtype):
            return value
        if self.manual is not None and not self._may_be_cut(sharding):
            return value
        text = sharding_text(sharding, len(aval.shape), self.lowering.mesh_symbol(sharding.mesh))
        return self.emit1("sdy.sharding_constraint", [value], aval, {"sharding": attribute(f"#sdy.sharding{text}")})

    def of_one_device(self, results: int) -> dict[str, Any]:
        if self.lowering.partition is None or self.manual is not None:
            return {}
        shardings = ", ".join([f"<@{self.lowering.first_device}, []>"] * max(results, 1))
        return {"sdy.sharding": attribute(f"#sdy.sharding_per_value<[{shardings}]>")}

    def _may_be_cut(self, sharding: Any) -> bool:
        """Return whether a sharding names only axes that are left to XLA inside of ``shard_map``."""
        return self.manual.partial and all(
            name in self.manual.others for part in sharding.spec for name in names_of(part)
        )

    def on_each_device(
        self, body: Any, operands: Sequence[Any], mesh: Any, ins: Sequence[Any], outs: Any, axes: Sequence[Any]
    ) -> list[Any]:
        partition, outer = self.lowering.partition, self.manual
        before = () if outer is None else outer.names
        if partition is None or (outer is not None and (outer.mesh != mesh or set(before) & set(axes))):
            raise NotImplementedError(
                "a program that runs on each device of a mesh can neither be compiled for another target nor hold "
                "another such program"
            )
        manual = Manual(mesh, (*before, *axes), partition)
        with_token = passes_token(body.effects)
        if with_token:
            operands, ins, outs = [*operands, self.current_token()], [*ins, PartitionSpec()], [*outs, PartitionSpec()]
        token_avals = [TOKEN] * with_token
        in_avals, out_avals = [*self.in_avals, *token_avals], [*self.out_avals, *token_avals]
        symbol = self.lowering.mesh_symbol(mesh)
        shardings = [
            ", ".join(
                sharding_text(NamedSharding(mesh, spec), len(in_words(aval).shape), symbol, cut_on=manual.partial)
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
        self.lowering.barriers = True
        return super().barrier(operands)

    def equation_on_words(self, operands: Sequence[Any]) -> list[Any]:
        """Return the results of an equation on keys, written for their words; else []."""
        operation, inputs, outputs, *_ = self.equation
        if operation.composite or operation.lowered_alike or not any(is_key(v.aval.dtype) for v in outputs):
            return []
        program = HOOKS.on_words(operation, [x.aval for x in inputs])
        values: dict[Any, Any] = dict(zip(program.jaxpr.invars, operands, strict=True))
        for part, self.inputs, self.outputs, *_ in program.jaxpr.raw:
            values_of_inputs = [self.literal(x) if x.__class__ is Literal else values[x] for x in self.inputs]
            values.update(zip(self.outputs, part.to_stablehlo(self, values_of_inputs), strict=True))
        return [values[v] for v in program.jaxpr.outvars]

    def in_type(self, value: Any, v: Any) -> Any:
        """Wrap a result that was computed in a wider carrier into the range of its type."""
        return brought_back(self, value, v.aval) if v.aval.dtype in CARRIERS else value

    def add_callback(self, function: Callable[..., Any], results: Sequence[ShapedArray]) -> int:
        if self.lowering.failure is not None:
            zeros = [np.zeros(aval.shape, CARRIERS.get(aval.dtype, aval.dtype)) for aval in results]
            function = self.lowering.failure.kept_by(function, zeros)
        self.lowering.callbacks.append(function)
        return len(self.lowering.callbacks) - 1
