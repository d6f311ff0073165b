"""``x.at[index]``: updates at indices that repeat themselves or leave the array give what jax gives."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp

PROGRAMS = Path(__file__).with_name("repeated_updates.py")
_SPEC = importlib.util.spec_from_file_location("repeated_updates", PROGRAMS)
TABLE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(TABLE)


@pytest.fixture(scope="module")
def expected(jax_says) -> Any:
    return jax_says(PROGRAMS, "every")


@pytest.mark.parametrize("row", TABLE.ROWS)
def test_an_update_gives_what_jax_gives(row: str, expected: Any) -> None:
    found, wanted = TABLE.evaluate(xs, row), expected[0][row]
    if isinstance(wanted, str):
        assert isinstance(found, str) and found == wanted
    else:
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=2e-6)


@pytest.mark.parametrize("name", TABLE.GRADIENTS)
def test_a_gradient_is_the_one_jax_gives(name: str, expected: Any) -> None:
    for ours, theirs in zip(TABLE.gradient(xs, name), expected[1][name], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


def test_products_with_repeated_factors_have_a_gradient() -> None:
    """jax has none."""
    at = np.array([0, 2, 0, 0])
    x, v = jnp.array([2.0, 3.0, 5.0]), jnp.array([1.5, 0.0, -2.0, 3.0])
    of_x, of_v = xs.grad(lambda x, v: x.at[at].multiply(v).sum(), (0, 1))(x, v)
    np.testing.assert_allclose(of_x, [1.5 * -2 * 3, 1, 0])
    np.testing.assert_allclose(of_v, [2 * -2 * 3, 5, 2 * 1.5 * 3, 2 * 1.5 * -2])


def test_apply_can_be_differentiated_where_nothing_repeats() -> None:
    x = jnp.array([2.0, 3.0, 5.0])
    at = np.array([0, 2])
    np.testing.assert_allclose(xs.grad(lambda x: x.at[1].apply(jnp.square).sum())(x), [1, 6, 1])
    promised = xs.grad(lambda x: x.at[at].apply(jnp.square, unique_indices=True).sum())(x)
    np.testing.assert_allclose(promised, [4, 1, 10])
    _, moved = xs.jvp(lambda x: x.at[np.array([1, 1])].apply(jnp.square), (x,), (jnp.ones(3),))
    np.testing.assert_allclose(moved, [1, 4 * 27, 1])
