"""in_shardings and out_shardings of jit: their resolution, their effect on types, and the placement of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import tree
from ...ir.avals import ShapedArray
from ...operations.sharding_constraints import ShardingConstraint
from ...trace.bind import bind1
from ...trace.source import compose_message, here
from ...xla.arrays.key_array import to_physical
from ...xla.execution.placement import Placement, committed_sharding, partition_on_mesh
from ...xla.sharding.meshes import PartitionSpec, require_mesh
from ...xla.sharding.named_shardings import MultiDeviceSharding, NamedSharding, aval_with_sharding
from ...xla.sharding.single_device import resolve_device, single_device_sharding
from ..programs.function_names import name_of, operand_names
from ..programs.tree_prefixes import broadcast_prefix_leaves
from .arguments import CallArguments, JitOptions


class ResolvedShardings(NamedTuple):
    """Hashable tree of requested shardings; a leaf is None where the user set no sharding."""

    leaves: tuple[Any, ...]
    structure: Any

    def for_tree(self, caller: str, arg_name: str, full_tree: Any) -> list[Any]:
        """Return the sharding of each leaf of ``full_tree``, of which this tree is a prefix.

        Raises ValueError if it is no prefix; the message names ``caller`` and ``arg_name``.
        """
        return broadcast_prefix_leaves(
            caller, arg_name, self.structure.unflatten(self.leaves), full_tree, _is_leaf, here
        )


def _is_leaf(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec | MultiDeviceSharding)


def resolve_shardings(argument_name: str, shardings_tree: Any) -> ResolvedShardings | None:
    """Return a user's tree of shardings with all leaves resolved; None if it has no shardings.

    ``argument_name`` is for messages. Raises TypeError for a leaf that is no sharding, spec or device.
    """
    leaves, structure = tree.flatten(shardings_tree, is_leaf=_is_leaf)
    resolved = tuple(None if leaf is None else resolve_sharding(f"{argument_name} of jit", leaf) for leaf in leaves)
    return None if all(leaf is None for leaf in resolved) else ResolvedShardings(resolved, structure)


def resolve_sharding(name: str, value: Any) -> Any:
    """Return a sharding for what a user may pass: a sharding, a PartitionSpec over the current mesh, or a device.

    ``name`` is for messages. Raises TypeError for anything else.
    """
    if isinstance(value, MultiDeviceSharding):
        return value
    if isinstance(value, PartitionSpec):
        return NamedSharding(require_mesh(name), value)
    try:
        return single_device_sharding(resolve_device(value))
    except ValueError:
        raise TypeError(
            f"{name} holds NamedShardings, PartitionSpecs (with a current mesh), devices or None, got {value!r} of "
            f"type {type(value).__name__}{here()}"
        ) from None


def apply_in_shardings(
    function: Any, arguments: CallArguments, avals: Sequence[ShapedArray], in_shardings: ResolvedShardings
) -> tuple[ShapedArray, ...]:
    """Return the operands' types ``avals`` with the shardings that ``in_shardings`` request along explicit axes."""
    requested = _requested_in_shardings(function, arguments, in_shardings)
    return tuple(
        aval if sharding is None else aval_with_sharding(aval, sharding)
        for aval, sharding in zip(avals, requested, strict=True)
    )


def place_for_shardings(
    function: Any,
    arguments: CallArguments,
    avals: Sequence[ShapedArray],
    result_types: tuple[Any, Sequence[ShapedArray]],
    in_shardings: ResolvedShardings | None,
    out_shardings: ResolvedShardings | None,
) -> Placement:
    """Return the placement of a call that has ``in_shardings`` or ``out_shardings``.

    ``avals`` are the operands' types, ``result_types`` is the structure of the results and their types. Raises
    ValueError for an argument that is committed to another sharding, for a shape that cannot be sharded so, and for
    several devices without a mesh.
    """
    name = name_of(function)
    shardings = _operand_shardings(function, arguments, in_shardings)
    structure, out_avals = result_types
    results: list[Any] = [None] * len(out_avals)
    if out_shardings is not None:
        results = out_shardings.for_tree(f"jit of {name}", "out_shardings", structure.unflatten([0] * len(out_avals)))
    names = operand_names(function, arguments.structure)
    for argument, sharding, aval in zip(names, shardings, avals, strict=True):
        if isinstance(sharding, MultiDeviceSharding):
            sharding.check_shape(f"argument {argument} of {name}", aval.shape)
    for sharding, aval in zip(results, out_avals, strict=True):
        if isinstance(sharding, MultiDeviceSharding):
            sharding.check_shape(f"a result of {name}", aval.shape)
    all_shardings = [*shardings, *results]
    mesh = next(
        (sharding_or_none.mesh for sharding_or_none in all_shardings if isinstance(sharding_or_none, NamedSharding)),
        None,
    )
    if mesh is not None:
        result_shardings = [
            sharding_or_none if sharding_or_none is None or isinstance(sharding_or_none, MultiDeviceSharding) else None
            for sharding_or_none in results
        ]
        return Placement(
            mesh.flat[0], True, partition_on_mesh(mesh, shardings, result_shardings if any(result_shardings) else ())
        )
    devices = {sharding_or_none._device for sharding_or_none in all_shardings if sharding_or_none is not None}
    if len(devices) != 1:
        raise ValueError(f"jit of {name}: in_shardings and out_shardings name several devices{here()}: {devices}")
    return Placement(devices.pop(), True)


def constrain_operands(function: Any, options: JitOptions, arguments: CallArguments) -> list[Any]:
    """Return the operands of a call under another trace, constrained to ``in_shardings``."""
    if options.in_shardings is None:
        return arguments.operands
    return _constrain(arguments.operands, _requested_in_shardings(function, arguments, options.in_shardings))


def constrain_results(name: str, options: JitOptions, structure: Any, results: list[Any]) -> list[Any]:
    """Return the flat results of a call under another trace, constrained to ``out_shardings``.

    ``name`` is the function's, ``structure`` that of the results.
    """
    if options.out_shardings is None:
        return results
    full_tree = structure.unflatten([0] * len(results))
    return _constrain(results, options.out_shardings.for_tree(f"jit of {name}", "out_shardings", full_tree))


def _constrain(values: Sequence[Any], shardings: Sequence[Any]) -> list[Any]:
    return [
        bind1(ShardingConstraint(sharding), x) if isinstance(sharding, NamedSharding) else x
        for x, sharding in zip(values, shardings, strict=True)
    ]


def _requested_in_shardings(function: Any, arguments: CallArguments, in_shardings: ResolvedShardings) -> list[Any]:
    """Return the sharding that ``in_shardings`` request for each operand, None for no request.

    They are a prefix of the dynamic positional arguments; operands of keyword arguments have none.
    """
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


def _operand_shardings(function: Any, arguments: CallArguments, in_shardings: ResolvedShardings | None) -> list[Any]:
    """Return the sharding of each operand: the requested one, else that of a committed array, else None.

    Raises ValueError for an array that is committed to another sharding than the requested one.
    """
    operands = arguments.operands
    requested: list[Any] = [None] * len(operands)
    if in_shardings is not None:
        requested = _requested_in_shardings(function, arguments, in_shardings)
    shardings = []
    for i, (x, target) in enumerate(zip(operands, requested, strict=True)):
        y = to_physical(x)
        actual = committed_sharding(y)
        if actual is not None and target is not None and not _is_equivalent(actual, target, len(y.aval.shape)):
            argument = operand_names(function, arguments.structure)[i]
            raise ValueError(
                f"argument {argument} of {name_of(function)} lies as {actual}, and in_shardings says {target}{here()}: "
                "move it with device_put first, or leave it out of in_shardings (None)"
            )
        if not isinstance(actual, MultiDeviceSharding) and _is_split_among_processes(target):
            argument = operand_names(function, arguments.structure)[i]
            raise ValueError(_explain_unshared(f"argument {argument} of {name_of(function)}", x, target))
        shardings.append(target if target is not None else actual)
    return shardings


def _is_split_among_processes(sharding: Any) -> bool:
    return (
        isinstance(sharding, MultiDeviceSharding)
        and not sharding.is_fully_replicated
        and not sharding.is_fully_addressable
    )


def _explain_unshared(argument: str, x: Any, sharding: Any) -> str:
    """Return the message for a value of one process that in_shardings split among several.

    Each process would cut its part from a value of its own, and nothing says that these are equal.
    """
    problem = f"{argument} is a value of this process alone ({type(x).__name__}), and in_shardings says {sharding}."
    fix = (
        "Make an array of all processes first: make_array_from_process_local_data(sharding, x) of the part that this "
        "process has, or device_put(x, sharding) of a value that is equal in all processes."
    )
    return compose_message(problem, fix)


def _is_equivalent(actual: Any, requested: Any, rank: int) -> bool:
    if isinstance(actual, MultiDeviceSharding):
        return actual.is_equivalent_to(requested, rank)
    return bool(
        requested.is_equivalent_to(actual, rank) if isinstance(requested, MultiDeviceSharding) else actual == requested
    )
