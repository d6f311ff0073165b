"""Rules for ``numpy``, ``nn`` and ``random``."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from tests.changes_of_jax import made

from .. import accuracy
from ..accuracy import is_inexact
from ..building import numpy_array
from ..comparing import Answer
from ..judging import Verdict
from ..language import is_array
from .rule import Rule, ours_says, theirs_says, witness


def _numbers(answer: Answer) -> str:
    """What is printed of an array, without its class, dtype and spaces."""
    text = "".join(answer["value"].split())
    text = re.sub(r"Array\(([^\[\](),]*),dtype=\w+\)", r"\1", text)  # an element that JAX prints as an array
    text = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.7g}", text)  # which JAX may print with more digits
    return re.sub(r"^ArrayImpl\(|^Array\(|(,dtype='?\w+'?)?(,weak_type=True)?\)$", "", text)


def _nan_here_only(verdict: Verdict) -> bool:
    if not all("bits" in each and is_inexact(each["dtype"]) for each in (verdict.ours, verdict.theirs)):
        return False
    mine, other = (np.isnan(accuracy.contents(each)) for each in (verdict.ours, verdict.theirs))
    return bool((mine & ~other).any())


def _not_finite_here(verdict: Verdict) -> bool:
    """Whether ours are infinite or NaN wherever the results differ."""
    mine, other = (accuracy.contents(each) for each in (verdict.ours, verdict.theirs))
    return not np.isfinite(mine[mine != other]).any()


def _narrow(verdict: Verdict) -> bool:
    return bool(re.fullmatch(r"u?int[24]", verdict.theirs.get("dtype", "")))


def _at_the_largest(verdict: Verdict) -> bool:
    """Whether results are equal but for some units in the last place of their largest number."""
    mine, other = (answer.get("items", [answer]) for answer in (verdict.ours, verdict.theirs))
    return all(_close(*map(accuracy.contents, pair)) for pair in zip(mine, other, strict=True))


def _close(mine: accuracy.Array, other: accuracy.Array) -> bool:
    largest = np.abs(other).max(initial=0)
    return bool(np.isfinite(largest) and (np.abs(mine - other) <= 2 * np.spacing(largest)).all())


def _overflows_doubled(verdict: Verdict) -> bool:
    """Whether an operand has a complex number more than half as large as there are any."""
    arrays = [numpy_array(each["array"]) for each in verdict.call["args"] if is_array(each)]
    limits = ((each, float(np.finfo(each.dtype).max) / 2) for each in arrays if each.dtype.kind == "c")
    return any(bool((np.maximum(abs(each.real), abs(each.imag)) > limit).any()) for each, limit in limits)


def _is_complex(given: Any) -> bool:
    return is_array(given) and given["array"]["dtype"].startswith("complex")


def _zeros(answer: Answer) -> bool:
    return answer["dtype"].startswith("int") and not accuracy.contents(answer).any()


RULES: tuple[Rule, ...] = (
    Rule(
        "floats of six bits",
        "numpy.float6_e2m3fn numpy.float6_e3m2fn",
        ("fails only here",),
        "No array has them, as in JAX until 0.11, which makes arrays of them.",
        lambda verdict: made("floats of six bits"),
    ),
    Rule(
        "typed keys",
        "random.wrap_key_data",
        ("dtype",),
        "Keys are raw words until there are typed ones.",
        lambda verdict: verdict.theirs["dtype"].startswith("key<"),
    ),
    Rule(
        "types of keys",
        "random.key_dtype",
        ("type",),
        "The types of keys are of a class of our own, and print alike.",
        lambda verdict: True,
    ),
    Rule(
        "a number has no axes to keep",
        "numpy.quantile numpy.percentile",
        ("shape",),
        "Quantiles of a number have no axis for it, as in NumPy; JAX makes the number an array of one.",
        witness("NumPy"),
    ),
    Rule(
        "narrow integers beside floats",
        "numpy.*",
        ("fails only here",),
        "Types narrower than a byte do not promote by themselves, also where JAX has a function that lets them.",
        ours_says("no dtype holds the values of both .*u?int[24]"),
    ),
    Rule(
        "limits beyond the default integers",
        "random.randint",
        ("accepted only here",),
        "A limit that the dtype cannot hold is its least or largest number, as for narrow types in JAX.",
        theirs_says("argument path is (min|max)val|too large to convert to int32"),
    ),
    Rule(
        "where of more axes",
        "nn.softmax nn.log_softmax",
        ("fails only here",),
        "Where `where` has more axes than the array, JAX counts its axes in one shape for sums, in another for maxima.",
        ours_says("has more axes than the array"),
    ),
    Rule(
        "narrow matrices",
        "numpy.linalg.* lax.linalg.*",
        ("fails only here", "error class"),
        "Types that LAPACK has not are refused first; JAX looks at shapes before, and takes them for empty arrays.",
        ours_says("takes float32, float64, complex64 or complex128, got b?float16"),
    ),
    Rule(
        "truth values are no matrices",
        "lax.linalg.cholesky lax.linalg.eigh",
        ("fails only here",),
        "The sum of truth values is *or* in JAX, so that the mean of a matrix and its adjoint is half of it.",
        ours_says("takes float32, float64, complex64 or complex128, got bool"),
    ),
    Rule(
        "products of several integers",
        "numpy.linalg.multi_dot",
        ("value",),
        "Signed and unsigned integers meet in a wider type before they are multiplied, as in NumPy.",
        witness("NumPy"),
    ),
    Rule(
        "reflections of complex matrices",
        "numpy.linalg.slogdet",
        ("accepted only here",),
        "Complex matrices have a QR factorization, and so a determinant by it; JAX has not written it.",
        theirs_says("not implemented for complex inputs"),
    ),
    Rule(
        "one array is no product",
        "numpy.linalg.multi_dot",
        ("fails only here",),
        "A product takes at least two arrays, as NumPy has it; JAX gives a part of the one.",
        ours_says("at least two arrays"),
    ),
    Rule(
        "singular values of nothing",
        "numpy.linalg.lstsq",
        ("dtype",),
        "Singular values are real, of a matrix without elements as well.",
        lambda verdict: "complex" in str(verdict.theirs) and "float" in str(verdict.ours),
    ),
    Rule(
        "cuts beyond the end",
        "numpy.*split",
        ("accepted only here",),
        "An index to split at may lie beyond the end, or before the one before it, as NumPy has it for an axis.",
        theirs_says("Sizes passed to split must be nonnegative"),
    ),
    Rule(
        "whole parts",
        "numpy.quantile",
        ("accepted only here",),
        "The parts 0 and 1 may be integers, as in NumPy, which has no answer for arrays without elements.",
        theirs_says("floor does not accept dtype int"),
    ),
    Rule(
        "letters of trim",
        "numpy.trim_zeros",
        ("fails only here",),
        "Other letters than f and b are an error, as in NumPy; JAX overlooks them.",
        ours_says("^trim is"),
    ),
    Rule(
        "shapes of what is no array",
        "numpy.shape numpy.ndim numpy.size",
        ("fails only here",),
        "Of what is no array NumPy says that it is an object without axes, and JAX hands that on.",
        ours_says("is not a valid array|takes one array, got|^An array is needed"),
    ),
    Rule(
        "ArrayImpl",
        "numpy.array_repr numpy.array_str",
        ("value",),
        "JAX prints the name of its internal class, also around each narrow element; ours prints what repr does.",
        lambda verdict: _numbers(verdict.ours) == _numbers(verdict.theirs),
    ),
    Rule(
        "settings of printing",
        "numpy.array_repr numpy.array_str",
        ("fails only here",),
        "Width and digits are integers, also where NumPy has no need of them and does not look.",
        ours_says("^(precision|max_line_width) is an integer"),
    ),
    Rule(
        "NumPy's NaN",
        "numpy.*",
        ("value",),
        "A NaN among the operands, or infinity times False, is NaN as in NumPy; JAX's result has a number there.",
        lambda verdict: verdict.witness == "NumPy" and _nan_here_only(verdict),
    ),
    Rule(
        "the truth of complex numbers",
        "numpy.bool numpy.bool_ numpy.all numpy.any",
        ("value",),
        "A complex number is true unless both parts are zero, as in NumPy; JAX looks at the real part alone.",
        witness("NumPy"),
    ),
    Rule(
        "quotients of narrow integers",
        "numpy.divide numpy.true_divide",
        ("dtype",),
        "The quotient of integers of 2 or 4 bits is a float, as that of others; JAX divides them as integers.",
        _narrow,
    ),
    Rule(
        "bytes as numbers",
        "numpy.* array.*",
        ("fails only here",),
        "Bytes are no array, here as in most functions of JAX; some take them for numbers, or do not need them.",
        ours_says("^a value of type bytes is not a valid array|functions and numbers, got b'"),
    ),
    Rule(
        "products of two",
        "numpy.einsum",
        ("accepted only here",),
        "JAX asks each product of two operands for the type of the whole, and refuses one narrower than theirs.",
        theirs_says("must not be narrower than the original type"),
    ),
    Rule(
        "the order of elements",
        "numpy.array numpy.asarray numpy.copy",
        ("accepted only here",),
        "Elements have one order here, so asking for 'C' or 'F' asks for nothing; JAX takes 'K' alone.",
        theirs_says("Only implemented for order='K'"),
    ),
    Rule(
        "no axis to keep",
        "numpy.median numpy.nanmedian numpy.quantile numpy.nanquantile numpy.percentile numpy.nanpercentile",
        ("shape",),
        "An operand without axes has none to keep, as in NumPy; JAX makes it a vector first.",
        lambda verdict: verdict.ours["shape"] == [] and verdict.theirs["shape"] == [1],
    ),
    Rule(
        "fractions of infinity",
        "numpy.modf",
        ("value",),
        "The fraction of infinity is 0, as in NumPy; JAX has NaN.",
        witness("NumPy"),
    ),
    Rule(
        "places of nothing",
        "numpy.nonzero numpy.flatnonzero numpy.argwhere array.nonzero",
        ("dtype", "value"),
        "Places that are missing have the value asked for, also where an array has no elements; JAX has zeros there.",
        lambda verdict: all(_zeros(each) for each in verdict.theirs.get("items", [verdict.theirs])),
    ),
    Rule(
        "words of keys",
        "nn.* random.*",
        ("accepted only here",),
        "Keys are raw words until there are typed ones, and words are numbers.",
        theirs_says(r"key<fry>|invalid PRNG key data"),
    ),
    Rule(
        "whole numbers that wrap around",
        "nn.*",
        ("value",),
        "Whole numbers are made floats first; JAX negates or squares them in their own type, which is too narrow.",
        witness("one type"),
    ),
    Rule(
        "NaN of complex numbers",
        "nn.relu nn.relu6 numpy.nanmin numpy.nanmax",
        ("value",),
        "The larger or smaller of a complex NaN and a number is the NaN, as in NumPy; JAX drops it there.",
        _nan_here_only,
    ),
    Rule(
        "triangles of the default floats",
        "numpy.tri",
        ("dtype",),
        "Without a dtype tri gives the default floats, as in NumPy and as it says of itself; JAX gives float32 always.",
        witness("NumPy"),
    ),
    Rule(
        "unsigned shifts of narrow integers",
        "numpy.right_shift numpy.bitwise_right_shift",
        ("value",),
        "uint2 and uint4 have no sign to shift in; JAX shifts them as if they had.",
        lambda verdict: verdict.theirs.get("dtype") in ("uint2", "uint4"),
    ),
    Rule(
        "axes of a number",
        "numpy.repeat",
        ("fails only here",),
        "A number has no axis to repeat along, as no array has one that is not there; JAX overlooks the axis.",
        ours_says("^axis -?\\d+ is out of bounds for an array with 0 axes"),
    ),
    Rule(
        "named axes",
        "nn.one_hot",
        ("error class",),
        "None is no axis; JAX takes it for the name of one.",
        theirs_says("^unbound axis name: None"),
    ),
    Rule(
        "weak powers",
        "numpy.power numpy.pow",
        ("weak type",),
        "Whether the result is weak follows from both operands, as in all operations; in JAX from one of them.",
        lambda verdict: any(not is_array(each) or each["array"]["shape"] == [] for each in verdict.call["args"]),
    ),
    Rule(
        "the order in memory",
        "numpy.reshape numpy.ravel",
        ("fails only here",),
        "The order in memory is refused for every array; JAX lets NumPy arrange arrays of NumPy's.",
        lambda verdict: verdict.theirs["type"].startswith("numpy") and "order in memory" in verdict.ours["message"],
    ),
    Rule(
        "integrals of infinities",
        "numpy.trapezoid",
        ("value",),
        "Where the sum overflows or is infinite the integral is so, as in NumPy; JAX takes it from another sum.",
        _not_finite_here,
    ),
    Rule(
        "known while tracing",
        "numpy.*",
        ("accepted only here",),
        "What a program closes over is known while it is traced; JAX traces what it computes of it.",
        lambda verdict: verdict.witness == "run at once" and "ConcretizationTypeError" in verdict.theirs["classes"],
    ),
    Rule(
        "modes of drawing",
        "random.choice",
        ("fails only here",),
        "Other modes than high and low are an error; JAX overlooks them where nothing is drawn by them.",
        ours_says("^random.choice takes mode as"),
    ),
    Rule(
        "whole exponents",
        "numpy.power numpy.pow",
        ("accuracy",),
        "JAX reads an exponent without axes and multiplies as often; ours is an operand as any other.",
        lambda verdict: any(is_array(each) and each["array"]["shape"] == [] for each in verdict.call["args"][1:]),
    ),
    Rule(
        "distances from complex means",
        "numpy.var numpy.std numpy.nanvar numpy.nanstd",
        ("value",),
        "A real number is as far from a complex mean as it is; JAX drops the mean's imaginary part.",
        lambda verdict: _is_complex(verdict.call["kwargs"].get("mean")) and not _is_complex(verdict.call["args"][0]),
    ),
    Rule(
        "means of more axes",
        "numpy.nanvar numpy.nanstd",
        ("value",),
        "A number has one distance from each of several means; JAX adds them up, and still has one result for each.",
        lambda verdict: verdict.ours["shape"] != [] and "mean" in verdict.call["kwargs"],
    ),
    Rule(
        "variances of whole numbers",
        "numpy.nanvar",
        ("value",),
        "In a dtype of integers the numbers are made integers first; NumPy refuses it, JAX does so to some of them.",
        lambda verdict: verdict.ours["dtype"].startswith(("int", "uint")),
    ),
    Rule(
        "texts as axes",
        "numpy.* array.*",
        ("fails only here",),
        "A text names no axes; JAX takes an empty one for an empty list of them.",
        ours_says("^axis is an integer, got ''"),
    ),
    Rule(
        "polynomials without coefficients",
        "numpy.polyadd numpy.polysub",
        ("accepted only here",),
        "A polynomial without coefficients is 0, as in NumPy.",
        theirs_says("^Incompatible types for broadcasting: .*\\[0\\]"),
    ),
    Rule(
        "sets of size 0",
        "numpy.setdiff1d numpy.setxor1d",
        ("accepted only here",),
        "A result may be asked to have no elements; JAX looks at the first of them.",
        lambda verdict: verdict.call["kwargs"].get("size") == 0,
    ),
    Rule(
        "the truth of objects",
        "numpy.bool numpy.bool_",
        ("fails only here",),
        "What is no array has no truth value as one; JAX asks Python, for which almost everything is true.",
        ours_says("is not a valid array|takes one array, got|^An array is needed"),
    ),
    Rule(
        "arrays of objects",
        "numpy.*",
        ("fails only here",),
        "An array of Python objects is refused, whatever they are; JAX lets NumPy convert them where a dtype is said.",
        ours_says("^a value of type numpy array of dtype object is not a valid array"),
    ),
    Rule(
        "ways to sort",
        "numpy.sort numpy.argsort array.sort array.argsort",
        ("accepted only here",),
        "The way to sort that NumPy's kind names is taken and changes nothing; NumPy itself takes it without stable.",
        theirs_says("^'kind' argument to a?r?g?sort is not supported"),
    ),
    Rule(
        "sets for shapes",
        "numpy.*",
        ("fails only here",),
        "A set has no order, so that it is no shape, as in NumPy; JAX takes its elements in the order they come.",
        ours_says(r"^a shape is made of integers, got \{"),
    ),
    Rule(
        "an axis of the result",
        "numpy.linspace numpy.logspace numpy.geomspace",
        ("fails only here",),
        "The axis of the values is one of the result's, as in NumPy; JAX takes any where there is one alone.",
        ours_says("^axis -?\\d+ is out of bounds"),
    ),
    Rule(
        "converted at the end",
        "numpy.linspace",
        ("dtype",),
        "Values and step are computed in the operands' type, as in NumPy; JAX computes both in the dtype asked for.",
        lambda verdict: bool(verdict.call["kwargs"].get("dtype") and verdict.call["kwargs"].get("retstep")),
    ),
    Rule(
        "a common part without elements",
        "numpy.intersect1d",
        ("accepted only here",),
        "The first 0 of the common elements are none; JAX fails over the missing one.",
        theirs_says("^zero-size array to reduction operation max"),
    ),
    Rule(
        "weights that are true",
        "numpy.bincount",
        ("accepted only here",),
        "A weight that is true counts as 1, as in NumPy, where counts of weights are floats.",
        theirs_says("^add does not accept dtype bool"),
    ),
    Rule(
        "terms that cancel",
        "numpy.gradient numpy.hanning numpy.hamming numpy.blackman numpy.poly",
        ("accuracy",),
        "Where slopes, cosines or products of zeros cancel, the rest is as exact as they are: to units of the largest.",
        _at_the_largest,
    ),
    Rule(
        "whole powers of two",
        "numpy.exp2 numpy.sinc",
        ("value", "accuracy"),
        "Powers of two are exact for whole numbers, and angles of narrow floats are of single precision, as NumPy's.",
        witness("NumPy"),
    ),
    Rule(
        "twice what there is",
        "numpy.logaddexp numpy.logaddexp2",
        ("value", "accepted only here"),
        "JAX doubles the larger operand on its way, which overflows for the largest complex numbers.",
        _overflows_doubled,
    ),
)
