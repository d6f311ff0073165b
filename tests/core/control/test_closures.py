"""closure_convert: what is hoisted, and that rules can be given it."""

import functools

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp


def test_only_traced_floating_point_values_are_hoisted() -> None:
    table = jnp.arange(3.0)
    converted, hoisted = xs.closure_convert(lambda x: x * table, 1.0)
    assert hoisted == []
    np.testing.assert_array_equal(converted(2.0), [0.0, 2.0, 4.0])

    def counted(x, n):
        closed, values = xs.closure_convert(lambda y: y * x * n, 1.0)
        counts.append(len(values))
        return closed(3.0, *values)

    counts: list[int] = []
    assert float(xs.grad(counted)(2.0, 5)) == 15.0
    assert float(xs.jit(counted)(2.0, 5)) == 30.0
    assert counts == [1, 1]


def test_a_rule_is_given_what_a_function_closes_over() -> None:
    """An integral of a function that closes over the variable of differentiation."""

    def integral(f, to):
        converted, consts = xs.closure_convert(f, to)
        return _integral(converted, to, *consts)

    @functools.partial(xs.custom_vjp, nondiff_argnums=(0,))
    def _integral(f, to, *consts):
        points = (jnp.arange(1000) + 0.5) * to / 1000
        return jnp.sum(xs.vmap(lambda x: f(x, *consts))(points)) * to / 1000

    def forward(f, to, *consts):
        return _integral(f, to, *consts), (to, consts)

    def backward(f, residuals, ct):
        to, consts = residuals
        inside = [_integral(lambda x, *cs, i=i: xs.grad(f, i + 1)(x, *cs), to, *consts) for i in range(len(consts))]
        return ct * f(to, *consts), *(ct * d for d in inside)

    _integral.defvjp(forward, backward)

    def area(a, to):
        return integral(lambda x: jnp.sin(a * x), to)

    a, to = 1.3, 0.8
    of_a, of_to = xs.grad(area, (0, 1))(a, to)
    np.testing.assert_allclose(area(a, to), (1 - np.cos(a * to)) / a, rtol=1e-5)
    np.testing.assert_allclose(of_to, np.sin(a * to), rtol=1e-5)
    np.testing.assert_allclose(of_a, (np.cos(a * to) - 1) / a**2 + to * np.sin(a * to) / a, rtol=1e-4)
    np.testing.assert_allclose(xs.jit(xs.grad(area))(a, to), of_a, rtol=1e-5)


def test_trees_of_arguments_and_results() -> None:
    def f(x):
        converted, hoisted = xs.closure_convert(lambda p, q: {"s": p["a"] * q, "x": x}, {"a": 1.0}, 2.0)
        found = converted({"a": 3.0}, 5.0, *hoisted)
        return found["s"] * found["x"]

    assert (float(f(2.0)), float(xs.grad(f)(2.0))) == (30.0, 15.0)
