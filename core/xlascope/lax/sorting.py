"""Sorting with JAX's signatures."""

from __future__ import annotations

from typing import Any

from ..operations import sorting
from ..operations.operand_checks import require_kind
from ..operations.operand_values import dtype_of
from ..operations.tangent_arithmetic import neg
from ..trace.source import here


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sort the operand along an axis; sort several operands by the first ``num_keys`` of them.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.sort(jnp.array([3, 1, 2])))
    [1 2 3]
    """
    if isinstance(operand, (list, tuple)):
        return tuple(sorting.sort(list(operand), dimension, is_stable, num_keys))
    return sorting.sort([operand], dimension, is_stable, num_keys)[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Sort two arrays by the elements of the first, and return both."""
    first, second = sorting.sort([keys, values], dimension, is_stable)
    return first, second


def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Any]:
    """Return the ``k`` largest elements along an axis, largest first, and their indices; NaN counts as the largest.

    >>> from xlascope import lax, numpy as jnp
    >>> print(*lax.top_k(jnp.array([3.0, 1.0, 2.0]), 2))
    [3. 2.] [0 2]
    """
    return sorting.top_k(operand, k, axis)


def approx_max_k(
    operand: Any, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
    reduction_input_size_override: int = -1, aggregate_to_topk: bool = True,
) -> list[Any]:  # fmt: skip
    """Return the ``k`` largest elements along an axis and their indices, exact whatever ``recall_target`` is."""
    _check_approximate("approx_max_k", operand, aggregate_to_topk)
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(
    operand: Any, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
    reduction_input_size_override: int = -1, aggregate_to_topk: bool = True,
) -> list[Any]:  # fmt: skip
    """Return the ``k`` smallest elements along an axis and their indices, exact whatever ``recall_target`` is."""
    _check_approximate("approx_min_k", operand, aggregate_to_topk)
    values, positions = top_k(neg(operand), k, axis=reduction_dimension)
    return [neg(values), positions]


def _check_approximate(name: str, operand: Any, aggregate_to_topk: Any) -> None:
    require_kind(name, dtype_of(operand), "f")
    if not isinstance(aggregate_to_topk, bool):
        raise TypeError(f"aggregate_to_topk of {name} is True or False, got {aggregate_to_topk!r}{here()}")
