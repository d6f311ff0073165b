"""Explicit sharding: types carry shardings along mesh axes, and operations propagate them by rules.

A rule is a method, ``sharding_rule(parts, operands, results)``. It maps the parts of the operands (for each
axis the names of the mesh axes that shard it) to the parts of the results. Conditions common to all rules are
checked here.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from ..errors import ShardingTypeError
from .avals import ShapedArray, with_explicit_sharding
from .user_frames import user_line, where_text

#: For each axis of a value the names of the axes of a mesh that cut it, the slowest first.
Parts = tuple[tuple[Hashable, ...], ...]


def is_explicit(types: Sequence[ShapedArray]) -> bool:
    """Return whether one of the types has an explicit sharding."""
    return any(aval.explicit is not None for aval in types)


def parts_of(aval: ShapedArray) -> Parts:
    """Return for each axis of a type the names of the explicit mesh axes that shard it, as a tuple.

    >>> from xlascope.ir.avals import make_aval
    >>> import numpy as np
    >>> parts_of(make_aval((2, 3), np.dtype("float32")))
    ((), ())
    """
    if aval.explicit is None:
        return ((),) * len(aval.shape)
    return tuple(() if part is None else part if isinstance(part, tuple) else (part,) for part in aval.explicit.spec)


def with_parts(aval: ShapedArray, explicit: Any, parts: Parts) -> ShapedArray:
    """Return the type sharded by ``parts`` along the axes of the mesh of ``explicit``, a NamedSharding.

    ``parts`` has for each axis of the type a tuple of names of mesh axes.
    """
    return with_explicit_sharding(aval, explicit.with_spec(parts) if any(parts) else None)


def without_explicit_axis(aval: ShapedArray, axis: int, result: ShapedArray) -> ShapedArray:
    """Return ``result``, the type of ``aval`` without ``axis``, with the sharding of the remaining axes."""
    parts = parts_of(aval)
    return with_parts(result, aval.explicit, parts[:axis] + parts[axis + 1 :])


def with_explicit_axis(aval: ShapedArray, axis: int, result: ShapedArray) -> ShapedArray:
    """Return ``result``, the type of ``aval`` with a new axis, with its sharding; the new axis is unsharded."""
    parts = parts_of(aval)
    return with_parts(result, aval.explicit, (*parts[:axis], (), *parts[axis:]))


def lying_results(operation: Any, types: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> list[ShapedArray]:
    """Return the types of an operation's results with the shardings that its ``sharding_rule`` gives.

    ``types`` are the types of the operands, ``results`` those of the results without shardings. Raises
    ShardingTypeError where the shardings do not follow from those of the operands.
    """
    specs = [aval.explicit for aval in types if aval.explicit is not None]
    for spec in specs[1:]:
        if spec.mesh != specs[0].mesh:
            raise ShardingTypeError(
                f"{operation.name}: operands lie on different meshes, {specs[0].mesh} and "
                f"{spec.mesh}{_user_location()}. Move "
                "one of them with reshard"
            )
    result_parts: Sequence[Parts] = operation.sharding_rule([parts_of(aval) for aval in types], types, results)
    return [
        _apply_result_parts(operation, types, specs[0], aval, parts)
        for aval, parts in zip(results, result_parts, strict=True)
    ]


def _apply_result_parts(
    operation: Any, types: Sequence[ShapedArray], like: Any, result: ShapedArray, parts: Parts
) -> ShapedArray:
    """Return the type of a result with the sharding that a rule gives; raise ShardingTypeError if it cannot be cut so.

    ``like`` is the sharding of an operand, from which the mesh is taken; ``parts`` are the names of mesh axes
    by axis.
    """
    names = [name for part in parts for name in part]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise unclear(operation, types, f"two axes of the result would be cut along {twice!r}")
    typed = with_parts(result, like, parts)
    sizes = like.mesh.shape
    for size, part in zip(result.shape, parts, strict=True):
        cuts = math.prod(sizes[name] for name in part)
        if size % cuts:
            raise ShardingTypeError(
                f"{operation.name} of {_format_types(types)} gives {typed.str_short()}: an axis of size {size} "
                "cannot be cut "
                f"into {cuts} equal parts{_user_location()}. Make it whole with reshard first"
            )
    return typed


def unclear(operation: Any, types: Sequence[ShapedArray], why: str, advice: str = "") -> ShardingTypeError:
    """Return the error of a sharding rule that cannot determine the shardings of results.

    ``types`` are the types of the operands, ``why`` is the reason, ``advice`` replaces the default advice.
    """
    return ShardingTypeError(
        f"{operation.name} of {_format_types(types)}: {why}{_user_location()}. "
        + (advice or "Say how the operands lie with reshard, or run this part under auto_axes")
    )


def _format_types(types: Sequence[ShapedArray]) -> str:
    return ", ".join(aval.str_short() for aval in types)


def _user_location() -> str:
    return where_text(user_line())


__all__ = [
    "Parts",
    "is_explicit",
    "lying_results",
    "parts_of",
    "unclear",
    "with_explicit_axis",
    "with_parts",
    "without_explicit_axis",
]
