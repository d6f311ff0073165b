"""Functions with vjp rules of their own under every transformation; run with xlascope and with jax, imports neither."""

import functools
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

_spec = spec_from_file_location("rule_rows", Path(__file__).with_name("rule_rows.py"))
rows = module_from_spec(_spec)
_spec.loader.exec_module(rows)

M, S, SQUARE, V, W = rows.M, rows.S, rows.SQUARE, rows.V, rows.W
rule = rows.Rows()


def odd_sine(lib):
    """A sine whose derivative is 3 cos, so that nobody can mistake the rule for the real one."""

    @lib.custom_jvp
    def sine(x):
        return lib.numpy.sin(x)

    @sine.defjvp
    def sine_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return sine(x), 3.0 * lib.numpy.cos(x) * t

    return sine


def odd_square(lib):
    """A square whose derivative is 5 x."""

    @lib.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (square(x), x), lambda x, ct: (5.0 * x * ct,))
    return square


@rule("vjp: one", V, reverse_only=True)
def vjp_one(lib):
    return odd_square(lib)


@rule("vjp: twice, and something around", V, reverse_only=True)
def vjp_around(lib):
    f = odd_square(lib)
    return lambda x: lib.numpy.sin(f(f(x) * x)) + x


@rule("vjp: trees, None residuals and None cotangents", V, W, reverse_only=True)
def vjp_trees(lib):
    @lib.custom_vjp
    def f(p, q):
        return {"s": p["a"] * p["b"][0], "t": (q, None)}

    def backward(residuals, ct):
        _, nothing, (b,) = residuals
        assert nothing is None
        return {"a": ct["s"] * b * 2.0, "b": [None]}, None

    f.defvjp(lambda p, q: (f(p, q), (p["a"], None, [p["b"][0]])), backward)
    return lambda x, y: f({"a": x, "b": [y]}, y * x)


@rule("vjp: a None for a whole tree", V, W, reverse_only=True)
def vjp_prefix(lib):
    @lib.custom_vjp
    def f(p, x):
        return p["a"] * x + p["b"]

    f.defvjp(lambda p, x: (f(p, x), p["a"]), lambda a, ct: (None, a * ct * 2.0))
    return lambda x, y: f({"a": x, "b": y}, x * y)


@rule("vjp: integers in and out", V, np.int32(2), reverse_only=True)
def vjp_integers(lib):
    @lib.custom_vjp
    def f(x, n):
        return x * n, n + 1

    f.defvjp(lambda x, n: (f(x, n), n), lambda n, ct: (ct[0] * n * 3.0, None))
    return f


@rule("vjp: nondiff arguments", V, W, reverse_only=True)
def vjp_nondiff(lib):
    @functools.partial(lib.custom_vjp, nondiff_argnums=(0, 2))
    def applied(f, x, n, y):
        return f(x) * n + y

    def forward(f, x, n, y):
        return applied(f, x, n, y), (x, y)

    def backward(f, n, residuals, ct):
        x, y = residuals
        return f(x) * ct * n, y * ct * 11.0

    applied.defvjp(forward, backward)
    return lambda x, y: applied(lib.numpy.tanh, x, 2, y)


@rule("vjp: symbolic zeros", V, W, reverse_only=True)
def vjp_symbolic(lib):
    zero = lib.custom_derivatives.SymbolicZero

    @lib.custom_vjp
    def f(x, y):
        return x * y, x + y

    def forward(x, y):
        moves = (x.perturbed, y.perturbed)
        return (x.value * y.value, x.value + y.value), (x.value, y.value, 10.0 if all(moves) else 2.0)

    def backward(residuals, cts):
        x, y, factor = residuals
        first, second = (0.0 * x if isinstance(ct, zero) else ct for ct in cts)
        return factor * first * y + second, first * x * factor

    f.defvjp(forward, backward, symbolic_zeros=True)
    return lambda x, y: f(x, y)[0] + f(x, 0.0 * V + 2.0)[1]


@rule("vjp: fwd that computes more", V, reverse_only=True)
def vjp_more(lib):
    @lib.custom_vjp
    def f(x):
        return lib.numpy.log(1.0 + lib.numpy.exp(x))

    def forward(x):
        e = lib.jit(lib.numpy.exp)(x)
        return lib.numpy.log(1.0 + e), e

    f.defvjp(forward, lambda e, ct: (2.0 * ct * e / (1.0 + e),))
    return f


@rule("vjp: an operand that is not mapped", V, M, reverse_only=True)
def vjp_shared(lib):
    @lib.custom_vjp
    def f(w, x):
        return w @ x

    f.defvjp(lambda w, x: (f(w, x), (w, x)), lambda res, ct: (2.0 * ct * res[1], 3.0 * ct * res[0]))
    return lambda w, m: lib.vmap(f, in_axes=(None, 0))(w, m)


@rule("vjp: in scan in vmap", M, reverse_only=True)
def vjp_scan(lib):
    f = odd_square(lib)
    return lib.vmap(lambda x: lib.lax.scan(lambda c, y: (f(c) * y, f(y)), x[0], x))


@rule("vjp: in cond in jit", np.float32(0.3), V, reverse_only=True)
def vjp_cond(lib):
    f = odd_square(lib)
    return lib.jit(lambda p, x: lib.lax.cond(p > 0.5, f, lambda x: f(x) * x, x))


@rule("vjp: in remat", V, reverse_only=True)
def vjp_remat(lib):
    f = odd_square(lib)
    return lib.checkpoint(lambda x: f(lib.numpy.sin(f(x))) * x)


@rule("vjp: nested", V, reverse_only=True)
def vjp_nested(lib):
    inner = odd_square(lib)

    @lib.custom_vjp
    def outer(x):
        return inner(x) * x

    outer.defvjp(lambda x: lib.vjp(lambda x: inner(x) + x, x), lambda back, ct: back(2.0 * ct))
    return outer


@rule("vjp: of a custom_jvp", V, reverse_only=True)
def vjp_of_jvp(lib):
    f, g = odd_square(lib), odd_sine(lib)
    return lambda x: f(g(x)) * g(f(x))


@rule("custom_gradient", V, W, reverse_only=True)
def gradient(lib):
    @lib.custom_gradient
    def f(x, y):
        z = lib.numpy.sin(x)
        return z * y, lambda ct: (ct * z * 2.0, ct * x)

    return f


@rule("custom_gradient of trees and one argument", V, reverse_only=True)
def gradient_tree(lib):
    @lib.custom_gradient
    def f(p):
        return (p["a"] * 2.0, p["a"]), lambda cts: ({"a": cts[0] * 5.0 + cts[1] * p["a"]},)

    return lambda x: f({"a": x})


@rule("closure_convert", V, W)
def converted(lib):
    def f(x, y):
        closed, hoisted = lib.closure_convert(lambda z: lib.numpy.sin(x) * z * y.sum(), y)
        return closed(x * y, *hoisted)

    return f


def everything_by_jax(lib):
    """Everything as jax has it."""
    return rows.everything(lib, [rule], rows.interpreted_by_jax(lib))
