"""From a jaxpr to a StableHLO module in which every operation carries its equation's path and line.

A body is lowered once, as a private function whose operations have names relative to it (``e4/dot_general``); XLA
puts the name of the call (``jit(f)/e12/jit(loss)``) in front when it inlines. It does not when the two begin alike,
so a call's segment holds the function's symbol, which is unique in the module.
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

#: Of the results of most equations an operation's values are just what its rule gives.
_UNLIKE = frozenset({*CARRIERS, *KEY_TYPES.values()})

#: Programs that draw random bits more often take too long to compile where each draw is written out.
_MOST_DRAWS = 8


class Lowered(NamedTuple):
    """A module, which of the program's operands (constants first) it takes, and the Python functions it calls.

    ``chosen`` are the values of equations that were chosen; ``barriers`` says whether the program has barriers,
    ``rerolled`` whether repeats became loops in it, and ``gives_token`` whether it has one result more, the token that
    its calls of Python pass on. ``failure`` is where these keep what they raise if several devices share the program.
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


#: Says of an operation, and the types of its operands, whether its results are chosen.
Chooses = Callable[[Operation, Sequence[ShapedArray]], bool]


def lower(
    program: ClosedJaxpr,
    module_name: str,
    *,
    donated: Sequence[bool] = (),
    keep_unused: bool = False,
    platform: str = "cpu",
    partition: Partition | None = None,
    chooses: Chooses | None = None,
) -> Lowered:
    """The StableHLO module of a program, with its constants as leading arguments.

    Operands that no equation uses are dropped unless ``keep_unused``; ``donated`` marks operands whose memory may be
    reused. With a ``partition`` the operands lie so, and the devices share the program. ``chooses`` says which values
    are among those ``chosen``.
    """
    jaxpr = program.jaxpr
    variables = [*jaxpr.constvars, *jaxpr.invars]
    kept = tuple(keep_unused or use for use in _used(jaxpr))
    with lowering_context(), ir.Location.unknown():
        module = ir.Module.create()
        module.operation.attributes["sym_name"] = ir.StringAttr.get(module_name)
        lowering = _ModuleLowering(module, jaxpr, platform, partition, chooses)
        parameters = [v for v, keep in zip(variables, kept, strict=True) if keep]
        function = lowering.function("main", parameters, jaxpr, f"jit({_plain(jaxpr.name)})/", public=True)
        donations = [*[False] * len(jaxpr.constvars), *(donated or [False] * len(jaxpr.invars))]
        if any(donations) or partition is not None:
            lying = _lying(lowering, variables, len(jaxpr.constvars))
            marks = [
                attribute("{" + ", ".join((*(("jax.buffer_donor = true",) if d else ()), *where)) + "}")
                for d, where, keep in zip(donations, lying, kept, strict=True)
                if keep
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
    return Lowered(module, kept, operations, callbacks, chosen, barriers, gives_token=gives_token, failure=failure)


def _lying(lowering: _ModuleLowering, variables: Sequence[Any], constants: int) -> list[tuple[str, ...]]:
    """What a program's operands say of how they lie; its constants are whole on each device."""
    partition = lowering.partition
    if partition is None:
        return [()] * len(variables)
    shardings = [*[partition.whole] * constants, *partition.operands]
    return [lowering.lies(s, v.aval) for s, v in zip(shardings, variables, strict=True)]


def _plain(name: str) -> str:
    return name.replace("/", "_")


def _used(jaxpr: Jaxpr) -> list[bool]:
    used: set[Any] = set(jaxpr.outvars)
    for raw in jaxpr.raw:
        used.update(raw[1])
    return [v in used for v in (*jaxpr.constvars, *jaxpr.invars)]


class _ModuleLowering:
    """Writes the functions of one module."""

    def __init__(
        self, module: Any, program: Jaxpr, platform: str, partition: Partition | None, chooses: Chooses | None
    ) -> None:
        self.module = module
        self.program = program
        self.chooses = chooses
        self.chosen: list[Any] = []
        self.barriers = False
        self.partition = partition
        self.meshes: dict[Any, str] = {}
        self.platform = platform
        self.symbols: set[str] = {"main"}
        self.bodies: dict[tuple[int, int, Any], str] = {}
        self.held: list[ClosedJaxpr] = []  # while their ids are keys
        self.lines: dict[tuple[int, int], Any] = {}
        self.callbacks: list[Callable[..., Any]] = []
        self.gives_token = False
        self.failure = None if partition is None else SharedFailure()
        self.operations = 0

    @functools.cached_property
    def first_device(self) -> str:
        """The symbol of a mesh that is the first device alone."""
        symbol = self.fresh("first_device")
        attributes = {
            "sym_name": ir.StringAttr.get(symbol),
            "mesh": attribute("#sdy.mesh<[], device_ids=[0]>"),
        }
        ir.Operation.create("sdy.mesh", attributes=attributes, ip=ir.InsertionPoint.at_block_begin(self.module.body))
        return symbol

    @functools.cached_property
    def knows_nan(self) -> bool:
        """Whether the compiler may find NaN in the program, and leave out what depends on it."""
        return self.platform == "cpu" and holds_nan(self.program)

    @functools.cached_property
    def draws(self) -> int:
        """How many times the program draws random bits by Threefry."""
        return _count_draws(self.program, {})

    def function(
        self, symbol: str, parameters: Sequence[Any], jaxpr: Jaxpr, prefix: str, *, public: bool, manual: Any = None
    ) -> Any:
        """Write a jaxpr as a function of ``parameters``; returns the function.

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
        made = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get(symbol),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, results)),
                "sym_visibility": ir.StringAttr.get("public" if public else "private"),
            },
            regions=1,
            ip=ir.InsertionPoint(self.module.body),
        )
        block = made.regions[0].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
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
                whole = ir.FunctionType.get(types, [*results, tensor_type(TOKEN)])
                made.attributes["function_type"] = ir.TypeAttr.get(whole)
            ir.Operation.create("func.return", operands=outputs)
        return made

    def equations(self, builder: _FunctionBuilder, jaxpr: Jaxpr, environment: dict[Any, Any]) -> list[Any]:
        """Write the equations of a jaxpr; returns the values of its results."""
        literal, named, lines, prefix = builder.literal, ir.Location.name, self.lines, builder.prefix
        chooses, segments = self.chooses, jaxpr.segments
        for index, equation in enumerate(jaxpr.raw):
            operation, inputs, outputs, code, lasti, origin = equation
            line = lines.get((id(code), lasti)) or self.line(code, lasti)
            segment = f"e{index}" if segments is None else segments[index]
            place = prefix + segment if origin is None or not origin.scope else scoped(prefix, origin.scope, segment)
            builder.location = named(f"{place}/{operation.name}", line)
            builder.place = place
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
            if chooses is not None and chooses(operation, [x.aval for x in inputs]):
                self.chosen += [environment[v] for v in outputs]
        self.operations += len(jaxpr.raw)
        builder.location = ir.Location.unknown()
        return [literal(x) if x.__class__ is Literal else environment[x] for x in jaxpr.outvars]

    def mesh_symbol(self, mesh: Any) -> str:
        """The symbol of a mesh in the module."""
        assert self.partition is not None
        key = (mesh.flat, mesh.shape_tuple)  # the kinds of its axes do not matter here
        found = self.meshes.get(key)
        if found is None:
            found = self.meshes[key] = self.fresh("mesh")
            ir.Operation.create(
                "sdy.mesh",
                attributes={
                    "sym_name": ir.StringAttr.get(found),
                    "mesh": attribute(mesh_text(mesh, self.partition.devices)),
                },
                ip=ir.InsertionPoint.at_block_begin(self.module.body),
            )
        return found

    def lies(self, sharding: Any, aval: ShapedArray) -> tuple[str, ...]:
        """The attribute that says how an operand or a result lies; () where nothing is said of it."""
        if not isinstance(sharding, NamedSharding):
            return () if sharding is None else (f'mhlo.sharding = "{sharding.tiles(len(aval.shape))}"',)
        rank = len(in_words(aval).shape)
        return (f"sdy.sharding = #sdy.sharding{sharding_text(sharding, rank, self.mesh_symbol(sharding.mesh))}",)

    def call(
        self,
        body: ClosedJaxpr,
        operands: Sequence[Any],
        at: str,
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
        made = ir.Operation.create(
            "func.call",
            results=results,
            operands=operands,
            attributes={"callee": ir.FlatSymbolRefAttr.get(symbol)},
            loc=ir.Location.name(f"{at}/jit({symbol})", self.line(*line)),
            ip=insertion,
        )
        return list(made.results)

    def fresh(self, name: str) -> str:
        """A name for a function that no other one has."""
        base = _plain(name)
        symbol, count = base, 0
        while symbol in self.symbols:
            count += 1
            symbol = f"{base}_{count}"
        self.symbols.add(symbol)
        return symbol

    def line(self, code: Any, lasti: int) -> Any:
        """The MLIR location of an instruction."""
        key = (id(code), lasti)  # hashing a code object itself costs more than writing the operation
        found = self.lines.get(key)
        if found is None:
            place = locate(code, lasti)
            found = (
                ir.Location.unknown()
                if place is None
                else ir.Location.file(place.file, place.line, place.column, context())
            )
            self.lines[key] = found
        return found


def _count_draws(jaxpr: Jaxpr, known: dict[int, int]) -> int:
    """Return how many Threefry equations a program has, as often as it calls the programs that have them."""
    found = known.get(id(jaxpr))
    if found is None:
        found = 0
        for operation, *_ in jaxpr.raw:
            if operation.composite:
                found += sum(_count_draws(body.jaxpr, known) for body in operation.bodies())
            else:
                found += operation.name == "threefry2x32"
        known[id(jaxpr)] = found
    return found


class _FunctionBuilder(Builder):
    """The builder of one function: knows where its equations stand, and how to call bodies."""

    def __init__(self, lowering: _ModuleLowering, prefix: str, manual: Any = None) -> None:
        super().__init__(lowering.platform)
        self.lowering = lowering
        self.manual = manual
        self.prefix = prefix
        self.place = ""
        self.equation: Any = None
        #: Whether bodies are written where they are called.
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
        outside = self.location
        _, _, _, code, lasti, _ = self.equation
        self.location = ir.Location.name(f"{self.place}/{segment}", self.lowering.line(code, lasti))
        try:
            yield
        finally:
            self.location = outside

    def call_composite(
        self, body: Any, operands: Sequence[Any], name: str, attributes: dict[str, Any], version: int
    ) -> list[Any]:
        if self.in_place or self.passes_token(body.effects):
            return self.call_body(body, operands)
        # XLA puts no name of a call in front of these when it inlines them: the names are whole, and the function is
        # for this equation alone.
        symbol = self.lowering.fresh(body.name or "body")
        place = f"{self.place}/jit({symbol})"
        prefix = f"{place}/{body_prefix(0)}"
        self.lowering.function(symbol, body.jaxpr.invars, body.jaxpr, prefix, public=False, manual=self.manual)
        _, _, _, code, lasti, _ = self.equation
        made = ir.Operation.create(
            "stablehlo.composite",
            results=[tensor_type(aval) for aval in body.out_avals],
            operands=operands,
            attributes={
                "name": ir.StringAttr.get(name),
                "composite_attributes": attribute_of(attributes),
                "decomposition": ir.FlatSymbolRefAttr.get(symbol),
                "version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), version),
            },
            loc=ir.Location.name(place, self.lowering.line(code, lasti)),
            ip=self.insertion,
        )
        return list(made.results)

    def write_body(self, body: Any, operands: Sequence[Any], index: int = 0) -> list[Any]:
        # The names are those that XLA gives to a call's operations.
        prefix = f"{self.place}/jit({body.name or 'body'})/{body_prefix(index)}"
        inner = _FunctionBuilder(self.lowering, prefix, self.manual)
        inner.insertion, inner.in_place = self.insertion, True
        environment = dict(zip(body.jaxpr.invars, operands, strict=True))
        return self.lowering.equations(inner, body.jaxpr, environment)

    def constrained(self, value: Any, sharding: Any) -> Any:
        return self._constrained(value, self.out_avals[0], sharding)

    def lying(self, value: Any, aval: ShapedArray) -> Any:
        """The value of a result, which lies as its type says; axes that are not explicit are left to XLA."""
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
        listed = ", ".join([f"<@{self.lowering.first_device}, []>"] * max(results, 1))
        return {"sdy.sharding": attribute(f"#sdy.sharding_per_value<[{listed}]>")}

    def _may_be_cut(self, sharding: Any) -> bool:
        """Whether a sharding names but axes that are left to XLA where each device has its own values."""
        return self.manual.partial and all(
            name in self.manual.others for part in sharding.spec for name in names_of(part)
        )

    def on_each_device(
        self, body: Any, operands: Sequence[Any], mesh: Any, ins: Sequence[Any], outs: Any, axes: Sequence[Any]
    ) -> list[Any]:
        partition, outside = self.lowering.partition, self.manual
        before = () if outside is None else outside.names
        if partition is None or (outside is not None and (outside.mesh != mesh or set(before) & set(axes))):
            raise NotImplementedError(
                "a program that runs on each device of a mesh can neither be compiled for another target nor hold "
                "another such program"
            )
        manual = Manual(mesh, (*before, *axes), partition)
        with_token = passes_token(body.effects)
        if with_token:
            operands, ins, outs = [*operands, self.current_token()], [*ins, PartitionSpec()], [*outs, PartitionSpec()]
        passed = [TOKEN] * with_token
        in_avals, out_avals = [*self.in_avals, *passed], [*self.out_avals, *passed]
        symbol = self.lowering.mesh_symbol(mesh)
        listed = [
            ", ".join(
                sharding_text(NamedSharding(mesh, spec), len(in_words(aval).shape), symbol, cut_on=manual.partial)
                for spec, aval in zip(specs, avals, strict=True)
            )
            for specs, avals in ((ins, in_avals), (outs, out_avals))
        ]
        names = ", ".join(axis_text(mesh, name) for name in axes)
        attributes = {
            "in_shardings": attribute(f"#sdy.sharding_per_value<[{listed[0]}]>"),
            "out_shardings": attribute(f"#sdy.sharding_per_value<[{listed[1]}]>"),
            "manual_axes": attribute(f"#sdy<manual_axes{{{names}}}>"),
        }
        made = self.operation("sdy.manual_computation", operands, attributes, out_avals, regions=1)

        def write(*values: Any) -> list[Any]:
            if not with_token:
                return self.call_body(body, values)
            self.token = values[-1]
            return [*self.call_body(body, values[:-1]), self.token]

        self.manual = manual
        try:
            self.fill_region(made, [*body.in_avals, *passed], write, end="sdy.return")
        finally:
            self.manual = outside
        results = list(made.results)
        if with_token:
            self.token = results.pop()
        return results

    def barrier(self, operands: Sequence[Any]) -> list[Any]:
        self.lowering.barriers = True
        return super().barrier(operands)

    def equation_on_words(self, operands: Sequence[Any]) -> list[Any]:
        """The results of the current equation where it makes keys of keys: it is written for their words. Else []."""
        operation, inputs, outputs, *_ = self.equation
        if operation.composite or operation.lowered_alike or not any(is_key(v.aval.dtype) for v in outputs):
            return []
        program = HOOKS.on_words(operation, [x.aval for x in inputs])
        values: dict[Any, Any] = dict(zip(program.jaxpr.invars, operands, strict=True))
        for part, self.inputs, self.outputs, *_ in program.jaxpr.raw:
            given = [self.literal(x) if x.__class__ is Literal else values[x] for x in self.inputs]
            values.update(zip(self.outputs, part.to_stablehlo(self, given), strict=True))
        return [values[v] for v in program.jaxpr.outvars]

    def in_type(self, value: Any, v: Any) -> Any:
        """The value of a result, as its type would have it where it was computed in a wider one."""
        return brought_back(self, value, v.aval) if v.aval.dtype in CARRIERS else value

    def add_callback(self, function: Callable[..., Any], results: Sequence[ShapedArray]) -> int:
        if self.lowering.failure is not None:
            zeros = [np.zeros(aval.shape, CARRIERS.get(aval.dtype, aval.dtype)) for aval in results]
            function = self.lowering.failure.kept_by(function, zeros)
        self.lowering.callbacks.append(function)
        return len(self.lowering.callbacks) - 1
