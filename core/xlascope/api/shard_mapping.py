"""shard_map, as users call it: a function of each device's shard of the arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import tree
from ..control.parallel.bodies import check_equal, part_of, run_on_each, stage_on_each
from ..control.programs.names import operand_names
from ..control.programs.prefixes import leaves_of_prefix
from ..control.programs.values import check_results, operand_aval
from ..ir.sources import user_line, where_text
from ..trace.traceback_filtering import api_boundary
from ..xla.sharding.meshes import Mesh, PartitionSpec, check_spec, names_of, required_mesh
from .flat import given, taken
from .naming import name_of, named_after


@api_boundary
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = None,
    mesh: Mesh | None = None,
    axis_names: Any = frozenset(),
    check_vma: bool = True,
) -> Callable[..., Any]:
    """Run ``f`` on each device of a mesh, with that device's shard of the arguments.

    ``in_specs`` defines how each argument is sharded (a PartitionSpec, or a tree of them that is a prefix of the
    argument; a tuple with an entry for each argument), ``out_specs`` how the results are assembled. Inside, the
    collectives of ``lax`` use the axes of the mesh by name. ``mesh`` defaults to the current one. With
    ``check_vma`` a result whose spec omits an axis has to be equal along it. ``axis_names`` are the manual axes,
    all of the mesh if they are empty; along the others XLA shards values as it likes.

    Raises ValueError for shapes that cannot be sharded so, for a result that differs along an axis that its spec
    omits, and for a spec with an axis that is not among ``axis_names``.

    >>> import numpy as np, xlascope as xs
    >>> from xlascope.sharding import Mesh, PartitionSpec as P
    >>> mesh = Mesh(np.array(xs.devices()[:1]), ("i",))
    >>> total = xs.shard_map(lambda x: xs.lax.psum(x.sum(), "i"), mesh=mesh, in_specs=P("i"), out_specs=P())
    >>> print(total(np.arange(4.0)))
    6.0
    """
    if f is None:
        return functools.partial(
            shard_map,
            out_specs=out_specs,
            in_specs=in_specs,
            mesh=mesh,
            axis_names=axis_names,
            check_vma=check_vma,
        )
    if not callable(f):
        raise TypeError(f"shard_map takes a function, got {f!r} of type {type(f).__name__}{_here()}")
    if mesh is not None and not isinstance(mesh, Mesh):
        raise TypeError(f"shard_map takes a Mesh, got {mesh!r} of type {type(mesh).__name__}{_here()}")
    if in_specs is None:
        raise TypeError(f"shard_map of {name_of(f)} needs in_specs, a PartitionSpec for each argument{_here()}")
    if isinstance(in_specs, list):
        in_specs = tuple(in_specs)

    @named_after(f, "shard_map")
    @api_boundary
    def call_on_shards(*args: Any) -> Any:
        used_mesh = required_mesh("shard_map") if mesh is None else mesh
        axes = _axes_of(f, used_mesh, axis_names)
        operands, structure = tree.flatten((args, {}))
        operands = list(map(taken, operands))
        if isinstance(in_specs, tuple) and len(in_specs) != len(args):
            raise ValueError(
                f"shard_map of {name_of(f)}: in_specs has {len(in_specs)} entries, but there are {len(args)} arguments"
                + _here()
            )
        in_specs_flat = _specs(
            f, used_mesh, "in_specs", in_specs if isinstance(in_specs, tuple) else (in_specs,) * len(args), args
        )
        names = operand_names(f, structure)
        avals = [
            part_of(
                f"argument {name} of {name_of(f)}", used_mesh, spec, operand_aval(f"argument {name} of {name_of(f)}", x)
            )
            for name, spec, x in zip(names, in_specs_flat, operands, strict=True)
        ]
        out_structures: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            results, out_structure = tree.flatten(f(*structure.unflatten(xs)[0]))
            out_structures.append(out_structure)
            return check_results(name_of(f), results, out_structure)

        _check_cut_along(f, axes, (*in_specs_flat,))
        program = stage_on_each(flat, avals, used_mesh, name_of(f), axes)
        result_tree = out_structures[0].unflatten(range(len(program.out_avals)))
        out_specs_flat = _specs(f, used_mesh, "out_specs", out_specs, result_tree)
        _check_cut_along(f, axes, out_specs_flat)
        paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(result_tree)]
        for path, spec, aval in zip(paths, out_specs_flat, program.out_avals, strict=True):
            if len(spec) > len(aval.shape):
                raise ValueError(
                    f"shard_map of {name_of(f)}: the result{path} has {len(aval.shape)} axes, and its out_spec {spec} "
                    f"cuts {len(spec)}{_here()}: give it an axis (x[None]), or combine it and use PartitionSpec()"
                )
        if check_vma:
            check_equal(f"shard_map of {name_of(f)}", program, axes, in_specs_flat, out_specs_flat, paths)
        return out_structures[0].unflatten(
            map(given, run_on_each(program, used_mesh, operands, in_specs_flat, out_specs_flat, axes))
        )

    return call_on_shards


def _here() -> str:
    return where_text(user_line())


def _specs(f: Any, mesh: Mesh, name: str, specs: Any, full_tree: Any) -> list[PartitionSpec]:
    leaf_specs = leaves_of_prefix(f"shard_map of {name_of(f)}", name, specs, full_tree, _is_spec, _here)
    for spec in leaf_specs:
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"shard_map of {name_of(f)}: {name} holds {spec!r}; its leaves are PartitionSpecs, and PartitionSpec() "
                f"is for what is whole on each device{_here()}"
            )
        check_spec(f"{name} of shard_map of {name_of(f)}", mesh, spec)
    return leaf_specs


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec)


def _axes_of(f: Any, mesh: Mesh, axis_names: Any) -> tuple[Any, ...]:
    """Return the manual axes of a shard_map, in the mesh's order."""
    names = set(axis_names) if isinstance(axis_names, set | frozenset | tuple | list) else {axis_names}
    unknown = [name for name in names if name not in mesh.axis_names]
    if unknown:
        raise ValueError(
            f"shard_map of {name_of(f)}: axis_names has {unknown[0]!r}, which is no axis of {mesh}{_here()}"
        )
    return tuple(name for name in mesh.axis_names if name in names or not names)


def _check_cut_along(f: Any, axes: tuple[Any, ...], specs: Sequence[PartitionSpec]) -> None:
    for spec in specs:
        for part in spec:
            for name in names_of(part):
                if name not in axes:
                    raise ValueError(
                        f"shard_map of {name_of(f)}: {spec} cuts along {name!r}, which is not among axis_names, "
                        f"{', '.join(map(repr, axes))}{_here()}: along that axis XLA cuts the parts as it likes"
                    )
