"""Matrices for factorizations and systems of equations, and what they are solved for."""

from __future__ import annotations

from typing import Any

from ..draws import Draw
from ..language import array, tuple_of
from .declaring import Example, an_array, example_of, of

_SQUARE = ((3, 3), (2, 2), (2, 3, 3), (1, 1), (0, 0), (4, 4), (2, 3), (3,))
_ANY = ((3, 3), (3, 2), (2, 3), (2, 3, 2), (0, 3), (3, 0), (1, 4), (3,), (2, 2))
_DTYPES = {"float32": 6, "complex64": 3, "int32": 2, "float16": 1, "bool": 1, "uint8": 1}


def a_matrix(draw: Draw, *shape: int, dominant: bool = False, only: str | None = None) -> Any:
    """A matrix of moderate numbers; a ``dominant`` diagonal makes it positive definite but for its symmetry."""
    dtype = only or draw.weighted(_DTYPES)
    size = 1
    for each in shape:
        size *= each
    entries: list[Any] = [draw.whole(-8, 8) for _ in range(size)]
    if dtype in ("uint8", "bool"):
        entries = [abs(x) % (2 if dtype == "bool" else 9) for x in entries]
    elif dtype != "int32":
        entries = [x / 4 for x in entries]
    if dominant and len(shape) >= 2 and shape[-1]:
        for i in range(size):
            row, column = divmod(i % (shape[-1] * shape[-2]), shape[-1])
            if row == column and dtype != "bool":
                entries[i] = 9 + row
    if dtype == "complex64":
        entries = [[float(x), float(draw.whole(-4, 4)) / 4 if not dominant else 0.0] for x in entries]
    return array(dtype, shape, entries, draw.weighted({"device": 5, "numpy": 3}))


@example_of(
    *(f"numpy.linalg.{name}" for name in ["inv", "det", "slogdet", "eigvals", "eigvalsh", "eigh", "eig"]),
    *(f"lax.linalg.{name}" for name in ["eig", "eigh", "schur", "hessenberg", "tridiagonal"]),
)
def _square(draw: Draw) -> Example:
    named: dict[str, Any] = {}
    if draw.function == "numpy.linalg.slogdet" and draw.chance(0.3):
        named["method"] = draw.pick(["lu", "qr", "none"])
    if draw.function.startswith("numpy.linalg.eig") and draw.function.endswith("h") and draw.chance(0.4):
        named["UPLO"] = draw.pick(["L", "U", None, "X"])
    return of(a_matrix(draw, *draw.pick(_SQUARE)), **named)


@example_of("numpy.linalg.cholesky", "lax.linalg.cholesky")
def _cholesky(draw: Draw) -> Example:
    named: dict[str, Any] = {"symmetrize_input": draw.pick([True, False])} if draw.chance(0.4) else {}
    if draw.function.startswith("numpy") and draw.chance(0.4):
        named["upper"] = draw.pick([True, False])
    return of(a_matrix(draw, *draw.pick(_SQUARE), dominant=draw.chance(0.8)), **named)


@example_of(
    *(f"numpy.linalg.{name}" for name in ["qr", "svd", "svdvals", "pinv", "matrix_rank", "cond"]),
    *(f"lax.linalg.{name}" for name in ["lu", "qr", "svd"]),
)
def _any(draw: Draw) -> Example:
    room, _, name = draw.function.rpartition(".")
    named: dict[str, Any] = {}
    if name == "qr" and room.startswith("numpy"):
        named = {"mode": draw.pick(["reduced", "complete", "r", "raw", "none"])} if draw.chance(0.6) else {}
    elif name in ("qr", "svd") and draw.chance(0.6):
        named = {"full_matrices": draw.pick([True, False])}
    elif name == "cond" and draw.chance(0.6):
        named = {"p": draw.pick([None, 1, 2, -2, -1, "fro", "nuc", float("inf")])}
    elif name in ("pinv", "matrix_rank") and draw.chance(0.3):
        named = {"rcond" if name == "pinv" else "tol": 0.25}
    return of(a_matrix(draw, *draw.pick(_ANY)), **named)


@example_of("numpy.linalg.solve", "lax.linalg.triangular_solve", "numpy.linalg.lstsq", "numpy.linalg.tensorsolve")
def _systems(draw: Draw) -> Example:
    left, right = draw.pick(
        [
            ((3, 3), (3,)),
            ((3, 3), (3, 2)),
            ((2, 3, 3), (2, 3, 3)),
            ((2, 2, 2), (2,)),
            ((3, 3), (3, 3)),
            ((2, 3), (2,)),
            ((3, 3), (2,)),
            ((1, 1), (1, 4)),
            ((0, 0), (0,)),
        ]
    )
    named = {}
    if draw.function.startswith("lax"):
        flags = ["left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal"]
        named = {flag: True for flag in flags if draw.chance(0.4)}
    return of(a_matrix(draw, *left, dominant=True), a_matrix(draw, *right), **named)


@example_of("lax.linalg.tridiagonal_solve")
def _bands(draw: Draw) -> Example:
    size = draw.pick([1, 2, 3, 4])
    dtype = draw.pick(["float32", "complex64"])

    def made(*shape: int, least: float = -1.0) -> Any:
        count = size * (shape[1] if len(shape) > 1 else 1)
        entries: list[Any] = [least + draw.whole(0, 8) / 4 for _ in range(count)]
        if dtype == "complex64":
            entries = [[x, 0.25] for x in entries]
        return array(dtype, shape, entries, "device")

    other = made(size) if draw.chance(0.9) else a_matrix(draw, 5)
    return of(made(size), made(size, least=5.0), other, made(size, draw.pick([1, 2])))


@example_of("lax.linalg.lu_pivots_to_permutation")
def _pivots(draw: Draw) -> Example:
    return of(array("int32", (3,), [draw.whole(i, 3) for i in range(3)], "device"), draw.pick([4, 4, 5, 2]))


@example_of("lax.linalg.qdwh")
def _polar(draw: Draw) -> Example:
    shape = draw.pick([(3, 3), (4, 2), (1, 1), (2, 2), (3, 3), (5, 3), (2, 3), (2, 2, 2), (3,)])
    named: dict[str, Any] = {}
    if draw.chance(0.3):
        named["max_iterations"] = draw.pick([0, 1, 3, 20])
    if draw.chance(0.2):
        named["eps"] = draw.pick([1e-3, 0.1])
    if draw.chance(0.2):
        named["is_hermitian"] = draw.pick([True, False])
    return of(a_matrix(draw, *shape, dominant=draw.chance(0.7)), **named)


@example_of("lax.linalg.householder_product", "lax.linalg.ormqr")
def _reflections(draw: Draw) -> Example:
    rows, columns = draw.pick([(3, 2), (3, 3), (4, 2), (2, 3)])
    dtype = draw.weighted({"float32": 6, "complex64": 2, "int32": 1})
    shapes = [(rows, columns), (draw.weighted({min(rows, columns): 4, 1: 1, 4: 1}),), (rows, 2)]
    return of(*(draw.array_of(dtype, shape) for shape in shapes[: 3 if draw.function.endswith("ormqr") else 2]))


@example_of("lax.fft")
def _fft(draw: Draw) -> Example:
    kind = draw.pick(["fft", "ifft", "rfft", "irfft", "FFT", "other"])
    shape = draw.pick([(4,), (2, 4), (3,), (0,)])
    x = draw.array_of("float32" if kind == "rfft" else draw.pick(["complex64", "float32"]), shape)
    length = 2 * (shape[-1] - 1) if kind == "irfft" else draw.weighted({shape[-1]: 4, 3: 1})
    return of(x, kind, tuple_of([length]))


@example_of("numpy.linalg.cross")
def _cross(draw: Draw) -> Example:
    return of(an_array(draw, *draw.pick([(3,), (2, 3), (2,)])), an_array(draw, *draw.pick([(3,), (2, 3)])))


@example_of("numpy.linalg.multi_dot")
def _multi_dot(draw: Draw) -> Example:
    shapes = draw.pick([[(2, 3), (3, 4)], [(3,), (3, 2), (2,)], [(2, 3), (3, 2), (2, 4)], [(2, 3)], [(2, 3), (2, 3)]])
    return of([an_array(draw, *shape) for shape in shapes])


@example_of("numpy.linalg.tensorinv")
def _tensorinv(draw: Draw) -> Example:
    return of(a_matrix(draw, *draw.pick([(3, 3), (2, 2, 4), (4, 2, 2), (2, 3)])), draw.pick([1, 2, 0]))


@example_of("lax.linalg.cholesky_update")
def _cholesky_update(draw: Draw) -> Example:
    factor = array("float32", (2, 2), [2.0, draw.whole(-2, 2), 0.0, 3.0])
    return of(factor, array("float32", (2,), [draw.whole(-2, 2), 1.0]))


@example_of("lax.linalg.symmetric_product")
def _symmetric_product(draw: Draw) -> Example:
    left = array("float32", (2, 3), [draw.whole(-3, 3) for _ in range(6)])
    added = array("float32", (2, 2), [1.0, 2.0, 2.0, draw.whole(-3, 3)])
    return of(left, added, **({"alpha": 2.0, "symmetrize_output": True} if draw.chance(0.5) else {}))
