"""Calls of special functions: orders that are whole, degrees not below orders, parameters where series converge."""

from __future__ import annotations

from ..draws import Draw
from ..language import Described, array
from .declaring import Example, example_of, of


def _eighths(draw: Draw, size: int, low: int, high: int) -> Described:
    return array("float32", (size,), [draw.whole(low, high) / 8 for _ in range(size)], "device")


@example_of("scipy.special.bessel_jn")
def _bessel_jn(draw: Draw) -> Example:
    # JAX starts at n_iter, from where its recurrence overflows for small arguments
    return of(_eighths(draw, 4, 8 * 8, 14 * 8), v=draw.whole(0, 4), n_iter=40)


@example_of("scipy.special.sph_harm_y")
def _sph_harm_y(draw: Draw) -> Example:
    n = [draw.whole(0, 5) for _ in range(3)]
    m = [draw.whole(-k, k) for k in n]
    degrees, orders = (array("int32", (3,), each, "device") for each in (n, m))
    more = {"n_max": max(n) + draw.whole(0, 1)} if draw.chance(0.5) else {}
    return of(degrees, orders, _eighths(draw, 3, 1, 24), _eighths(draw, 3, 0, 48), **more)


@example_of("scipy.special.expn")
def _expn(draw: Draw) -> Example:
    return of(array("int32", (3,), [draw.whole(0, 7) for _ in range(3)], "device"), _eighths(draw, 3, 1, 80))


@example_of("scipy.special.hyp1f1")
def _hyp1f1(draw: Draw) -> Example:
    return of(*(_eighths(draw, 3, 1, 24) for _ in range(3)))


@example_of("scipy.special.hyp2f1")
def _hyp2f1(draw: Draw) -> Example:
    return of(*(_eighths(draw, 3, 1, 24) for _ in range(3)), _eighths(draw, 3, 0, 6))
