"""Rules for the rooms of ``scipy``."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy
import scipy.special
import scipy.stats
from tests.changes_of_jax import made

from .. import accuracy, source
from ..building import numpy_array
from ..comparing import Answer
from ..judging import Verdict, widened
from ..language import arrays_of, is_array, parts
from .rule import Rule, ours_says, theirs_says


def _arrays(answer: Answer) -> list[Any]:
    """The arrays of an answer, one after the other."""
    if "items" in answer:
        return [each for item in answer["items"] for each in _arrays(item)]
    return [np.asarray(accuracy.contents(answer))] if "dtype" in answer else []


#: The part of the largest element up to which answers in double precision agree.
DOUBLE = 1e-11


def near(digits: float) -> Any:
    """Where both answers agree up to that part of the largest element (``DOUBLE`` in double precision), and in what is
    no number.
    """

    def condition(verdict: Verdict) -> bool:
        mine, other = _arrays(verdict.ours), _arrays(verdict.theirs)
        if len(mine) != len(other):
            return False
        for x, y in zip(mine, other, strict=True):
            known = np.abs(y[np.isfinite(y)])
            limit = DOUBLE if y.dtype in (np.float64, np.complex128) else digits
            if x.shape != y.shape or not np.allclose(
                x, y, rtol=limit, atol=limit * known.max(initial=0.0), equal_nan=True
            ):
                return False
        return True

    return condition


def infinite_here(verdict: Verdict) -> bool:
    """Where what differs is infinite on our side."""
    pairs = list(zip(_arrays(verdict.ours), _arrays(verdict.theirs), strict=False))
    return bool(pairs) and all(
        x.shape == y.shape and np.isinf(x[~np.isclose(x, y, equal_nan=True)]).all() for x, y in pairs
    )


def numbers_here(verdict: Verdict) -> bool:
    """Where the answers differ in what is no finite number on JAX's side, and ours is no NaN; what is a number on both
    sides differs by some units in the last place at most.
    """
    pairs = list(zip(_arrays(verdict.ours), _arrays(verdict.theirs), strict=False))
    missing = 0
    for x, y in pairs:
        if x.shape != y.shape:
            return False
        digits = {2: 5e-2, 4: 4e-6, 8: 4e-6 if y.dtype.kind == "c" else DOUBLE}.get(y.dtype.itemsize, DOUBLE)
        apart = ~np.isclose(x.astype(complex), y.astype(complex), rtol=digits, atol=digits / 10, equal_nan=True)
        if np.isfinite(y[apart]).any() or np.isnan(x[apart]).any():
            return False
        missing += int(apart.sum())
    return missing > 0


def beside_what_is_given(digits: float) -> Any:
    """Where the answers differ by no more than that part of the largest element of an argument."""

    def condition(verdict: Verdict) -> bool:
        given = [np.abs(numpy_array(each).astype(complex)) for each in arrays_of(verdict.call)]
        limit = digits * max((float(each.max(initial=0.0)) for each in given), default=0.0)
        pairs = zip(_arrays(verdict.ours), _arrays(verdict.theirs), strict=True)
        return all(x.shape == y.shape and bool(np.all(np.abs(x - y) <= limit)) for x, y in pairs)

    return condition


def both_succeed_nearby(verdict: Verdict) -> bool:
    """Where two searches found places that are no further apart than the square root of the last digit, or JAX's says
    that it found none.
    """
    if _succeeds(verdict.ours) and not _succeeds(verdict.theirs):
        return True
    found = [np.asarray(accuracy.contents(each["items"][0])) for each in (verdict.ours, verdict.theirs)]
    return bool(
        _succeeds(verdict.ours)
        and _succeeds(verdict.theirs)
        and np.allclose(*found, rtol=0, atol=10 * np.sqrt(np.finfo(found[0].dtype).eps))
    )


def gamma_before_its_new_digits(verdict: Verdict) -> bool:
    """Where JAX's newer logarithm of the gamma function is nearer by some units in the last place of what goes in."""
    pairs = list(zip(_arrays(verdict.ours), _arrays(verdict.theirs), strict=False))
    return made("digits of the gamma function") and all(
        x.dtype == np.float32 and x.shape == y.shape and np.allclose(x, y, rtol=4e-6, atol=1e-6, equal_nan=True)
        for x, y in pairs
    )


def _succeeds(answer: Answer) -> bool:
    return bool(accuracy.contents(answer["items"][1]))


def nearer_to_scipy(verdict: Verdict) -> bool:
    """Where ours is at least as near as JAX's answer to SciPy's in double precision, which is asked here."""
    call = widened(verdict.call)
    if call["how"] not in ("eager", "jit"):
        return False
    try:
        function = operator.attrgetter(call["function"].removeprefix("scipy."))(scipy)
        args = [_given(each) for each in call["args"]]
        named = {name: _given(each) for name, each in call["kwargs"].items()}
        if isinstance(function, np.ufunc):  # it knows no names
            args, named = [*args, *named.values()], {}
        with np.errstate(all="ignore"):
            found = function(*args, **named)
    except Exception:  # SciPy has no such function, or not for these arguments: there is nothing to compare with
        return False
    right = [np.asarray(each) for each in (found if isinstance(found, tuple) else [found])]
    mine, other = _arrays(verdict.ours), _arrays(verdict.theirs)
    if not len(right) == len(mine) == len(other):
        return False
    for x, y, z in zip(mine, other, right, strict=True):
        if (
            not accuracy.is_inexact(x.dtype.name)
            or z.dtype.kind not in "fc"
            or (x.dtype.kind, z.dtype.kind) == ("f", "c")
        ):
            return False
        z = z.astype(complex) if x.dtype.kind == "c" else z
        off, theirs = (accuracy.errors(each, z, x.dtype.name) for each in (x, y))
        if not (np.isfinite(off) and off <= theirs):
            return False
    return True


def _given(value: Any) -> Any:
    """An argument for SciPy; raises TypeError for what is no number and no array of numbers."""
    if is_array(value):
        return numpy_array(value["array"])
    if value is not None and not isinstance(value, (bool, int, float)):
        raise TypeError("no number")
    return value


RULES: tuple[Rule, ...] = (
    Rule(
        "nearer to SciPy",
        "scipy.special.* scipy.stats.* scipy.linalg.expm scipy.linalg.eigh_tridiagonal",
        ("value", "accuracy"),
        "In these calls ours is at least as near as JAX's to what SciPy computes in double precision.",
        nearer_to_scipy,
    ),
    Rule(
        "digits of the gamma function",
        "scipy.special.*gamma* scipy.special.*beta* scipy.special.fact* scipy.special.poch scipy.stats.*",
        ("value", "accuracy"),
        "JAX's logarithm of the gamma function has had more digits near its zeros since 0.12; ours is as it was.",
        gamma_before_its_new_digits,
    ),
    Rule(
        "odd at minus zero",
        "scipy.special.fresnel",
        ("sign of zero",),
        "Both integrals are odd functions, so at -0 they are -0, as the sine is; JAX has 0.",
    ),
    Rule(
        "numbers where JAX has none",
        "scipy.special.exp1 scipy.special.expi scipy.special.expn scipy.special.wofz scipy.special.hyp1f1 "
        "scipy.special.hyp2f1 scipy.special.bessel_jn scipy.special.owens_t scipy.special.spence "
        "scipy.special.zeta scipy.special.poch scipy.special.kl_div scipy.special.digamma scipy.special.loggamma "
        "scipy.integrate.trapezoid numpy.i0",
        ("value", "accuracy"),
        "At infinities and zeros, and where steps overflow there, these are SciPy's values; JAX's are no numbers.",
        numbers_here,
    ),
    Rule(
        "recurrences",
        "scipy.special.bessel_jn",
        ("value", "accuracy"),
        "Of float32, both go down a recurrence, from orders of their own: alike in the last digits beside the largest.",
        near(4e-6),
    ),
    Rule(
        "where a recurrence begins",
        "scipy.special.bessel_jn",
        ("shape", "value", "accuracy"),
        "As many orders come back as v says; JAX has no more than n_iter leaves it.",
        lambda verdict: isinstance(n := verdict.call["kwargs"].get("n_iter", 50), int) and n < 20,
    ),
    Rule(
        "folded zeros",
        "scipy.special.loggamma scipy.special.gammaln",
        ("value",),
        "Of constants XLA computes logarithms of gamma functions in wider numbers; at 1 and 2 there is no other digit.",
        lambda verdict: verdict.call["how"] == "jit" and all(np.abs(x).max() < 1e-6 for x in _arrays(verdict.ours)),
    ),
    Rule(
        "gamma functions at infinite complex numbers",
        "scipy.special.gamma scipy.special.loggamma",
        ("value",),
        "Limits at infinities and on both sides of the cut, where JAX's are no numbers or those of one side.",
        lambda verdict: any(each["dtype"].startswith("complex") for each in arrays_of(verdict.call)),
    ),
    Rule(
        "digamma of complex numbers",
        "scipy.special.digamma",
        ("accepted only here",),
        "It is SciPy's there; JAX takes real numbers.",
        theirs_says("digamma does not accept dtype complex"),
    ),
    Rule(
        "angles in vectors",
        "scipy.special.sph_harm_y",
        ("fails only here",),
        "Each degree has its angles, in vectors of one size, as JAX documents; it broadcasts a number.",
        ours_says(r"has shape \(k,\), got shape \(\)"),
    ),
    Rule(
        "lists of numbers",
        "scipy.special.spence scipy.special.bessel_jn",
        ("fails only here",),
        "Lists and tuples are no arrays, as in the functions beside; here JAX makes one of them.",
        ours_says("a value of type (list|tuple) is not a valid array|takes one array, got|^An array is needed"),
    ),
    Rule(
        "sums over nothing",
        "scipy.special.logsumexp nn.logsumexp",
        ("dtype",),
        "Truth values become float32, also where there are none to add: there JAX has double where it is enabled.",
        lambda verdict: any(0 in each["shape"] and each["dtype"] == "bool" for each in arrays_of(verdict.call)),
    ),
    Rule(
        "truth values in softmax",
        "scipy.special.softmax scipy.special.log_softmax",
        ("accepted only here",),
        "Truth values count as floats before anything is subtracted; JAX subtracts them.",
        theirs_says("sub does not accept dtype bool"),
    ),
    Rule(
        "products over nothing",
        "scipy.special.multigammaln",
        ("accepted only here",),
        "Of a dimension below 1 no gamma function is computed, so nothing looks at the type of numbers; JAX does.",
        theirs_says("lgamma does not accept dtype complex"),
    ),
    Rule(
        "Owen's function of complex numbers",
        "scipy.special.owens_t",
        ("fails only here",),
        "It is defined for real numbers; JAX takes absolute values of complex ones, and gives something else.",
        ours_says("takes real numbers"),
    ),
    Rule(
        "one triangle",
        "scipy.linalg.eigh",
        ("value", "accuracy"),
        "The triangle that lower names counts, as in SciPy and as JAX documents; JAX takes the mean of both.",
    ),
    Rule(
        "NaN in its places",
        "scipy.linalg.toeplitz scipy.linalg.hankel",
        ("value", "accuracy", "sign of zero"),
        "An element that is no number, or -0, stays where it belongs; JAX finds places by products with 0 and 1.",
        lambda verdict: any(each in source.line(verdict.call) for each in ("nan", "inf", "-0.0")),
    ),
    Rule(
        "Schur forms in a tuple",
        "scipy.linalg.schur",
        ("type",),
        "The form and its basis are a tuple, as JAX documents, and SciPy has; JAX returns a list.",
    ),
    Rule(
        "whole numbers of Pascal and Hilbert",
        "scipy.linalg.pascal scipy.linalg.invpascal scipy.linalg.invhilbert",
        ("value", "accuracy", "dtype", "sign of zero"),
        "Their elements are whole numbers, rounded once, in the dtype of floats; JAX has them by gamma functions.",
    ),
    Rule(
        "sizes below zero",
        "scipy.linalg.dft scipy.linalg.pascal scipy.linalg.invpascal scipy.linalg.invhilbert",
        ("fails only here",),
        "A matrix has a size of at least 0, which is said; JAX makes one without elements.",
        ours_says("takes a size of at least 0"),
    ),
    Rule(
        "sizes that are whole",
        "scipy.linalg.helmert",
        ("fails only here",),
        "A size is an integer, as in the functions beside; JAX takes 1.5, and makes a matrix of 1 row and 2 columns.",
        ours_says("n of helmert is an integer"),
    ),
    Rule(
        "quotients of truth values",
        "scipy.linalg.fiedler_companion",
        ("value",),
        "XLA takes 0/0 of converted truth values for 0; JAX compiles the conversion by itself, and has NaN.",
        lambda verdict: any(each["dtype"] == "bool" for each in arrays_of(verdict.call)),
    ),
    Rule(
        "lists within pairs",
        "scipy.linalg.lu_solve scipy.linalg.cho_solve",
        ("fails only here",),
        "Factors are arrays, in the pair that the factorization gave; JAX makes arrays of lists within it.",
        ours_says("a value of type list is not a valid array|takes one array, got a list|^An array is needed"),
    ),
    Rule(
        "numbers as vectors",
        "scipy.linalg.hankel scipy.linalg.circulant scipy.linalg.fiedler scipy.linalg.convolution_matrix",
        ("accepted only here",),
        "A number counts as a vector of one element, as in SciPy and in toeplitz.",
        theirs_says("must be at least 1-dimensional"),
    ),
    Rule(
        "whole numbers as matrices",
        "scipy.linalg.*",
        ("accepted only here",),
        "Integers and truth values count as floats, as in the functions beside.",
        theirs_says("Accepted dtypes at position|Only float32 and float64 inputs|arguments to jax.jvp do not match"),
    ),
    Rule(
        "polar decompositions of any matrix",
        "scipy.linalg.polar",
        ("accepted only here",),
        "Stacks, both sides of any shape, and integers have polar decompositions, as JAX documents; its QDWH has not.",
        theirs_says("only supports mxn matrices|not inexact|too many values to unpack|M >= N|Non-hashable static"),
    ),
    Rule(
        "matrices of narrow floats, otherwise refused",
        "scipy.linalg.*",
        ("error class",),
        "LAPACK has no narrow floats, which is said; JAX says so elsewhere, or of the directions of a derivative.",
        theirs_says("arguments to jax.jvp do not match|Unsupported|float16|bfloat16"),
    ),
    Rule(
        "the last digits of matrices",
        "scipy.linalg.funm scipy.linalg.solve_sylvester scipy.linalg.qr_multiply scipy.linalg.polar "
        "scipy.linalg.eigh_tridiagonal scipy.linalg.sqrtm scipy.linalg.expm_frechet lax.linalg.qdwh",
        ("value", "accuracy"),
        "Of single precision: a Schur form or QDWH's steps instead of JAX's, alike beside the largest element.",
        near(4e-6),
    ),
    Rule(
        "the last digits of pictures",
        "image.*",
        ("value", "accuracy"),
        "Weights of pixels are added in another order, alike beside the largest pixel.",
        near(4e-6),
    ),
    Rule(
        "outcomes along the last axis",
        "scipy.stats.multinomial.*",
        ("shape", "value", "accuracy"),
        "Counts of several draws have their outcomes along the last axis, as in SciPy; JAX sums over all axes.",
    ),
    Rule(
        "grids that do not fit",
        "scipy.interpolate.RegularGridInterpolator",
        ("fails only here",),
        "As many values as places are asked for when the object is made, as in SciPy; JAX takes others.",
    ),
    Rule(
        "the last digits of transforms",
        "scipy.fft.* scipy.signal.*",
        ("value", "accuracy"),
        "Of single precision: sums of a transform are added in another order, alike beside the largest element.",
        near(2e-6),
    ),
    Rule(
        "the last digits of solutions",
        "scipy.sparse.linalg.gmres scipy.sparse.linalg.cg scipy.sparse.linalg.bicgstab",
        ("value", "accuracy"),
        "Of single precision: solvers end where the residual is small, 1e-5 of the right side or less, each elsewhere.",
        near(2e-5),
    ),
    Rule(
        "the last digits of polynomials",
        "numpy.polyfit numpy.roots numpy.i0 numpy.kaiser",
        ("value", "accuracy"),
        "Least squares, eigenvalues and a series by other steps than JAX's, alike beside the largest element.",
        near(2e-5),
    ),
    Rule(
        "what a line leaves",
        "scipy.signal.detrend scipy.signal.stft scipy.signal.csd scipy.signal.welch",
        ("value", "accuracy"),
        "A signal that is a line leaves nothing, or the rounding of its elements: that is right beside the signal.",
        beside_what_is_given(1e-6),
    ),
    Rule(
        "zeros of spectra",
        "scipy.signal.stft scipy.signal.csd scipy.signal.istft",
        ("sign of zero",),
        "Windows are applied in another program than JAX's, and a sum of products that is 0 has the sign of its last.",
    ),
    Rule(
        "zeros of complex products",
        "scipy.integrate.trapezoid numpy.trapezoid",
        ("sign of zero",),
        "A complex number times a real one has parts that are sums with a zero, whose sign depends on the other part.",
        lambda verdict: "complex" in source.line(verdict.call),
    ),
    Rule(
        "minima",
        "scipy.optimize.minimize",
        ("value", "accuracy", "sign of zero"),
        "Searches go other ways, and end where the gradient is below the tolerance; some of JAX's find no way on.",
        both_succeed_nearby,
    ),
    Rule(
        "numbers as directions",
        "scipy.optimize.minimize",
        ("accepted only here",),
        "Integers, truth values and what stands for an array become floats, as elsewhere; JAX hands them to fun.",
        theirs_says("grad requires real- or complex-valued inputs|'HasJaxArray' has no len"),
    ),
    Rule(
        "vectors of three numbers",
        "scipy.spatial.transform.Rotation.from_*",
        ("fails only here",),
        "A rotation vector has three numbers and a quaternion four, which is said; JAX makes something of others.",
        ours_says(
            "takes [34] numbers along the last axis|a value of type tuple is not a valid array|"
            "takes one array, got a tuple"
        ),
    ),
    Rule(
        "degrees or not",
        "scipy.spatial.transform.Rotation.*",
        ("shape", "value", "accepted only here"),
        "Whether angles are in degrees is a truth value; JAX computes with what it is given.",
        lambda verdict: not isinstance(verdict.call["kwargs"].get("degrees", True), bool),
    ),
    Rule(
        "rotations that JAX has not",
        "scipy.spatial.transform.Rotation.identity scipy.spatial.transform.Rotation.random",
        ("accepted only here", "error class"),
        "Stacks of identities, and rotations drawn by a key, are made as SciPy's are; JAX raises errors without words.",
        lambda verdict: verdict.theirs.get("error") in ("AssertionError", "NotImplementedError"),
    ),
    Rule(
        "the last digits of rotations",
        "scipy.spatial.transform.Rotation.* scipy.spatial.transform.Slerp.*",
        ("value", "accuracy"),
        "Quaternions have length 1 but for their rounding; small components and sines are right beside the large ones.",
        near(1e-6),
    ),
    Rule(
        "sparse arrays that JAX refuses",
        "experimental.sparse.*",
        ("accepted only here", "error class"),
        "Sums and products of rows from the left, entries written out along an axis, gradients of products and truth "
        "values as numbers are computed here; JAX says that it has them not.",
        theirs_says(
            r"^<class .*\.\w+$|implemented for BCSR lhs|Adding sparse dimensions|Transpose rule \(for reverse-mode"
            r"|add does not accept dtype bool|between 0 and 1$|has no len\(\)"
        ),
    ),
    Rule(
        "layouts that are the same",
        "experimental.sparse.bcoo_update_layout experimental.sparse.BCOO.update_layout",
        ("fails only here",),
        "What on_inefficient may be is looked at in each call; JAX looks where entries have to be moved.",
        ours_says("on_inefficient is"),
    ),
    Rule(
        "the edge of a simplex",
        "scipy.stats.dirichlet.*",
        ("value", "accuracy"),
        "A part 0 whose exponent is negative has an infinite density, as the formula says; JAX has none there.",
        infinite_here,
    ),
    Rule(
        "precision stays",
        "scipy.stats.norm.* scipy.special.sph_harm_y scipy.special.owens_t",
        ("dtype",),
        "Numbers have results of their own precision; JAX makes some wider, where doubles are enabled or of bfloat16.",
    ),
    Rule(
        "weak quantiles of logistic numbers",
        "scipy.stats.logistic.*",
        ("weak type",),
        "An integer beside Python's floats becomes a float that is weak, as in other distributions; here JAX's is not.",
    ),
    Rule(
        "distributions of complex numbers",
        "scipy.stats.*",
        ("accepted only here",),
        "Comparisons of complex numbers are NumPy's, as elsewhere; some densities of JAX compare by operations of lax.",
        theirs_says("does not accept dtype complex"),
    ),
    Rule(
        "tails of complex numbers",
        "scipy.stats.cauchy.logsf scipy.stats.cauchy.logcdf",
        ("value",),
        "A distribution has tails of real numbers; of complex ones each formula has another branch.",
        lambda verdict: "complex" in source.line(verdict.call),
    ),
    Rule(
        "parameters of any holder",
        "scipy.stats.* scipy.fft.* scipy.special.expn",
        ("accepted only here",),
        "Arrays in the other byte order are arrays, and complex numbers meet others; JAX refuses them here.",
        theirs_says("not a valid JAX array type|to have the same dtypes|is not supported|Error interpreting argument"),
    ),
    Rule(
        "points of as many numbers",
        "scipy.cluster.vq.vq",
        ("fails only here",),
        "Points and those that they are near have as many numbers, as in SciPy; JAX broadcasts one to several.",
        ours_says("vq takes points of as many numbers"),
    ),
    Rule(
        "the order first",
        "scipy.ndimage.map_coordinates",
        ("error class",),
        "Of two mistakes in one call ours names the order of interpolation, JAX the value outside.",
        ours_says("currently requires order<=1"),
    ),
    Rule(
        "probabilities without a minus",
        "scipy.stats.expon.cdf scipy.stats.*.logcdf scipy.stats.*.logsf",
        ("sign of zero",),
        "A probability of 0, and the logarithm of 1, are zeros with the sign that each formula gives them.",
    ),
    Rule(
        "integers beyond 32 bits in distributions",
        "scipy.stats.*",
        ("value", "weak type"),
        "Beside arrays of int32 a Python integer is one of them, and alone it is weak; JAX makes it a float at once.",
        lambda verdict: any(abs(x) >= 2**31 for x in parts(verdict.call["args"]) if type(x) is int),
    ),
    Rule(
        "the last digits of estimated densities",
        "scipy.stats.gaussian_kde.*",
        ("value", "accuracy"),
        "Of single precision: kernels are added in another order, by a logarithm of sums; alike beside the largest.",
        near(4e-6),
    ),
    Rule(
        "the last digits of tails",
        "scipy.stats.norm.sf scipy.stats.norm.cdf scipy.stats.truncnorm.* scipy.stats.cauchy.isf "
        "scipy.stats.cauchy.ppf scipy.stats.pareto.* scipy.stats.gamma.logpdf scipy.stats.norm.ppf",
        ("value", "accuracy"),
        "Of single precision: a tail has as many digits as the square or logarithm it is the exponential of, a tangent "
        "near 0 fewer; in JAX as here, with other roundings.",
        near(1e-6),
    ),
)
