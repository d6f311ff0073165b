"""pmap, as users call it: one example of the mapped axis on each device."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..control.jit.arguments import Options
from ..control.jit.functions import jit_function
from ..control.parallel.bodies import check_equal, is_inside, part_of, run_on_each, stage_on_each
from ..control.programs.names import operand_names
from ..control.programs.prefixes import leaves_of_prefix
from ..control.programs.values import check_results, operand_aval
from ..errors import see
from ..ir.sources import user_line, where_text
from ..operations.shapes import reshape, squeeze
from ..operations.values import shape_of
from ..trace.source import compose_message
from ..trace.traceback_filtering import api_boundary
from ..xla.devices import backend as backends
from ..xla.sharding.meshes import Mesh, PartitionSpec
from .axes_errors import no_such_axis, wrong_number_of_axes
from .naming import Numbers, name_of, named_after, numbers_of
from .vectorization import vmap


@api_boundary
def pmap(
    fun: Callable[..., Any],
    axis_name: Hashable | None = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: Numbers = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: Numbers = (),
) -> Any:
    """Compile ``fun`` and run it on several devices, each with one example along the mapped axis.

    ``in_axes`` and ``out_axes`` are those of ``vmap``; as many devices are used as there are examples: the first ones
    of all, or ``devices``. With an ``axis_name`` the collectives of ``lax`` cross the devices.
    ``static_broadcasted_argnums`` are ordinary Python values, ``donate_argnums`` lets XLA reuse memory. A pmap inside
    of another one maps over its axis within each device.

    Raises ValueError when there are fewer devices than examples, when sizes differ, or axes do not fit.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.pmap(lambda x: x / xs.lax.psum(x, "i"), axis_name="i")(jnp.array([4.0])))
    [1.]
    """
    if not callable(fun):
        raise TypeError(f"pmap takes a function, got {fun!r} of type {type(fun).__name__}{_here()}")
    static = numbers_of(static_broadcasted_argnums)
    mapping = _Mapping(fun, axis_name, tuple(in_axes) if isinstance(in_axes, list) else in_axes, out_axes, static)
    mapping.choose(devices, backend, axis_size)
    return mapping.compiled(numbers_of(donate_argnums))


def _here() -> str:
    return where_text(user_line())


class _Mapping:
    """A function, and the way in which pmap maps it over devices."""

    def __init__(self, fun: Any, axis_name: Any, in_axes: Any, out_axes: Any, static: tuple[int, ...]) -> None:
        self.fun, self.in_axes, self.out_axes, self.static = fun, in_axes, out_axes, static
        self.axis_name = axis_name
        self.name = "pmap" if axis_name is None else axis_name
        self.whom = f"pmap of {name_of(fun)}"

    def choose(self, devices: Sequence[Any] | None, backend: str | None, axis_size: int | None) -> None:
        """Set the devices, the back end and the number of examples."""
        self.devices, self.backend, self.axis_size = devices, backend, axis_size

    def compiled(self, donated: tuple[int, ...]) -> Any:
        """Return the jitted function; it applies vmap instead within a shard_map."""
        options = Options(static_argnums=self.static, donate_argnums=donated)

        @named_after(self.fun, "pmap")
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._call(args, kwargs)

        jitted = jit_function(call, options)
        inner = vmap(self.fun, self.in_axes, self.out_axes, self.axis_name, self.axis_size)

        @named_after(self.fun, "pmap")
        @api_boundary
        def call_mapped(*args: Any, **kwargs: Any) -> Any:
            return inner(*args, **kwargs) if is_inside() else jitted(*args, **kwargs)

        call_mapped.lower, call_mapped.trace = jitted.lower, jitted.trace  # type: ignore[attr-defined]
        call_mapped.clear_cache = jitted.clear_cache  # type: ignore[attr-defined]
        return call_mapped

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function on each device's shard of the arguments; this is the function that is compiled."""
        static = {i % len(args) for i in self.static} if args else set()
        dynamic = tuple(None if i in static else x for i, x in enumerate(args))
        operands, structure = tree.flatten((dynamic, kwargs))
        axes = self._axes_of(dynamic, kwargs)
        names = operand_names(self.fun, structure)
        avals = [
            operand_aval(f"argument {name} of {name_of(self.fun)}", x) for name, x in zip(names, operands, strict=True)
        ]
        axes = [self._checked(name, aval, axis) for name, aval, axis in zip(names, avals, axes, strict=True)]
        mesh = self._mesh(names, avals, axes)
        in_specs = [self._spec(axis) for axis in axes]
        parts = [part_of(self.whom, mesh, spec, aval) for spec, aval in zip(in_specs, avals, strict=True)]
        out_structure_and_axes: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            local_values = [x if axis is None else squeeze(x, (axis,)) for x, axis in zip(xs, axes, strict=True)]
            positional, named = structure.unflatten(local_values)
            values = [args[i] if i in static else x for i, x in enumerate(positional)]
            results, out_structure = tree.flatten(self.fun(*values, **named))
            out_structure_and_axes[:] = [
                out_structure,
                *self._wanted(out_structure, check_results(name_of(self.fun), results, out_structure)),
            ]
            return [
                x if axis is None else _with_axis(x, axis)
                for x, axis in zip(results, out_structure_and_axes[1:], strict=True)
            ]

        program = stage_on_each(flat, parts, mesh, name_of(self.fun), mesh.axis_names)
        out_specs = [self._spec(axis) for axis in out_structure_and_axes[1:]]
        result_tree = out_structure_and_axes[0].unflatten(range(len(out_specs)))
        paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(result_tree)]
        check_equal(self.whom, program, mesh.axis_names, in_specs, out_specs, paths)
        return out_structure_and_axes[0].unflatten(
            run_on_each(program, mesh, operands, in_specs, out_specs, mesh.axis_names)
        )

    def _axes_of(self, args: tuple[Any, ...], kwargs: Any) -> list[Any]:
        per_argument = self.in_axes if isinstance(self.in_axes, tuple) else (self.in_axes,) * len(args)
        if len(per_argument) != len(args):
            raise wrong_number_of_axes("pmap", self.fun, per_argument, len(args), "device")
        per_argument = tuple(None if x is None else axis for axis, x in zip(per_argument, args, strict=True))
        named = leaves_of_prefix(self.whom, "in_axes", 0, kwargs, _is_axis, _here)
        return [*leaves_of_prefix(self.whom, "in_axes", per_argument, args, _is_axis, _here), *named]

    def _wanted(self, structure: Any, results: Sequence[Any]) -> list[Any]:
        """Return the mapped axis of each result."""
        result_tree = structure.unflatten(range(len(results)))
        axes = leaves_of_prefix(self.whom, "out_axes", self.out_axes, result_tree, _is_axis, _here)
        return [
            None if axis is None else self._placed(axis, len(shape_of(x)) + 1)
            for axis, x in zip(axes, results, strict=True)
        ]

    def _placed(self, axis: int, rank: int) -> int:
        if not -rank <= axis < rank:
            raise ValueError(f"{self.whom}: out_axes has {axis} for a result of {rank - 1} axes{_here()}")
        return axis % rank

    def _checked(self, name: str, aval: Any, axis: int | None) -> int | None:
        rank = len(aval.shape)
        if axis is not None and not -rank <= axis < rank:
            fix = "Use in_axes=None for arguments that all devices share."
            raise no_such_axis(self.whom, name, aval.shape, axis, fix)
        return None if axis is None else axis % rank

    def _mesh(self, names: Sequence[str], avals: Sequence[Any], axes: Sequence[Any]) -> Mesh:
        sizes = {name: aval.shape[at] for name, aval, at in zip(names, avals, axes, strict=True) if at is not None}
        size = self.axis_size if self.axis_size is not None else next(iter(sizes.values()), None)
        if size is None:
            raise ValueError(f"{self.whom}: no argument is mapped; axis_size says on how many devices it runs{_here()}")
        if any(mapped_size != size for mapped_size in sizes.values()):
            listed = ", ".join(f"{name}: {mapped_size}" for name, mapped_size in sizes.items())
            raise ValueError(f"{self.whom}: the mapped axes have different sizes ({listed}){_here()}")
        pool = list(backends.devices(self.backend) if self.devices is None else self.devices)
        if size > len(pool):
            fix = (
                f"For as many virtual devices on a CPU set XLASCOPE_NUM_CPU_DEVICES={size} (or XLA_FLAGS="
                f"--xla_force_host_platform_device_count={size}) before the first array is made; vmap maps within one "
                "device."
            )
            said = f"{self.whom}: {size} examples need {size} devices, and there {_are(len(pool))}."
            raise ValueError(compose_message(said, fix) + see("shardings"))
        if self.devices is not None and size < len(pool):
            raise ValueError(f"{self.whom}: {size} examples for the {len(pool)} devices that were named{_here()}")
        return Mesh(np.array(pool[:size], dtype=object), (self.name,))

    def _spec(self, axis: int | None) -> PartitionSpec:
        return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, self.name)


def _are(count: int) -> str:
    return f"{'is' if count == 1 else 'are'} {count}"


def _is_axis(x: Any) -> bool:
    return x is None or (isinstance(x, int) and not isinstance(x, bool))


def _with_axis(x: Any, axis: int) -> Any:
    shape = shape_of(x)
    return reshape(x, (*shape[:axis], 1, *shape[axis:]))
