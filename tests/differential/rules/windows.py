"""Rules for windows: convolutions and reductions."""

from __future__ import annotations

import numpy as np

from .. import accuracy, source
from ..comparing import Answer
from ..judging import Verdict
from .rule import Rule, ours_says, theirs_says


def _close(verdict: Verdict) -> bool:
    """Whether both answers agree but for the last digits, and in what is NaN."""
    return _alike(verdict.ours, verdict.theirs)


def _alike(ours: Answer, theirs: Answer) -> bool:
    if "items" in ours and "items" in theirs:
        return all(_alike(x, y) for x, y in zip(ours["items"], theirs["items"], strict=False))
    if "dtype" not in ours or "dtype" not in theirs:
        return False
    mine, other = (np.asarray(accuracy.contents(each)).astype(np.complex128) for each in (ours, theirs))
    digits = {"float16": 2e-2, "bfloat16": 5e-2, "float64": 1e-12, "complex128": 1e-12}.get(ours["dtype"], 2e-5)
    return bool(np.allclose(mine, other, rtol=digits, atol=1e-37, equal_nan=True))


RULES: tuple[Rule, ...] = (
    Rule(
        "shapes of plain integers",
        "lax.conv_*shape_tuple lax.padtype_to_pads lax.reduce_window_shape_tuple",
        ("type", "weak type"),
        "A shape is a tuple of Python's integers; JAX has NumPy's for some of the sizes.",
    ),
    Rule(
        "shapes that nothing has",
        "lax.conv_*shape_tuple lax.padtype_to_pads lax.reduce_window_shape_tuple",
        ("fails only here",),
        "Arguments that the function itself refuses have no shape of a result; JAX calculates with them.",
        ours_says("lhs has|at least 1|as many as|does not divide|takes more|takes shapes"),
    ),
    Rule(
        "words for padding",
        "lax.conv* lax.reduce_window lax.padtype_to_pads",
        ("error class",),
        "An unknown word is a wrong value, a ValueError; JAX's is a RuntimeError.",
        theirs_says("^Unrecognized padding type"),
    ),
    Rule(
        "words in small letters",
        "lax.conv_transpose*",
        ("accepted only here",),
        "Padding may be written in small letters, as for other convolutions.",
        theirs_says("(Padding|padding).*same|Invalid padding mode: same"),
    ),
    Rule(
        "precision by name",
        "lax.conv_general_dilated_patches",
        ("accepted only here",),
        "A precision has a name, as for other convolutions.",
        theirs_says("^Precision argument must be one of"),
    ),
    Rule(
        "convolutions of narrow integers",
        "lax.conv*",
        ("accepted only here",),
        "They are computed as bytes; XLA has none in their types.",
        theirs_says("UNIMPLEMENTED: unsupported operand type"),
    ),
    Rule(
        "infinite parts",
        "lax.conv*",
        ("accuracy", "value"),
        "A complex product is four real ones here; JAX makes it of three, whose sums overflow where no result does.",
        lambda verdict: "complex" in source.line(verdict.call),
    ),
    Rule(
        "numbers to begin with",
        "lax.reduce lax.reduce_window",
        ("accepted only here",),
        "A Python number is one of the operand's dtype; in JAX it is where it happens to change nothing, else refused.",
        theirs_says("inconsistent dtypes for operands and init_values|should match corresponding initial value dtypes"),
    ),
    Rule(
        "windows by a program, padded by a word",
        "lax.reduce_window",
        ("accepted only here",),
        "Padding by name holds for each computation; JAX fails over the axes of the init value.",
        theirs_says("^operands could not be broadcast together with shapes"),
    ),
    Rule(
        "the last digits of special functions",
        "lax.igamma* lax.random_gamma_grad lax.betainc lax.bessel_i0e scipy.special.*",
        ("accuracy", "value"),
        "They are computed by other steps than JAX's, and differ in the last digits, or where numbers are subnormal.",
        _close,
    ),
    Rule(
        "whole numbers for special functions",
        "lax.igamma* lax.random_gamma_grad lax.betainc lax.bessel_i0e",
        ("accepted only here",),
        "A whole Python number counts as a float, and an argument may be given by its name.",
        theirs_says("does not accept dtype int|unexpected keyword argument|to have the same dtypes|has no attribute"),
    ),
    Rule(
        "more types for the normal distribution",
        "scipy.special.ndtr scipy.special.log_ndtr scipy.special.ndtri scipy.special.zeta",
        ("accepted only here",),
        "Integers and narrow floats count as floats, as in other functions; Riemann's zeta function is Hurwitz's at 1.",
        theirs_says("is not supported|series_order must be|Riemann zeta function not implemented"),
    ),
    Rule(
        "weak special functions",
        "scipy.special.ndtr scipy.special.log_ndtr scipy.special.ndtri scipy.special.gamma",
        ("weak type",),
        "A function of a weak number is weak, as other functions are.",
    ),
    Rule(
        "integers that wrap around in softmax",
        "scipy.special.softmax scipy.special.log_softmax",
        ("accuracy", "value"),
        "Integers are made floats before the largest is subtracted; JAX subtracts integers, which wrap around.",
        lambda verdict: "int" in source.line(verdict.call),
    ),
    Rule(
        "exact factorials",
        "scipy.special.factorial",
        ("error class",),
        "An array is no value of exact, which is said before anything of its value.",
        theirs_says("^factorial with exact=True"),
    ),
)
