"""The order in which einsum multiplies its operands, chosen by opt_einsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .axes import is_several, whole_number

#: Steps: positions of the operands to multiply, which are removed from the list; their product is appended.
ContractionPath = tuple[tuple[int, ...], ...]
#: Common optimizers, for which the path of two operands is trivial.
_STANDARD_OPTIMIZERS = ("auto", "optimal", "greedy")


def to_static_optimize(optimize: Any) -> str | ContractionPath:
    """Return the ``optimize`` argument of einsum as a hashable static value: the name of an optimizer, or a path.

    True becomes "optimal", False "as written". A path is a tuple of steps; a step holds the positions of the
    operands that are multiplied. Raises TypeError for other values.
    """
    if optimize is False:
        return "as written"
    if isinstance(optimize, (bool, str)):
        return "optimal" if isinstance(optimize, bool) else optimize
    if not is_several(optimize):
        raise TypeError(f"optimize is True, False, the name of a way to choose, or a path, got {optimize!r}")
    steps = [step for step in optimize if not isinstance(step, str)]  # NumPy's begin with the name einsum_path
    return tuple(tuple(whole_number(position, "a place in optimize") for position in step) for step in steps)


def contraction_path(
    names: Sequence[str], result: str, sizes: dict[str, int], optimize: str | ContractionPath
) -> ContractionPath:
    """Return the steps in which einsum multiplies its operands.

    A step holds the positions of operands in the list; they are removed, and their product is appended. ``names``
    are the axis letters of each operand, ``result`` those of the result, ``sizes`` the axis size of each letter;
    ``optimize`` is the name of an optimizer, or a path. Raises ValueError if that path does not fit the operands.
    """
    count = len(names)
    if not isinstance(optimize, str):
        return _complete_path(optimize, count)
    if optimize == "as written":
        return tuple((0, 1) if i == 0 else (0, count - 1 - i) for i in range(count - 1))
    if count < 3 and optimize in _STANDARD_OPTIMIZERS:
        return (tuple(range(count)),)
    return tuple(tuple(sorted(step)) for step in path_and_cost(names, result, sizes, optimize)[0])


def path_and_cost(
    names: Sequence[str], result: str, sizes: dict[str, int], optimize: str | ContractionPath
) -> tuple[Any, Any]:
    """Return opt_einsum's path, and its description of the cost.

    The arguments are those of :func:`contraction_path`. Raises ValueError for an unknown optimizer.
    """
    import opt_einsum  # noqa: PLC0415 -- most programs multiply two operands and have no use for it

    shapes = [tuple(sizes[letter] for letter in name) for name in names]
    optimizer = optimize if isinstance(optimize, str) else list(optimize)
    try:
        contraction = opt_einsum.contract_path(f"{','.join(names)}->{result}", *shapes, shapes=True, optimize=optimizer)
    except KeyError as error:
        raise ValueError(f"optimize: {error.args[0]}") from None
    path, info = contraction
    return path, info


def _complete_path(path: ContractionPath, count: int) -> ContractionPath:
    """Return a path for ``count`` operands, with a last step that multiplies those that remain, if several do.

    Raises ValueError for a step that is empty, names an operand twice, or names one that is not there.
    """
    remaining = count
    for step in path:
        if len(set(step)) != len(step) or not step or not all(0 <= position < remaining for position in step):
            raise ValueError(f"optimize has the step {step}, where {remaining} operands are left")
        remaining -= len(step) - 1
    return path if remaining == 1 else (*path, tuple(range(remaining)))
