"""Functions of many elements and many others: none of them compares or multiplies each with each in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp

#: Functions of n integers, n floats, n others, and n.
PAIRS: dict[str, Callable[..., Any]] = {
    "choice": lambda i, x, y, n: xs.random.choice(xs.random.PRNGKey(0), n, (n,), p=x),
    "digitize": lambda i, x, y, n: jnp.digitize(x, y),
    "histogram": lambda i, x, y, n: jnp.histogram(x, bins=y)[0],
    "insert": lambda i, x, y, n: jnp.insert(x, i, y),
    "interp": lambda i, x, y, n: jnp.interp(x, y, y),
    "intersect1d": lambda i, x, y, n: jnp.intersect1d(i, i[::2], size=n),
    "isin": lambda i, x, y, n: jnp.isin(i, i[::2]),
    "polymul": lambda i, x, y, n: jnp.polymul(x, y),
    "searchsorted": lambda i, x, y, n: jnp.searchsorted(x, y),
    "unique": lambda i, x, y, n: jnp.unique(x, size=n, return_inverse=True),
}


@pytest.mark.parametrize("name", PAIRS)
def test_memory_grows_with_the_operands(name: str) -> None:
    sizes = []
    for n in (1000, 4000):
        integers, floats = np.arange(n, dtype=np.int32), np.linspace(0.1, 0.9, n, dtype=np.float32)
        compiled = xs.jit(lambda *x, n=n: PAIRS[name](*x, n)).lower(integers, floats, floats + 0.01).compile()
        sizes.append(compiled.memory_analysis().temp_size_in_bytes)
    assert sizes[1] <= max(5 * sizes[0], 4000 * 64)


def test_many_elements_give_what_numpy_gives() -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 100)).astype(np.float32)
    places = random.integers(-100, 100, 100)
    np.testing.assert_allclose(jnp.polymul(x, y), np.polymul(x, y), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(jnp.insert(x, places, y), np.insert(x, places, y))
    p = random.uniform(size=1000).astype(np.float32)
    drawn = xs.random.choice(xs.random.PRNGKey(3), 1000, (4, 50), p=p)
    summed = np.cumsum(p.astype(float))
    uniform = np.asarray(xs.random.uniform(xs.random.PRNGKey(3), (4, 50)))
    expected = np.searchsorted(summed, summed[-1] * (1 - uniform.astype(float)))
    assert (np.abs(np.asarray(drawn) - expected) <= 1).all()


def test_a_power_is_the_same_program_each_time() -> None:
    x = np.float32([0.5, 2.0])
    for power in (np.float32(2.0), np.float32(0.0), 0.5):
        moved = lambda x, p=power: xs.jvp(lambda x: x**p, (x,), (x,))  # noqa: E731
        assert len({len(xs.make_jaxpr(moved)(x).eqns) for _ in range(4)}) == 1
