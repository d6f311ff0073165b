"""Other calls that ought to have the same answer as one that jax refuses or answers otherwise.

Where ours equals such an answer, what we return is right, and a rule may say why jax did not: it wants another type of
the same values, or has the function under a name that takes more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from . import accuracy, reference
from .answers import answer_of
from .comparing import KINDS, Answer, compared
from .variants import (
    Change,
    as_numpys,
    itself,
    run_at_once,
    with_a_value_of_its_type,
    with_arrays_for_lists,
    with_floats,
    with_one_type,
    with_one_whole_type,
    with_plain_arrays,
    with_raw_keys,
    with_tuples,
    with_tuples_and_device_arrays,
    with_wider_plain_arrays,
    with_wider_types,
)

#: Units in the last place within which answers of functions of several steps are one.
NEAR = 8.0


class Witness(NamedTuple):
    """Who is asked what, and about which kinds of difference."""

    name: str
    library: str
    change: Change
    kinds: tuple[str, ...] = ("accepted only here",)
    #: Whether equal numbers are enough, whatever width holds them.
    loose: bool = False
    #: Whether the bits have to be equal, where otherwise some units in the last place do not matter.
    exact: bool = False


def agrees(ours: Answer, answer: Answer, loosely: bool, exactly: bool = False) -> bool:
    """Whether an answer of a witness is ours."""
    if "error" in ours and "error" in answer:
        return answer["error"] in ours["classes"]
    if {"error", "ended"} & {*ours, *answer}:
        return False
    if loosely:
        return equal_values(ours, answer)
    difference = compared(ours, answer)
    return difference is None or difference.kind == "weak type" or (
        difference.kind == "accuracy" and not exactly and _near(ours, answer)
    )  # fmt: skip


def _near(ours: Answer, answer: Answer) -> bool:
    pairs = list(_leaves(ours, answer))
    inexact = [(one, other) for one, other in pairs if accuracy.is_inexact(one.get("dtype", ""))]
    return all(
        accuracy.errors(accuracy.contents(one), accuracy.contents(other), one["dtype"]) <= NEAR
        for one, other in inexact
    )


def _leaves(ours: Answer, answer: Answer) -> Iterator[tuple[Answer, Answer]]:
    if "items" in ours:
        for one, other in zip(ours["items"], answer["items"], strict=True):
            yield from _leaves(one, other)
    else:
        yield ours, answer


def equal_values(ours: Answer, answer: Answer) -> bool:
    """Whether results hold the same numbers of the same sort, whatever width and class hold them."""
    if "items" in ours or "items" in answer:
        mine, other = ours.get("items", []), answer.get("items", [])
        return len(mine) == len(other) and all(equal_values(*pair) for pair in zip(mine, other, strict=True))
    ours, answer = _as_array(ours), _as_array(answer)
    if "bits" not in ours or "bits" not in answer:
        return "bits" not in ours and "bits" not in answer and ours.get("value") == answer.get("value")
    mine, other = accuracy.contents(ours), accuracy.contents(answer)
    if mine.shape != other.shape or _sort(ours["dtype"]) != _sort(answer["dtype"]):
        return False
    if not accuracy.is_inexact(ours["dtype"]):
        return bool(np.array_equal(mine.astype(object), other.astype(object)))
    with np.errstate(all="ignore"):
        narrow = other.astype(mine.dtype)
    return accuracy.errors(mine, narrow, ours["dtype"]) <= NEAR and not (
        accuracy.lost_signs(mine, narrow) and not accuracy.same_bits(mine, narrow)
    )


def _as_array(answer: Answer) -> Answer:
    """A Python number as the array of no axes that it equals."""
    value = {"bool": bool, "int": int, "float": _float}.get(answer["type"])
    return answer_of(np.asarray(value(answer["value"])), reference, ()) if value and "value" in answer else answer


def _float(text: str) -> float:
    return math.nan if text == "nan" else float.fromhex(text)


def _sort(dtype: str) -> str:
    if accuracy.is_inexact(dtype):
        return "complex" if dtype.startswith("complex") else "float"
    return "bool" if dtype == "bool" else "int"


#: In the order in which they are asked.
WITNESSES: tuple[Witness, ...] = (
    Witness("raw keys", "jax", with_raw_keys, KINDS),
    Witness("plain arrays", "jax", with_plain_arrays, ("accepted only here", "fails only here", "type")),
    Witness("tuples", "jax", with_tuples),
    Witness("tuples", "jax", with_tuples_and_device_arrays),
    Witness("arrays for lists", "jax", with_arrays_for_lists),
    Witness("numpy's of this name", "jax", as_numpys),
    Witness("one type", "jax", with_one_type, ("accepted only here", "value")),
    Witness("one type", "jax", with_one_whole_type),
    Witness("wider types", "jax", with_wider_types, ("accepted only here", "dtype"), loose=True),
    Witness("run at once", "jax", run_at_once, ("accuracy", "sign of zero", "accepted only here"), exact=True),
    Witness("floats", "jax", with_floats, ("accuracy",), exact=True),
    Witness("wider types", "jax", with_wider_plain_arrays, ("accepted only here", "dtype"), loose=True),
    Witness("one type", "jax", with_a_value_of_its_type),
    Witness("NumPy's error", "numpy", itself, ("error class",), loose=True),
    Witness(
        "NumPy", "numpy", itself, ("accepted only here", "value", "sign of zero", "dtype", "shape", "type"), loose=True
    ),
)
