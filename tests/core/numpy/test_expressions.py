"""xlascope.numpy agrees with jax.numpy, expression by expression, by itself and inside jit."""

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
from tests.comparison import difference, rough_difference

import xlascope as xs

HERE = Path(__file__).with_name("expressions.py")
#: Where we differ from jax, and why.
KNOWN: dict[str, str] = {
    'library.lax.population_count(k.astype("int4"))': "-7 has two of its four bits set; jax counts copies of the sign",
    "jnp.sinc(h)": "narrow floats are computed in float32; jax's angle, and its zeros, are rounded to a half",
    "jnp.reshape(e, (0, -1))": "a ValueError as in NumPy instead of a ZeroDivisionError",
}
if made("sinc at infinity"):
    KNOWN["jnp.sinc(w)"] = "NaN at infinity, as in NumPy; jax has zero"
if made("weak type of log2"):
    KNOWN["jnp.log2(0)"] = "no weak type, as of log10; jax's is weak for this base alone"
if made("edges of numpy"):
    KNOWN |= dict.fromkeys(
        (
            "jnp.nonzero(m, size=14, fill_value=(0.5, 8))[0]",
            "jnp.flatnonzero(x, size=4, fill_value=-2.5)",
            "jnp.where(x, size=4, fill_value=1.5)",
            "jnp.argwhere(x, size=4, fill_value=0.5)",
        ),
        "a weak type by the number that fills, as in jax before; it is not weak now",
    )
    KNOWN |= {
        "jnp.nonzero(x, size=-1)": "a TypeError, as in jax before; it is a ValueError now",
        "jnp.sinc(i)": "as in NumPy, by sin(pi x); jax has zero at whole numbers now",
        "jnp.sinc(h)": "as in NumPy, by sin(pi x); jax has zero at whole numbers now",
        "jnp.hypot(2.5, k)": "no weak type, as in jax before; it is weak now",
        'jnp.array(x, "float32", True)': "copy may be given by place, as in jax before; now it is by name alone",
        "jnp.cross(x[:2], p[:2])": "vectors of two numbers are taken, as in jax before; now three are asked for",
    }
#: Where other steps lead to the same numbers, but not to their last places or to the signs of zeros.
OTHER_STEPS = {
    "jnp.sin(z)",  # sin(-0 - 0.5j) has a real part of -0, as in NumPy
    "jnp.polymul(i, 2 * k[:1])",  # sums instead of a convolution
    "jnp.poly(i)",
    "jnp.polydiv(p, x[:2])",  # a remainder is what rounding leaves
    "jnp.polydiv(p, q)",
    "jnp.arctan2(z, y)",  # the imaginary part is what rounding leaves
    "library.grad(lambda v: library.nn.dot_product_attention(v / 9, v / 9, v, is_causal=True)[..., 0].sum())(t)",
}
Compare = Callable[[np.ndarray, np.ndarray], str]


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("xlascope_numpy_expressions", HERE)
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
    return TABLE.evaluate(xs, row, jit=False)


def _difference(found: Any, wanted: Any, compare: Compare = difference) -> str:
    """What is wrong with a result, or nothing."""
    if TABLE.is_error(wanted):
        if not TABLE.is_error(found):
            return f"gave {found}, jax raises {wanted[2][:200]}"
        return "" if found[1] == wanted[1] else f"raised {found[2][:300]}, jax raises {wanted[2][:200]}"
    if TABLE.is_error(found):
        return f"raised {found[2][:300]}, jax gives {wanted}"
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            return f"gave {found}, jax gives {wanted}"
        return "; ".join(filter(None, (_difference(*pair, compare) for pair in zip(found, wanted, strict=True))))
    if isinstance(wanted, tuple):
        return _array_difference(found, wanted, compare)
    return "" if found == wanted or found is wanted else f"gave {found!r}, jax gives {wanted!r}"


def _array_difference(found: Any, wanted: tuple[np.ndarray, bool], compare: Compare) -> str:
    if not isinstance(found, tuple):
        return f"gave {found!r}, jax gives an array"
    (ours, weak), (theirs, weak_theirs) = found, wanted
    if ours.dtype == bool:
        weak = weak_theirs  # a truth value cannot be weak, but sometimes it says so in jax
    if weak != weak_theirs:
        return f"gave weak={weak}, jax gives weak={weak_theirs}"
    return compare(ours, theirs)


@pytest.mark.parametrize("row", oracle.rows([*TABLE.ROWS, *TABLE.EAGER_ROWS], KNOWN))
def test_an_expression_gives_what_jax_gives(row: str, expected: dict[str, Any]) -> None:
    complaint = _difference(alone(row), expected[row], rough_difference if row in OTHER_STEPS else difference)
    assert not complaint, complaint


def _gives_arrays(result: Any) -> bool:
    if isinstance(result, list):
        return bool(result) and all(map(_gives_arrays, result))
    return isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], np.ndarray)


def test_the_expressions_give_the_same_inside_jit(expected: dict[str, Any]) -> None:
    # by itself each gives what jax gives, as the test above has seen, perhaps in another process
    wanted = {row: alone(row) if row in KNOWN else expected[row] for row in TABLE.ROWS}
    rows = [row for row in TABLE.ROWS if _gives_arrays(wanted[row])]
    complaints = []
    for start in range(0, len(rows), 100):
        some = rows[start : start + 100]
        for row, inside in zip(some, TABLE.together(xs, some), strict=True):
            if complaint := _difference(inside, wanted[row], rough_difference):
                complaints.append(f"{row}: inside jit {complaint.replace('jax gives', 'by itself')}")
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("row", ["x[5, 0]", "jnp.sum([1, 2])", "i ** -1", "x + x[:2]", "jnp.reshape(m, (5, -1))"])
def test_an_error_is_the_same_inside_jit(row: str) -> None:
    inside = TABLE.evaluate(xs, row, jit=True)
    assert TABLE.is_error(alone(row)) and TABLE.is_error(inside)
    assert alone(row)[1] == inside[1]
