"""Rules for functions of every sort."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..accuracy import is_inexact
from ..building import numpy_array
from ..comparing import INTERNAL, KINDS, Answer, compared
from ..judging import NEARER, Verdict
from ..language import Described, is_array
from ..reference_oracles import equal_values
from .rule import Rule, ours_says, theirs_says, witness

#: Classes that say: an argument is wrong.
_FOR_USERS = {"TypeError", "ValueError"}


def _either_for_users(verdict: Verdict) -> bool:
    return bool(_FOR_USERS & set(verdict.ours["classes"]) and _FOR_USERS & set(verdict.theirs["classes"]))


def _accident_there(verdict: Verdict) -> bool:
    accidents = {*INTERNAL, "IndexError", "ZeroDivisionError", "JaxRuntimeError", "RuntimeError", "OverflowError"}
    return bool(_FOR_USERS & set(verdict.ours["classes"])) and verdict.theirs["error"] in accidents


def _numpys_there(verdict: Verdict) -> bool:
    narrower = verdict.theirs["type"].startswith("numpy") and not verdict.call["x64"]
    return compared(verdict.ours, _of_the_library(verdict.theirs)) is None or (
        narrower and equal_values(verdict.ours, verdict.theirs)
    )


def _of_the_library(answer: Answer) -> Answer:
    if "items" in answer:
        return {**answer, "items": [_of_the_library(each) for each in answer["items"]]}
    return {"weak": False, **answer, "type": "array"} if answer["type"].startswith("numpy") else answer


def _same_words(verdict: Verdict) -> bool:
    mine, other = (re.sub(r"0x[0-9a-f]+", "#", each.get("message", "")) for each in (verdict.ours, verdict.theirs))
    return mine == other and verdict.ours["error"] == verdict.theirs.get("error")


def _negative_power(verdict: Verdict) -> bool:
    """Whether the operands are integers, with a negative one among the exponents."""
    operands = [*verdict.call["args"], *verdict.call["kwargs"].values()]
    values = [_values(each) for each in operands[:2]]
    return all(each.dtype.kind in "iu" or each.dtype.name.startswith("int") for each in values) and any(
        bool((each < 0).any()) for each in values
    )


def _values(operand: Described) -> np.ndarray[Any, Any]:
    if is_array(operand):
        return numpy_array(operand["array"])
    return np.asarray(operand["weak"]["value"] if isinstance(operand, dict) and "weak" in operand else operand)


def _array_for_a_number(verdict: Verdict) -> bool:
    return _is_array_for_a_number(verdict.ours, verdict.theirs)


def _is_array_for_a_number(ours: Answer, theirs: Answer) -> bool:
    if "items" in ours and len(ours["items"]) == len(theirs.get("items", ())):
        pairs = zip(ours["items"], theirs["items"], strict=True)
        return all(compared(*pair) is None or _is_array_for_a_number(*pair) for pair in pairs)
    return ours["type"] == "array" and (theirs["type"].startswith("Typed") or equal_values(ours, theirs))


def _float_for_large_integer(verdict: Verdict) -> bool:
    dtype = verdict.ours.get("dtype", "")
    return verdict.theirs["error"] == "OverflowError" and (is_inexact(dtype) or dtype == "bool")


#: What JAX says of an array where it wants to hash the argument.
_UNHASHABLE = (
    r"^unhashable type: '(jaxlib|slice|list|numpy.ndarray)|trying to hash an object of type <class 'jaxlib|"
    r"^Non-hashable static arguments[^<]*<class 'numpy.ndarray'>"
)

RULES: tuple[Rule, ...] = (
    Rule(
        "TypeError or ValueError",
        "*",
        ("error class",),
        "JAX has both for the same mistake; either says that an argument is wrong, which is what callers catch.",
        _either_for_users,
    ),
    Rule(
        "an accident in jax",
        "*",
        ("error class",),
        "JAX fails inside, by an index, a name or its compiler, where ours says which argument is wrong.",
        _accident_there,
    ),
    Rule(
        "raw keys",
        "*",
        KINDS,
        "Keys are raw words until there are typed ones: JAX gives the same answer for raw words.",
        witness("raw keys"),
    ),
    Rule(
        "plain arrays",
        "*",
        ("accepted only here", "fails only here", "type"),
        "JAX refuses who holds the values (lists, the other byte order, …), and has the same answer for a plain array.",
        witness("plain arrays", "arrays for lists"),
    ),
    Rule(
        "static arguments",
        "*",
        ("accepted only here",),
        "JAX wants to hash an argument that ours reads: the answer is the one for the same value in a tuple.",
        lambda verdict: verdict.witness == "tuples" or theirs_says(_UNHASHABLE)(verdict),
    ),
    Rule(
        "one type",
        "lax.* nn.*",
        ("accepted only here",),
        "A function of lax or nn promotes and broadcasts its operands: JAX has the same answer once that is done.",
        witness("one type"),
    ),
    Rule(
        "NumPy takes it too",
        "*",
        ("accepted only here",),
        "JAX refuses what NumPy takes, and NumPy's answer is ours.",
        witness("NumPy"),
    ),
    Rule(
        "masked arrays",
        "*",
        ("error class", "fails only here", "accepted only here"),
        "An array with masked elements is an error that says to fill it; JAX drops the mask or says otherwise.",
        ours_says("masked array"),
    ),
    Rule(
        "narrow types",
        "*",
        ("accepted only here", "dtype"),
        "JAX promotes no types narrower than a byte by itself; the answer is that for the same numbers in a wider one.",
        witness("wider types"),
    ),
    Rule(
        "integers too wide",
        "*",
        ("fails only here", "error class"),
        "An integer that the dtype cannot hold is an OverflowError, as in NumPy, where JAX keeps its lowest bits.",
        ours_says("^the integer -?\\d+ does not fit"),
    ),
    Rule(
        "large integers as floats",
        "*",
        ("accepted only here",),
        "An integer beside floating operands is a floating number, whatever its size; JAX makes it an int32 first.",
        _float_for_large_integer,
    ),
    Rule(
        "NumPy's class of error",
        "*",
        ("error class",),
        "The error has the class that NumPy's has.",
        witness("NumPy's error"),
    ),
    Rule(
        "integers to negative powers",
        "numpy.pow numpy.power array.__pow__ array.__rpow__ lax.pow",
        ("value", "accepted only here"),
        "1 / 5 is 0 as an integer; JAX multiplies as often as the lowest six bits of the exponent say.",
        _negative_power,
    ),
    Rule(
        "powers of narrow integers",
        "numpy.pow numpy.power array.__pow__ array.__rpow__ lax.pow",
        ("accepted only here",),
        "Integers of 2 or 4 bits have powers as others have; JAX asks NumPy for the limits of a type that it lacks.",
        theirs_says("^Invalid integer data type 'V'"),
    ),
    Rule(
        "converted before",
        "*",
        ("accuracy",),
        "An integer is made a float before the operation; JAX compiles both as one, which XLA rounds otherwise.",
        witness("floats"),
    ),
    Rule(
        "nearer",
        "*",
        ("accuracy",),
        "Of one operation XLA compiles two forms: ours is rounded rightly, or nearer to the exact value than JAX's.",
        lambda verdict: verdict.difference is not None and NEARER in verdict.difference.text,
    ),
    Rule(
        "NumPy's zero",
        "*",
        ("sign of zero",),
        "The zero has the sign that NumPy gives it, and JAX's has the other.",
        witness("NumPy"),
    ),
    Rule(
        "arrays of the library",
        "*",
        ("type",),
        "JAX hands on an array of NumPy's where ours is one of the library, with the same shape and values.",
        _numpys_there,
    ),
    Rule(
        "typed numbers",
        "*",
        ("type",),
        "JAX hands on a number, of Python or of its own class (TypedInt, …); ours is the array that it stands for.",
        _array_for_a_number,
    ),
    Rule(
        "Python's words",
        "*",
        ("unclear error",),
        "Python or NumPy says that a type does not fit, in the same words here and in JAX: neither looked before.",
        _same_words,
    ),
    Rule(
        "the form first",
        "*",
        ("error class",),
        "Of two mistakes in one call JAX names who holds the values, which ours takes, and ours names the other.",
        theirs_says(
            "Error interpreting argument|requires ndarray or scalar|masked arrays|^Dtype >.. is not|valid JAX type"
        ),
    ),
    Rule(
        "weak truth",
        "*",
        ("weak type",),
        "A truth value gives way to every other dtype: whether it says that it is weak changes no result.",
        lambda verdict: verdict.ours.get("dtype") == "bool",
    ),
    Rule(
        "folded constants",
        "*",
        ("accuracy", "sign of zero"),
        "What a program closes over is its argument here; in JAX it is a constant, and XLA folds it by another form.",
        witness("run at once"),
    ),
)
