"""in_shardings and out_shardings of jit: resolution, types, and the place where a call runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import tree
from ...ir.avals import ShapedArray
from ...operations.sharding_constraints import ShardingConstraint
from ...trace.bind import bind1
from ...trace.source import here
from ...xla.arrays.key_array import held
from ...xla.devices.backend import ArrayImpl
from ...xla.devices.faces import is_ours
from ...xla.running.places import Place, partition_over
from ...xla.sharding.meshes import PartitionSpec, required_mesh
from ...xla.sharding.named_shardings import NamedSharding, OnSeveral, typed
from ...xla.sharding.shardings import device_meant, sharding_of
from ..programs.names import name_of, operand_names
from ..programs.prefixes import leaves_of_prefix
from .arguments import Arguments, Options


class Told(NamedTuple):
    """Tree of shardings as part of a key; a leaf is None if the user set no sharding."""

    leaves: tuple[Any, ...]
    structure: Any

    def for_tree(self, caller: str, arg_name: str, full_tree: Any) -> list[Any]:
        """Return the sharding of each leaf of a tree that this tree is a prefix of."""
        return leaves_of_prefix(caller, arg_name, self.structure.unflatten(self.leaves), full_tree, _is_leaf, here)


def _is_leaf(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec | OnSeveral)


def told(argument_name: str, shardings_tree: Any) -> Told | None:
    """Return a user's tree of shardings; None if it has no shardings. Raise TypeError for invalid leaves."""
    leaves, structure = tree.flatten(shardings_tree, is_leaf=_is_leaf)
    resolved = tuple(None if leaf is None else meant(f"{argument_name} of jit", leaf) for leaf in leaves)
    return None if all(leaf is None for leaf in resolved) else Told(resolved, structure)


def meant(name: str, value: Any) -> Any:
    """Return the sharding of a user's argument: a sharding, a PartitionSpec over the current mesh, or a device."""
    if isinstance(value, OnSeveral):
        return value
    if isinstance(value, PartitionSpec):
        return NamedSharding(required_mesh(name), value)
    try:
        return sharding_of(device_meant(value))
    except ValueError:
        raise TypeError(
            f"{name} holds NamedShardings, PartitionSpecs (with a current mesh), devices or None, got {value!r} of "
            f"type {type(value).__name__}{here()}"
        ) from None


def types_told(
    function: Any, arguments: Arguments, avals: Sequence[ShapedArray], in_shardings: Told
) -> tuple[ShapedArray, ...]:
    """Return the operands' types with the explicit axes of ``in_shardings``."""
    requested = _told_of(function, arguments, in_shardings)
    return tuple(
        aval if sharding is None else typed(aval, sharding) for aval, sharding in zip(avals, requested, strict=True)
    )


def place_told(
    function: Any,
    arguments: Arguments,
    avals: Sequence[ShapedArray],
    result_types: tuple[Any, Sequence[ShapedArray]],
    in_shardings: Told | None,
    out_shardings: Told | None,
) -> Place:
    """Return where a call runs that has ``in_shardings`` or ``out_shardings``.

    ``result_types`` is the structure of the results, and their types. Raises ValueError for an argument that is
    committed to another sharding, and for a shape that cannot be sharded so.
    """
    name = name_of(function)
    shardings = _of_operands(function, arguments, in_shardings)
    structure, out_avals = result_types
    results: list[Any] = [None] * len(out_avals)
    if out_shardings is not None:
        results = out_shardings.for_tree(f"jit of {name}", "out_shardings", structure.unflatten([0] * len(out_avals)))
    names = operand_names(function, arguments.structure)
    for argument, sharding, aval in zip(names, shardings, avals, strict=True):
        if isinstance(sharding, OnSeveral):
            sharding.check_shape(f"argument {argument} of {name}", aval.shape)
    for sharding, aval in zip(results, out_avals, strict=True):
        if isinstance(sharding, OnSeveral):
            sharding.check_shape(f"a result of {name}", aval.shape)
    all_shardings = [*shardings, *results]
    mesh = next(
        (sharding_or_none.mesh for sharding_or_none in all_shardings if isinstance(sharding_or_none, NamedSharding)),
        None,
    )
    if mesh is not None:
        result_shardings = [
            sharding_or_none if sharding_or_none is None or isinstance(sharding_or_none, OnSeveral) else None
            for sharding_or_none in results
        ]
        return Place(
            mesh.flat[0], True, partition_over(mesh, shardings, result_shardings if any(result_shardings) else ())
        )
    devices = {sharding_or_none._device for sharding_or_none in all_shardings if sharding_or_none is not None}
    if len(devices) != 1:
        raise ValueError(f"jit of {name}: in_shardings and out_shardings name several devices{here()}: {devices}")
    return Place(devices.pop(), True)


def constrained_operands(function: Any, options: Options, arguments: Arguments) -> list[Any]:
    """Return the operands of a call within another program, constrained to ``in_shardings``."""
    if options.in_shardings is None:
        return arguments.operands
    return _constrained(arguments.operands, _told_of(function, arguments, options.in_shardings))


def constrained_results(name: str, options: Options, structure: Any, results: list[Any]) -> list[Any]:
    """Return the results of a call within another program, constrained to ``out_shardings``."""
    if options.out_shardings is None:
        return results
    full_tree = structure.unflatten([0] * len(results))
    return _constrained(results, options.out_shardings.for_tree(f"jit of {name}", "out_shardings", full_tree))


def _constrained(values: Sequence[Any], shardings: Sequence[Any]) -> list[Any]:
    return [
        bind1(ShardingConstraint(sharding), x) if isinstance(sharding, NamedSharding) else x
        for x, sharding in zip(values, shardings, strict=True)
    ]


def _told_of(function: Any, arguments: Arguments, in_shardings: Told) -> list[Any]:
    """Return the sharding that ``in_shardings`` request for each operand."""
    args, kwargs = arguments.structure.unflatten(range(len(arguments.operands)))
    static = {i for i, _ in arguments.positional}
    dynamic = tuple(x for i, x in enumerate(args) if i not in static)
    is_single = len(dynamic) == 1 and not isinstance(
        in_shardings.structure.unflatten(in_shardings.leaves), tuple | list
    )
    dynamic_shardings = in_shardings.for_tree(
        f"jit of {name_of(function)}", "in_shardings", dynamic[0] if is_single else dynamic
    )
    return [*dynamic_shardings, *[None] * len(tree.leaves(kwargs))]


def _of_operands(function: Any, arguments: Arguments, in_shardings: Told | None) -> list[Any]:
    """Return the sharding of each operand: the requested one, else that of a committed array."""
    operands = arguments.operands
    requested: list[Any] = [None] * len(operands)
    if in_shardings is not None:
        requested = _told_of(function, arguments, in_shardings)
    shardings = []
    for i, (x, target) in enumerate(zip(operands, requested, strict=True)):
        y = held(x)
        actual = y.sharding if isinstance(y, ArrayImpl) and is_ours(y) and y._committed else None
        if actual is not None and target is not None and not _equivalent(actual, target, y.ndim):
            argument = operand_names(function, arguments.structure)[i]
            raise ValueError(
                f"argument {argument} of {name_of(function)} lies as {actual}, and in_shardings says {target}{here()}: "
                "move it with device_put first, or leave it out of in_shardings (None)"
            )
        shardings.append(target if target is not None else actual)
    return shardings


def _equivalent(actual: Any, requested: Any, rank: int) -> bool:
    if isinstance(actual, OnSeveral):
        return actual.is_equivalent_to(requested, rank)
    return bool(requested.is_equivalent_to(actual, rank) if isinstance(requested, OnSeveral) else actual == requested)
