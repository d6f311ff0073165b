"""Rules for families of functions of ``numpy`` that came later: bits, choices, polynomials, pictures."""

from __future__ import annotations

from .rule import Rule, ours_says, theirs_says

RULES: tuple[Rule, ...] = (
    Rule(
        "exponents of small numbers",
        "numpy.frexp",
        ("value", "sign of zero"),
        "Numbers too small for an exponent of their own are read as bits, as NumPy has them; XLA computes with zeros.",
        lambda verdict: "e-" in str(verdict.call["args"]),
    ),
    Rule(
        "one axis in a tuple",
        "numpy.packbits numpy.unpackbits numpy.compress array.compress",
        ("fails only here",),
        "One axis is given as a number, as in NumPy; JAX moves a tuple or a list of one about.",
        ours_says(r"axis is an integer, got [\[(]"),
    ),
    Rule(
        "eigenvalues",
        "numpy.poly",
        ("fails only here", "error class"),
        "The polynomial of a matrix needs its eigenvalues, which the error says.",
        ours_says("needs its eigenvalues"),
    ),
    Rule(
        "a filling with axes",
        "numpy.unique*",
        ("fails only here",),
        "What is missing among elements is one value; JAX takes an array of axes for it where nothing is missing.",
        ours_says(r"cannot be broadcast to \(\)"),
    ),
    Rule(
        "polynomials of more axes",
        "numpy.polydiv",
        ("fails only here",),
        "Polynomials are arrays with one axis; JAX divides what has more where nothing is left to divide.",
        ours_says("polynomials are arrays with one axis"),
    ),
    Rule(
        "quantiles of truth values",
        "numpy.nanquantile numpy.nanpercentile",
        ("accepted only here",),
        "Truth values count as numbers, as in quantile; JAX fails where it rounds the places of integers.",
        theirs_says("floor does not accept dtype int32"),
    ),
    Rule(
        "activations of what is no complex number",
        "nn.hard_sigmoid nn.hard_silu nn.hard_swish nn.sparse_plus",
        ("value",),
        "A NaN of complex numbers stays one; JAX orders it before all, and cuts it off.",
        lambda verdict: "nan" in str(verdict.call["args"]) + str(verdict.call["kwargs"]),
    ),
    Rule(
        "axes in a list",
        "nn.logmeanexp",
        ("accepted only here",),
        "Axes may come in a list; JAX wants to hash them.",
        theirs_says("Non-hashable static arguments"),
    ),
    Rule(
        "there are no extended types",
        "dtypes.canonicalize_dtype",
        ("accepted only here",),
        "Whether types beyond NumPy's may come changes nothing, so it is not looked at; JAX wants to hash it.",
        theirs_says("unhashable type"),
    ),
)
