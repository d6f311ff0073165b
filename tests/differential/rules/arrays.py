"""Rules for methods of arrays, and for what they have in common with functions."""

from __future__ import annotations

import numpy as np

from .. import accuracy
from ..building import numpy_array
from ..judging import Verdict
from ..language import is_array
from .rule import Rule, ours_says, theirs_says, witness


def _operand(verdict: Verdict) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    return numpy_array(verdict.call["args"][0]["array"])


def _nan_of_e8m0(verdict: Verdict) -> bool:
    first = next(iter([*verdict.call["args"], *verdict.call["kwargs"].values()]), None)
    if not is_array(first) or first["array"]["dtype"] != "float8_e8m0fnu":
        return False
    return bool(np.isnan(numpy_array(first["array"]).astype("float32")).any())


def _initial(verdict: Verdict) -> bool:
    return bool(verdict.call["kwargs"].get("initial")) or len(verdict.call["args"]) > 5


def _rounded_there(verdict: Verdict) -> bool:
    """Whether all that differs is an element that stays, and that no float32 holds."""
    before, mine, other = (
        each.reshape(-1)
        for each in (_operand(verdict), accuracy.contents(verdict.ours), accuracy.contents(verdict.theirs))
    )
    if before.dtype.kind not in "iu" or mine.shape != before.shape:
        return False
    differing = mine != other
    return bool(
        (mine[differing] == before[differing]).all() and (np.abs(before[differing].astype("O")) > 1 << 24).all()
    )


def _two_bits_sorted(verdict: Verdict) -> bool:
    """Whether ours are the operand's own elements, which are of two bits, and jax's are not."""
    before, mine, other = (
        np.sort(each.astype("int8").reshape(-1))
        for each in (_operand(verdict), accuracy.contents(verdict.ours), accuracy.contents(verdict.theirs))
    )
    narrow = verdict.call["args"][0]["array"]["dtype"] in ("int2", "uint2")
    return narrow and np.array_equal(mine, before) and not np.array_equal(other, before)


RULES: tuple[Rule, ...] = (
    Rule(
        "two bits in order",
        "array.sort numpy.sort",
        ("value",),
        "Inside jit JAX sorts elements of two bits into ones that were not among them.",
        _two_bits_sorted,
    ),
    Rule(
        "places of NaN",
        "*.argmax *.argmin",
        ("value",),
        "The place of the first NaN, as in NumPy and in JAX for other types; JAX overlooks those of float8_e8m0fnu.",
        _nan_of_e8m0,
    ),
    Rule(
        "where sums begin",
        "array.sum",
        ("value", "accuracy"),
        "The method adds `initial`, as the function does; JAX's method takes it and leaves it out.",
        _initial,
    ),
    Rule(
        "integers that stay",
        "array.at.*",
        ("value",),
        "Integers that are not changed stay what they are; JAX makes floats of all of them to change some.",
        _rounded_there,
    ),
    Rule(
        "nothing to wait for",
        "array.block_until_ready",
        ("accepted only here",),
        "A function that waits for its result can be traced: there is nothing to wait for.",
        theirs_says("is not available on traced array"),
    ),
    Rule(
        "the index first",
        "array.at.*",
        ("error class",),
        "Of two mistakes in one call ours names that the index does not fit, JAX that it or the value is none.",
        lambda verdict: (
            ours_says("^too many indices|^an axis without elements|^an index is made of|^a list in an index")(verdict)
            and theirs_says("inhomogeneous|is not a valid value|valid JAX array type|^Indexer must have")(verdict)
        ),
    ),
    Rule(
        "narrow products",
        "numpy.linalg.* numpy.vecdot",
        ("accepted only here",),
        "A product may have the narrower type that is asked for; JAX takes one for numpy.matmul, and refuses it here.",
        theirs_says("^`preferred_element_type` must not be narrower than the original type"),
    ),
    Rule(
        "norms of integers",
        "numpy.linalg.vector_norm",
        ("value", "dtype", "accuracy", "accepted only here"),
        "Integers are made floats first, as in NumPy; JAX computes with integers, which wrap around or have no roots.",
        witness("NumPy"),
    ),
)
