"""Misuses of functions with rules of their own: what is raised, and that it says what, where, and the fix."""

from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.custom_batching import custom_vmap
from xlascope.errors import UnexpectedTracerError

X = np.float32(2.0)
V = np.arange(3, dtype=np.float32)


def double(x: Any) -> Any:
    return x * 2.0


def product(x: Any, y: Any) -> Any:
    return x * y


def pair_of(x: Any) -> Any:
    return x, 1


def by_name(x: Any, *, n: Any) -> Any:
    return x


def jvp_of(rule: Any, f: Any = double, **options: Any) -> Any:
    g = xs.custom_jvp(f, **options)
    g.defjvp(rule)
    return g


def vjp_of(fwd: Any, bwd: Any = lambda r, ct: (ct,), f: Any = double, **options: Any) -> Any:
    g = xs.custom_vjp(f, **options)
    g.defvjp(fwd, bwd)
    return g


def vmap_of(rule: Any, f: Any = double) -> Any:
    g = custom_vmap(f)
    g.def_vmap(rule)
    return g


def kept(x: Any) -> Any:
    return x, None


def rule(p: Any, t: Any) -> Any:
    return p[0], t[0]


def solve(matvec: Any, b: Any) -> Any:
    return b


def converted() -> Any:
    return xs.closure_convert(double, X)[0]


def defjvps_of_one() -> Any:
    f = xs.custom_jvp(product)
    f.defjvps(lambda t, out, x, y: t)
    return f


#: What is done, the error, and words of its message.
MISUSES: list[tuple[Any, type[Exception], list[str]]] = [
    (lambda: xs.custom_jvp(double)(X), AttributeError, ["double", "defjvp"]),
    (lambda: xs.grad(jvp_of(lambda p, t: p[0]))(X), TypeError, ["rule <lambda> of double", "(results, tangents)"]),
    (lambda: xs.grad(jvp_of(lambda p, t: (p[0], t[0], 1)))(X), TypeError, ["double", "pair", "tuple"]),
    (lambda: xs.grad(jvp_of(lambda p, t: (p[0], (t[0],))))(X), TypeError, ["double", "one structure"]),
    (lambda: xs.grad(jvp_of(lambda p, t: (p[0], None)))(X), TypeError, ["double", "one structure", "None"]),
    (lambda: xs.grad(jvp_of(lambda p, t: (p[0], t[0].astype("float16"))))(X), TypeError, ["double", "f32[]", "f16[]"]),
    (lambda: xs.grad(jvp_of(lambda p, t: (p[0], V)))(X), TypeError, ["double", "f32[]", "f32[3]"]),
    (lambda: xs.grad(xs.jit(jvp_of(lambda p, t: (V, V))))(X), TypeError, ["double", "(f32[])", "(f32[3])"]),
    (
        lambda: xs.grad(xs.jit(jvp_of(lambda p, t: ((p[0], p[0]), (t[0], t[0])))))(X),
        TypeError,
        ["double", "(f32[])", "(f32[], f32[])"],
    ),
    (
        lambda: xs.grad(lambda x: jvp_of(lambda p, t: ((p[0], 1), (t[0], 1.0)), pair_of)(x)[0])(X),
        TypeError,
        ["pair_of", "i32[]", "f32[]"],
    ),
    (lambda: jvp_of(rule, lambda x: "two")(X), TypeError, ["str", "'two'"]),
    (lambda: jvp_of(rule)("two"), TypeError, ["argument [0] of double", "str"]),
    (lambda: jvp_of(rule)(X, X), TypeError, ["double(x", "too many positional arguments"]),
    (lambda: jvp_of(rule)(X, mode=1), TypeError, ["double", "mode"]),
    (lambda: jvp_of(rule, by_name)(X, n=1), TypeError, ["by_name", "by position", "n cannot"]),
    (lambda: jvp_of(rule, nondiff_argnums=(3,))(X), ValueError, ["double", "3", "1 arguments"]),
    (lambda: jvp_of(rule, nondiff_argnames=("mode",))(X), ValueError, ["double", "mode", "x"]),
    (lambda: xs.grad(defjvps_of_one())(X, X), ValueError, ["product", "1 rules for 2 arguments", "None"]),
    (
        lambda: xs.grad(lambda y: xs.jit(jvp_of(rule, lambda x: x * y))(X))(X),
        TypeError,
        ["closes over", "closure_convert", "stop_gradient"],
    ),
    (lambda: xs.grad(lambda y: jvp_of(lambda p, t: (p[0] * y, t[0]))(y))(X), UnexpectedTracerError, ["f32[]", "Rules"]),
    (lambda: xs.custom_vjp(double)(X), AttributeError, ["double", "defvjp"]),
    (lambda: xs.grad(vjp_of(lambda x: x))(X), TypeError, ["rule <lambda> of double", "(result, residuals)"]),
    (lambda: xs.grad(vjp_of(lambda x: (x, x, x)))(X), TypeError, ["double", "(result, residuals)", "tuple"]),
    (lambda: xs.grad(xs.jit(vjp_of(lambda x: ((x, x), None))))(X), TypeError, ["double", "(f32[], f32[])"]),
    (
        lambda: xs.grad(vjp_of(kept, lambda r, ct: ct))(X),
        TypeError,
        ["double", "the cotangent of the one argument", "tuple"],
    ),
    (lambda: xs.grad(vjp_of(kept, lambda r, ct: (ct, ct)))(X), TypeError, ["double", "a tuple of 2"]),
    (lambda: xs.grad(vjp_of(kept, lambda r, ct: (V,)))(X), ValueError, ["double", "f32[]", "f32[3]"]),
    (lambda: xs.grad(vjp_of(kept, lambda r, ct: (1j,)))(X), ValueError, ["double", "f32[]", "c64[]"]),
    (
        lambda: xs.grad(lambda x: vjp_of(lambda p: (p["a"], 0), lambda r, ct: ((ct, ct),), lambda p: p["a"])({"a": x}))(
            X
        ),
        TypeError,
        ["argument 0", "{'a': *}"],
    ),
    (lambda: xs.grad(vjp_of(lambda x: (x, "two")))(X), TypeError, ["str", "'two'"]),
    (lambda: xs.jvp(vjp_of(kept), (X,), (X,)), TypeError, ["forward-mode", "double", "custom_jvp"]),
    (lambda: xs.jvp(xs.jit(vjp_of(kept)), (X,), (X,)), TypeError, ["forward-mode", "double"]),
    (lambda: xs.jacfwd(vjp_of(kept))(X), TypeError, ["forward-mode", "double"]),
    (lambda: xs.linearize(vjp_of(kept), X)[1](X), TypeError, ["forward-mode", "double"]),
    (lambda: xs.grad(lambda y: vjp_of(lambda x: (x * y, None))(y))(X), UnexpectedTracerError, ["Rules", "close"]),
    (
        lambda: xs.grad(lambda y: xs.jit(vjp_of(kept, f=lambda x: x * y))(X))(X),
        TypeError,
        ["closes over", "closure_convert"],
    ),
    (lambda: custom_vmap(double)(V), AttributeError, ["double", "def_vmap"]),
    (lambda: xs.vmap(vmap_of(lambda n, b, x: x))(V), TypeError, ["double", "pair"]),
    (lambda: xs.vmap(vmap_of(lambda n, b, x: ((x, x), True)))(V), ValueError, ["double", "structure"]),
    (lambda: xs.vmap(vmap_of(lambda n, b, x: (x, (True, True))))(V), ValueError, ["double", "which results"]),
    (lambda: xs.vmap(vmap_of(lambda n, b, x: (x[:2], True)))(V), ValueError, ["double", "(3,)", "(2,)"]),
    (lambda: xs.vmap(vmap_of(lambda n, b, x: (x, False)))(V), ValueError, ["double", "()", "(3,)"]),
    (lambda: xs.vmap(lambda y: vmap_of(lambda n, b, x: (x, True), lambda x: x * y)(y))(V), TypeError, ["closes over"]),
    (lambda: xs.grad(xs.custom_gradient(double))(X), TypeError, ["double", "cotangent"]),
    (lambda: xs.grad(xs.custom_gradient(lambda x: (x, x)))(X), TypeError, ["<lambda>", "cotangent"]),
    (lambda: xs.grad(xs.custom_gradient(lambda x: (x, lambda ct: (ct, ct))))(X), TypeError, ["a tuple of 2"]),
    (lambda: converted()(X, X), TypeError, ["double", "structure"]),
    (lambda: lax.custom_linear_solve(lambda x: (x, x), V, solve), TypeError, ["matvec", "b", "a tuple of 2"]),
    (lambda: lax.custom_linear_solve(lambda x: x[:2], V, solve), TypeError, ["matvec", "f32[3]", "f32[2]"]),
    (lambda: lax.custom_linear_solve(double, V, lambda m, b: (b, b)), TypeError, ["solve", "a tuple of 2"]),
    (lambda: lax.custom_linear_solve(double, V, solve, has_aux=True), ValueError, ["solve", "(x, aux)"]),
    (lambda: lax.custom_linear_solve(lambda x: x * x, V, solve, solve), TypeError, ["matvec", "linear"]),
    (
        lambda: xs.grad(lambda b: lax.custom_linear_solve(double, b, solve).sum())(V),
        TypeError,
        ["transpose_solve", "symmetric"],
    ),
    (lambda: lax.custom_root(lambda x: (x, x), X, lambda f, x: x, solve), TypeError, ["f (<lambda>)", "the guess"]),
    (lambda: lax.custom_root(double, X, lambda f, x: V, solve), TypeError, ["solve", "f32[]", "f32[3]"]),
    (lambda: lax.custom_root(double, X, lambda f, x: x, solve, has_aux=True), ValueError, ["solve", "(x, aux)"]),
    (lambda: lax.custom_root(double, X, lambda f, x: x, lambda g, y: V), TypeError, ["tangent_solve", "f32[3]"]),
    (lambda: xs.checkpoint(double)("a"), TypeError, ["checkpointed double", "str"]),
    (lambda: xs.checkpoint(lambda x: "a")(X), TypeError, ["<lambda> returns a value of type str as result", "str"]),
    (lambda: xs.checkpoint(double, static_argnums=(4,))(X), ValueError, ["double", "4", "1 arguments"]),
    (lambda: xs.checkpoint(lambda x: x if x > 0 else -x)(X), xs.errors.TracerBoolConversionError, ["bool[]"]),
]


@pytest.mark.parametrize(("call", "error", "words"), MISUSES)
def test_a_misuse_says_what_and_where(call: Any, error: type[Exception], words: list[str]) -> None:
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    for word in [*words, "test_rule_misuses.py:"]:
        assert word in message
    assert jnp.sin(0.0) == 0.0  # the trace that was current is current again


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: xs.checkpoint(3), TypeError, ["function", "3"]),
        (lambda: xs.checkpoint(double, policy="dots"), TypeError, ["policy", "checkpoint_policies", "'dots'"]),
        (lambda: xs.checkpoint(double, concrete=True), NotImplementedError, ["static_argnums"]),
        (lambda: xs.custom_jvp(product, nondiff_argnums=(1,)).defjvps(None), TypeError, ["nondiff_argnums", "defjvp"]),
    ],
)
def test_a_misuse_of_a_decorator_says_what(call: Any, error: type[Exception], words: list[str]) -> None:
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
