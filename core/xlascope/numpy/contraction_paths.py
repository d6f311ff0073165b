"""In which order einsum multiplies its operands, as opt_einsum chooses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .axes import is_several, whole_number

#: Steps: the places of the operands to multiply, which are taken out of the list; their product goes to its end.
Path = tuple[tuple[int, ...], ...]
#: The names that most programs give, for which two operands need no choice.
_NAMED = ("auto", "optimal", "greedy")


def checked(optimize: Any) -> str | Path:
    """The ``optimize`` argument as a value that can be static: the name of a way to choose, or the order itself."""
    if optimize is False:
        return "as written"
    if isinstance(optimize, (bool, str)):
        return "optimal" if isinstance(optimize, bool) else optimize
    if not is_several(optimize):
        raise TypeError(f"optimize is True, False, the name of a way to choose, or a path, got {optimize!r}")
    steps = [step for step in optimize if not isinstance(step, str)]  # NumPy's begin with the name einsum_path
    return tuple(tuple(whole_number(place, "a place in optimize") for place in step) for step in steps)


def path_of(names: Sequence[str], result: str, sizes: dict[str, int], optimize: str | Path) -> Path:
    """The steps for operands whose axes have those letters; raises ValueError for steps that do not fit them."""
    count = len(names)
    if not isinstance(optimize, str):
        return _fitting(optimize, count)
    if optimize == "as written":
        return tuple((0, 1) if i == 0 else (0, count - 1 - i) for i in range(count - 1))
    if count < 3 and optimize in _NAMED:
        return (tuple(range(count)),)
    return tuple(tuple(sorted(step)) for step in cost_of(names, result, sizes, optimize)[0])


def cost_of(names: Sequence[str], result: str, sizes: dict[str, int], optimize: str | Path) -> tuple[Any, Any]:
    """A path, and opt_einsum's account of what following it costs."""
    import opt_einsum  # noqa: PLC0415 -- most programs multiply two operands and have no use for it

    shapes = [tuple(sizes[letter] for letter in name) for name in names]
    way = optimize if isinstance(optimize, str) else list(optimize)
    try:
        found = opt_einsum.contract_path(f"{','.join(names)}->{result}", *shapes, shapes=True, optimize=way)
    except KeyError as error:
        raise ValueError(f"optimize: {error.args[0]}") from None
    path, account = found
    return path, account


def _fitting(path: Path, count: int) -> Path:
    left = count
    for step in path:
        if len(set(step)) != len(step) or not step or not all(0 <= place < left for place in step):
            raise ValueError(f"optimize has the step {step}, where {left} operands are left")
        left -= len(step) - 1
    return path if left == 1 else (*path, tuple(range(left)))
