"""custom_vjp and custom_gradient outside of jit. Their values under transformations are in vjp_programs.py."""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    linear_call,
    zero_from_primal,
)
from xlascope.dtypes import float0


def test_function_and_rules_may_follow_values() -> None:
    @xs.custom_vjp
    def f(x):
        return x if x > 0 else -x

    f.defvjp(lambda x: (f(x), x > 0), lambda positive, ct: (ct * (3.0 if positive else -5.0),))
    assert [float(xs.grad(f)(x)) for x in (2.0, -2.0)] == [3.0, -5.0]
    assert float(xs.grad(lambda x: f(f(x) * x))(2.0)) == 3.0 * (2.0 * 3.0 + 2.0)


def test_backward_rules_get_zeros_where_no_cotangent_arrives() -> None:
    seen = []

    @xs.custom_vjp
    def f(x):
        return x, 2.0 * x, 3

    def backward(_, cts):
        seen.append(cts)
        return (cts[0] + cts[1],)

    f.defvjp(lambda x: (f(x), None), backward)
    assert float(xs.grad(lambda x: f(x)[1])(1.0)) == 1.0
    ((first, second, third),) = seen
    assert (float(first), float(second), third.dtype) == (0.0, 1.0, float0)
    f.defvjp(
        lambda x: (f(x.value), x.perturbed),
        lambda moves, cts: seen.append((moves, *cts)) or (7.0,),
        symbolic_zeros=True,
    )
    assert float(xs.grad(lambda x: f(x)[1])(1.0)) == 7.0
    moves, first, second, third = seen[-1]
    assert (moves, type(first), type(third)) == (True, SymbolicZero, SymbolicZero)


def test_residuals_may_be_anything_that_is_a_tree_of_arrays() -> None:
    @xs.custom_vjp
    def f(p):
        return p["a"] * p["b"]

    f.defvjp(
        lambda p: (f(p), {"p": p, "none": None, "n": (3,)}), lambda r, ct: ({"a": ct * r["n"][0], "b": r["none"]},)
    )
    found = xs.grad(f)({"a": 2.0, "b": 5.0})
    assert {k: float(x) for k, x in found.items()} == {"a": 3.0, "b": 0.0}


def test_a_cotangent_gets_the_type_of_its_argument() -> None:
    f = xs.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (ct.astype("float16"),))
    assert xs.grad(f)(np.float32(1.0)).dtype == np.float32


def test_an_operand_that_is_shared_by_all_examples_gets_the_sum() -> None:
    f = xs.custom_vjp(lambda w, x: w * x)
    f.defvjp(lambda w, x: (w * x, (w, x)), lambda res, ct: (ct * res[1] * 2.0, ct * res[0]))
    x = np.float32([1.0, 2.0, 4.0])
    of_w = xs.grad(lambda w: jnp.sum(xs.vmap(f, in_axes=(None, 0))(w, x)))(3.0)
    assert float(of_w) == 14.0
    each = xs.vmap(xs.grad(f), in_axes=(None, 0))(3.0, x)
    np.testing.assert_array_equal(each, 2.0 * x)


def test_helpers_of_symbolic_zeros() -> None:
    tree = {"a": CustomVJPPrimal(1.0, True), "b": (CustomVJPPrimal(2, False),)}
    assert custom_vjp_primal_tree_values(tree) == {"a": 1.0, "b": (2,)}
    assert zero_from_primal(3).dtype == float0
    assert type(zero_from_primal(2.0, symbolic_zeros=True)) is SymbolicZero
    assert repr(SymbolicZero.from_primal_value(np.ones(2, "float32"))) == "SymbolicZero(f32[2])"


@pytest.mark.parametrize("transform", [lambda f: f, xs.jit, lambda f: lambda x: xs.vmap(f)(jnp.stack([x, x]))[0]])
def test_custom_gradient_closes_over_what_it_computed(transform) -> None:
    @xs.custom_gradient
    def f(x):
        root = jnp.sqrt(x)
        return root, lambda ct: ct / (4.0 * root)

    assert float(transform(f)(4.0)) == 2.0
    assert float(transform(xs.grad(f))(4.0)) == 0.125
    np.testing.assert_allclose(transform(xs.grad(xs.grad(f)))(4.0), -1 / 64)


# linear_call ---------------------------------------------------------------------------------------------------------


def scaled(r, x):
    """x / r, whose transpose is said to be 3 ct / r."""
    return linear_call(lambda r, p: {"s": p / r}, lambda r, ct: 3.0 * ct["s"] / r, r, x)["s"]


def test_linear_call_has_the_transpose_that_it_was_given() -> None:
    r, x = np.float32([2.0, 4.0]), np.float32([3.0, 5.0])
    loss = lambda x: jnp.sum(jnp.sin(scaled(r, x)))  # noqa: E731
    expected = 3.0 * np.cos(x / r) / r
    for transform in (lambda f: f, xs.jit):
        np.testing.assert_allclose(transform(scaled)(r, x), x / r)
        np.testing.assert_allclose(transform(xs.grad(loss))(x), expected, rtol=1e-6)
    np.testing.assert_allclose(xs.jvp(lambda x: scaled(r, x), (x,), (r,))[1], np.ones(2))
    np.testing.assert_allclose(xs.grad(lambda x: jnp.sum(xs.vmap(loss)(jnp.stack([x, x]))))(x), 2 * expected, rtol=1e-6)
    transposed_twice = xs.linear_transpose(lambda ct: xs.linear_transpose(lambda x: scaled(r, x), x)(ct)[0], x)
    np.testing.assert_allclose(transposed_twice(x)[0], x / r)


def test_linear_call_says_what_does_not_fit() -> None:
    with pytest.raises(NotImplementedError, match=r"residual arguments.*test_custom_vjp"):
        xs.grad(lambda r: scaled(r, 2.0))(3.0)
    with pytest.raises(TypeError, match=r"fun_transpose.*f32\[\].*f32\[2\]"):
        linear_call(lambda r, x: x, lambda r, ct: jnp.ones(2), None, 1.0)
    with pytest.raises(TypeError, match=r"fun_transpose.*a tuple of 2"):
        linear_call(lambda r, x: x, lambda r, ct: (ct, ct), None, 1.0)


def _scaled(function):
    """A function whose cotangent is (2 + x/100) times its own."""
    made = xs.custom_vjp(function)
    made.defvjp(lambda x: (function(x), x), lambda x, t: (xs.vjp(function, x)[1](t)[0] * (2 + 0.01 * x),))
    return made


_INNER = _scaled(jnp.exp)
_NESTED_GRAD = xs.grad(lambda x: _scaled(lambda x: _INNER(x))(x).sum())
_POINT, _DIRECTION = np.float32([0.3, -0.2, 0.5]), np.float32([1.0, 2.0, -1.0])


def _closed(x, order):
    """Derivatives of exp(x) (2 + x/100)², which the gradient is by both rules."""
    a = 2 + 0.01 * np.asarray(x, np.float64)
    return np.exp(np.float64(x)) * (a * a + 0.02 * order * a + 0.0001 * order * (order - 1))


def _along(function, direction=_DIRECTION):
    return lambda x: xs.jvp(function, (x,), (direction,))[1]


@pytest.mark.parametrize(
    ("function", "want"),
    [
        (_along(_NESTED_GRAD), _closed(_POINT, 1) * _DIRECTION),
        (xs.jacfwd(_NESTED_GRAD), np.diag(_closed(_POINT, 1))),
        (_along(_along(_NESTED_GRAD)), _closed(_POINT, 2) * _DIRECTION**2),
        (lambda x: xs.vmap(_along(_NESTED_GRAD))(x[None])[0], _closed(_POINT, 1) * _DIRECTION),
        (lambda x: xs.linearize(_NESTED_GRAD, x)[1](_DIRECTION), _closed(_POINT, 1) * _DIRECTION),
        (lambda x: xs.lax.map(lambda _: _along(_NESTED_GRAD)(x), jnp.ones(2))[1], _closed(_POINT, 1) * _DIRECTION),
        (lambda x: xs.lax.cond(x[0] > 0, _along(_NESTED_GRAD), jnp.sin, x), _closed(_POINT, 1) * _DIRECTION),
        (lambda x: xs.jvp(_INNER, (x,), (_DIRECTION,))[0], np.exp(np.float64(_POINT))),
    ],
    ids=["jvp of grad", "hessian", "twice", "vmap", "linearize", "map", "cond", "the value alone"],
)
def test_forward_mode_needs_no_tangents_that_nothing_uses(function, want):
    for _ in range(2):
        np.testing.assert_allclose(xs.jit(function)(_POINT), want, rtol=2e-6)


@pytest.mark.parametrize(
    "function",
    [
        _along(_INNER),
        lambda x: xs.lax.cond(x[0] > 0, _along(_INNER), jnp.sin, x),
        lambda x: xs.vmap(_along(_INNER, 1.0))(x),
    ],
)
def test_forward_mode_that_uses_them_is_refused_at_the_users_line(function):
    for call in (function, xs.jit(function)):
        with pytest.raises(
            TypeError, match=r"does not work through exp, a custom_vjp function at .*test_custom_vjp.py"
        ):
            call(_POINT)
