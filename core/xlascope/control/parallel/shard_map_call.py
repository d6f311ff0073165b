"""The operation behind ``shard_map`` and ``pmap``: a program that each device of a mesh runs on its shard of the data.

Derivatives are those of the function of all devices together. A result that is sharded along no axis of the
mesh is the same on each device, and counts once; the cotangent of an operand that is replicated on several devices is
the sum of theirs. With ``check_vma`` types say which values vary from device to device
(``operations/varying_axes.py``): the program itself sums cotangents where a value that does not vary meets one that
does, also where a function inside of it is differentiated. Without, each device gets an equal part of the cotangent of
a replicated result, ``psum`` transposes to ``psum``, and the cotangents of replicated operands are summed at the end.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from ...ir.avals import NO_AXES, ShapedArray, make_aval, with_varying_axes
from ...ir.jaxpr import ClosedJaxpr
from ...ir.operation import Operation
from ...operations.arithmetic import div
from ...operations.collectives import PSum
from ...operations.operand_checks import is_linear
from ...operations.operand_values import shape_of
from ...operations.shapes import reshape
from ...operations.sharding_constraints import insert_spec_part
from ...trace.bind import bind, bind1
from ...trace.state import STATE
from ...transforms.batch import batch_program
from ...transforms.batch_trace import batch_size
from ...transforms.dce import dce_program, find_dependent_results
from ...transforms.differentiate import jvp_program, linearize_program
from ...transforms.evaluate import evaluate
from ...transforms.staging import stage_with_consts
from ...transforms.transpose import transpose_program
from ...xla.sharding.meshes import Mesh, PartitionSpec, axis_names_of
from ...xla.sharding.named_shardings import NamedSharding, aval_with_sharding
from ..programs.masks import (
    drop_zero_tangents,
    nonzero_tangents_mask,
    scatter_by_mask,
    select_by_mask,
    split_tangents,
)
from ..programs.program_rewrites import convert_constvars_to_operands

Specs = tuple[PartitionSpec, ...]
Names = tuple[Hashable, ...]
_REPLICATED = PartitionSpec()


class ShardMap(Operation, name="shard_map", by_identity=True):
    """Operation that runs a program on each device of the mesh ``on``, and returns its results as global arrays.

    ``in_specs`` and ``out_specs`` shard operands and results along ``axes`` of the mesh, the manual axes, which the
    program's collectives may name. The other axes are left to XLA. ``checked`` says whether types say which values vary
    along these axes.
    """

    composite = True
    multiple_results = True

    jaxpr: ClosedJaxpr
    on: Mesh
    in_specs: Specs
    out_specs: Specs
    axes: Names
    checked: bool

    @property
    def params(self) -> dict[str, Any]:
        parameters = {"in_specs": self.in_specs, "jaxpr": self.jaxpr, "mesh": self.on, "out_specs": self.out_specs}
        return parameters if self.axes == self.on.axis_names else parameters | {"manual_axes": self.axes}

    def content(self) -> Sequence[Any]:
        return (self.jaxpr, self.on, self.in_specs, self.out_specs, self.axes, self.checked)

    @property
    def mesh(self) -> Mesh:
        return self.on

    def requested_shardings(self) -> Sequence[Any]:
        return [NamedSharding(self.on, spec) for spec in self.in_specs]

    def inferred_shardings(self) -> Sequence[Any]:
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
        """Bind a shard_map of another program with the same mesh, manual axes and checks.

        The program's constants become leading operands, replicated on all devices.
        """
        in_specs = tuple(in_specs)
        if program.consts:
            operands, in_specs = [*program.consts, *operands], (*[_REPLICATED] * len(program.consts), *in_specs)
            program = convert_constvars_to_operands(program)
        return bind(self.of_program(program, in_specs, tuple(out_specs)), *operands)

    def of_program(self, program: ClosedJaxpr, in_specs: Specs, out_specs: Specs) -> ShardMap:
        """Return the operation for another program, with the same mesh, manual axes and checks."""
        return shard_map_of(program, self.on, in_specs, out_specs, self.axes, self.checked)

    def flops_of_bodies(self, flops: Sequence[int]) -> int:
        return sum(flops) * math.prod(self.on.shape[name] for name in self.axes)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return [
            with_varying_axes(
                aval_with_sharding(
                    make_aval(whole_shape(self.on, spec, aval.shape), aval.dtype, aval.weak_type),
                    NamedSharding(self.on, spec),
                ),
                aval.varying.difference(self.axes),
            )
            for spec, aval in zip(self.out_specs, self.jaxpr.out_avals, strict=True)
        ]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.call_on_each_device(self.jaxpr, operands, self.on, self.in_specs, self.out_specs, self.axes)  # type: ignore[no-any-return]

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        return list(find_dependent_results(self.jaxpr, operands))

    def dce_rule(self, used: tuple[bool, ...]) -> tuple[Operation, tuple[bool, ...], tuple[bool, ...]]:
        """Return the operation for only the results marked in ``used``, a mask of its operands, and ``used``.

        The second part marks the operands that it takes, the third the results that it returns: exactly those marked.
        """
        program, needed_operands = dce_program(self.jaxpr, used)
        in_specs, out_specs = select_by_mask(self.in_specs, needed_operands), select_by_mask(self.out_specs, used)
        return self.of_program(program, tuple(in_specs), tuple(out_specs)), needed_operands, used

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        marks = nonzero_tangents_mask(tangents)
        with self.bind_mesh_axes():
            program, out_moving = jvp_program(self.jaxpr, marks)
        in_specs = [*self.in_specs, *select_by_mask(self.in_specs, marks)]
        out_specs = [*self.out_specs, *select_by_mask(self.out_specs, out_moving)]
        results = self.call(program, [*primals, *drop_zero_tangents(tangents)], in_specs, out_specs)
        return split_tangents(results, out_moving)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the forward half now, and record the linear half; residuals stay on their devices.

        Returns the results and their tangents; a tangent is ZERO where it is known to be zero.
        """
        marks = nonzero_tangents_mask(tangents)
        with self.bind_mesh_axes():
            split = linearize_program(self.jaxpr, marks)
        count = len(split.nonzero_out_tangents)
        per_device = PartitionSpec(self.axes)
        forward = _get_derived(split.forward, ("apart", count), lambda: _stack_residuals(split.forward, count))
        extra_specs = [per_device] * (len(forward.out_avals) - count)
        results = self.call(forward, primals, self.in_specs, [*self.out_specs, *extra_specs])
        extra = results[count:]
        residuals = [primals[index] if index >= 0 else extra[-1 - index] for index in split.residuals]
        if not any(split.nonzero_out_tangents):
            return results[:count], scatter_by_mask((), split.nonzero_out_tangents)
        is_residual = tuple(index < 0 for index in split.residuals)
        linear = _get_derived(
            split.linear, ("apart", is_residual), lambda: _unstack_residuals(split.linear, is_residual)
        )
        in_specs = [per_device if index < 0 else self.in_specs[index] for index in split.residuals]
        in_specs += select_by_mask(self.in_specs, marks)
        out_specs = select_by_mask(self.out_specs, split.nonzero_out_tangents)
        tangents_out = self.call(linear, [*residuals, *drop_zero_tangents(tangents)], in_specs, out_specs)
        return results[:count], scatter_by_mask(tangents_out, split.nonzero_out_tangents)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        linear, nonzero = tuple(is_linear(x) for x in operands), nonzero_tangents_mask(cotangents)
        with self.bind_mesh_axes():
            program, nonzero_out = transpose_program(self.jaxpr, linear, nonzero)
        is_nonlinear = [not is_lin for is_lin in linear]
        in_specs = select_by_mask(self.out_specs, nonzero)
        out_specs = select_by_mask(select_by_mask(self.in_specs, linear), nonzero_out)
        shared_axes = [self._replicated_axes(spec) for spec in in_specs]
        sums: Sequence[Names] = [self._replicated_axes(spec) for spec in out_specs]
        if self.checked:  # what does not vary has one cotangent, and the program has summed those of operands
            avals = select_by_mask(self.jaxpr.out_avals, nonzero)
            shared_axes = [
                tuple(name for name in axes if name in aval.varying)
                for axes, aval in zip(shared_axes, avals, strict=True)
            ]
            sums = [()] * len(out_specs)
        shares = [math.prod(self.on.shape[name] for name in axes) for axes in shared_axes]
        transposed = _get_derived(
            program,
            ("pulled back", self.on, tuple(shares), tuple(sums)),
            lambda: _reduce_cotangents(program, shares, sums),
        )
        cts = [*select_by_mask(operands, is_nonlinear), *drop_zero_tangents(cotangents)]
        results = self.call(transposed, cts, [*select_by_mask(self.in_specs, is_nonlinear), *in_specs], out_specs)
        return scatter_by_mask(scatter_by_mask(results, nonzero_out), linear, None)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        with self.bind_mesh_axes():
            program, out_axes = batch_program(self.jaxpr, tuple(axes), batch_size(operands, axes))
        in_specs = [insert_spec_part(spec, axis, None) for spec, axis in zip(self.in_specs, axes, strict=True)]
        out_specs = [insert_spec_part(spec, axis, None) for spec, axis in zip(self.out_specs, out_axes, strict=True)]
        return self.call(program, operands, in_specs, out_specs), list(out_axes)

    @contextlib.contextmanager
    def bind_mesh_axes(self) -> Iterator[None]:
        """Bind the mesh's axis names in a ``with`` block that derives a program.

        Rules of users (``custom_vjp``) that are called meanwhile may use these names.
        """
        bound, checked = STATE.axes, STATE.checked_axes
        STATE.axes = (*(outer for outer in bound if outer[0] not in self.on.axis_names), *self.on.shape_tuple)
        STATE.checked_axes = checked.difference(self.axes).union(self.axes if self.checked else NO_AXES)
        try:
            yield
        finally:
            STATE.axes, STATE.checked_axes = bound, checked

    def _replicated_axes(self, spec: PartitionSpec) -> tuple[Hashable, ...]:
        """Return the manual axes along which a value sharded by ``spec`` is replicated."""
        used = {name for part in spec for name in axis_names_of(part)}
        return tuple(name for name in self.axes if name not in used)


def whole_shape(mesh: Mesh, spec: PartitionSpec, part: Sequence[int]) -> tuple[int, ...]:
    """Return the global shape of an array sharded by ``spec`` over ``mesh``; ``part`` is the shape of a shard."""
    cuts = NamedSharding(mesh, spec).partition_counts(len(part))
    return tuple(size * count for size, count in zip(part, cuts, strict=True))


def shard_map_of(program: ClosedJaxpr, mesh: Mesh, ins: Specs, outs: Specs, axes: Names, checked: bool) -> ShardMap:
    """Return the shard_map operation of a program without constants, one object for equal arguments.

    ``ins`` and ``outs`` are the specs of operands and results, ``axes`` the manual axes of the mesh. ``checked`` says
    whether the program's types say which values vary along these axes.
    """
    parameters = (mesh, ins, outs, axes, checked)
    return _get_derived(program, ("shard_map", *parameters), lambda: ShardMap(program, *parameters))  # type: ignore[no-any-return]


def _get_derived(program: ClosedJaxpr, key: Any, create: Any) -> Any:
    """Return ``program.derived[key]``; call ``create()`` for it if it does not exist."""
    derived = program.derived.get(key)
    if derived is None:
        derived = program.derived[key] = create()
    return derived


def _stack_residuals(program: ClosedJaxpr, count: int) -> ClosedJaxpr:
    """Return the program with a new leading axis of size 1 on its residuals, the results from ``count`` on.

    Sharded along that axis, the residuals of all devices form one array.
    """

    def function(*operands: Any) -> list[Any]:
        results = evaluate(program, *operands)
        return [*results[:count], *[reshape(x, (1, *shape_of(x))) for x in results[count:]]]

    return stage_with_consts(function, program.in_avals, program.name)


def _unstack_residuals(program: ClosedJaxpr, is_residual: Sequence[bool]) -> ClosedJaxpr:
    """Return a program whose marked operands have a leading axis of size 1, which it removes before it computes.

    ``is_residual`` has a mark for each of the first operands. Marked ones are residuals that :func:`_stack_residuals`
    stacked over devices.
    """

    def function(*operands: Any) -> list[Any]:
        leading = [
            reshape(x, shape_of(x)[1:]) if mark else x
            for x, mark in zip(operands[: len(is_residual)], is_residual, strict=True)
        ]
        return evaluate(program, *leading, *operands[len(is_residual) :])

    avals = [
        with_varying_axes(make_aval((1, *aval.shape), aval.dtype, aval.weak_type), aval.varying) if mark else aval
        for aval, mark in zip(program.in_avals, is_residual, strict=False)
    ]
    return stage_with_consts(function, [*avals, *program.in_avals[len(is_residual) :]], program.name)


def _reduce_cotangents(
    program: ClosedJaxpr, shares: Sequence[int], sums: Sequence[tuple[Hashable, ...]]
) -> ClosedJaxpr:
    """Return a program that divides cotangents by ``shares`` and sums results over mesh axes.

    The cotangents are the last ``len(shares)`` operands. ``sums`` are the mesh axes of each result.
    """

    def function(*operands: Any) -> list[Any]:
        nonlinear, cotangents = operands[: len(operands) - len(shares)], operands[len(operands) - len(shares) :]
        scaled = [ct if share == 1 else div(ct, share) for ct, share in zip(cotangents, shares, strict=True)]
        results = evaluate(program, *nonlinear, *scaled)
        return [bind1(PSum(names), x) if names else x for x, names in zip(results, sums, strict=True)]

    return stage_with_consts(function, program.in_avals, program.name)


__all__ = ["Names", "ShardMap", "Specs", "shard_map_of", "whole_shape"]
