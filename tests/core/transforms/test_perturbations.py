"""Perturbations are not confused, whatever closes over whatever (J. M. Siskind, B. A. Pearlmutter, "Perturbation
confusion and referential transparency", IFL 2005).
"""

import itertools

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.errors import UnexpectedTracerError
from xlascope.experimental.jet import jet

#: Ways to differentiate a function of one number.
WAYS = {
    "grad": xs.grad,
    "jvp": lambda f: lambda x: xs.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: xs.vjp(f, x)[1](1.0)[0],
    "linearize": lambda f: lambda x: xs.linearize(f, x)[1](1.0),
    "jacfwd": xs.jacfwd,
    "jet": lambda f: lambda x: jet(f, (x,), ([1.0],))[1][0],
    "grad of jit": lambda f: xs.grad(xs.jit(f)),
    "jit of jvp": lambda f: xs.jit(lambda x: xs.jvp(f, (x,), (1.0,))[1]),
    "grad in vmap": lambda f: lambda x: xs.vmap(xs.grad(f))(jnp.stack([x, x + 1.0]))[0],
}
PAIRS = list(itertools.product(WAYS, WAYS))


@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_the_inner_derivative_does_not_see_the_outer_variable(outer: str, inner: str) -> None:
    """d/dx [x · d/dy (x + y)] = 1, where confusion gives 2; and d/dx [x · d/dy (x y²) at y = x] = 6 x²."""

    def first(x):
        return x * WAYS[inner](lambda y: x + y)(1.0)

    def second(x):
        return x * WAYS[inner](lambda y: x * y * y)(x)

    assert float(WAYS[outer](first)(1.5)) == 1.0
    assert float(WAYS[outer](second)(1.5)) == 13.5


@pytest.mark.parametrize("way", WAYS)
def test_three_levels(way: str) -> None:
    """d/dx x · d/dy [y · d/dz (x y z)] = d/dx x · d/dy (x y²) = d/dx 2 x² y."""
    derivative = WAYS[way]

    def of_x(x):
        return x * derivative(lambda y: y * derivative(lambda z: x * y * z)(0.5))(3.0)

    assert float(derivative(of_x)(2.0)) == 24.0


@pytest.mark.parametrize("way", WAYS)
def test_a_function_that_returns_a_function(way: str) -> None:
    """The derivative of a curried function: each call makes a closure over its own variable."""

    def shifted(u):
        return lambda f: lambda x: f(x + u)

    def curve(u):
        return shifted(u)(lambda x: WAYS[way](shifted(u)(lambda y: y**3))(x))(1.0)

    # u ↦ 3 (1 + 2u)², whose derivative at 0.5 is 12 (1 + 2u)
    assert float(WAYS[way](curve)(0.5)) == 24.0


WRAPPED = {
    "jit": xs.jit,
    "vmap": lambda f: lambda x: xs.vmap(f)(jnp.stack([x, 2 * x]))[1] / 2,
    "grad": lambda f: lambda x: xs.grad(lambda y: y * f(x))(x),
    "jit of vmap": lambda f: lambda x: xs.jit(xs.vmap(lambda y: f(y)))(jnp.stack([x]))[0],
    "checkpoint": xs.checkpoint,
}


@pytest.mark.parametrize(("first", "second", "third"), list(itertools.permutations(WRAPPED, 3)))
def test_what_is_closed_over_moves_through_all_transformations(first: str, second: str, third: str) -> None:
    """w is closed over at the innermost place: the derivative of x w with respect to w is x wherever it stands."""

    def of_w(w):
        return WRAPPED[first](WRAPPED[second](WRAPPED[third](lambda x: x * w)))(3.0)

    np.testing.assert_allclose(xs.grad(of_w)(2.0), 3.0)
    np.testing.assert_allclose(xs.jvp(of_w, (2.0,), (1.0,))[1], 3.0)
    np.testing.assert_allclose(xs.jit(xs.grad(of_w))(2.0), 3.0)
    np.testing.assert_allclose(xs.vmap(xs.grad(of_w))(jnp.float32([2, 5])), [3.0, 3.0])


@pytest.mark.parametrize("way", ["grad", "jvp", "vjp", "linearize", "jet", "grad of jit", "jit of jvp"])
def test_a_value_that_left_its_function_is_refused(way: str) -> None:
    kept = []

    def function(x):
        kept.append(x)
        return x * x

    WAYS[way](function)(2.0)
    with pytest.raises(UnexpectedTracerError):
        kept[0] + 1.0
    with pytest.raises(UnexpectedTracerError):
        xs.jit(lambda y: y + kept[0])(1.0)
