"""The order in which einsum multiplies its operands, chosen by opt_einsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .axes import is_several, whole_number

#: Steps: positions of the operands to multiply, which are removed from the list; their product is appended.
Path = tuple[tuple[int, ...], ...]
#: Common optimizers, for which the path of two operands is trivial.
_NAMED = ("auto", "optimal", "greedy")


def checked(optimize: Any) -> str | Path:
    """Return the ``optimize`` argument as a hashable static value: the name of an optimizer, or a path."""
    if optimize is False:
        return "as written"
    if isinstance(optimize, (bool, str)):
        return "optimal" if isinstance(optimize, bool) else optimize
    if not is_several(optimize):
        raise TypeError(f"optimize is True, False, the name of a way to choose, or a path, got {optimize!r}")
    steps = [step for step in optimize if not isinstance(step, str)]  # NumPy's begin with the name einsum_path
    return tuple(tuple(whole_number(position, "a place in optimize") for position in step) for step in steps)


def path_of(names: Sequence[str], result: str, sizes: dict[str, int], optimize: str | Path) -> Path:
    """Return the steps for operands with these axis letters; raise ValueError if a given path does not fit."""
    count = len(names)
    if not isinstance(optimize, str):
        return _fitting(optimize, count)
    if optimize == "as written":
        return tuple((0, 1) if i == 0 else (0, count - 1 - i) for i in range(count - 1))
    if count < 3 and optimize in _NAMED:
        return (tuple(range(count)),)
    return tuple(tuple(sorted(step)) for step in cost_of(names, result, sizes, optimize)[0])


def cost_of(names: Sequence[str], result: str, sizes: dict[str, int], optimize: str | Path) -> tuple[Any, Any]:
    """Return a path, and opt_einsum's description of its cost."""
    import opt_einsum  # noqa: PLC0415 -- most programs multiply two operands and have no use for it

    shapes = [tuple(sizes[letter] for letter in name) for name in names]
    optimizer = optimize if isinstance(optimize, str) else list(optimize)
    try:
        contraction = opt_einsum.contract_path(f"{','.join(names)}->{result}", *shapes, shapes=True, optimize=optimizer)
    except KeyError as error:
        raise ValueError(f"optimize: {error.args[0]}") from None
    path, info = contraction
    return path, info


def _fitting(path: Path, count: int) -> Path:
    """Return the path, completed by a last step if operands remain; raise ValueError for an invalid step."""
    remaining = count
    for step in path:
        if len(set(step)) != len(step) or not step or not all(0 <= position < remaining for position in step):
            raise ValueError(f"optimize has the step {step}, where {remaining} operands are left")
        remaining -= len(step) - 1
    return path if remaining == 1 else (*path, tuple(range(remaining)))
