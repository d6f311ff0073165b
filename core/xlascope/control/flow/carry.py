"""What a loop carries along: its types, and whether the body returns what it was given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...dtypes import promote
from ...errors import see
from ...ir.avals import ShapedArray, strengthened
from ...trace.source import here
from ..programs.agreement import check_same_structure, differing
from ..programs.bodies import Body
from ..programs.names import name_of


def carry_types(
    what: str,
    function: Callable[..., Any],
    staged: Callable[[list[ShapedArray]], Body],
    structure: Any,
    avals: Sequence[ShapedArray],
) -> tuple[list[ShapedArray], Body]:
    """The types of a loop's carry, and the body staged for them; raises TypeError where it does not come back as it
    went in.

    A Python number that comes back as another type (0 as a float) is an array of that type from the start.
    """
    avals = list(avals)
    while True:
        body = staged(avals)
        out = body.program.out_avals[: len(avals)]
        if body.structure != structure:
            break
        wider = [strengthened(b) if _gives_way(a, b) else a for a, b in zip(avals, out, strict=True)]
        if wider == avals:
            break
        avals = wider
    check_carry(what, function, structure, avals, body)
    return avals, body


def _gives_way(a: ShapedArray, b: ShapedArray) -> bool:
    """Whether a weak type becomes another when it meets it."""
    if not a.weak_type or a.dtype == b.dtype or a.shape != b.shape:
        return False
    return promote(((a.dtype, True), (b.dtype, b.weak_type)))[0] == b.dtype


def check_carry(
    what: str, function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray], body: Body
) -> None:
    """Raise TypeError unless a loop's body returns the carry as it was given it."""
    name = name_of(function)
    # What a loop adds to the carry, such as a counter, is not its user's: the rest has a name of its own.
    task = f"the body of {getattr(function, 'loop', what)} ({name}) has to return what it carries along"
    words = ("it goes in as", "comes out as")
    in_structure = f"{task} in the structure in which it got it"
    within = getattr(function, "place_of_value", None)
    if within is None:
        check_same_structure(in_structure, "the carry", words, structure, body.structure)
    elif body.structure != structure:
        inner = structure.children()[within], body.structure.children()[within]
        check_same_structure(in_structure, "the carry", words, *inner)
    found = differing(structure, avals, body.program.out_avals[: len(avals)], "the carry", words)
    if within is not None:
        found = found.replace(f"the carry[{within}]", "the carry")
    if found:
        raise TypeError(
            f"{task} with the types it got: {found}{here()}. Convert one of them (astype, or a start value of the "
            f"right type and shape).{see('loop-types')}"
        )
