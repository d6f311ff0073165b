"""Requirements of convolutions on sizes and types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind
from ..ir.user_frames import user_line, where_text


def check_groups(name: str, x: Sequence[int], w: Sequence[int], numbers: Any) -> None:
    """Raise ValueError unless the sizes of batch and features fit the numbers of groups.

    ``x`` and ``w`` are the shapes of lhs and rhs; ``numbers`` is the operation, with its dimension numbers and group
    counts. ``name`` is the operation's name, for the message.
    """
    (batch, feature, *_), (out_axis, in_axis, *_), _ = numbers.dimension_numbers
    features, batches = numbers.feature_group_count, numbers.batch_group_count
    where = where_text(user_line())
    for argument, count in (("feature_group_count", features), ("batch_group_count", batches)):
        if count < 1:
            raise ValueError(f"{argument} of {name} is at least 1, got {count}{where}")
        if w[out_axis] % count:
            raise ValueError(
                f"{name}: {argument} {count} does not divide the {w[out_axis]} features that come out of rhs{where}"
            )
    if features > 1 and batches > 1:
        raise ValueError(
            f"{name} has groups of features or of the batch, got feature_group_count {features} and batch_group_count "
            f"{batches}{where}"
        )
    if x[feature] % features:
        raise ValueError(
            f"{name}: feature_group_count {features} does not divide the {x[feature]} features of lhs{where}"
        )
    if x[batch] % batches:
        raise ValueError(f"{name}: batch_group_count {batches} does not divide the batch of {x[batch]} of lhs{where}")
    if x[feature] // features != w[in_axis]:
        raise ValueError(
            f"{name}: lhs has {x[feature]} features in {features} group{'s' * (features > 1)}, rhs of shape {tuple(w)} "
            f"takes {w[in_axis]}{where}"
        )


def check_sum_type(name: str, dtype: np.dtype[Any], result: np.dtype[Any]) -> None:
    """Raise TypeError unless ``result`` is a valid preferred_element_type for operands of ``dtype``.

    ``name`` is the operation's name, for the message.
    """
    kinds = {"b": "b", "i": "iuf", "u": "iuf", "f": "f", "c": "c"}
    if dtype_kind(result) not in kinds[dtype_kind(dtype)]:
        raise TypeError(
            f"preferred_element_type of {name} is {result.name}, which operands of {dtype.name} are not summed in"
        )
    if dtype_kind(result) == dtype_kind(dtype) and result.itemsize < dtype.itemsize:
        raise TypeError(f"preferred_element_type of {name}, {result.name}, is narrower than the operands' {dtype.name}")
