"""xlascope's linear algebra and Fourier transforms agree with jax's, by themselves and inside jit."""

import functools
import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import oracle
from tests.changes_of_jax import made

import xlascope as xs

HERE = Path(__file__).with_name("algebra.py")
#: Where we differ from jax, and why.
KNOWN: dict[str, str] = {
    'jnp.linalg.slogdet(c, method="qr")': "complex matrices have a QR factorization as well",
    "library.grad(lambda a: jnp.linalg.det(a))(jnp.ones((4, 4)) + jnp.diag(jnp.array([0.0, 0, 1, 2])))": (
        "the adjugate of a matrix of rank n - 1 is not zero; jax finds it only if the last pivot alone is zero"
    ),
    "jnp.linalg.matrix_rank(g, 0.9)": "relative to the largest singular value, as in NumPy and as jax documents",
}
if made("dtypes of factorizations"):
    KNOWN |= dict.fromkeys(
        ("jnp.linalg.inv(s.astype(jnp.float16))", "lax.linalg.qdwh(h[:, None])"),
        "a NotImplementedError that names the dtypes, as in jax before; it is a TypeError now",
    )
#: Errors for the same mistake: both say that an argument is wrong.
WRONG = {"TypeError", "ValueError"}


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("xlascope_numpy_algebra", HERE)
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


TABLE = _load()


@pytest.fixture(scope="module")
def expected(jax_says) -> dict[str, Any]:
    return jax_says(HERE, "every")


@functools.cache
def alone(row: str) -> Any:
    """What a row gives by itself."""
    return TABLE.evaluate(xs, row)


def _difference(found: Any, wanted: Any) -> str:
    """What is wrong with a result, or nothing."""
    if TABLE.is_error(wanted) or TABLE.is_error(found):
        same = (
            TABLE.is_error(wanted)
            and TABLE.is_error(found)
            and (wanted[1] == found[1] or {wanted[1], found[1]} == WRONG)
        )
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
    precision = 2e-3 if ours.dtype.itemsize == 2 else 2e-5
    same = np.allclose(ours, theirs, rtol=precision, atol=precision * size, equal_nan=True)
    return "" if same else f"gave {ours.ravel()[:9]}, jax gives {theirs.ravel()[:9]}"


@pytest.mark.parametrize("row", oracle.rows(TABLE.ROWS, KNOWN))
def test_an_expression_gives_what_jax_gives(row: str, expected: dict[str, Any]) -> None:
    complaint = _difference(alone(row), expected[row])
    assert not complaint, complaint


def test_the_expressions_give_the_same_inside_jit(expected: dict[str, Any]) -> None:
    # by itself each gives what jax gives, as the test above has seen, perhaps in another process
    wanted = {row: alone(row) if row in KNOWN else expected[row] for row in TABLE.ROWS}
    # the first needs the rank's value; of the others nothing but rounding errors is left, of other steps other ones
    left_out = ("numpy_resid", "lstsq(c, x, -1.0)", "svd(a)[0].sum())(w)")
    rows = [r for r in TABLE.ROWS if not any(each in r for each in left_out) and not TABLE.is_error(wanted[r])]
    complaints = []
    for start in range(0, len(rows), 60):
        some = rows[start : start + 60]
        for row, inside in zip(some, TABLE.together(xs, some), strict=True):
            if complaint := _difference(inside, wanted[row]):
                complaints.append(f"{row}: inside jit {complaint.replace('jax gives', 'by itself')}")
    assert not complaints, "\n".join(complaints)
