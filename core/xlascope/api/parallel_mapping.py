"""pmap, as users call it: one example of the mapped axis on each device."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..control.jit.arguments import JitOptions
from ..control.jit.jit_function import jit_function
from ..control.parallel.shard_map_staging import (
    bind_shard_map,
    check_replication,
    is_tracing_shard_map,
    stage_shard_map_body,
    to_shard_aval,
)
from ..control.programs.function_names import operand_names
from ..control.programs.tree_prefixes import broadcast_prefix_leaves
from ..control.programs.values import check_results, operand_aval
from ..errors import see
from ..ir.user_frames import user_line, where_text
from ..operations.operand_values import shape_of
from ..operations.shapes import reshape, squeeze
from ..trace.source import compose_message
from ..trace.state import STATE
from ..trace.traceback_filtering import api_boundary
from ..xla.devices import backend as backends
from ..xla.processes.job import current_membership
from ..xla.sharding.meshes import Mesh, PartitionSpec
from .argnames import ArgNums, name_of, to_argnums, wraps
from .axes_errors import axes_count_error, missing_axis_error
from .process_local_arrays import to_global_array, to_local_array
from .vectorization import vmap


@api_boundary
def pmap(
    fun: Callable[..., Any],
    axis_name: Hashable | None = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: ArgNums = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: ArgNums = (),
) -> Any:
    """Compile ``fun`` and run it on several devices, each with one example along the mapped axis.

    ``in_axes`` and ``out_axes`` are those of ``vmap``. As many devices are used as there are examples: the
    first of all devices, or of ``devices``. With an ``axis_name``, the collectives of ``lax`` combine values
    across the devices. ``static_broadcasted_argnums`` are ordinary Python values, ``donate_argnums`` lets XLA
    reuse memory. A pmap inside another one maps over its axis within each device. Raises ValueError if there
    are fewer devices than examples, if sizes differ, or if axes do not fit.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.pmap(lambda x: x / xs.lax.psum(x, "i"), axis_name="i")(jnp.array([4.0])))
    [1.]
    """
    if not callable(fun):
        raise TypeError(f"pmap takes a function, got {fun!r} of type {type(fun).__name__}{_here()}")
    static = to_argnums(static_broadcasted_argnums)
    mapping = _PmapFunction(fun, axis_name, tuple(in_axes) if isinstance(in_axes, list) else in_axes, out_axes, static)
    mapping.set_devices(devices, backend, axis_size)
    return mapping.compile(to_argnums(donate_argnums))


def _here() -> str:
    return where_text(user_line())


class _PmapFunction:
    """Function with pmap's options, from which :meth:`compile` makes the function that users call.

    ``static`` are the positions of static arguments.
    """

    def __init__(self, fun: Any, axis_name: Any, in_axes: Any, out_axes: Any, static: tuple[int, ...]) -> None:
        self.fun, self.in_axes, self.out_axes, self.static = fun, in_axes, out_axes, static
        self.axis_name = axis_name
        self.name = "pmap" if axis_name is None else axis_name
        self.caller = f"pmap of {name_of(fun)}"

    def set_devices(self, devices: Sequence[Any] | None, backend: str | None, axis_size: int | None) -> None:
        """Set pmap's ``devices``, ``backend`` and ``axis_size``, the number of examples; each may be None."""
        self.devices, self.backend, self.axis_size = devices, backend, axis_size

    def compile(self, donated: tuple[int, ...]) -> Any:
        """Return the jitted function, which applies vmap instead if it is called within a shard_map.

        ``donated`` are the positions of arguments whose memory the results may reuse.
        """
        options = JitOptions(static_argnums=self.static, donate_argnums=donated)

        @wraps(self.fun, "pmap")
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._call(args, kwargs)

        jitted = jit_function(call, options)
        inner = vmap(self.fun, self.in_axes, self.out_axes, self.axis_name, self.axis_size)

        @wraps(self.fun, "pmap")
        @api_boundary
        def call_mapped(*args: Any, **kwargs: Any) -> Any:
            if is_tracing_shard_map():
                return inner(*args, **kwargs)
            if self.devices is None and STATE.trace is None and current_membership() is not None:
                return self._call_across_processes(jitted, args, kwargs)
            return jitted(*args, **kwargs)

        call_mapped.lower, call_mapped.trace = jitted.lower, jitted.trace  # type: ignore[attr-defined]
        call_mapped.clear_cache = jitted.clear_cache  # type: ignore[attr-defined]
        return call_mapped

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the results of the function on each device's shard of the arguments; this method is compiled."""
        static = {i % len(args) for i in self.static} if args else set()
        dynamic = tuple(None if i in static else x for i, x in enumerate(args))
        operands, structure = tree.flatten((dynamic, kwargs))
        axes = self._resolve_in_axes(dynamic, kwargs)
        names = operand_names(self.fun, structure)
        avals = [
            operand_aval(f"argument {name} of {name_of(self.fun)}", x) for name, x in zip(names, operands, strict=True)
        ]
        axes = [self._check_in_axis(name, aval, axis) for name, aval, axis in zip(names, avals, axes, strict=True)]
        mesh = self._mesh(names, avals, axes)
        in_specs = [self._spec(axis) for axis in axes]
        parts = [to_shard_aval(self.caller, mesh, spec, aval) for spec, aval in zip(in_specs, avals, strict=True)]
        out_structure_and_axes: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            local_values = [x if axis is None else squeeze(x, (axis,)) for x, axis in zip(xs, axes, strict=True)]
            positional, keyword = structure.unflatten(local_values)
            values = [args[i] if i in static else x for i, x in enumerate(positional)]
            results, out_structure = tree.flatten(self.fun(*values, **keyword))
            out_structure_and_axes[:] = [
                out_structure,
                *self._resolve_out_axes(out_structure, check_results(name_of(self.fun), results, out_structure)),
            ]
            return [
                x if axis is None else _add_axis(x, axis)
                for x, axis in zip(results, out_structure_and_axes[1:], strict=True)
            ]

        program = stage_shard_map_body(flat, parts, mesh, name_of(self.fun), mesh.axis_names)
        out_specs = [self._spec(axis) for axis in out_structure_and_axes[1:]]
        result_tree = out_structure_and_axes[0].unflatten(range(len(out_specs)))
        paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(result_tree)]
        check_replication(self.caller, program, mesh.axis_names, in_specs, out_specs, paths)
        return out_structure_and_axes[0].unflatten(
            bind_shard_map(program, mesh, operands, in_specs, out_specs, mesh.axis_names)
        )

    def _call_across_processes(self, jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return this process's results of a call in which each process gives the examples of its own devices."""
        static = {i % len(args) for i in self.static} if args else set()
        dynamic = tuple(None if i in static else x for i, x in enumerate(args))
        operands, structure = tree.flatten((dynamic, kwargs))
        axes = self._resolve_in_axes(dynamic, kwargs)
        names = operand_names(self.fun, structure)
        avals = [
            operand_aval(f"argument {name} of {name_of(self.fun)}", x) for name, x in zip(names, operands, strict=True)
        ]
        axes = [self._check_in_axis(name, aval, axis) for name, aval, axis in zip(names, avals, axes, strict=True)]
        size = next((aval.shape[axis] for aval, axis in zip(avals, axes, strict=True) if axis is not None), None)
        count = backends.local_device_count(self.backend)
        if size not in (None, count):
            raise ValueError(
                f"{self.caller}: {size} examples for the {count} devices of this process: with several processes each "
                f"gives one example for each of its own devices{_here()}"
            )
        mesh = Mesh(np.array(backends.devices(self.backend), dtype=object), (self.name,))
        parts = [to_global_array(x, mesh, self._spec(axis)) for x, axis in zip(operands, axes, strict=True)]
        positional, keyword = structure.unflatten(parts)
        values = [args[i] if i in static else x for i, x in enumerate(positional)]
        return tree.map(to_local_array, jitted(*values, **keyword))

    def _resolve_in_axes(self, args: tuple[Any, ...], kwargs: Any) -> list[Any]:
        """Return the axis to map over, or None, for each leaf of the arguments."""
        per_argument = self.in_axes if isinstance(self.in_axes, tuple) else (self.in_axes,) * len(args)
        if len(per_argument) != len(args):
            raise axes_count_error("pmap", self.fun, per_argument, len(args), "device")
        per_argument = tuple(None if x is None else axis for axis, x in zip(per_argument, args, strict=True))
        keyword_axes = broadcast_prefix_leaves(self.caller, "in_axes", 0, kwargs, _is_axis, _here)
        return [*broadcast_prefix_leaves(self.caller, "in_axes", per_argument, args, _is_axis, _here), *keyword_axes]

    def _resolve_out_axes(self, structure: Any, results: Sequence[Any]) -> list[Any]:
        """Return the position of the mapped axis in each result, None for one that all devices share.

        ``structure`` is that of the results; raises ValueError for an axis that a result does not have.
        """
        result_tree = structure.unflatten(range(len(results)))
        axes = broadcast_prefix_leaves(self.caller, "out_axes", self.out_axes, result_tree, _is_axis, _here)
        return [
            None if axis is None else self._check_out_axis(axis, len(shape_of(x)) + 1)
            for axis, x in zip(axes, results, strict=True)
        ]

    def _check_out_axis(self, axis: int, rank: int) -> int:
        if not -rank <= axis < rank:
            raise ValueError(f"{self.caller}: out_axes has {axis} for a result of {rank - 1} axes{_here()}")
        return axis % rank

    def _check_in_axis(self, name: str, aval: Any, axis: int | None) -> int | None:
        rank = len(aval.shape)
        if axis is not None and not -rank <= axis < rank:
            fix = "Use in_axes=None for arguments that all devices share."
            raise missing_axis_error(self.caller, name, aval.shape, axis, fix)
        return None if axis is None else axis % rank

    def _mesh(self, names: Sequence[str], avals: Sequence[Any], axes: Sequence[Any]) -> Mesh:
        """Return a mesh of one axis, with as many devices as there are examples.

        ``names``, ``avals`` and ``axes`` are names, types and mapped axes of the leaves of the arguments.
        Raises ValueError if the number of examples is unknown or not the same everywhere, or does not fit the
        devices.
        """
        sizes = {name: aval.shape[at] for name, aval, at in zip(names, avals, axes, strict=True) if at is not None}
        size = self.axis_size if self.axis_size is not None else next(iter(sizes.values()), None)
        if size is None:
            raise ValueError(
                f"{self.caller}: no argument is mapped; axis_size says on how many devices it runs{_here()}"
            )
        if any(mapped_size != size for mapped_size in sizes.values()):
            listed = ", ".join(f"{name}: {mapped_size}" for name, mapped_size in sizes.items())
            raise ValueError(f"{self.caller}: the mapped axes have different sizes ({listed}){_here()}")
        pool = list(backends.devices(self.backend) if self.devices is None else self.devices)
        if size > len(pool):
            fix = (
                f"For as many virtual devices on a CPU set XLASCOPE_NUM_CPU_DEVICES={size} (or XLA_FLAGS="
                f"--xla_force_host_platform_device_count={size}) before the first array is made; vmap maps within one "
                "device."
            )
            problem = f"{self.caller}: {size} examples need {size} devices, and there {_are(len(pool))}."
            raise ValueError(compose_message(problem, fix) + see("shardings"))
        if self.devices is not None and size < len(pool):
            raise ValueError(f"{self.caller}: {size} examples for the {len(pool)} devices that were named{_here()}")
        return Mesh(np.array(pool[:size], dtype=object), (self.name,))

    def _spec(self, axis: int | None) -> PartitionSpec:
        return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, self.name)


def _are(count: int) -> str:
    return f"{'is' if count == 1 else 'are'} {count}"


def _is_axis(x: Any) -> bool:
    return x is None or (isinstance(x, int) and not isinstance(x, bool))


def _add_axis(x: Any, axis: int) -> Any:
    shape = shape_of(x)
    return reshape(x, (*shape[:axis], 1, *shape[axis:]))
