"""shard_map as users call it: a function of each device's part of the arguments."""

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
    """Run ``f`` on each device of a mesh, with that device's part of the arguments.

    ``in_specs`` says how each argument is cut (a PartitionSpec, or a tree of them that is a prefix of the argument; a
    tuple with an entry for each argument), ``out_specs`` how the results are put together. Inside, the collectives of
    ``lax`` cross the axes of the mesh by their names. ``mesh`` is the current one when it is not given. With
    ``check_vma`` a result whose spec leaves out an axis has to be equal along it. ``axis_names`` are the axes along
    which it is so, all of the mesh when they are empty; along the others XLA cuts the parts as it likes.

    Raises ValueError for shapes that cannot be cut so, for a result that differs where its spec says that it does not,
    and for a spec with an axis that is not among ``axis_names``.

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
    def mapped(*args: Any) -> Any:
        on = required_mesh("shard_map") if mesh is None else mesh
        axes = _axes_of(f, on, axis_names)
        operands, structure = tree.flatten((args, {}))
        operands = list(map(taken, operands))
        if isinstance(in_specs, tuple) and len(in_specs) != len(args):
            raise ValueError(
                f"shard_map of {name_of(f)}: in_specs has {len(in_specs)} entries, but there are {len(args)} arguments"
                + _here()
            )
        ins = _specs(f, on, "in_specs", in_specs if isinstance(in_specs, tuple) else (in_specs,) * len(args), args)
        names = operand_names(f, structure)
        avals = [
            part_of(f"argument {name} of {name_of(f)}", on, spec, operand_aval(f"argument {name} of {name_of(f)}", x))
            for name, spec, x in zip(names, ins, operands, strict=True)
        ]
        kept: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            results, out = tree.flatten(f(*structure.unflatten(xs)[0]))
            kept.append(out)
            return check_results(name_of(f), results, out)

        _check_cut_along(f, axes, (*ins,))
        program = stage_on_each(flat, avals, on, name_of(f), axes)
        whole = kept[0].unflatten(range(len(program.out_avals)))
        outs = _specs(f, on, "out_specs", out_specs, whole)
        _check_cut_along(f, axes, outs)
        paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(whole)]
        for path, spec, aval in zip(paths, outs, program.out_avals, strict=True):
            if len(spec) > len(aval.shape):
                raise ValueError(
                    f"shard_map of {name_of(f)}: the result{path} has {len(aval.shape)} axes, and its out_spec {spec} "
                    f"cuts {len(spec)}{_here()}: give it an axis (x[None]), or combine it and use PartitionSpec()"
                )
        if check_vma:
            check_equal(f"shard_map of {name_of(f)}", program, axes, ins, outs, paths)
        return kept[0].unflatten(map(given, run_on_each(program, on, operands, ins, outs, axes)))

    return mapped


def _here() -> str:
    return where_text(user_line())


def _specs(f: Any, mesh: Mesh, what: str, specs: Any, whole: Any) -> list[PartitionSpec]:
    found = leaves_of_prefix(f"shard_map of {name_of(f)}", what, specs, whole, _is_spec, _here)
    for spec in found:
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"shard_map of {name_of(f)}: {what} holds {spec!r}; its leaves are PartitionSpecs, and PartitionSpec() "
                f"is for what is whole on each device{_here()}"
            )
        check_spec(f"{what} of shard_map of {name_of(f)}", mesh, spec)
    return found


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec)


def _axes_of(f: Any, mesh: Mesh, axis_names: Any) -> tuple[Any, ...]:
    """The axes along which each device has its own values, in the mesh's order."""
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
