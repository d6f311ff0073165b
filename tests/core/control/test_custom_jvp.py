"""custom_jvp outside of jit: who is called with what. Its values under transformations are in jvp_programs.py."""

import functools
import inspect

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.custom_derivatives import SymbolicZero
from xlascope.dtypes import float0


@xs.custom_jvp
def absolute(x):
    """|x|, with a slope of 7 at 0."""
    return x if x > 0 else -x


@absolute.defjvp
def absolute_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    slope = 7.0 if x == 0 else 1.0 if x > 0 else -1.0
    return absolute(x), slope * t


def test_function_and_rule_may_follow_values() -> None:
    assert [float(xs.grad(absolute)(x)) for x in (-2.0, 0.0, 3.0)] == [-1.0, 7.0, 1.0]
    assert float(xs.grad(lambda x: absolute(x) * absolute(2.0 * x))(-1.5)) == 2 * 2 * -1.5
    assert float(xs.jvp(xs.grad(absolute), (3.0,), (1.0,))[1]) == 0.0


def test_it_keeps_what_the_function_is_called() -> None:
    assert (absolute.__name__, absolute.__doc__, absolute.__wrapped__(-2)) == (
        "absolute",
        "|x|, with a slope of 7 at 0.",
        2,
    )
    assert absolute.jvp is absolute_jvp


def test_a_jaxpr_shows_the_call_and_its_names() -> None:
    f = xs.custom_jvp(lambda x: jnp.sin(x))
    f.defjvp(absolute_jvp)
    (equation,) = xs.make_jaxpr(f)(1.0).eqns
    assert equation.primitive.name == "custom_jvp_call"
    params = equation.params
    assert (params["name"], params["jvp"], params["symbolic_zeros"]) == ("<lambda>", "absolute_jvp", False)
    assert [e.primitive.name for e in params["call_jaxpr"].eqns] == ["sin"]


def calls_of(transform, *operands):
    """How often the function and its rule run as Python."""
    calls = []

    @xs.custom_jvp
    def f(x):
        calls.append("function")
        return x * x

    @f.defjvp
    def f_jvp(primals, tangents):
        calls.append("rule")
        (x,), (t,) = primals, tangents
        return x * x, 2.0 * x * t

    transform(f)(*operands)
    return calls


@pytest.mark.parametrize(
    ("transform", "calls"),
    [
        (lambda f: f, ["function"]),
        (xs.grad, ["rule"]),
        (xs.jit, ["function"]),
        (lambda f: xs.jit(xs.grad(f)), ["rule"]),
        (lambda f: xs.grad(xs.jit(f)), ["function", "rule"]),
        (lambda f: xs.grad(lambda x: lax.stop_gradient(f(lax.stop_gradient(x))) + x), ["function"]),
        (lambda f: lambda x: xs.vmap(xs.grad(f))(jnp.full(3, x)), ["rule"]),
    ],
)
def test_the_rule_runs_where_something_moves_and_the_function_elsewhere(transform, calls) -> None:
    assert calls_of(transform, 2.0) == calls


def test_what_does_not_move_has_zeros_of_its_type() -> None:
    seen = []

    f = xs.custom_jvp(lambda x, n, y: x * n)

    @f.defjvp
    def f_jvp(primals, tangents):
        seen.extend(tangents)
        return f(*primals), tangents[0] * primals[1]

    assert float(xs.grad(f)(2.0, 3, jnp.ones(2))) == 3.0
    assert seen[1].dtype == float0 and seen[1].shape == ()
    np.testing.assert_array_equal(seen[2], np.zeros(2))
    f.defjvp(lambda p, t: seen.extend(t) or (p[0] * p[1], t[0]), symbolic_zeros=True)
    del seen[:]
    xs.grad(f)(2.0, 3, jnp.ones(2))
    assert [type(t) is SymbolicZero for t in seen] == [False, True, True]
    assert (seen[1].dtype, seen[2].shape, seen[2].dtype, seen[2].ndim, seen[2].size) == (float0, (2,), np.float32, 1, 2)


def scaled_product(x, y=2.0, *, scale=3.0):
    return x * y * scale


@functools.wraps(scaled_product)
def wrapped_product(*args, **kwargs):
    return scaled_product(*args, **kwargs)


@pytest.mark.parametrize("function", [scaled_product, wrapped_product, functools.partial(scaled_product, scale=3.0)])
@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_defaults_that_are_given_by_name_only_stay_the_functions_own(kind, function):
    if kind == "jvp":
        ruled = xs.custom_jvp(function)
        ruled.defjvp(lambda primals, tangents: (function(*primals), 7.0 * tangents[0]))
    else:
        ruled = xs.custom_vjp(function)
        ruled.defvjp(lambda x, y: (function(x, y), y), lambda y, cotangent: (7.0 * cotangent, 0.0 * y))
    for x in (2.0, np.float32(2.0), jnp.float32(2.0)):
        assert ruled(x) == ruled(x=x) == xs.jit(ruled)(x) == 12.0 and ruled(x, y=5.0) == 30.0
        assert xs.grad(ruled)(x) == xs.grad(lambda x: ruled(x, y=5.0))(x) == 7.0
        assert xs.vmap(ruled)(np.full(2, x, np.float32)).tolist() == [12.0, 12.0]
        with pytest.raises(TypeError, match="scale cannot be given by name"):
            ruled(x, scale=1.0)


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_defaults_stay_what_they_are_written_as_in_a_trace(kind):
    """``keepdims=False`` is a truth value of Python for the function and its rule, and nothing that a trace knows."""
    if kind == "jvp":
        ruled = xs.custom_jvp(jnp.sum)
        ruled.defjvp(lambda primals, tangents: (jnp.sum(*primals), 7.0 * jnp.sum(tangents[0])))
    else:
        ruled = xs.custom_vjp(jnp.sum)
        others = [None] * (len(inspect.signature(jnp.sum).parameters) - 1)
        ruled.defvjp(lambda *args: (jnp.sum(*args), args[0]), lambda x, ct: (jnp.full_like(x, 7.0 * ct), *others))
    x = np.ones((2, 3), np.float32)
    assert ruled(x[0]) == xs.jit(ruled)(x[0]) == 3.0
    assert xs.vmap(ruled)(x).tolist() == xs.jit(xs.vmap(ruled))(x).tolist() == [3.0, 3.0]
    for transform in (lambda f: f, xs.jit):
        np.testing.assert_array_equal(transform(xs.grad(ruled))(x[0]), np.full(3, 7.0))
        np.testing.assert_array_equal(transform(xs.vmap(xs.grad(ruled)))(x), np.full((2, 3), 7.0))
        np.testing.assert_array_equal(
            xs.grad(lambda x, t=transform: t(xs.vmap(ruled))(x).sum())(x), np.full((2, 3), 7.0)
        )


def test_arguments_by_name_and_by_default() -> None:
    @xs.custom_jvp
    def f(x, y=3.0):
        return x * y

    f.defjvps(lambda t, out, x, y: y * t * 10.0, None)
    assert [float(f(2.0)), float(f(x=2.0)), float(f(2.0, y=4.0))] == [6.0, 6.0, 8.0]
    assert [float(xs.grad(f)(2.0)), float(xs.grad(lambda x: f(y=x, x=x))(2.0))] == [30.0, 20.0]


def test_a_loop_is_what_it_is_written_out() -> None:
    @xs.custom_jvp
    def sine(x):
        return jnp.sin(x)

    sine.defjvps(lambda t, out, x: 3.0 * jnp.cos(x) * t)
    steps = np.float32([0.3, 0.7, 0.2])

    def loop(x):
        return lax.scan(lambda c, s: (sine(c) * s, None), x, steps)[0]

    def written_out(x):
        for s in steps:
            x = sine(x) * s
        return x

    for order in (xs.grad, xs.hessian, lambda f: xs.jacrev(xs.jacrev(f)), lambda f: xs.grad(xs.hessian(f))):
        np.testing.assert_allclose(order(loop)(0.4), order(written_out)(0.4), rtol=1e-5)


def test_static_values_and_functions_may_be_anything() -> None:
    @functools.partial(xs.custom_jvp, nondiff_argnums=(0, 1))
    def apply(f, options, x):
        return f(x) * options["factor"]

    @apply.defjvp
    def apply_jvp(f, options, primals, tangents):
        return apply(f, options, *primals), tangents[0] * options["slope"]

    assert float(xs.grad(lambda x: apply(jnp.sin, {"factor": 2.0, "slope": 5.0}, x))(1.0)) == 5.0
    assert float(xs.grad(xs.jit(lambda x: apply(jnp.sin, {"factor": 2.0, "slope": 5.0}, x)))(1.0)) == 5.0
