"""Types of a loop's carry, and the check that the body returns a carry of these types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...dtypes import canonical, promote
from ...errors import see
from ...ir.avals import ShapedArray, strengthened
from ...trace.source import compose_message
from ..programs.agreement import check_same_structure, differing_places, meeting_dtype, widens, zeros_text
from ..programs.bodies import Body
from ..programs.names import name_of


def carry_types(
    operation_name: str,
    function: Callable[..., Any],
    stage_for: Callable[[list[ShapedArray]], Body],
    structure: Any,
    avals: Sequence[ShapedArray],
) -> tuple[list[ShapedArray], Body]:
    """Return the types of a loop's carry and the body staged for them.

    A Python number that the body returns as another type (0 as a float) is an array of that type from the start.
    Raises TypeError where the body returns a carry of another structure or other types.
    """
    avals = list(avals)
    while True:
        body = stage_for(avals)
        out_avals = body.program.out_avals[: len(avals)]
        if body.structure != structure:
            break
        wider = [strengthened(b) if _gives_way(a, b) else a for a, b in zip(avals, out_avals, strict=True)]
        if wider == avals:
            break
        avals = wider
    check_carry(operation_name, function, structure, avals, body)
    return avals, body


def _gives_way(a: ShapedArray, b: ShapedArray) -> bool:
    """Return whether a weak type is promoted to the other type when the two are combined."""
    if not a.weak_type or a.dtype == b.dtype or a.shape != b.shape:
        return False
    return promote(((a.dtype, True), (b.dtype, b.weak_type)))[0] == b.dtype


def check_carry(
    operation_name: str, function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray], body: Body
) -> None:
    """Raise TypeError unless a loop's body returns a carry with the structure and types of its input."""
    name = name_of(function)
    # A loop may add values to the carry, such as a counter. Messages name only the user's part.
    task = f"the body of {getattr(function, 'loop', operation_name)} ({name}) has to return what it carries along"
    words = ("it goes in as", "comes out as")
    in_structure = f"{task} in the structure in which it got it"
    value_index = getattr(function, "place_of_value", None)
    if value_index is None:
        check_same_structure(in_structure, "the carry", words, structure, body.structure)
    elif body.structure != structure:
        inner = structure.children()[value_index], body.structure.children()[value_index]
        check_same_structure(in_structure, "the carry", words, *inner)
    out = body.program.out_avals[: len(avals)]
    diff = differing_places(structure, avals, out)
    if not diff:
        return
    shown = [(f"carry{path}".replace(f"carry[{value_index}]", "carry"), avals[i], out[i]) for path, i in diff]
    body_name = "the body" if name == "<lambda>" else name
    listed = "; ".join(
        f"{path} starts as {a.str_short()} but {body_name} returns it as {b.str_short()}" for path, a, b in shown
    )
    said = f"{getattr(function, 'loop', operation_name)}: {listed}; a carry has to keep its type."
    fix = " ".join(_way_to_same_type(path, a, b, body_name) for path, a, b in shown[:_MOST_FIXES])
    raise TypeError(compose_message(said, fix) + see("loop-types"))


#: So many values of a carry are given advice.
_MOST_FIXES = 3


def _way_to_same_type(path: str, start: ShapedArray, result: ShapedArray, body: str) -> str:
    """Return how a value of a carry keeps its type: the start value is made wider, a result never cut."""
    if start.shape != result.shape:
        if widens(start, result):
            return f"Start {path} with the shape that {body} returns: {zeros_text(result)}."
        return f"Return {path} from {body} with the shape that it starts with, {start.shape}."
    wide = meeting_dtype(start, result)
    if wide == start.dtype:
        return f"Return {path} from {body} as {wide.name}: xlascope.numpy.asarray(y, {wide.name!r})."
    plain = {canonical(float): ("a float", "0.0 or "), canonical(int): ("an integer", "0 or ")}
    kind, number = plain.get(result.dtype, (result.dtype.name, ""))
    return f"Start {path} as {kind} ({'' if result.shape else number}{zeros_text(result)})."
