"""jet: derivatives of high order along a curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..control.programs.values import check_results
from ..dtypes import is_differentiable, to_canonical_dtype
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import ZERO
from ..operations.arithmetic import div, mul
from ..operations.conversion import to_dtype
from ..operations.shapes import full, zeros_of
from ..trace.traceback_filtering import api_boundary
from ..trace.values import aval_of, exact_result, invalid_operand_error
from ..transforms.taylor import taylor
from ..xla.arrays.transfers import put_on_device
from .argnames import name_of


class ZeroSeries:
    """Class of ``zero_series``: the series of an argument whose terms are all zero."""

    def __repr__(self) -> str:
        return "zero_series"


class ZeroTerm:
    """Class of ``zero_term``: a term of a series that is zero."""

    def __repr__(self) -> str:
        return "zero_term"


zero_series = ZeroSeries()
zero_term = ZeroTerm()


@api_boundary
def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Any],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """Return the value of a function and its derivatives of order 1, 2, … along a curve, all at once (Taylor mode).

    The curve passes through ``primals``, one array for each argument, with the derivatives ``series``: for
    each argument a list of terms, all of the same length, each of the argument's shape. ``zero_series``
    stands for the series of a constant argument, ``zero_term`` for a term that is zero. With
    ``factorial_scaled=False`` terms are the coefficients of power series, in ``series`` and in the result:
    derivative k divided by k!.

    Returns (result, terms): the result of ``fun``, and for each array in it the list of its terms. The cost
    grows with the square of the order for most functions, whereas nested :func:`xlascope.jvp` doubles it with
    every order. Raises ValueError if lengths or shapes do not fit, TypeError if an argument of integer type,
    which has no derivative, is used in anything but a conversion.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental.jet import jet
    >>> y, (first, second, third) = jet(lambda t: t**4, (1.0,), ([1.0, 0.0, 0.0],))
    >>> print(y, first, second, third)
    1.0 4.0 12.0 24.0
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(series, (tuple, list)):
        raise TypeError("jet takes primals and series as tuples or lists with one entry per argument")
    if len(primals) != len(series):
        raise ValueError(f"jet of {name_of(fun)} got {len(primals)} primals and {len(series)} series: they go in pairs")
    avals = [_aval_of_primal(fun, i, x) for i, x in enumerate(primals)]
    order = _common_length(fun, series)
    terms = [
        [_coefficient(fun, i, k + 1, term, aval, factorial_scaled) for k, term in enumerate(_terms(of_x, order))]
        for i, (of_x, aval) in enumerate(zip(series, avals, strict=True))
    ]
    structures: list[Any] = []

    def flat(*operands: Any) -> list[Any]:
        results, structure = tree.flatten(fun(*operands))
        structures.append(structure)
        return check_results(name_of(fun), results, structure)

    results, coefficients = taylor(flat, primals, terms)
    (out_structure,) = structures
    user_terms = [
        [_to_user_term(term, aval_of(y), k + 1, factorial_scaled) for k, term in enumerate(of_y)]
        for y, of_y in zip(results, coefficients, strict=True)
    ]
    return out_structure.unflatten(results), out_structure.unflatten(user_terms)


def _aval_of_primal(fun: Callable[..., Any], index: int, x: Any) -> ShapedArray:
    """Return the type of an argument of :func:`jet`; raise ValueError for a tree, TypeError for other values."""
    if isinstance(x, (tuple, list, dict)):
        raise ValueError(
            f"primal value at position {index} of the jet of {name_of(fun)} is not an array but a {type(x).__name__}: "
            "give each array of a tree as an argument of its own"
        )
    try:
        return aval_of(x)
    except TypeError:
        raise invalid_operand_error(x, f"primal value at position {index} of the jet of {name_of(fun)}") from None


def _common_length(fun: Callable[..., Any], series: Sequence[Any]) -> int:
    """Return the number of terms that all series have; raise TypeError or ValueError if they differ or are no lists."""
    lengths = []
    for index, terms in enumerate(series):
        if isinstance(terms, (tuple, list)):
            lengths.append(len(terms))
        elif not isinstance(terms, ZeroSeries):
            raise TypeError(
                f"the series at position {index} of the jet of {name_of(fun)} has to be a list of terms, "
                f"got {type(terms).__name__}"
            )
    if len(set(lengths)) > 1:
        raise ValueError(
            f"jet terms have inconsistent lengths for different arguments of {name_of(fun)}: "
            f"{', '.join(map(str, lengths))}. Fill the shorter ones with zeros, or use zero_series."
        )
    return lengths[0] if lengths else 0


def _terms(terms: Any, order: int) -> Sequence[Any]:
    return [zero_term] * order if isinstance(terms, ZeroSeries) else terms


def _coefficient(
    fun: Callable[..., Any], index: int, degree: int, term: Any, aval: ShapedArray, factorial_scaled: bool
) -> Any:
    """Return the coefficient for a user's term: an array of the argument's type and shape, or ``ZERO``.

    ``index`` is the argument's position and ``degree`` that of the term, from 1 on; ``aval`` is the
    argument's type. With ``factorial_scaled`` the term is divided by the factorial of the degree.
    """
    if isinstance(term, ZeroTerm):
        return ZERO
    label = f"term {degree} of the series at position {index} of the jet of {name_of(fun)}"
    try:
        term_aval = aval_of(term)
    except TypeError:
        raise invalid_operand_error(term, label) from None
    dtype = aval.dtype if is_differentiable(aval.dtype) else to_canonical_dtype(float)
    if term_aval.weak_type and aval.weak_type:
        term = to_dtype(term, dtype, True)
    elif not hasattr(term, "aval"):
        term = exact_result(np.asarray(term, dtype)[()], make_aval(term_aval.shape, dtype))
    elif term_aval.dtype != dtype:
        term = to_dtype(term, dtype)
    if term_aval.shape != aval.shape:
        if term_aval.shape:
            raise ValueError(f"{label} has shape {term_aval.shape}, the primal has {aval.shape}")
        term = full(aval.shape, term)
    return div(term, float(math.factorial(degree))) if factorial_scaled and degree > 1 else term


def _to_user_term(coefficient: Any, aval: ShapedArray, degree: int, factorial_scaled: bool) -> Any:
    """Return a coefficient as the term that users get: an array, multiplied by the factorial if ``factorial_scaled``.

    ``aval`` is the type of the result, ``degree`` is that of the coefficient.
    """
    if coefficient is ZERO:
        dtype = aval.dtype if is_differentiable(aval.dtype) else to_canonical_dtype(float)
        coefficient = zeros_of(make_aval(aval.shape, dtype))
    elif factorial_scaled and degree > 1:
        return mul(coefficient, float(math.factorial(degree)))
    if isinstance(coefficient, (np.generic, np.ndarray)):
        return put_on_device(coefficient, aval_of(coefficient))
    return coefficient
