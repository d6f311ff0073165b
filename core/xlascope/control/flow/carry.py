"""Types of a loop's carry, and the check that the body returns a carry of these types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...dtypes import promote_dtypes, to_canonical_dtype
from ...errors import see
from ...ir.avals import ShapedArray, strip_weak_type, with_varying_axes
from ...trace.source import compose_message
from ..programs.function_names import name_of
from ..programs.function_staging import Body
from ..programs.structure_checks import (
    can_broadcast,
    check_same_structure,
    find_type_differences,
    promoted_dtype,
    zeros_text,
)


def resolve_carry_types(
    operation_name: str,
    function: Callable[..., Any],
    stage_for: Callable[[list[ShapedArray]], Body],
    structure: Any,
    avals: Sequence[ShapedArray],
) -> tuple[list[ShapedArray], Body]:
    """Return the types of a loop's carry and the body staged for them.

    ``stage_for(types)`` stages the body, ``structure`` and ``avals`` are those of the initial carry. A Python number
    that the body returns as another type (0 as a float) is an array of that type from the start, and what the body
    returns varying along axes of a mesh varies from the start. Raises TypeError if the body returns a carry of another
    structure or other types; ``operation_name`` and ``function`` name the loop and its body in the message.
    """
    avals = list(avals)
    while True:
        body = stage_for(avals)
        out_avals = body.program.out_avals[: len(avals)]
        if body.structure != structure:
            break
        wider = [
            with_varying_axes(strip_weak_type(b) if _can_promote_weak_type(a, b) else a, a.varying | b.varying)
            for a, b in zip(avals, out_avals, strict=True)
        ]
        if wider == avals:
            break
        avals = wider
    check_carry(operation_name, function, structure, avals, body)
    return avals, body


def _can_promote_weak_type(a: ShapedArray, b: ShapedArray) -> bool:
    """Return whether ``a`` is a weak type of the same shape as ``b`` that is promoted to the dtype of ``b``."""
    if not a.weak_type or a.dtype == b.dtype or a.shape != b.shape:
        return False
    return promote_dtypes(((a.dtype, True), (b.dtype, b.weak_type)))[0] == b.dtype


def check_carry(
    operation_name: str, function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray], body: Body
) -> None:
    """Raise TypeError unless a loop's body returns a carry with the structure and types of its input.

    ``structure`` and ``avals`` are those of the input; ``operation_name`` and ``function`` name the loop and its body
    in the message.
    """
    name = name_of(function)
    # A loop may add values to the carry, such as a counter. Messages name only the user's part.
    task = f"the body of {getattr(function, 'loop', operation_name)} ({name}) has to return what it carries along"
    words = ("goes in as", "comes out as")
    in_structure = f"{task} in the structure in which it got it"
    value_index = getattr(function, "place_of_value", None)
    if value_index is None:
        check_same_structure(in_structure, "the carry", words, structure, body.structure, separator=" ")
    elif body.structure != structure:
        inner = structure.children()[value_index], body.structure.children()[value_index]
        check_same_structure(in_structure, "the carry", words, *inner, separator=" ")
    out = body.program.out_avals[: len(avals)]
    diff = find_type_differences(structure, avals, out)
    if not diff:
        return
    changes = [(f"carry{path}".replace(f"carry[{value_index}]", "carry"), avals[i], out[i]) for path, i in diff]
    body_name = "the body" if name == "<lambda>" else name
    differences = "; ".join(
        f"{path} starts as {a.str_short()} but {body_name} returns it as {b.str_short()}" for path, a, b in changes
    )
    problem = f"{getattr(function, 'loop', operation_name)}: {differences}; a carry has to keep its type."
    fix = " ".join(_carry_type_advice(path, a, b, body_name) for path, a, b in changes[:_MAX_FIXES])
    raise TypeError(compose_message(problem, fix) + see("loop-types"))


#: Maximum number of values of a carry that a message gives advice for.
_MAX_FIXES = 3


def _carry_type_advice(path: str, start: ShapedArray, result: ShapedArray, body: str) -> str:
    """Return advice on how a value of the carry keeps its type: widen the start value, never narrow a result.

    ``path`` names the value, ``start`` and ``result`` are its types before and after ``body``.
    """
    if start.shape != result.shape:
        if can_broadcast(start, result):
            return f"Start {path} with the shape that {body} returns: {zeros_text(result)}."
        return f"Return {path} from {body} with the shape that it starts with, {start.shape}."
    wide = promoted_dtype(start, result)
    if wide == start.dtype:
        return f"Return {path} from {body} as {wide.name}: xlascope.numpy.asarray(y, {wide.name!r})."
    plain = {to_canonical_dtype(float): ("a float", "0.0 or "), to_canonical_dtype(int): ("an integer", "0 or ")}
    kind, number = plain.get(result.dtype, (result.dtype.name, ""))
    return f"Start {path} as {kind} ({'' if result.shape else number}{zeros_text(result)})."
