"""In which order einsum multiplies its operands."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .axes import is_several, whole_number

#: Steps: the places of the operands to multiply, which are taken out of the list; their product goes to its end.
Path = tuple[tuple[int, ...], ...]
#: Up to so many operands all orders are compared.
_FEW = 5


class PathInfo(NamedTuple):
    """What an order of products costs, in multiplications and additions, and in elements."""

    expression: str
    naive_flops: int
    flops: int
    largest_intermediate: int

    def __str__(self) -> str:
        return (
            f"{self.expression}\n  at once: {self.naive_flops} flops\n  in this order: {self.flops} flops\n"
            f"  largest intermediate: {self.largest_intermediate} elements"
        )


def checked(optimize: Any) -> str | Path:
    """The ``optimize`` argument as a value that can be static: the name of a way to choose, or the order itself."""
    if optimize is False:
        return "as written"
    if isinstance(optimize, (bool, str)):
        return "auto" if isinstance(optimize, bool) else optimize
    if not is_several(optimize):
        raise TypeError(f"optimize is True, False, the name of a way to choose, or a path, got {optimize!r}")
    steps = [step for step in optimize if not isinstance(step, str)]  # NumPy's begin with the name einsum_path
    return tuple(tuple(whole_number(place, "a place in optimize") for place in step) for step in steps)


def path_of(names: Sequence[str], result: str, sizes: dict[str, int], optimize: str | Path) -> Path:
    """The steps for operands whose axes have those letters; raises ValueError for steps that do not fit them."""
    if not isinstance(optimize, str):
        return _fitting(optimize, len(names))
    if optimize == "as written":
        count = len(names)
        return tuple((0, 1) if i == 0 else (0, count - 1 - i) for i in range(count - 1))
    if len(names) <= _FEW and optimize != "greedy":
        return _best(tuple(names), result, sizes, math.inf)[1] or ()
    return _greedy(names, result, sizes)


def _fitting(path: Path, count: int) -> Path:
    left = count
    for step in path:
        if len(set(step)) != len(step) or not step or not all(0 <= place < left for place in step):
            raise ValueError(f"optimize has the step {step}, where {left} operands are left")
        left -= len(step) - 1
    return path if left == 1 else (*path, tuple(range(left)))


def flops_of(letters: Sequence[str], kept: set[str], sizes: dict[str, int]) -> int:
    """Operations of a product over all axes of its operands: the multiplications, and additions if an axis goes."""
    every = set().union(*letters)
    work = max(1, len(letters) - 1) + bool(every - kept)
    return work * math.prod(sizes[letter] for letter in every)


def merged(names: Sequence[str], step: Sequence[int], result: str) -> tuple[tuple[str, ...], str]:
    """The operands that are left after a step, its product last, and the letters of that product."""
    rest = [name for i, name in enumerate(names) if i not in step]
    needed = set(result).union(*rest)
    product = "".join(dict.fromkeys(letter for i in step for letter in names[i] if letter in needed))
    return (*rest, product), product


def _best(names: tuple[str, ...], result: str, sizes: dict[str, int], limit: float) -> tuple[float, Path | None]:
    """The cost of the cheapest order, and the order; None where all cost ``limit`` or more."""
    if len(names) == 1:
        return 0, ()
    found: Path | None = None
    for step in itertools.combinations(range(len(names)), 2):
        left, _ = merged(names, step, result)
        own = flops_of([names[i] for i in step], set(result).union(*left[:-1]), sizes)
        if own >= limit:
            continue
        rest, path = _best(left, result, sizes, limit - own)
        if path is not None and own + rest < limit:
            limit, found = own + rest, (step, *path)
    return limit, found


def _greedy(names: Sequence[str], result: str, sizes: dict[str, int]) -> Path:
    """Always the two operands whose product has the fewest elements along all their axes."""
    path = []
    while len(names) > 1:

        def cost(step: tuple[int, ...], names: Sequence[str] = names) -> int:
            return math.prod(sizes[letter] for letter in set(names[step[0]]) | set(names[step[1]]))

        path.append(min(itertools.combinations(range(len(names)), 2), key=cost))
        names, _ = merged(names, path[-1], result)
    return tuple(path)


def info_of(names: Sequence[str], result: str, sizes: dict[str, int], path: Path) -> PathInfo:
    """What following a path costs."""
    expression = f"{','.join(names)}->{result}"
    naive = flops_of(names, set(result), sizes)
    flops, largest = 0, math.prod(sizes[letter] for letter in result)
    for step in path:
        left, product = merged(names, step, result)
        flops += flops_of([names[i] for i in step], set(product), sizes)
        largest = max(largest, math.prod(sizes[letter] for letter in product))
        names = left
    return PathInfo(expression, naive, flops, largest)
