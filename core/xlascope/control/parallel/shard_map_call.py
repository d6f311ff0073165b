"""The operation behind ``shard_map`` and ``pmap``: a program that each device of a mesh runs on its part of the data.

Derivatives are those of the function of all devices together. A result that no axis of the mesh cuts is on each device
the same, and counts once: of its cotangent each device gets an equal part, and ``psum`` transposes to ``psum``. The
cotangent of an operand that is whole on several devices is the sum of theirs.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from ...ir.avals import ShapedArray, shaped
from ...ir.jaxpr import ClosedJaxpr
from ...ir.operation import Operation
from ...operations.arithmetic import div
from ...operations.collectives import PSum
from ...operations.requirements import is_linear
from ...operations.shapes import reshape
from ...operations.sharding_constraints import with_part
from ...operations.values import shape_of
from ...trace.bind import bind, bind1
from ...trace.state import STATE
from ...transforms.batch import batch_program
from ...transforms.batch_trace import batch_size
from ...transforms.dce import dce_program, dependence
from ...transforms.differentiate import jvp_program, linearize_program
from ...transforms.evaluate import evaluate
from ...transforms.staging import stage_held
from ...transforms.transpose import transpose_program
from ...xla.sharding.meshes import Mesh, PartitionSpec, names_of
from ...xla.sharding.named_shardings import NamedSharding, typed
from ..programs.marks import chosen, in_places, moving, present, split_tangents
from ..programs.rearranged import without_constants

Specs = tuple[PartitionSpec, ...]
Names = tuple[Hashable, ...]
_WHOLE = PartitionSpec()


class ShardMap(Operation, name="shard_map", by_identity=True):
    """The results of a program that each device of a mesh runs. ``in_specs`` and ``out_specs`` say how operands and
    results are cut along ``axes`` of the mesh, which the program may cross by their names; the others are left to XLA.
    """

    composite = True
    multiple_results = True

    jaxpr: ClosedJaxpr
    on: Mesh
    in_specs: Specs
    out_specs: Specs
    axes: Names

    @property
    def params(self) -> dict[str, Any]:
        known = {"in_specs": self.in_specs, "jaxpr": self.jaxpr, "mesh": self.on, "out_specs": self.out_specs}
        return known if self.axes == self.on.axis_names else known | {"manual_axes": self.axes}

    def content(self) -> Sequence[Any]:
        return (self.jaxpr, self.on, self.in_specs, self.out_specs, self.axes)

    @property
    def mesh(self) -> Mesh:
        return self.on

    def wishes(self) -> Sequence[Any]:
        return [NamedSharding(self.on, spec) for spec in self.in_specs]

    def gives(self) -> Sequence[Any]:
        return [NamedSharding(self.on, spec) for spec in self.out_specs]

    @property
    def binds_axes(self) -> frozenset[Hashable]:  # type: ignore[override]
        return frozenset(self.axes)

    @property
    def holder(self) -> ClosedJaxpr:
        return self.jaxpr

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return (self.jaxpr,)

    def call(self, program: ClosedJaxpr, operands: Sequence[Any], ins: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
        """Bind another program on the same mesh; its constants become leading operands, whole on each device."""
        ins = tuple(ins)
        if program.consts:
            operands, ins = [*program.consts, *operands], (*[_WHOLE] * len(program.consts), *ins)
            program = without_constants(program)
        return bind(shard_map_of(program, self.on, ins, tuple(outs), self.axes), *operands)

    def flops_of_bodies(self, flops: Sequence[int]) -> int:
        return sum(flops) * math.prod(self.on.shape[name] for name in self.axes)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return [
            typed(
                shaped(whole_shape(self.on, spec, aval.shape), aval.dtype, aval.weak_type), NamedSharding(self.on, spec)
            )
            for spec, aval in zip(self.out_specs, self.jaxpr.out_avals, strict=True)
        ]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.on_each_device(self.jaxpr, operands, self.on, self.in_specs, self.out_specs, self.axes)  # type: ignore[no-any-return]

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        return list(dependence(self.jaxpr, operands))

    def dce_rule(self, used: tuple[bool, ...]) -> tuple[Operation, tuple[bool, ...], tuple[bool, ...]]:
        """The part of the program that the used results need."""
        program, kept = dce_program(self.jaxpr, used)
        ins, outs = chosen(self.in_specs, kept), chosen(self.out_specs, used)
        return shard_map_of(program, self.on, tuple(ins), tuple(outs), self.axes), kept, used

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        marks = moving(tangents)
        with self._inside():
            program, out_moving = jvp_program(self.jaxpr, marks)
        ins = [*self.in_specs, *chosen(self.in_specs, marks)]
        outs = [*self.out_specs, *chosen(self.out_specs, out_moving)]
        results = self.call(program, [*primals, *present(tangents)], ins, outs)
        return split_tangents(results, out_moving)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the forward half now, and record the linear half. What the one hands the other stays on its device."""
        marks = moving(tangents)
        with self._inside():
            split = linearize_program(self.jaxpr, marks)
        count = len(split.out_moving)
        each = PartitionSpec(self.axes)
        forward = _derived(split.forward, ("apart", count), lambda: _handing_out(split.forward, count))
        extra_specs = [each] * (len(forward.out_avals) - count)
        results = self.call(forward, primals, self.in_specs, [*self.out_specs, *extra_specs])
        extra = results[count:]
        residuals = [primals[place] if place >= 0 else extra[-1 - place] for place in split.residuals]
        if not any(split.out_moving):
            return results[:count], in_places((), split.out_moving)
        own = tuple(place < 0 for place in split.residuals)
        linear = _derived(split.linear, ("apart", own), lambda: _taking_in(split.linear, own))
        ins = [each if place < 0 else self.in_specs[place] for place in split.residuals]
        ins += chosen(self.in_specs, marks)
        outs = chosen(self.out_specs, split.out_moving)
        moved = self.call(linear, [*residuals, *present(tangents)], ins, outs)
        return results[:count], in_places(moved, split.out_moving)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        linear, given = tuple(is_linear(x) for x in operands), moving(cotangents)
        with self._inside():
            program, moved = transpose_program(self.jaxpr, linear, given)
        known = [not each for each in linear]
        ins = chosen(self.out_specs, given)
        outs = chosen(chosen(self.in_specs, linear), moved)
        shares = [math.prod(self.on.shape[name] for name in self._whole_along(spec)) for spec in ins]
        sums = [self._whole_along(spec) for spec in outs]
        pulled = _derived(
            program, ("pulled back", self.on, tuple(shares), tuple(sums)), lambda: _pulled(program, shares, sums)
        )
        cts = [*chosen(operands, known), *present(cotangents)]
        results = self.call(pulled, cts, [*chosen(self.in_specs, known), *ins], outs)
        return in_places(in_places(results, moved), linear, None)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        with self._inside():
            program, out_axes = batch_program(self.jaxpr, tuple(axes), batch_size(operands, axes))
        ins = [with_part(spec, axis, None) for spec, axis in zip(self.in_specs, axes, strict=True)]
        outs = [with_part(spec, axis, None) for spec, axis in zip(self.out_specs, out_axes, strict=True)]
        return self.call(program, operands, ins, outs), list(out_axes)

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        """Rules of users' own (``custom_vjp``) run while a program is derived, and cross the mesh's axes by name."""
        bound = STATE.axes
        STATE.axes = (*(outer for outer in bound if outer[0] not in self.on.axis_names), *self.on.shape_tuple)
        try:
            yield
        finally:
            STATE.axes = bound

    def _whole_along(self, spec: PartitionSpec) -> tuple[Hashable, ...]:
        """The axes of the operation that do not cut a value."""
        used = {name for part in spec for name in names_of(part)}
        return tuple(name for name in self.axes if name not in used)


def whole_shape(mesh: Mesh, spec: PartitionSpec, part: Sequence[int]) -> tuple[int, ...]:
    """The shape of the array of which each device has a part of that shape."""
    cuts = NamedSharding(mesh, spec).cuts(len(part))
    return tuple(size * count for size, count in zip(part, cuts, strict=True))


def shard_map_of(program: ClosedJaxpr, mesh: Mesh, ins: Specs, outs: Specs, axes: Names) -> ShardMap:
    """The one operation of a program without constants on a mesh."""
    return _derived(program, ("shard_map", mesh, ins, outs, axes), lambda: ShardMap(program, mesh, ins, outs, axes))  # type: ignore[no-any-return]


def _derived(program: ClosedJaxpr, key: Any, make: Any) -> Any:
    found = program.derived.get(key)
    if found is None:
        found = program.derived[key] = make()
    return found


def _handing_out(program: ClosedJaxpr, count: int) -> ClosedJaxpr:
    """The program with results from ``count`` on in arrays with a leading axis more, along which devices lie."""

    def function(*operands: Any) -> list[Any]:
        results = evaluate(program, *operands)
        return [*results[:count], *[reshape(x, (1, *shape_of(x))) for x in results[count:]]]

    return stage_held(function, program.in_avals, program.name)


def _taking_in(program: ClosedJaxpr, own: Sequence[bool]) -> ClosedJaxpr:
    """The program with those of its leading operands in arrays with a leading axis more."""

    def function(*operands: Any) -> list[Any]:
        given = [reshape(x, shape_of(x)[1:]) if mark else x for x, mark in zip(operands[: len(own)], own, strict=True)]
        return evaluate(program, *given, *operands[len(own) :])

    avals = [
        shaped((1, *aval.shape), aval.dtype, aval.weak_type) if mark else aval
        for aval, mark in zip(program.in_avals, own, strict=False)
    ]
    return stage_held(function, [*avals, *program.in_avals[len(own) :]], program.name)


def _pulled(program: ClosedJaxpr, shares: Sequence[int], sums: Sequence[tuple[Hashable, ...]]) -> ClosedJaxpr:
    """The program with its last operands, cotangents, shared between devices, and its results summed over them."""

    def function(*operands: Any) -> list[Any]:
        known, cotangents = operands[: len(operands) - len(shares)], operands[len(operands) - len(shares) :]
        given = [ct if share == 1 else div(ct, share) for ct, share in zip(cotangents, shares, strict=True)]
        results = evaluate(program, *known, *given)
        return [bind1(PSum(names), x) if names else x for x, names in zip(results, sums, strict=True)]

    return stage_held(function, program.in_avals, program.name)


__all__ = ["Names", "ShardMap", "Specs", "shard_map_of", "whole_shape"]
