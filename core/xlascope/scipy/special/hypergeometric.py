"""The hypergeometric functions 1F1 (Kummer's) and 2F1 (Gauss's) of real parameters.

Their series Σ Π(a)_k/Π(b)_k x^k/k! are summed as they stand where x ≥ 0, and scaled down where they grow; negative x
go there by Kummer's transformation 1F1(a; b; x) = e^x 1F1(b - a; b; -x) and by Pfaff's
2F1(a, b; c; x) = (1 - x)^-a 2F1(a, c - b; c; x/(x - 1)) (DLMF 13.2.39, 15.8.1). The derivatives in the parameters are
those of the terms; they have none themselves.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...control.rules.custom_jvp import custom_jvp
from ...control.rules.tangents import SymbolicZero
from ...numpy.logic import where
from ...numpy.shaping import broadcast_arrays
from ...numpy.together import together
from ...operations.arithmetic import abs
from ...operations.exponentials import exp, log, log1p
from ...operations.rounding import floor
from ...operations.special import lgamma
from ...trace.source import here
from .continuation import LARGE, continued, kept
from .gammas import _sign
from .wide import digits, exactly, real, widened

#: Up to here the series of 2F1 is summed; beyond, its differential equation is followed.
_HALF = 0.5
_BITS = math.log(LARGE)


class _Sums(NamedTuple):
    """A series over 2^(60 scaled), and its derivatives in the upper and lower parameters over the same."""

    value: Any
    slopes: tuple[Any, ...]
    scaled: Any


def _series(upper: tuple[Any, ...], lower: Any, x: Any, moving: bool, small: float) -> _Sums:
    """Σ Π(a)_k/(b)_k x^k/k! over the places where that converges, and the derivatives if they are ``moving``."""
    parameters = (*upper, lower)

    def step(k: Any, going: Any, term: Any, total: Any, scaled: Any, *moved: Any) -> tuple[Any, ...]:
        factors = [a + (k - 1) for a in upper]
        below = lower + (k - 1)
        base = x / k / below
        ratio = base
        for factor in factors:
            ratio = ratio * factor
        dterms, dtotals = moved[: len(moved) // 2], moved[len(moved) // 2 :]
        if moving:
            by_each = []
            for i in range(len(upper)):
                others = base
                for j, factor in enumerate(factors):
                    others = others if i == j else others * factor
                by_each.append(others)
            by_each.append(-ratio / below)
            dterms = tuple(d * ratio + term * by for d, by in zip(dterms, by_each, strict=True))
            dtotals = tuple(s + d for s, d in zip(dtotals, dterms, strict=True))
        term = term * ratio
        total = total + term
        more = (abs(term) > small * abs(total)) | (abs(ratio) >= 1)
        for d, s in zip(dterms, dtotals, strict=True):
            more = more | (abs(d) > small * abs(s))
        big = abs(total) > LARGE
        term, total, *rest = (where(big, y / LARGE, y) for y in (term, total, *dterms, *dtotals))
        # a series that ended, as polynomials do, has no terms left; one of no numbers ends too
        more = more & (moving | (term != 0)) & (total == total)
        return going & more, term, total, where(big, scaled + 1, scaled), *rest

    one = sum(parameters, x) * 0 + 1
    zeros = [one * 0] * (2 * len(parameters) if moving else 0)
    going, _, total, scaled, *rest = kept((one > 0, one, one, one * 0, *zeros), step)
    return _Sums(where(going, math.nan, total), tuple(rest[len(rest) // 2 :]), scaled)


def _restored(x: Any, scaled: Any, exponent: Any) -> Any:
    """The number that was scaled, and times e^exponent."""
    whole = scaled * _BITS + exponent
    return x * exp(whole / 2) * exp(whole / 2)


@together()
def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's confluent hypergeometric function 1F1(a; b; x) = Σ (a)_k/(b)_k x^k/k!.

    Of the shape to which the operands broadcast, in their floating-point dtype; raises ValueError for complex
    numbers. It is 1 for a = 0 even where b = 0, and infinite where ``b`` is 0, -1, … and the series does not end
    before. Digits are lost where terms of both signs cancel: ``a`` negative and x > 0, or b - a negative and x < 0.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.hyp1f1(1.0, 2.0, 3.0):.5f}")
    6.36185
    """
    return widened(_hyp1f1, *broadcast_arrays(*real("hyp1f1", a, b, x)))


def _pole(upper: tuple[Any, ...], lower: Any) -> Any:
    """Where the lower parameter is 0, -1, … and no upper one ends the series before."""
    pole = (lower <= 0) & (lower == floor(lower))
    for a in upper:
        pole = pole & ~((a <= 0) & (a == floor(a)) & (a >= lower))
    return pole


@custom_jvp
def _hyp1f1(a: Any, b: Any, x: Any) -> Any:
    (found,) = exactly(_hyp1f1_formula, a, b, x)
    return found


def _hyp1f1_formula(a: Any, b: Any, x: Any, small: float) -> Any:
    ends = (a <= 0) & (a == floor(a))
    turned = (x < 0) & ~ends
    usual = (abs(x) < math.inf) & ~_pole((a,), b)
    p, v = where(turned, b - a, a), where(turned, -x, x)
    p, q, v = where(usual, p, 1.0), where(usual, b, 1.0), where(usual, v, 0.0)
    near = _series((p,), q, where(_is_far(p, q, v), 0.0, v), False, small)
    found = _restored(near.value, near.scaled, where(turned, -v, 0.0))
    found = where(_is_far(p, q, v), _far(p, q, v, where(turned, -v, 0.0)), found)
    found = where(_pole((a,), b), math.inf, where(usual, found, math.nan))
    found = where((x == 0) & ~_pole((a,), b) | (a == 0), 1.0, found)
    return where((a == a) & (b == b) & (x == x), found, math.nan)


def _is_far(a: Any, b: Any, x: Any) -> Any:
    """Where 24 terms in 1/x have all digits (DLMF 13.7.1)."""
    ends = (a <= 0) & (a == floor(a))
    return (x > 60) & ~ends & (x > 4 * (1 + abs(b - a)) * (1 + abs(1 - a))) & (b > 0)


def _far(a: Any, b: Any, x: Any, exponent: Any) -> Any:
    """Γ(b)/Γ(a) e^x x^(a - b) Σ (b - a)_k (1 - a)_k/k! x^-k."""
    far = _is_far(a, b, x)
    a, b, x = where(far, a, 1.0), where(far, b, 1.0), where(far, x, 100.0)
    term = total = x * 0 + 1
    for k in range(1, 25):
        term = term * (b - a + (k - 1)) * (k - a) / (k * x)
        total = total + term
    size = (exponent + x) + (a - b) * log(x) + lgamma(b) - lgamma(a)
    return _sign(a) * exp(size / 2) * exp(size / 2) * total


def _hyp1f1_jvp(primals: Any, tangents: Any) -> Any:
    (a, b, x), (ta, tb, tx) = primals, tangents
    y = _hyp1f1(a, b, x)
    moved = y * 0
    if not _still(ta, tb):
        by_a, by_b = _hyp1f1_slopes(a, b, x)
        moved = sum((t * by for t, by in ((ta, by_a), (tb, by_b)) if not _still(t)), moved)
    if not _still(tx):
        moved = moved + tx * where(a == 0, 0.0, a / b * _hyp1f1(a + 1, b + 1, x))
    return y, moved


_hyp1f1.defjvp(_hyp1f1_jvp, symbolic_zeros=True)


def _still(*tangents: Any) -> bool:
    """Whether operands do not move; so derivatives in the last operand do not ask for those in the parameters."""
    return all(isinstance(t, SymbolicZero) for t in tangents)


@custom_jvp
def _hyp1f1_slopes(a: Any, b: Any, x: Any) -> Any:
    turned, usual = x < 0, (abs(x) < 1e4) & ~_pole((a,), b)
    p, v = where(turned, b - a, a), where(usual, abs(x), 0.0)
    sums = _series((where(usual, p, 1.0),), where(usual, b, 1.0), v, True, digits(x) / 16)
    first, second = (_restored(s, sums.scaled, where(turned, -v, 0.0)) for s in sums.slopes)
    by_a, by_b = where(turned, -first, first), where(turned, first + second, second)
    return where(usual, by_a, math.nan), where(usual, by_b, math.nan)


@_hyp1f1_slopes.defjvp
def _hyp1f1_slopes_jvp(primals: Any, tangents: Any) -> Any:
    raise NotImplementedError(f"second derivatives of hyp1f1 in its parameters{here()}")


@together()
def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss's hypergeometric function 2F1(a, b; c; x) = Σ (a)_k (b)_k/(c)_k x^k/k! for x ≤ 1; infinite beyond.

    Of the shape to which the operands broadcast, in their floating-point dtype; raises TypeError for complex numbers.
    At 1 it is Γ(c) Γ(c - a - b)/(Γ(c - a) Γ(c - b)) where c > a + b, else infinite. Polynomials (``a`` or ``b`` is 0,
    -1, …) are summed for all x. Where 1 - x is small, or x is far below 0, the number of steps grows as its logarithm.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.hyp2f1(1.0, 2.0, 3.0, 0.5):.5f}")
    1.54518
    """
    return widened(_hyp2f1, *broadcast_arrays(*real("hyp2f1", a, b, c, x, error=TypeError)))


def _ended(a: Any, b: Any) -> Any:
    return (a <= 0) & (a == floor(a)) | (b <= 0) & (b == floor(b))


def _turned(a: Any, b: Any, c: Any, x: Any) -> tuple[Any, ...]:
    """Where Pfaff's transformation is taken and where the series is summed, and its operands."""
    turned = (x < 0) & ~_ended(a, b)
    usual = (abs(x) < math.inf) & ((x < 1) | _ended(a, b)) & ~_pole((a, b), c)
    q, v = where(turned, c - b, b), where(turned, x / (x - 1), x)
    return turned, usual, where(usual, a, 1.0), where(usual, q, 1.0), where(usual, c, 1.0), where(usual, v, 0.0)


@custom_jvp
def _hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    (found,) = exactly(_hyp2f1_formula, a, b, c, x)
    return found


def _half_way(a: Any, b: Any, c: Any, x: Any, far: Any, small: float) -> tuple[tuple[Any, Any], Any]:
    """The series and, where it goes on from there, its slope, both over 2^(60 scaled)."""
    sums = _series((a, b), c, x, False, small)
    slope = _series(
        (where(far, a + 1, 1.0), where(far, b + 1, 1.0)), where(far, c + 1, 1.0), where(far, x, 0.0), False, small
    )
    return (sums.value, a * b / c * slope.value * exp((slope.scaled - sums.scaled) * _BITS)), sums.scaled


def _hyp2f1_formula(a: Any, b: Any, c: Any, x: Any, small: float) -> Any:
    turned, usual, p, q, r, v = _turned(a, b, c, x)
    far = usual & (v > _HALF) & ~_ended(p, q)
    value, scaled = _half_way(p, q, r, where(far, _HALF, v), far, small)
    # the distance from 1, without the rounding of x/(x - 1)
    left = where(far, where(turned, 1 / (1 - where(turned, x, 0.0)), 1 - v), 1 - _HALF)
    value, scaled = continued(where(far, p, 0.0), where(far, q, 0.0), where(far, r, 1.0), value, scaled, left, small)
    found = _restored(value[0], scaled, where(turned, -a * log1p(-where(turned, x, 0.0)), 0.0))
    found = where(usual, found, where((x >= 1) | _pole((a, b), c), math.inf, math.nan))
    one = (x == 1) & (c > a + b) & (c > 0) & ~_ended(a, b)
    s, p, q, r = c - a - b, c - a, c - b, where(one, c, 1.0)
    s, p, q = (where(one, y, 1.0) for y in (s, p, q))
    zero = _ended(p, q)
    gauss = _sign(p) * _sign(q) * exp(lgamma(r) + lgamma(s) - lgamma(p) - lgamma(q))
    found = where(one, where(zero, 0.0, gauss), found)
    found = where(((x == 0) | (a == 0) | (b == 0)) & ~_pole((a, b), c), 1.0, found)
    return where((a == a) & (b == b) & (c == c) & (x == x), found, math.nan)


def _hyp2f1_jvp(primals: Any, tangents: Any) -> Any:
    (a, b, c, x), (*others, tx) = primals, tangents
    y = _hyp2f1(a, b, c, x)
    moved = y * 0
    if not _still(*others):
        slopes = _hyp2f1_slopes(a, b, c, x)
        moved = sum((t * by for t, by in zip(others, slopes, strict=True) if not _still(t)), moved)
    if not _still(tx):
        moved = moved + tx * where(a * b == 0, 0.0, a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x))
    return y, moved


_hyp2f1.defjvp(_hyp2f1_jvp, symbolic_zeros=True)


@custom_jvp
def _hyp2f1_slopes(a: Any, b: Any, c: Any, x: Any) -> Any:
    turned, usual, p, q, r, v = _turned(a, b, c, x)
    usual = usual & (x < 1)
    p, q, r, v = (where(usual, y, 0.25) for y in (p, q, r, v))
    sums = _series((p, q), r, v, True, digits(x) / 16)
    logarithm = -log1p(-where(turned & usual, x, 0.0))
    value, first, second, third = (_restored(s, sums.scaled, a * logarithm) for s in (sums.value, *sums.slopes))
    by_a, by_b, by_c = first + logarithm * value, where(turned, -second, second), where(turned, second + third, third)
    return tuple(where(usual, y, math.nan) for y in (by_a, by_b, by_c))


@_hyp2f1_slopes.defjvp
def _hyp2f1_slopes_jvp(primals: Any, tangents: Any) -> Any:
    raise NotImplementedError(f"second derivatives of hyp2f1 in its parameters{here()}")
