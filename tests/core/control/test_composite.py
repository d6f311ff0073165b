"""lax.composite under every transformation, and what is written for the compiler."""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax, records

X = np.array([0.1, 0.5, -0.7], np.float32)


def _scaled_sine(x, y=1.0, /, *, by=2, label=None):
    return jnp.sin(x) * by, {"y": y}


composed = lax.composite(_scaled_sine, "my.sine", 3)


def test_the_compiler_is_told_a_name_attributes_and_a_version():
    text = xs.jit(lambda x: composed(x, by=2.5, label=["a", 1, {"d": np.dtype("int8"), "n": np.arange(2)}])[0]).lower(X)
    assert (
        'stablehlo.composite "my.sine" %arg0 {composite_attributes = {by = 2.500000e+00 : f64, label = '
        '["a", 1, {d = i8, n = dense<[0, 1]> : tensor<2xi64>}]}' in text.as_text()
    )
    assert "version = 3 : i32" in text.as_text()
    program = xs.make_jaxpr(lambda x: composed(x, label=None)[0])(X)
    (equation,) = program.eqns
    assert equation.primitive is lax.composite_p
    assert (equation.params["name"], equation.params["version"], equation.params["attributes"]) == ("my.sine", 3, ())


def test_transformations_go_through_the_decomposition():
    plain = lambda x: _scaled_sine(x)[0]  # noqa: E731
    named = lambda x: composed(x)[0]  # noqa: E731
    looped = lambda f: lambda x: lax.scan(lambda c, _: (f(c), c), x, None, 3)[0]  # noqa: E731
    for change in (
        xs.jit,
        xs.vmap,
        lambda f: xs.grad(lambda x: f(x).sum()),
        lambda f: xs.jit(xs.vmap(xs.grad(f))),
        lambda f: xs.hessian(lambda x: xs.jit(f)(x).sum()),
        lambda f: xs.jacfwd(looped(f)),
        lambda f: xs.grad(xs.checkpoint(lambda x: f(x).sum())),
    ):
        np.testing.assert_allclose(change(named)(X), change(plain)(X), rtol=1e-5, atol=1e-6)
    _, tree = composed(X, jnp.ones(2))
    np.testing.assert_array_equal(tree["y"], np.ones(2))


def test_it_is_traced_once_and_kernels_find_their_equations_in_it():
    traced = []
    f = lax.composite(lambda x, by: (traced.append(0), lax.exp(lax.sin(x)) * by)[1], "my.f")
    for _ in range(3):
        f(X, by=2), f(X, by=2.0)
    assert len(traced) == 2  # 2 and 2.0 are different attributes
    inner = xs.jit(lambda x: f(f(x, by=2) + 1, by=2))
    seen = inspect.fusions(lambda x: inner(inner(x) * 3) + 1, X)
    (compiled,) = (each for each in seen.records if isinstance(each, records.Compiled))
    found = {path for kernel in compiled.kernels for path in kernel.equations}
    assert {"0/0/0", "0/0/1", "0/0/2", "0/2/0", "2/0/0", "2/2/2"} <= found


def test_what_it_does_not_take():
    for wrong, error, words in (
        (lambda: lax.composite(3, "my.f"), TypeError, "takes a function"),
        (lambda: lax.composite(jnp.sin, 3), TypeError, "name is text"),
        (lambda: lax.composite(jnp.sin, "sine"), ValueError, "dots between"),
        (lambda: lax.composite(jnp.sin, "my.sine", 1.5), TypeError, "version"),
        (lambda: lax.composite(jnp.sin, "my.sine", -1), ValueError, "version"),
        (lambda: composed(X, by=jnp.ones(2)), TypeError, "got by of type ArrayImpl"),
        (lambda: xs.jit(lambda x: composed(X, by=x))(2), TypeError, "got by of type JaxprTracer"),
        (lambda: composed("x"), TypeError, "an argument of composite my.sine"),
    ):
        with pytest.raises(error, match=words):
            wrong()
    closing = lambda x: lax.composite(lambda y: x + y, "my.f")(X)  # noqa: E731
    with pytest.raises(xs.errors.UnexpectedTracerError, match="give it as a positional argument"):
        xs.jit(closing)(X)
    np.testing.assert_array_equal(closing(X), X + X)  # a constant
