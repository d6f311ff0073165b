"""Explicit sharding: types say along which axes of a mesh values are cut, and operations pass that on by their rules.

A rule is a method, ``sharding_rule(parts, operands, results)``: for each operand, for each of its axes the names that
cut it, to the same for the results. What rules have in common is checked here.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from ..errors import ShardingTypeError
from .avals import ShapedArray, laid
from .sources import user_line, where_text

#: For each axis of a value the names of the axes of a mesh that cut it, the slowest first.
Parts = tuple[tuple[Hashable, ...], ...]


def is_explicit(types: Sequence[ShapedArray]) -> bool:
    """Whether one of the types says how values lie."""
    return any(aval.explicit is not None for aval in types)


def parts_of(aval: ShapedArray) -> Parts:
    """How values of a type are cut along explicit axes.

    >>> from xlascope.ir.avals import shaped
    >>> import numpy as np
    >>> parts_of(shaped((2, 3), np.dtype("float32")))
    ((), ())
    """
    if aval.explicit is None:
        return ((),) * len(aval.shape)
    return tuple(() if part is None else part if isinstance(part, tuple) else (part,) for part in aval.explicit.spec)


def with_parts(aval: ShapedArray, explicit: Any, parts: Parts) -> ShapedArray:
    """The type of values cut so along the axes of the mesh of ``explicit``, a NamedSharding."""
    return laid(aval, explicit.with_spec(parts) if any(parts) else None)


def without_explicit_axis(aval: ShapedArray, axis: int, result: ShapedArray) -> ShapedArray:
    """``result``, the type without an axis, which lies along the others as ``aval`` does."""
    parts = parts_of(aval)
    return with_parts(result, aval.explicit, parts[:axis] + parts[axis + 1 :])


def with_explicit_axis(aval: ShapedArray, axis: int, result: ShapedArray) -> ShapedArray:
    """``result``, the type with one axis more, which is whole."""
    parts = parts_of(aval)
    return with_parts(result, aval.explicit, (*parts[:axis], (), *parts[axis:]))


def lying_results(operation: Any, types: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> list[ShapedArray]:
    """The results' types with what the operation's rule says of how they lie.

    Raises ShardingTypeError where that is not clear from how the operands lie.
    """
    known = [aval.explicit for aval in types if aval.explicit is not None]
    for other in known[1:]:
        if other.mesh != known[0].mesh:
            raise ShardingTypeError(
                f"{operation.name}: operands lie on different meshes, {known[0].mesh} and {other.mesh}{_here()}. Move "
                "one of them with reshard"
            )
    found: Sequence[Parts] = operation.sharding_rule([parts_of(aval) for aval in types], types, results)
    return [_lying(operation, types, known[0], aval, parts) for aval, parts in zip(results, found, strict=True)]


def _lying(operation: Any, types: Sequence[ShapedArray], known: Any, result: ShapedArray, parts: Parts) -> ShapedArray:
    names = [name for part in parts for name in part]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise unclear(operation, types, f"two axes of the result would be cut along {twice!r}")
    made = with_parts(result, known, parts)
    sizes = known.mesh.shape
    for size, part in zip(result.shape, parts, strict=True):
        cuts = math.prod(sizes[name] for name in part)
        if size % cuts:
            raise ShardingTypeError(
                f"{operation.name} of {_listed(types)} gives {made.str_short()}: an axis of size {size} cannot be cut "
                f"into {cuts} equal parts{_here()}. Make it whole with reshard first"
            )
    return made


def unclear(operation: Any, types: Sequence[ShapedArray], why: str, what: str = "") -> ShardingTypeError:
    """The error of a rule: why nobody can say how the results lie, and what to do about it."""
    return ShardingTypeError(
        f"{operation.name} of {_listed(types)}: {why}{_here()}. "
        + (what or "Say how the operands lie with reshard, or run this part under auto_axes")
    )


def _listed(types: Sequence[ShapedArray]) -> str:
    return ", ".join(aval.str_short() for aval in types)


def _here() -> str:
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
