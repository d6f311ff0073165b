"""Arrays that a rule closes over reach the programs that are made of it, whoever holds them."""

from pathlib import Path

import numpy as np

import xlascope as xs
from xlascope.ir.checker import check_jaxpr

HERE = Path(__file__).with_name("constants_in_rules.py")


def test_gradients_are_those_of_jax(programs, jax_says):
    found, wanted = programs(HERE).table(xs), jax_says(HERE, "table")
    assert found.keys() == wanted.keys()
    wrong = [
        f"{key}: {found[key]} instead of {expected}"
        for key, expected in wanted.items()
        if not np.allclose(found[key], expected, rtol=2e-5, atol=2e-5)
    ]
    assert not wrong, "\n".join(wrong)


def test_without_jit(programs):
    module = programs(HERE)
    for f in module.functions(xs).values():
        for hold in module.holders(xs).values():

            def loss(x, f=f, hold=hold):
                return xs.numpy.sum(hold(f, x))

            program = xs.make_jaxpr(xs.grad(loss))(module.X)
            check_jaxpr(program)
            np.testing.assert_allclose(xs.grad(loss)(module.X), xs.jit(xs.grad(loss))(module.X), rtol=1e-5)


def test_a_ring_in_nested_loops():
    """ppermute moves examples by indices that are an array; the batched loop holds it."""
    ring, ones = [(0, 1), (1, 2), (2, 0)], np.ones(3, "float32")

    def each(w):
        def step(i, c):
            return c + w * xs.lax.ppermute(c, "ring", ring)

        return lambda x: xs.lax.fori_loop(0, 2, step, x)

    def total(w):
        return xs.lax.fori_loop(0, 2, lambda i, x: xs.vmap(each(w), axis_name="ring")(x), ones).sum()

    # each step multiplies the sum by 1 + w, and there are four
    np.testing.assert_allclose(total(0.5), 3 * 1.5**4, rtol=1e-6)
    np.testing.assert_allclose(xs.grad(total)(0.5), 12 * 1.5**3, rtol=1e-6)
    np.testing.assert_allclose(xs.grad(xs.grad(total))(0.5), 36 * 1.5**2, rtol=1e-6)
