"""xlascope.scipy agrees with jax.scipy, expression by expression, by itself and inside jit."""

import functools
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import oracle
from tests.changes_of_jax import made

import xlascope as xs

HERE = Path(__file__).with_name("expressions.py")
#: Errors for the same mistake: both say that an argument is wrong.
WRONG = {"TypeError", "ValueError", "AssertionError", "IndexError"}


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"xlascope_scipy_{path.stem}", path)
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


TABLE = _load(HERE)
ROOMS = {path.stem: _load(path) for path in sorted(HERE.with_name("rows").glob("*.py"))}
KNOWN = {row: why for room in ROOMS.values() for row, why in room.KNOWN.items()}
if made("cholesky's cotangent"):
    KNOWN |= dict.fromkeys(
        (
            "library.grad(lambda a: (sl.cholesky(a) * o).sum())(d)",
            "library.grad(lambda a: sl.cho_solve(sl.cho_factor(a), x).sum())(d)",
        ),
        "the cotangent is spread over both triangles, as in jax before; it lies in one of them now",
    )
if made("LU of a stack"):
    del KNOWN["sl.lu(g)"]
if made("distributions of scipy"):
    del KNOWN["ss.vonmises.logpdf(x, i)"], KNOWN["ss.multinomial.logpmf(jnp.array([[1, 2, 0], [0, 1, 2]]), 3, p)"]
if made("eigh of two matrices"):
    KNOWN = {row: why for row, why in KNOWN.items() if "sl.eigh(d, d" not in row}


def rows_of(room: str) -> list[str]:
    return [row for row in ROOMS[room].ROWS.splitlines() if row]


@pytest.fixture(scope="module")
def expected(jax_says) -> Callable[[str], dict[str, Any]]:
    return functools.cache(lambda room: jax_says(HERE.with_name("rows") / f"{room}.py", "every"))


@functools.cache
def alone(row: str) -> Any:
    """What a row gives by itself."""
    return TABLE.evaluate(xs, row)


def _difference(found: Any, wanted: Any) -> str:
    """What is wrong with a result, or nothing."""
    if TABLE.is_error(wanted) or TABLE.is_error(found):
        both = TABLE.is_error(wanted) and TABLE.is_error(found)
        same = both and (wanted[1] == found[1] or {wanted[1], found[1]} <= WRONG)
        return "" if same else f"gave {str(found)[:300]}, jax {str(wanted)[:300]}"
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            return f"gave {found}, jax gives {wanted}"
        return "; ".join(filter(None, map(_difference, found, wanted)))
    if not isinstance(wanted, tuple):
        return "" if found == wanted or found is wanted else f"gave {found!r}, jax gives {wanted!r}"
    (ours, weak), (theirs, weak_theirs) = found, wanted
    if (ours.dtype, ours.shape, weak) != (theirs.dtype, theirs.shape, weak_theirs):
        return f"gave {ours.dtype}{ours.shape} weak={weak}, jax gives {theirs.dtype}{theirs.shape} weak={weak_theirs}"
    if ours.dtype.kind not in "fc":
        return "" if np.array_equal(ours, theirs) else f"gave {ours.ravel()[:6]}, jax gives {theirs.ravel()[:6]}"
    finite = theirs[np.isfinite(theirs)]
    size = float(np.abs(finite).max(initial=0.0))  # errors are relative to the largest element
    precision = 4e-3 if ours.dtype.itemsize == 2 else 4e-5
    same = np.allclose(ours, theirs, rtol=precision, atol=precision * size, equal_nan=True)
    return "" if same else f"gave {ours.ravel()[:9]}, jax gives {theirs.ravel()[:9]}"


HOME = {row: room for room in ROOMS for row in rows_of(room)}


@pytest.mark.parametrize("row", oracle.rows(HOME, KNOWN))
def test_an_expression_gives_what_jax_gives(row: str, expected: Callable[[str], dict[str, Any]]) -> None:
    complaint = _difference(alone(row), expected(HOME[row])[row])
    assert not complaint, complaint


@pytest.mark.parametrize("room", ROOMS)
def test_the_expressions_give_the_same_inside_jit(room: str, expected: Callable[[str], dict[str, Any]]) -> None:
    eager = getattr(ROOMS[room], "EAGER", set())
    # by itself each gives what jax gives, as the test above has seen, perhaps in another process
    wanted = {row: alone(row) if row in KNOWN else expected(room)[row] for row in rows_of(room)}
    rows = [row for row in rows_of(room) if row not in eager and not TABLE.is_error(wanted[row])]
    complaints = []
    for start in range(0, len(rows), 60):
        some = rows[start : start + 60]
        for row, inside in zip(some, TABLE.together(xs, some), strict=True):
            if complaint := _difference(inside, wanted[row]):
                complaints.append(f"{row}: inside jit {complaint.replace('jax gives', 'by itself')}")
    assert not complaints, "\n".join(complaints)
