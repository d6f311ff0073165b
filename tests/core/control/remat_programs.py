"""Checkpointed functions, functions with batching rules, and solvers, under every transformation.

Run with xlascope and with jax, imports neither.
"""

import functools
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

_spec = spec_from_file_location("rule_rows", Path(__file__).with_name("rule_rows.py"))
rows = module_from_spec(_spec)
_spec.loader.exec_module(rows)

M, S, SQUARE, V, W = rows.M, rows.S, rows.SQUARE, rows.V, rows.W
A = np.float32([[4.0, 1.0, 0.5], [0.3, 3.0, -0.2], [-0.1, 0.7, 5.0]])
B = np.float32([1.0, -2.0, 0.5])
rule = rows.Rows()

# checkpoint ----------------------------------------------------------------------------------------------------------


@rule("remat: one", V)
def one(lib):
    return lib.checkpoint(lambda x: lib.numpy.sin(lib.numpy.cos(x)) * x)


@rule("remat: trees and what is closed over", V, W)
def closed(lib):
    def f(x, y):
        inner = lib.checkpoint(lambda p: {"s": lib.numpy.sin(p["a"]) * y, "n": (p["b"], 3)})
        found = inner({"a": x * y, "b": x})
        return found["s"] * found["n"][0]

    return f


@rule("remat: nested", V)
def nested(lib):
    inner = lib.checkpoint(lambda x: lib.numpy.sin(lib.numpy.sin(x)))
    return lib.checkpoint(lambda x: inner(inner(x) * x))


@rule("remat: names", V, W)
def names(lib):
    policy = lib.checkpoint_policies.save_only_these_names("a", "c")
    name = lib.ad_checkpoint.checkpoint_name

    @functools.partial(lib.checkpoint, policy=policy)
    def f(x, y):
        a = name(lib.numpy.sin(x), "a")
        b = name(lib.numpy.cos(a * y), "b")
        return lib.numpy.exp(a * b)

    return f


@rule("remat: dots", SQUARE, SQUARE)
def dots(lib):
    f = lib.checkpoint(
        lambda x, y: lib.numpy.sin(lib.numpy.sin(x @ y) @ x), policy=lib.checkpoint_policies.dots_saveable
    )
    return f


@rule("remat: everything saved", V)
def everything(lib):
    policy = lib.checkpoint_policies.everything_saveable
    return lib.checkpoint(lambda x: lib.numpy.sin(lib.numpy.exp(x)), policy=policy)


@rule("remat: scan in it", V)
def scan_in_it(lib):
    return lib.checkpoint(lambda x: lib.lax.scan(lambda c, y: (lib.numpy.sin(c * y), c), S, x))


@rule("remat: in a scan", V)
def in_scan(lib):
    def body(c, y):
        return lib.numpy.sin(lib.numpy.cos(c) * y), c

    return lambda x: lib.lax.scan(lib.checkpoint(body, prevent_cse=False), S, x)


@rule("remat: cond in it", np.float32(0.7), V)
def cond_in_it(lib):
    return lib.checkpoint(lambda p, x: lib.lax.cond(p > 0.5, lambda x: lib.numpy.sin(x) * p, lambda x: x, x))


@rule("remat: jit in it", V)
def jit_in_it(lib):
    policy = lib.checkpoint_policies.save_only_these_names("a")
    name = lib.ad_checkpoint.checkpoint_name
    inner = lib.jit(lambda x: name(lib.numpy.sin(x), "a") * x)
    return lib.checkpoint(lambda x: lib.numpy.cos(inner(x)), policy=policy)


@rule("remat: integers", V, np.int32(2))
def integers(lib):
    return lib.checkpoint(lambda x, n: (lib.numpy.sin(x) * n, n + 1))


@rule("remat: static arguments", V)
def static(lib):
    f = lib.checkpoint(lambda mode, x: lib.numpy.sin(x) if mode == "sin" else x, static_argnums=(0,))
    return lambda x: f("sin", x) * f("other", x)


@rule("remat: a while in it", V, forward_only=True)
def while_in_it(lib):
    return lib.checkpoint(lambda x: lib.lax.while_loop(lambda c: lib.numpy.sum(c) < 50.0, lambda c: c * 1.5 + 0.1, x))


# custom_vmap ---------------------------------------------------------------------------------------------------------


@rule("vmap: one", V, W, forward_only=True)
def vmap_one(lib):
    @lib.custom_batching.custom_vmap
    def f(x, y):
        return lib.numpy.sin(x) * y, x

    @f.def_vmap
    def f_vmap(size, in_batched, x, y):
        either = in_batched[0] or in_batched[1]
        return (2.0 * lib.numpy.sin(x) * y, x), (either, in_batched[0])

    return f


@rule("vmap: a tree, a tree of marks", V, forward_only=True, left_out=["vmap of jvp"])
def vmap_tree(lib):
    @lib.custom_batching.custom_vmap
    def f(p):
        return {"s": lib.numpy.cumsum(p["a"]) * p["b"]}

    @f.def_vmap
    def f_vmap(size, in_batched, p):
        (marks,) = in_batched
        a = p["a"] if marks["a"] else lib.numpy.stack([p["a"]] * size)
        b = p["b"] if marks["b"] else lib.numpy.stack([p["b"]] * size)
        return {"s": 3.0 * lib.numpy.cumsum(a, 1) * b}, {"s": True}

    return lambda x: f({"a": x, "b": x * 2.0})


@rule("vmap: sequential", V, forward_only=True, left_out=["vmap of jvp"])
def vmap_sequential(lib):
    return lib.custom_batching.sequential_vmap(lambda x: (lib.numpy.cumsum(x) * x[0], x))


# Solvers -------------------------------------------------------------------------------------------------------------


def descent(lib, matvec, b):
    """A solver that loops until it is done: Richardson's iteration, for matrices near 4."""

    def unfinished(carry):
        _, residual, count = carry
        return (lib.numpy.sum(residual**2) > 1e-12) & (count < 60)

    def step(carry):
        x, residual, count = carry
        x = x + residual / 4.0
        return x, b - matvec(x), count + 1

    return lib.lax.while_loop(unfinished, step, (lib.numpy.zeros_like(b), b, 0))[0]


@rule("solve: symmetric", A, B)
def symmetric(lib):
    def f(a, b):
        a = (a + a.T) / 2.0
        return lib.lax.custom_linear_solve(lambda x: a @ x, b, functools.partial(descent, lib), symmetric=True)

    return f


@rule("solve: by its transpose", A, B)
def transposing(lib):
    solver = functools.partial(descent, lib)
    return lambda a, b: lib.lax.custom_linear_solve(lambda x: a @ x, b, solver, transpose_solve=solver)


@rule("solve: a tree", A, B, left_out=["grad of grad", "jacrev of jacrev", "hessian", "jvp of jvp"])
def tree_solve(lib):
    def solver(matvec, b):
        u = descent(lib, lambda u: matvec({"u": u, "v": b["v"] * 0.0})["u"], b["u"])
        return {"u": u, "v": b["v"] / 2.0}

    def f(a, b):
        matvec = lambda x: {"u": a @ x["u"], "v": x["v"] * 2.0}  # noqa: E731
        right = {"u": b, "v": b[:2]}
        x = lib.lax.custom_linear_solve(matvec, right, solver, transpose_solve=solver)
        return x["u"], x["v"]

    return f


def newton(lib, f, x):
    """A scalar root by Newton's iteration in a loop of unknown length."""

    def step(carry):
        x, _, count = carry
        moved = x - f(x) / lib.grad(f)(x)
        return moved, lib.numpy.abs(moved - x), count + 1

    start = (x, lib.numpy.ones_like(x), 0)
    return lib.lax.while_loop(lambda c: (c[1] > 1e-6) & (c[2] < 30), step, start)[0]


@rule("root: a scalar", np.float32(2.0), np.float32(0.5))
def scalar_root(lib):
    def f(a, b):
        return lib.lax.custom_root(
            lambda x: x**3 + b * x - a, 1.0, functools.partial(newton, lib), lambda g, y: y / g(1.0)
        )

    return f


@rule("root: a tree of parameters, with aux", V)
def tree_root(lib):
    def solver(f, guess):
        def step(i, x):
            return lib.tree_util.tree_map(lambda u, v: u - 0.3 * v, x, f(x))

        return lib.lax.fori_loop(0, 60, step, guess), lib.numpy.float32(7)

    def tangent(g, y):
        zero, one = lib.numpy.zeros(()), lib.numpy.ones(())
        left, right = g({"u": one, "v": zero}), g({"u": zero, "v": one})  # the columns of a matrix
        size = left["u"] * right["v"] - right["u"] * left["v"]
        u = (y["u"] * right["v"] - right["u"] * y["v"]) / size
        return {"u": u, "v": (left["u"] * y["v"] - y["u"] * left["v"]) / size}

    def f(p):
        equations = lambda x: {"u": 2.0 * x["u"] - p[0] + 0.3 * x["v"], "v": x["v"] + x["v"] ** 3 - p[1] * x["u"]}  # noqa: E731
        guess = {"u": lib.numpy.float32(0.5), "v": lib.numpy.float32(0.5)}
        return lib.lax.custom_root(equations, guess, solver, tangent, has_aux=True)

    return f


@rule("root: several at once", V)
def fixed_point(lib):
    def f(p):
        def equations(x):
            return x - lib.numpy.cos(p * x)

        def solver(g, guess):
            return lib.lax.fori_loop(0, 40, lambda i, x: x - 0.7 * g(x), guess)

        def tangent(g, y):
            return y / g(lib.numpy.ones_like(y))

        return lib.lax.custom_root(equations, lib.numpy.ones(4, "float32"), solver, tangent)

    return f


def everything_by_jax(lib):
    """Everything as jax has it."""
    return rows.everything(lib, [rule], rows.interpreted_by_jax(lib))
