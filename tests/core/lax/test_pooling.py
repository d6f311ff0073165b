"""Pooling: the derivatives of largest elements and of means of windows, mapped, compiled and twice."""

from typing import Any

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax
from xlascope import numpy as jnp
from xlascope.test_util import check_grads

WINDOWS = ((1, 2, 2, 1), (1, 2, 2, 1), "SAME")


def largest(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, *WINDOWS)


def mean(x: Any) -> Any:
    return lax.reduce_window(x, 0.0, lax.add, *WINDOWS) / lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, *WINDOWS)


def images(*shape: int) -> Any:
    """Elements that are all different."""
    count = int(np.prod(shape))
    return jnp.asarray(np.random.default_rng(3).permutation(count).reshape(shape).astype(np.float32) / 10)


@pytest.mark.parametrize("pool", [largest, mean])
def test_derivatives(pool: Any) -> None:
    check_grads(pool, (images(2, 5, 4, 2),), order=2, modes=["fwd", "rev"], rtol=2e-2, atol=2e-2)


def test_derivatives_with_holes_and_cropping() -> None:
    def pool(x: Any) -> Any:
        return lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), ((1, -1), (0, 2)), (2, 1))[1:]

    check_grads(pool, (images(4, 5),), order=2, modes=["fwd", "rev"], rtol=2e-2, atol=2e-2)


def test_the_largest_alone_has_the_derivative() -> None:
    x = images(1, 4, 4, 1)
    found = np.asarray(xs.grad(lambda x: (largest(x) * jnp.arange(4.0).reshape(1, 2, 2, 1)).sum())(x))
    for i in (0, 1):
        for j in (0, 1):
            block = np.asarray(x)[0, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, 0]
            wanted = np.where(block == block.max(), 2 * i + j, 0)
            np.testing.assert_array_equal(found[0, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, 0], wanted)


def test_the_first_of_equals_has_the_derivative() -> None:
    found = xs.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (2,)).sum())(jnp.zeros(4))
    np.testing.assert_array_equal(found, [1, 0, 1, 0])


@pytest.mark.parametrize("pool", [largest, mean])
def test_mapped_and_compiled(pool: Any) -> None:
    x = images(3, 2, 5, 4, 2)
    derivative = xs.grad(lambda x: (pool(x) ** 2).sum())
    wanted = np.stack([derivative(each) for each in x])
    np.testing.assert_allclose(xs.jit(xs.vmap(derivative))(x), wanted, rtol=1e-6)
    moved = xs.vmap(derivative, in_axes=2, out_axes=1)(jnp.moveaxis(x, 0, 2))
    np.testing.assert_allclose(jnp.moveaxis(moved, 1, 0), wanted, rtol=1e-6)


def test_a_program_has_the_derivative_of_all_its_steps() -> None:
    check_grads(lambda x: lax.reduce_window(x, 1.0, lax.mul, (2, 2)), (images(3, 3),), order=2, rtol=2e-2, atol=2e-2)
    check_grads(lambda x, s: lax.reduce(x, s, lax.mul, (0,)), (images(3, 2) + 1, 2.0), order=2, rtol=2e-2, atol=2e-2)


def test_each_example_may_begin_with_its_own_value() -> None:
    x, starts = images(2, 3), jnp.array([1.0, 2.0])
    found = xs.vmap(lambda s: lax.reduce(x, s, lambda a, b: a + b, (1,)))(starts)
    np.testing.assert_allclose(found, np.asarray(x).sum(1) + np.asarray(starts)[:, None], rtol=1e-6)
    found = xs.vmap(lambda s: lax.reduce_window(x, s, lax.max, (2, 2)))(starts)
    wanted = [lax.reduce_window(x, s, lax.max, (2, 2)) for s in (1.0, 2.0)]
    np.testing.assert_array_equal(found, np.stack(wanted))


def test_windows_with_gaps_have_no_reverse_derivative_of_extremes() -> None:
    def f(x: Any) -> Any:
        return lax.reduce_window(x, -jnp.inf, lax.max, (2,), window_dilation=(2,)).sum()

    _, moved = xs.jvp(f, (images(4),), (jnp.ones(4),))
    assert moved == 2
    with pytest.raises(NotImplementedError, match="window_dilation"):
        xs.grad(f)(images(4))


def test_a_computation_uses_its_elements_alone() -> None:
    x = images(3, 3)
    with pytest.raises(TypeError, match="closes over arrays"):
        lax.reduce(x, 0.0, lambda a, b: a + b * x[0, 0], (0,))
    with pytest.raises(TypeError, match="has to return what it is given"):
        lax.reduce(x, 0.0, lambda a, b: (a, b), (0,))
