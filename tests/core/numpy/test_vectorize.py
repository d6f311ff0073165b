"""``vectorize`` gives what jax's gives, and says what does not fit."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import oracle

import xlascope as xs
import xlascope.numpy as jnp

PROGRAMS = Path(__file__).with_name("vectorize_calls.py")
_SPEC = importlib.util.spec_from_file_location("vectorize_calls", PROGRAMS)
TABLE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(TABLE)
KNOWN = {
    "jnp.vectorize(lambda: 1)()": "a TypeError that says what is missing instead of an AssertionError",
    "jnp.vectorize(jnp.dot, signature=' ( n , m ) , ( m ) -> ( n ) ')(t, v)": "as in NumPy, spaces are allowed",
    "jnp.vectorize(lambda x, n=2: x * n)(m, n=3)": "as in NumPy, keyword arguments are passed on; jax drops them",
}


@pytest.fixture(scope="module")
def expected(jax_says) -> dict[str, Any]:
    return jax_says(PROGRAMS, "every")


@pytest.mark.parametrize("row", oracle.rows(TABLE.ROWS, KNOWN))
def test_a_call_gives_what_jax_gives(row: str, expected: dict[str, Any]) -> None:
    found, wanted = TABLE.evaluate(xs, row), expected[row]
    assert type(found) is type(wanted), (found, wanted)
    if isinstance(wanted, str):
        assert found == wanted
        return
    for ours, theirs in zip(*(x if isinstance(x, list) else [x] for x in (found, wanted)), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize(
    ("signature", "shapes", "words"),
    [
        ("(n),(n)->()", [(3, 4), (3,)], r"axis n has size 4 and size 3.*\(n\),\(n\)->\(\)"),
        ("(n),(n)->()", [(), (3,)], r"shape \(\) has too few axes for \(n\)"),
        ("(n),(n)->(k)", [(3,), (3,)], r"result of shape \(\) does not fit \(k\)"),
        ("(n),(n)->(),()", [(3,), (3,)], "tuple of 2"),
        ("(n),(n)->()", [(3,)], "expected 2 positional arguments, got 1"),
        ("(n),(n)->()", [(2, 3), (4, 3)], r"\(2,\) and \(4,\)"),
        (None, [(2,), (3,)], r"\(2,\) and \(3,\)"),
        (None, [], "at least one positional argument"),
    ],
)
def test_what_does_not_fit_is_named(signature: str | None, shapes: list[tuple[int, ...]], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        jnp.vectorize(jnp.dot, signature=signature)(*map(jnp.ones, shapes))
