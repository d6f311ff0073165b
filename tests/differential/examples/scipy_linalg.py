"""Calls of scipy.linalg."""

from __future__ import annotations

from typing import Any

from ..draws import Draw
from ..language import tuple_of
from .declaring import Example, an_array, example_of, of
from .linear_algebra import a_matrix

_SQUARE = ((3, 3), (2, 2), (1, 1), (4, 4), (2, 3), (3,))
_ROOM = "scipy.linalg"


def _named(names: str) -> list[str]:
    return [f"{_ROOM}.{name}" for name in names.split()]


@example_of(*_named("det inv expm sqrtm hessenberg schur eigh svd qr lu lu_factor cholesky cho_factor polar"))
def _one_matrix(draw: Draw) -> Example:
    name = draw.function.rpartition(".")[2]
    options: dict[str, tuple[str, list[Any]]] = {
        "hessenberg": ("calc_q", [True, False]),
        "schur": ("output", ["real", "complex", "none"]),
        "eigh": ("eigvals_only", [True, False]),
        "svd": ("full_matrices", [True, False]),
        "qr": ("mode", ["full", "r", "economic", "raw"]),
        "lu": ("permute_l", [True, False]),
        "cholesky": ("lower", [True, False]),
        "cho_factor": ("lower", [True, False]),
        "polar": ("method", ["svd", "qdwh", "none"]),
    }
    named: dict[str, Any] = {}
    if name in options and draw.chance(0.6):
        key, values = options[name]
        named[key] = draw.pick(values)
    if name == "polar" and draw.chance(0.4):
        named["side"] = draw.pick(["left", "right", "up"])
    shapes = (*_SQUARE, (2, 3), (3, 2)) if name in ("svd", "qr", "lu", "lu_factor", "polar") else _SQUARE
    return of(a_matrix(draw, *draw.pick(shapes), dominant=draw.chance(0.8 if name.startswith("cho") else 0.3)), **named)


@example_of(*_named("solve solve_triangular"))
def _systems(draw: Draw) -> Example:
    left, right = draw.pick(
        [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 3)), ((2, 3), (2,)), ((3, 3), (2,)), ((1, 1), (1, 4))]
    )
    named: dict[str, Any] = {}
    if draw.chance(0.5):
        named["lower"] = draw.pick([True, False])
    if draw.chance(0.5):
        if draw.function.endswith("triangular"):
            named["trans"] = draw.pick([0, 1, 2, "N", "T", "C"])
            named["unit_diagonal"] = draw.pick([True, False])
        else:
            named["assume_a"] = draw.pick(["gen", "sym", "her"])
    return of(a_matrix(draw, *left, dominant=True), a_matrix(draw, *right), **named)


@example_of(*_named("cho_solve lu_solve"))
def _by_factors(draw: Draw) -> Example:
    factors = an_array(draw, 3, 3, dtype="float32")
    second = draw.pick([True, False])
    if draw.function.endswith("lu_solve"):
        second = {"array": {"dtype": "int32", "shape": [3], "data": [draw.whole(i, 2) for i in range(3)]}}
        second["array"]["holder"] = "device"
    named = {"trans": draw.pick([0, 1, 2, 3])} if draw.function.endswith("lu_solve") and draw.chance(0.5) else {}
    return of(tuple_of([factors, second]), an_array(draw, *draw.pick([(3,), (3, 2), (2,)]), dtype="float32"), **named)


@example_of(*_named("solve_sylvester"))
def _sylvester(draw: Draw) -> Example:
    m, n = draw.pick([2, 3]), draw.pick([2, 3])
    named = {"method": draw.pick(["schur", "eigen", "none"])} if draw.chance(0.5) else {}
    return of(a_matrix(draw, m, m, dominant=True), a_matrix(draw, n, n, dominant=True), a_matrix(draw, m, n), **named)


@example_of(*_named("expm_frechet rsf2csf"))
def _two(draw: Draw) -> Example:
    n = draw.pick([1, 2, 3])
    first = a_matrix(draw, n, n) if draw.function.endswith("frechet") else an_array(draw, n, n, dtype="float32")
    if draw.function.endswith("csf"):
        size = n * n
        kept = [draw.whole(-4, 4) / 2 if j >= i else 0.0 for i in range(n) for j in range(n)]
        assert len(kept) == size
        first = {"array": {"dtype": "float32", "shape": [n, n], "data": kept, "holder": "device"}}
    return of(first, a_matrix(draw, n, n))


@example_of(*_named("qr_multiply"))
def _multiplied(draw: Draw) -> Example:
    mode = draw.pick(["left", "right"])
    rows = draw.pick([3, 4])
    right = draw.pick([(3,), (3, 2)] if mode == "left" else [(rows,), (2, rows)])
    named = {"mode": mode} if mode == "left" or draw.chance(0.3) else {}
    return of(a_matrix(draw, rows, 3, dominant=True), a_matrix(draw, *right), **named)


@example_of(*_named("funm"))
def _funm(draw: Draw) -> Example:
    return of(
        a_matrix(draw, *draw.pick([(2, 2), (3, 3), (2, 3)])), {"attribute": draw.pick(["numpy.exp", "numpy.sin"])}
    )


@example_of(*_named("eigh_tridiagonal"))
def _tridiagonal(draw: Draw) -> Example:
    n = draw.pick([2, 3, 4])
    dtype = draw.pick(["float32", "float32", "int32"])
    named: dict[str, Any] = {"eigvals_only": True}
    if draw.chance(0.3):
        named |= {"select": "i", "select_range": tuple_of([0, draw.pick([0, 1])])}
    return of(a_matrix(draw, n, only=dtype), a_matrix(draw, n - draw.weighted({1: 9, 0: 1}), only=dtype), **named)


@example_of(*_named("hilbert invhilbert pascal invpascal hadamard helmert dft"))
def _sizes(draw: Draw) -> Example:
    name = draw.function.rpartition(".")[2]
    named: dict[str, Any] = {}
    if name in ("pascal", "invpascal") and draw.chance(0.6):
        named["kind"] = draw.pick(["symmetric", "lower", "upper", "none"])
    if name == "dft" and draw.chance(0.5):
        named["scale"] = draw.pick(["sqrtn", "n", "none"])
    if name == "helmert" and draw.chance(0.5):
        named["full"] = draw.pick([True, False])
    return of(draw.pick([1, 2, 3, 4, 8]), **named)


@example_of(*_named("companion fiedler_companion leslie convolution_matrix"))
def _vectors(draw: Draw) -> Example:
    name = draw.function.rpartition(".")[2]
    n = draw.pick([2, 3, 4, 5])
    lead = draw.pick([(), (), (2,)])
    if name == "leslie":
        return of(a_matrix(draw, *lead, n), a_matrix(draw, *lead, n - draw.weighted({1: 9, 0: 1})))
    if name == "convolution_matrix":
        named = {"mode": draw.pick(["full", "same", "valid", "none"])} if draw.chance(0.6) else {}
        return of(a_matrix(draw, *lead, n), draw.pick([1, 2, 3, 5, 0]), **named)
    return of(a_matrix(draw, *lead, n))
