"""The operation behind ``shard_map`` and ``pmap``: a program that each device of a mesh runs on its shard of the data.

Derivatives are those of the function of all devices together. A result that is sharded along no axis of the
mesh is the same on each device, and counts once: each device gets an equal part of its cotangent, and
``psum`` transposes to ``psum``. The cotangent of an operand that is replicated on several devices is the sum
of theirs.
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
    """Operation that returns the results of a program that each device of a mesh runs.

    ``in_specs`` and ``out_specs`` shard operands and results along ``axes`` of the mesh, the manual axes, which
    the program's collectives may name. The other axes are left to XLA.
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
        parameters = {"in_specs": self.in_specs, "jaxpr": self.jaxpr, "mesh": self.on, "out_specs": self.out_specs}
        return parameters if self.axes == self.on.axis_names else parameters | {"manual_axes": self.axes}

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

    def call(
        self, program: ClosedJaxpr, operands: Sequence[Any], in_specs: Sequence[Any], out_specs: Sequence[Any]
    ) -> list[Any]:
        """Bind another program on the same mesh; its constants become leading operands, replicated on all devices."""
        in_specs = tuple(in_specs)
        if program.consts:
            operands, in_specs = [*program.consts, *operands], (*[_WHOLE] * len(program.consts), *in_specs)
            program = without_constants(program)
        return bind(shard_map_of(program, self.on, in_specs, tuple(out_specs), self.axes), *operands)

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
        """Return the operation of a program that computes only the used results."""
        program, needed_operands = dce_program(self.jaxpr, used)
        in_specs, out_specs = chosen(self.in_specs, needed_operands), chosen(self.out_specs, used)
        return shard_map_of(program, self.on, tuple(in_specs), tuple(out_specs), self.axes), needed_operands, used

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        marks = moving(tangents)
        with self._inside():
            program, out_moving = jvp_program(self.jaxpr, marks)
        in_specs = [*self.in_specs, *chosen(self.in_specs, marks)]
        out_specs = [*self.out_specs, *chosen(self.out_specs, out_moving)]
        results = self.call(program, [*primals, *present(tangents)], in_specs, out_specs)
        return split_tangents(results, out_moving)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the forward half now, and record the linear half; residuals stay on their devices."""
        marks = moving(tangents)
        with self._inside():
            split = linearize_program(self.jaxpr, marks)
        count = len(split.out_moving)
        per_device = PartitionSpec(self.axes)
        forward = _derived(split.forward, ("apart", count), lambda: _handing_out(split.forward, count))
        extra_specs = [per_device] * (len(forward.out_avals) - count)
        results = self.call(forward, primals, self.in_specs, [*self.out_specs, *extra_specs])
        extra = results[count:]
        residuals = [primals[index] if index >= 0 else extra[-1 - index] for index in split.residuals]
        if not any(split.out_moving):
            return results[:count], in_places((), split.out_moving)
        is_residual = tuple(index < 0 for index in split.residuals)
        linear = _derived(split.linear, ("apart", is_residual), lambda: _taking_in(split.linear, is_residual))
        in_specs = [per_device if index < 0 else self.in_specs[index] for index in split.residuals]
        in_specs += chosen(self.in_specs, marks)
        out_specs = chosen(self.out_specs, split.out_moving)
        tangents_out = self.call(linear, [*residuals, *present(tangents)], in_specs, out_specs)
        return results[:count], in_places(tangents_out, split.out_moving)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        linear, nonzero = tuple(is_linear(x) for x in operands), moving(cotangents)
        with self._inside():
            program, nonzero_out = transpose_program(self.jaxpr, linear, nonzero)
        is_nonlinear = [not is_lin for is_lin in linear]
        in_specs = chosen(self.out_specs, nonzero)
        out_specs = chosen(chosen(self.in_specs, linear), nonzero_out)
        shares = [math.prod(self.on.shape[name] for name in self._whole_along(spec)) for spec in in_specs]
        sums = [self._whole_along(spec) for spec in out_specs]
        transposed = _derived(
            program, ("pulled back", self.on, tuple(shares), tuple(sums)), lambda: _pulled(program, shares, sums)
        )
        cts = [*chosen(operands, is_nonlinear), *present(cotangents)]
        results = self.call(transposed, cts, [*chosen(self.in_specs, is_nonlinear), *in_specs], out_specs)
        return in_places(in_places(results, nonzero_out), linear, None)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        with self._inside():
            program, out_axes = batch_program(self.jaxpr, tuple(axes), batch_size(operands, axes))
        in_specs = [with_part(spec, axis, None) for spec, axis in zip(self.in_specs, axes, strict=True)]
        out_specs = [with_part(spec, axis, None) for spec, axis in zip(self.out_specs, out_axes, strict=True)]
        return self.call(program, operands, in_specs, out_specs), list(out_axes)

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        """Bind the mesh's axis names while a program is derived, since users' rules (``custom_vjp``) may use them."""
        bound = STATE.axes
        STATE.axes = (*(outer for outer in bound if outer[0] not in self.on.axis_names), *self.on.shape_tuple)
        try:
            yield
        finally:
            STATE.axes = bound

    def _whole_along(self, spec: PartitionSpec) -> tuple[Hashable, ...]:
        """Return the manual axes along which a value is replicated."""
        used = {name for part in spec for name in names_of(part)}
        return tuple(name for name in self.axes if name not in used)


def whole_shape(mesh: Mesh, spec: PartitionSpec, part: Sequence[int]) -> tuple[int, ...]:
    """Return the global shape of an array whose shards have the shape ``part``."""
    cuts = NamedSharding(mesh, spec).cuts(len(part))
    return tuple(size * count for size, count in zip(part, cuts, strict=True))


def shard_map_of(program: ClosedJaxpr, mesh: Mesh, ins: Specs, outs: Specs, axes: Names) -> ShardMap:
    """Return the shard_map operation of a program without constants, one object for equal arguments."""
    return _derived(program, ("shard_map", mesh, ins, outs, axes), lambda: ShardMap(program, mesh, ins, outs, axes))  # type: ignore[no-any-return]


def _derived(program: ClosedJaxpr, key: Any, create: Any) -> Any:
    derived = program.derived.get(key)
    if derived is None:
        derived = program.derived[key] = create()
    return derived


def _handing_out(program: ClosedJaxpr, count: int) -> ClosedJaxpr:
    """Return the program with its residuals, the results from ``count`` on, stacked over devices.

    They get a new leading axis, which is sharded over the devices.
    """

    def function(*operands: Any) -> list[Any]:
        results = evaluate(program, *operands)
        return [*results[:count], *[reshape(x, (1, *shape_of(x))) for x in results[count:]]]

    return stage_held(function, program.in_avals, program.name)


def _taking_in(program: ClosedJaxpr, is_residual: Sequence[bool]) -> ClosedJaxpr:
    """Return the program with its residuals, the marked leading operands, stacked over devices."""

    def function(*operands: Any) -> list[Any]:
        leading = [
            reshape(x, shape_of(x)[1:]) if mark else x
            for x, mark in zip(operands[: len(is_residual)], is_residual, strict=True)
        ]
        return evaluate(program, *leading, *operands[len(is_residual) :])

    avals = [
        shaped((1, *aval.shape), aval.dtype, aval.weak_type) if mark else aval
        for aval, mark in zip(program.in_avals, is_residual, strict=False)
    ]
    return stage_held(function, [*avals, *program.in_avals[len(is_residual) :]], program.name)


def _pulled(program: ClosedJaxpr, shares: Sequence[int], sums: Sequence[tuple[Hashable, ...]]) -> ClosedJaxpr:
    """Return a program with cotangents divided by ``shares`` and results summed over the axes in ``sums``."""

    def function(*operands: Any) -> list[Any]:
        nonlinear, cotangents = operands[: len(operands) - len(shares)], operands[len(operands) - len(shares) :]
        scaled = [ct if share == 1 else div(ct, share) for ct, share in zip(cotangents, shares, strict=True)]
        results = evaluate(program, *nonlinear, *scaled)
        return [bind1(PSum(names), x) if names else x for x, names in zip(results, sums, strict=True)]

    return stage_held(function, program.in_avals, program.name)


__all__ = ["Names", "ShardMap", "Specs", "shard_map_of", "whole_shape"]
