"""What reverse mode makes of a cond's branches: halves that can be chosen between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...operations.shapes import zeros_of
from ...trace.jaxpr_trace import stage
from ...transforms.differentiate import SplitProgram
from ...transforms.evaluate import evaluate
from ..programs.rearranged import youngest


class Halves(NamedTuple):
    """Branches split for reverse mode.

    The ``forward`` ones give results and residuals, the ``linear`` ones take residuals, the named operands, and
    tangents.
    """

    forward: tuple[ClosedJaxpr, ...]
    linear: tuple[ClosedJaxpr, ...]
    operands: Sequence[int]


def halves_of(splits: Sequence[SplitProgram]) -> Halves:
    """The halves of all branches. These keep different residuals: those of one type share a place."""
    key = ("halves", *splits)
    keeper = youngest([split.forward for split in splits])
    found = keeper.derived.get(key)
    if found is None:
        count = len(splits[0].out_moving)
        places: list[ShapedArray] = []
        owned = [_places_for(split.forward.out_avals[count:], places) for split in splits]
        operands = sorted({place for split in splits for place in split.residuals if place >= 0})
        forward = tuple([_forward(s, own, places, count) for s, own in zip(splits, owned, strict=True)])
        linear = tuple([_linear(s, own, places, operands) for s, own in zip(splits, owned, strict=True)])
        found = keeper.derived[key] = Halves(forward, linear, operands)
    return found


def _places_for(avals: Sequence[ShapedArray], places: list[ShapedArray]) -> list[int]:
    """A place for each residual among ``places``, which grows where none of its type is left."""
    taken: list[int] = []
    for aval in avals:
        free = [i for i, other in enumerate(places) if other is aval and i not in taken]
        if not free:
            places.append(aval)
            free = [len(places) - 1]
        taken.append(free[0])
    return taken


def _forward(split: SplitProgram, own: Sequence[int], places: Sequence[ShapedArray], count: int) -> ClosedJaxpr:
    def forward(*operands: Any) -> list[Any]:
        results = evaluate(split.forward, *operands)
        residuals: list[Any] = [None] * len(places)
        for place, x in zip(own, results[count:], strict=True):
            residuals[place] = x
        return results[:count] + [zeros_of(a) if x is None else x for x, a in zip(residuals, places, strict=True)]

    return stage(forward, split.forward.in_avals, split.forward.name)


def _linear(
    split: SplitProgram, own: Sequence[int], places: Sequence[ShapedArray], operands: Sequence[int]
) -> ClosedJaxpr:
    in_avals = split.forward.in_avals
    moving = split.linear.in_avals[len(split.residuals) :]

    def linear(*given: Any) -> list[Any]:
        residuals, known = given[: len(places)], given[len(places) : len(places) + len(operands)]
        tangents = given[len(places) + len(operands) :]
        chosen = [known[operands.index(p)] if p >= 0 else residuals[own[-1 - p]] for p in split.residuals]
        return evaluate(split.linear, *chosen, *tangents)

    avals = [*places, *(in_avals[i] for i in operands), *moving]
    return stage(linear, avals, split.linear.name)
