"""Traced values in the places of ``nondiff_argnums``: they arrive in rules that run after their trace has ended."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax

X, Y = np.float32(2.0), np.float32(3.0)


@functools.partial(xs.custom_jvp, nondiff_argnums=(0,))
def forward(x: Any, y: Any) -> Any:
    return y * x


@forward.defjvp
def forward_jvp(x: Any, primals: Any, tangents: Any) -> Any:
    return primals[0] * x, tangents[0] * x * 2.0


@functools.partial(xs.custom_vjp, nondiff_argnums=(0,))
def reverse(x: Any, y: Any) -> Any:
    return y * x


reverse.defvjp(lambda x, y: (reverse(x, y), ()), lambda x, residuals, ct: (ct * x * 2.0,))


def loop(f: Any, x: Any, y: Any) -> Any:
    return lax.scan(lambda c, z: (f(z, c), None), y, jnp.ones(3) * x)[0]


#: What is differentiated with respect to its last argument, and its derivative for a function whose rule doubles it.
PROGRAMS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "alone": (lambda f: lambda x, y: f(x, y), 4.0),
    "jit": (lambda f: xs.jit(f), 4.0),
    "a tree": (lambda f: xs.jit(lambda x, y: f_of_tree(f)({"scale": x, "name": "s"}, y)), 4.0),
    "a branch": (lambda f: lambda x, y: lax.cond(x < y, f, lambda x, y: y, x, y), 4.0),
    "scan": (lambda f: lambda x, y: loop(f, x, y), 64.0),
    "scan in jit": (lambda f: xs.jit(functools.partial(loop, f)), 64.0),
    "while": (lambda f: lambda x, y: lax.fori_loop(0, 2, lambda i, c: f(x * (i + 1), c), y), 32.0),
    "checkpoint": (lambda f: xs.checkpoint(f), 4.0),
    "vmap": (lambda f: lambda x, y: xs.vmap(f, (0, None))(x * jnp.arange(3.0), y).sum(), 12.0),
    "vmap of both": (lambda f: lambda x, y: xs.vmap(f)(x * jnp.arange(3.0), y * jnp.ones(3)).sum(), 12.0),
    "an integer": (lambda f: xs.jit(lambda x, y: f(x.astype(int), y)), 4.0),
}


def f_of_tree(f: Any) -> Any:
    kind = xs.custom_jvp if f is forward else xs.custom_vjp

    @functools.partial(kind, nondiff_argnums=(0,))
    def g(options: Any, y: Any) -> Any:
        return y * options["scale"]

    if f is forward:
        g.defjvp(lambda options, p, t: (g(options, *p), t[0] * options["scale"] * 2.0))
    else:
        g.defvjp(lambda options, y: (g(options, y), None), lambda options, r, ct: (ct * options["scale"] * 2.0,))
    return g


@pytest.mark.parametrize("f", [forward, reverse])
@pytest.mark.parametrize("program", PROGRAMS)
def test_rules_get_traced_values(program: str, f: Any) -> None:
    made, derivative = PROGRAMS[program]
    if f is reverse and program == "while":
        pytest.skip("a loop whose steps are not known goes forward")
    assert xs.grad(made(f), 1)(X, Y) == derivative
    assert xs.jit(xs.grad(made(f), 1))(X, Y) == derivative


def test_custom_jvp_takes_them_for_constants_as_jax_does() -> None:
    for f in (forward, xs.jit(forward)):
        assert [float(g) for g in xs.grad(f, (0, 1))(X, Y)] == [0.0, 4.0]


def test_custom_vjp_says_that_it_has_no_cotangent_for_them() -> None:
    for f in (reverse, xs.jit(reverse)):
        with pytest.raises(TypeError, match=r"reverse is differentiated with respect to x, in nondiff_argnums=\(0,\)"):
            xs.grad(f, (0, 1))(X, Y)
        assert xs.grad(lambda x, y, f=f: f(lax.stop_gradient(x), y), (0, 1))(X, Y) == (0.0, 4.0)


def test_other_values_may_be_anything() -> None:
    @functools.partial(xs.custom_jvp, nondiff_argnums=(0,))
    def f(options: Any, y: Any) -> Any:
        return y * options["a"]

    f.defjvp(lambda options, p, t: (f(options, *p), t[0] * options[1]))
    assert xs.grad(xs.jit(lambda y: f({"a": 1.0, 1: 5.0}, y)))(Y) == 5.0  # its keys cannot be sorted
