"""shard_map, as users call it: a function of each device's shard of the arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import tree
from ..control.parallel.shard_map_staging import (
    bind_shard_map,
    check_replication,
    stage_shard_map_body,
    to_shard_aval,
)
from ..control.programs.function_names import operand_names
from ..control.programs.tree_prefixes import broadcast_prefix_leaves
from ..control.programs.values import check_results, operand_aval
from ..ir.user_frames import user_line, where_text
from ..trace.traceback_filtering import api_boundary
from ..xla.sharding.meshes import Mesh, PartitionSpec, axis_names_of, check_spec, require_mesh
from .argnames import name_of, wraps
from .tree_adapters import to_operand, to_result


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
    """Return a function that runs ``f`` on each device of a mesh, with that device's shard of the arguments.

    ``in_specs`` defines how each argument is sharded (a PartitionSpec, or a tree of them that is a prefix of
    the argument; a tuple with an entry for each argument), ``out_specs`` how the results are assembled.
    Inside, the collectives of ``lax`` use the axes of the mesh by name. ``mesh`` defaults to the current one.
    With ``check_vma`` a result whose spec omits an axis has to be equal along it. ``axis_names`` are the
    manual axes, all of the mesh if they are empty; along the other axes XLA shards values as it likes. Calls
    raise ValueError for shapes that cannot be sharded like this, for a result that differs along an axis that
    its spec omits, and for a spec with an axis that is not among ``axis_names``.

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

    @wraps(f, "shard_map")
    @api_boundary
    def call_on_shards(*args: Any) -> Any:
        used_mesh = require_mesh("shard_map") if mesh is None else mesh
        axes = _manual_axes(f, used_mesh, axis_names)
        operands, structure = tree.flatten((args, {}))
        operands = list(map(to_operand, operands))
        if isinstance(in_specs, tuple) and len(in_specs) != len(args):
            raise ValueError(
                f"shard_map of {name_of(f)}: in_specs has {len(in_specs)} entries, but there are {len(args)} arguments"
                + _here()
            )
        in_specs_flat = _resolve_specs(
            f, used_mesh, "in_specs", in_specs if isinstance(in_specs, tuple) else (in_specs,) * len(args), args
        )
        names = operand_names(f, structure)
        avals = [
            to_shard_aval(
                f"argument {name} of {name_of(f)}",
                used_mesh,
                spec,
                operand_aval(f"argument {name} of {name_of(f)}", x),
                check_vma,
            )
            for name, spec, x in zip(names, in_specs_flat, operands, strict=True)
        ]
        out_structures: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            results, out_structure = tree.flatten(f(*structure.unflatten(xs)[0]))
            out_structures.append(out_structure)
            return check_results(name_of(f), results, out_structure)

        _check_sharded_axes(f, axes, (*in_specs_flat,))
        program = stage_shard_map_body(flat, avals, used_mesh, name_of(f), axes, check_vma)
        result_tree = out_structures[0].unflatten(range(len(program.out_avals)))
        out_specs_flat = _resolve_specs(f, used_mesh, "out_specs", out_specs, result_tree)
        _check_sharded_axes(f, axes, out_specs_flat)
        paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(result_tree)]
        for path, spec, aval in zip(paths, out_specs_flat, program.out_avals, strict=True):
            if len(spec) > len(aval.shape):
                raise ValueError(
                    f"shard_map of {name_of(f)}: the result{path} has {len(aval.shape)} axes, and its out_spec {spec} "
                    f"cuts {len(spec)}{_here()}: give it an axis (x[None]), or combine it and use PartitionSpec()"
                )
        if check_vma:
            check_replication(f"shard_map of {name_of(f)}", program, axes, in_specs_flat, out_specs_flat, paths)
        return out_structures[0].unflatten(
            map(to_result, bind_shard_map(program, used_mesh, operands, in_specs_flat, out_specs_flat, axes, check_vma))
        )

    return call_on_shards


def _here() -> str:
    return where_text(user_line())


def _resolve_specs(f: Any, mesh: Mesh, name: str, specs: Any, full_tree: Any) -> list[PartitionSpec]:
    """Return one PartitionSpec for each leaf of ``full_tree``, from ``specs``, a tree of them that is a prefix of it.

    ``f`` and ``name`` are the function and the option's name, for errors: TypeError for another kind of leaf.
    """
    leaf_specs = broadcast_prefix_leaves(f"shard_map of {name_of(f)}", name, specs, full_tree, _is_spec, _here)
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


def _manual_axes(f: Any, mesh: Mesh, axis_names: Any) -> tuple[Any, ...]:
    """Return the manual axes of a shard_map, in the mesh's order: those in ``axis_names``, all if it is empty.

    Raises ValueError for a name that is no axis of the mesh.
    """
    names = set(axis_names) if isinstance(axis_names, set | frozenset | tuple | list) else {axis_names}
    unknown = [name for name in names if name not in mesh.axis_names]
    if unknown:
        raise ValueError(
            f"shard_map of {name_of(f)}: axis_names has {unknown[0]!r}, which is no axis of {mesh}{_here()}"
        )
    return tuple(name for name in mesh.axis_names if name in names or not names)


def _check_sharded_axes(f: Any, axes: tuple[Any, ...], specs: Sequence[PartitionSpec]) -> None:
    """Raise ValueError if a spec shards along a mesh axis that is not manual; ``axes`` are the manual ones."""
    for spec in specs:
        for part in spec:
            for name in axis_names_of(part):
                if name not in axes:
                    raise ValueError(
                        f"shard_map of {name_of(f)}: {spec} cuts along {name!r}, which is not among axis_names, "
                        f"{', '.join(map(repr, axes))}{_here()}: along that axis XLA cuts the parts as it likes"
                    )
