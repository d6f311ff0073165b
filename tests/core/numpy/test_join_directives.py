"""r_ and c_ with NumPy's directives, against NumPy."""

from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp

PAIR = np.arange(2, dtype=np.float32)
MATRIX = np.ones((2, 2), np.float32)
CUBE = np.zeros((2, 2, 2), np.float32)
KEYS: list[tuple[str, Any]] = [
    ("r_", ("0,2", PAIR, PAIR)),
    ("r_", ("0,2", [1, 2], [3, 4])),
    ("r_", ("-1", PAIR, PAIR)),
    ("r_", ("0,2,0", PAIR, PAIR)),
    ("r_", ("1,2,0", PAIR, PAIR)),
    ("r_", ("0,3", PAIR, slice(3, 5))),
    ("r_", ("0,3,1", PAIR, PAIR)),
    ("r_", ("1,3,2", PAIR, PAIR)),
    ("r_", ("0,2,-2", PAIR, PAIR)),
    ("r_", ("0,3,-2", PAIR, slice(3, 5))),
    ("r_", ("0,2", 5)),
    ("r_", ("r", PAIR, 5)),
    ("r_", ("c", PAIR, 5)),
    ("r_", slice(-1, 1, 5j)),
    ("r_", (slice(0, 3), 7, PAIR)),
    ("c_", ("0", PAIR, PAIR)),
    ("c_", ("1,2", PAIR, PAIR)),
    ("c_", (PAIR, MATRIX, slice(1, 3))),
    ("c_", (CUBE, CUBE)),
    ("c_", (1, 2)),
]


@pytest.mark.parametrize(("name", "key"), KEYS, ids=str)
def test_items_are_joined_as_in_numpy(name: str, key: Any) -> None:
    expected = np.asarray(getattr(np, name)[key])
    value = getattr(jnp, name)[key]
    assert value.shape == expected.shape
    np.testing.assert_allclose(value, expected, rtol=1e-6)


def test_traced_items_are_joined() -> None:
    assert xs.jit(lambda x: jnp.r_["0,2", x, x * 2])(PAIR).tolist() == [[0.0, 1.0], [0.0, 2.0]]
    assert xs.vmap(lambda x: jnp.c_[x, x])(MATRIX).shape == (2, 2, 2)


@pytest.mark.parametrize("key", [("x", PAIR), ("0,2,3,4", PAIR), (PAIR, "0,2")], ids=str)
def test_other_directives_are_refused(key: Any) -> None:
    with pytest.raises(ValueError, match="directive"):
        jnp.r_[key]
