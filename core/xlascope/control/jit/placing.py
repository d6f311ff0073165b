"""Where a jitted function was told that its arguments and results lie."""

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
    """A tree of shardings, as part of a key; a leaf is None where nothing was said."""

    leaves: tuple[Any, ...]
    structure: Any

    def for_tree(self, whom: str, what: str, whole: Any) -> list[Any]:
        """The sharding of each leaf of a tree that this one is a prefix of."""
        return leaves_of_prefix(whom, what, self.structure.unflatten(self.leaves), whole, _is_leaf, here)


def _is_leaf(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec | OnSeveral)


def told(what: str, given: Any) -> Told | None:
    """A tree of shardings that a user gives; None when it says nothing. Raises TypeError for leaves that are none."""
    leaves, structure = tree.flatten(given, is_leaf=_is_leaf)
    found = tuple(None if leaf is None else meant(f"{what} of jit", leaf) for leaf in leaves)
    return None if all(leaf is None for leaf in found) else Told(found, structure)


def meant(what: str, given: Any) -> Any:
    """The sharding that a user names: one, a PartitionSpec over the current mesh, or a device."""
    if isinstance(given, OnSeveral):
        return given
    if isinstance(given, PartitionSpec):
        return NamedSharding(required_mesh(what), given)
    try:
        return sharding_of(device_meant(given))
    except ValueError:
        raise TypeError(
            f"{what} holds NamedShardings, PartitionSpecs (with a current mesh), devices or None, got {given!r} of "
            f"type {type(given).__name__}{here()}"
        ) from None


def types_told(
    function: Any, arguments: Arguments, avals: Sequence[ShapedArray], given: Told
) -> tuple[ShapedArray, ...]:
    """The operands' types, with what ``in_shardings`` say of how they lie along explicit axes."""
    wanted = _told_of(function, arguments, given)
    return tuple(aval if told is None else typed(aval, told) for aval, told in zip(avals, wanted, strict=True))


def place_told(
    function: Any,
    arguments: Arguments,
    avals: Sequence[ShapedArray],
    out: tuple[Any, Sequence[ShapedArray]],
    given: Told | None,
    wanted: Told | None,
) -> Place:
    """Where a call runs whose arguments (``given``) or results (``wanted``) were told where to lie.

    ``out`` is the structure of the results, and their types. Raises ValueError for an argument that is committed to
    something else, and for a shape that cannot be cut so.
    """
    name = name_of(function)
    shardings = _of_operands(function, arguments, given)
    structure, out_avals = out
    results: list[Any] = [None] * len(out_avals)
    if wanted is not None:
        results = wanted.for_tree(f"jit of {name}", "out_shardings", structure.unflatten([0] * len(out_avals)))
    names = operand_names(function, arguments.structure)
    for argument, sharding, aval in zip(names, shardings, avals, strict=True):
        if isinstance(sharding, OnSeveral):
            sharding.check_shape(f"argument {argument} of {name}", aval.shape)
    for sharding, aval in zip(results, out_avals, strict=True):
        if isinstance(sharding, OnSeveral):
            sharding.check_shape(f"a result of {name}", aval.shape)
    every = [*shardings, *results]
    mesh = next((each.mesh for each in every if isinstance(each, NamedSharding)), None)
    if mesh is not None:
        wholes = [each if each is None or isinstance(each, OnSeveral) else None for each in results]
        return Place(mesh.flat[0], True, partition_over(mesh, shardings, wholes if any(wholes) else ()))
    devices = {each._device for each in every if each is not None}
    if len(devices) != 1:
        raise ValueError(f"jit of {name}: in_shardings and out_shardings name several devices{here()}: {devices}")
    return Place(devices.pop(), True)


def constrained_operands(function: Any, options: Options, arguments: Arguments) -> list[Any]:
    """The operands of a call within another program, which lie there as ``in_shardings`` say."""
    if options.in_shardings is None:
        return arguments.operands
    return _constrained(arguments.operands, _told_of(function, arguments, options.in_shardings))


def constrained_results(name: str, options: Options, structure: Any, results: list[Any]) -> list[Any]:
    """The results of such a call, which lie as ``out_shardings`` say."""
    if options.out_shardings is None:
        return results
    whole = structure.unflatten([0] * len(results))
    return _constrained(results, options.out_shardings.for_tree(f"jit of {name}", "out_shardings", whole))


def _constrained(values: Sequence[Any], shardings: Sequence[Any]) -> list[Any]:
    return [
        bind1(ShardingConstraint(sharding), x) if isinstance(sharding, NamedSharding) else x
        for x, sharding in zip(values, shardings, strict=True)
    ]


def _told_of(function: Any, arguments: Arguments, given: Told) -> list[Any]:
    """What ``in_shardings`` say of each operand."""
    args, kwargs = arguments.structure.unflatten(range(len(arguments.operands)))
    static = {i for i, _ in arguments.positional}
    dynamic = tuple(x for i, x in enumerate(args) if i not in static)
    one = len(dynamic) == 1 and not isinstance(given.structure.unflatten(given.leaves), tuple | list)
    found = given.for_tree(f"jit of {name_of(function)}", "in_shardings", dynamic[0] if one else dynamic)
    return [*found, *[None] * len(tree.leaves(kwargs))]


def _of_operands(function: Any, arguments: Arguments, given: Told | None) -> list[Any]:
    """How each operand is to lie: as it was told, or else as it does if it is committed."""
    operands = arguments.operands
    wanted: list[Any] = [None] * len(operands)
    if given is not None:
        wanted = _told_of(function, arguments, given)
    lying = []
    for i, (x, told_so) in enumerate(zip(operands, wanted, strict=True)):
        y = held(x)
        own = y.sharding if isinstance(y, ArrayImpl) and is_ours(y) and y._committed else None
        if own is not None and told_so is not None and not _equivalent(own, told_so, y.ndim):
            argument = operand_names(function, arguments.structure)[i]
            raise ValueError(
                f"argument {argument} of {name_of(function)} lies as {own}, and in_shardings says {told_so}{here()}: "
                "move it with device_put first, or leave it out of in_shardings (None)"
            )
        lying.append(told_so if told_so is not None else own)
    return lying


def _equivalent(own: Any, wanted: Any, rank: int) -> bool:
    if isinstance(own, OnSeveral):
        return own.is_equivalent_to(wanted, rank)
    return bool(wanted.is_equivalent_to(own, rank) if isinstance(wanted, OnSeveral) else own == wanted)
