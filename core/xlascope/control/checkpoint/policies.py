"""Policies for checkpoint: which values are saved for the derivative although they could be recomputed."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from ...ir.avals import ShapedArray
from ...ir.operation import Operation

#: Function of (primitive, *operands' types, **parameters) that returns whether the equation's results are saved.
Policy = Callable[..., Any]


class Offloadable:
    """Decision of a policy to store a value in another memory.

    ``src`` and ``dst`` are memory kinds as the device names them, such as ``device`` and ``pinned_host``.
    """

    def __init__(self, src: str, dst: str) -> None:
        self.src = src
        self.dst = dst


def should_save(policy: Policy, operation: Operation, operands: Sequence[ShapedArray]) -> bool:
    """Return whether a policy saves the results of an operation on operands of these types.

    Results that the policy wants to offload count as saved: they stay in device memory.
    """
    return bool(policy(operation.primitive, *operands, **operation.params))


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Save all values: checkpoint then saves no memory."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Save no values: everything is recomputed."""
    return False


def dots_saveable(primitive: Any, *_: Any, **__: Any) -> bool:
    """Save the results of matrix products and convolutions, which are expensive to recompute."""
    return primitive.name in ("dot_general", "conv_general_dilated")


def dots_with_no_batch_dims_saveable(primitive: Any, *_: Any, **params: Any) -> bool:
    """Save the results of matrix products without batch axes: those of dense layers, not attention scores."""
    if primitive.name != "dot_general":
        return False
    _, (batch, _) = params["dimension_numbers"]
    return not batch


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Return a policy that offloads the results that :func:`dots_with_no_batch_dims_saveable` saves.

    ``offload_src`` and ``offload_dst`` are the memory kinds between which they move.
    """

    def policy(primitive: Any, *operands: Any, **params: Any) -> Any:
        is_saveable = dots_with_no_batch_dims_saveable(primitive, *operands, **params)
        return Offloadable(offload_src, offload_dst) if is_saveable else False

    return policy


def _name_of(primitive: Any, params: dict[str, Any]) -> Any:
    return params["name"] if primitive.name == "name" else None


def save_only_these_names(*names: str) -> Policy:
    """Return a policy that saves only values that ``checkpoint_name`` gave one of these names."""
    saved_names = frozenset(names)

    def policy(primitive: Any, *_: Any, **params: Any) -> bool:
        return _name_of(primitive, params) in saved_names

    return policy


def save_any_names_but_these(*names: str) -> Policy:
    """Return a policy that saves all values with a ``checkpoint_name`` except those with one of these names."""
    unwanted = frozenset(names)

    def policy(primitive: Any, *_: Any, **params: Any) -> bool:
        name = _name_of(primitive, params)
        return name is not None and name not in unwanted

    return policy


def save_anything_except_these_names(*names: str) -> Policy:
    """Return a policy that saves all values, named or not, except those with one of these names."""
    unwanted = frozenset(names)

    def policy(primitive: Any, *_: Any, **params: Any) -> bool:
        return _name_of(primitive, params) not in unwanted

    return policy


def save_from_both_policies(first: Policy, second: Policy) -> Policy:
    """Return a policy that saves what at least one of two policies saves."""

    def policy(primitive: Any, *operands: Any, **params: Any) -> Any:
        return first(primitive, *operands, **params) or second(primitive, *operands, **params)

    return policy


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Sequence[str],
    names_which_can_be_offloaded: Sequence[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Return a policy that saves some named values, offloads others, and recomputes the rest.

    ``offload_src`` and ``offload_dst`` are the memory kinds between which values are moved.
    """
    saved, offloaded = frozenset(names_which_can_be_saved), frozenset(names_which_can_be_offloaded)

    def policy(primitive: Any, *_: Any, **params: Any) -> Any:
        name = _name_of(primitive, params)
        return name in saved or (Offloadable(offload_src, offload_dst) if name in offloaded else False)

    return policy


checkpoint_policies = types.SimpleNamespace(
    checkpoint_dots=dots_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    dots_saveable=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_anything_except_these_names=save_anything_except_these_names,
    save_from_both_policies=save_from_both_policies,
    save_only_these_names=save_only_these_names,
)
