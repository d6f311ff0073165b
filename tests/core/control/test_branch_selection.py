"""A choice that differs from example to example: no example gets the NaN of a branch that it does not take."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.experimental import jet

#: Examples, of which the second and third do not take the branch whose derivative is NaN or infinite there.
X = np.float32([4.0, 0.0, -1.0, 2.25])
W = np.float32([[0.5, -0.25, 0.0], [1.0, 0.75, -0.5]])
ROW = np.float32([0.3, -0.7, 0.2])


@xs.custom_jvp
def root(x):
    return jnp.sqrt(x)


@root.defjvp
def _(primals, tangents):
    y = root(*primals)
    return y, tangents[0] * 0.5 / y


@xs.custom_vjp
def logarithm(x):
    return jnp.log(x)


logarithm.defvjp(lambda x: (jnp.log(x), x), lambda x, ct: (ct / x,))


def by_cond(taken, otherwise):
    return lambda x, *w: lax.cond(x > 0, taken, otherwise, x, *w)


def by_switch(taken, otherwise):
    index = lambda x: jnp.where(x > 0, 7, jnp.where(x < 0, 1, -3))  # noqa: E731
    return lambda x, *w: lax.switch(index(x), [otherwise, otherwise, taken], x, *w)


def in_a_scan(taken, otherwise):
    step = lambda w: lambda c, _: (lax.cond(c > 0, taken, otherwise, c, *w), c)  # noqa: E731
    return lambda x, *w: lax.scan(step(w), x, None, length=2)[0]


def in_a_jit(taken, otherwise):
    inner = xs.jit(by_cond(taken, otherwise))
    return xs.jit(lambda x, *w: inner(x, *w) * 1.0)


def checkpointed(taken, otherwise):
    return xs.checkpoint(by_cond(xs.checkpoint(taken), otherwise))


def nested(taken, otherwise):
    inner = lambda x, *w: lax.cond(x > 3, taken, lambda x, *w: taken(x, *w) * 2, x, *w)  # noqa: E731
    return by_cond(inner, otherwise)


FORMS: dict[str, Callable[..., Any]] = {
    "cond": by_cond,
    "switch": by_switch,
    "scan of cond": in_a_scan,
    "jitted": in_a_jit,
    "checkpointed": checkpointed,
    "nested": nested,
}
#: Branches of an example and of weights that are the same for all examples: (taken, otherwise).
BRANCHES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "square root": (lambda x, w: jnp.sqrt(x) * 2, lambda x, w: 0 * x),
    "logarithm": (lambda x, w: jnp.log(x) + x, lambda x, w: x * x),
    "rule, forward": (lambda x, w: root(x), lambda x, w: x * x),
    "quotient by a weight": (lambda x, w: jnp.sqrt(x) / w[0, 0], lambda x, w: x * w[1, 0]),
    "weight in the root": (lambda x, w: jnp.sqrt(x * w[1, 1]), lambda x, w: x + w[0, 1]),
    "product": (lambda x, w: jnp.sum(w @ (jnp.sqrt(x) * ROW)), lambda x, w: x * w[0, 0]),
    "product before": (lambda x, w: jnp.sum(jnp.sqrt(jnp.abs(w) @ (x * jnp.abs(ROW)))), lambda x, w: x * w[0, 0]),
    "jitted product": (lambda x, w: xs.jit(lambda x, w: jnp.log(x) * w @ ROW)(x, w)[1], lambda x, w: x * w[0, 0]),
    "product in a loop": (
        lambda x, w: lax.scan(lambda c, _: (jnp.tanh(w.T @ (w @ c)), None), jnp.log(x) * ROW, None, length=2)[0][0],
        lambda x, w: x,
    ),
    "gathered": (lambda x, w: jnp.sqrt(x) * w[x.astype(int) % 2, 1], lambda x, w: x),
    "sliced": (lambda x, w: jnp.sum(lax.dynamic_slice(w, (x.astype(int), 0), (1, 3)) / x), lambda x, w: x),
}
REVERSE = {"rule, backward": (lambda x, w: logarithm(x), lambda x, w: x * w[0, 0])}
ALL = {**BRANCHES, **REVERSE}


def total(f):
    return lambda x, w: jnp.sum(f(x, w))


TRANSFORMED: dict[str, Callable[..., Any]] = {
    "grad": lambda f: xs.grad(total(f), (0, 1)),
    "jvp": lambda f: lambda x, w: xs.jvp(f, (x, w), (jnp.ones_like(x), w))[1],
    "linearize": lambda f: lambda x, w: xs.linearize(f, x, w)[1](jnp.ones_like(x), w),
    "grad of grad": lambda f: xs.grad(lambda x, w: jnp.sum(xs.grad(total(f))(x, w)), (0, 1)),
    "jvp of grad": lambda f: lambda x, w: xs.jvp(xs.grad(total(f), (0, 1)), (x, w), (jnp.ones_like(x), w))[1],
    "grad of jvp": lambda f: xs.grad(
        lambda x, w: jnp.sum(xs.jvp(lambda x: f(x, w), (x,), (jnp.ones_like(x),))[1]), (0, 1)
    ),
}


def one_by_one(name: str, form: str, x: Any, w: Any) -> Any:
    """The function that Python chooses, example by example."""
    taken, otherwise = ALL[name]
    branch = {"nested": lambda x, w: taken(x, w) * (1 if x > 3 else 2)}.get(form, taken)

    def once(x: Any) -> Any:
        return branch(x, w) if x > 0 else otherwise(x, w)

    return jnp.stack([once(once(x[i])) if form == "scan of cond" else once(x[i]) for i in range(len(X))])


def rows() -> list[tuple[str, str, str]]:
    found = [(name, "cond", how) for name in BRANCHES for how in TRANSFORMED]
    found += [(name, "cond", "grad") for name in REVERSE]
    others = [form for form in FORMS if form != "cond"]
    return found + [
        (n, form, how) for form in others for n in ("logarithm", "product") for how in ("grad", "jvp of grad")
    ]


@pytest.mark.parametrize(("name", "form", "how"), rows())
def test_derivatives_are_those_of_the_branch_that_is_taken(name: str, form: str, how: str) -> None:
    f = FORMS[form](*ALL[name])
    found = xs.jit(TRANSFORMED[how](xs.vmap(f, (0, None))))(X, W)
    wanted = TRANSFORMED[how](lambda x, w: one_by_one(name, form, x, w))(X, W)
    for y, expected in zip(xs.tree_util.tree_leaves(found), xs.tree_util.tree_leaves(wanted), strict=True):
        assert np.isfinite(np.asarray(expected)).all()
        np.testing.assert_allclose(y, expected, rtol=2e-5, atol=1e-6)


# Other ways to a selection --------------------------------------------------------------------------------------------


def safe_root(x):
    return lax.cond(x > 0, jnp.sqrt, lambda x: 0 * x, x)


def stepped(x):
    """Divide until the value is at its end: a loop in which examples that have ended are computed further."""
    return lax.while_loop(lambda c: c > 1, lambda c: jnp.sqrt(c - 1), x)


def piecewise(x):
    return jnp.piecewise(x, [x > 0, x < 0], [jnp.sqrt, lambda x: x * x, lambda x: 3 * x])


def root_of_piece(x):
    return jnp.piecewise(x, [x > 0], [lambda x, scale: jnp.log(x) * scale], 2.0)


def total_of(f):
    return lambda x: jnp.sum(f(x))


ROOTS = np.float32([0.25, 0, 0, 1 / 3])
VALUES: dict[str, tuple[Callable[[], Any], Any]] = {
    "without jit": (lambda: xs.grad(total_of(xs.vmap(safe_root)))(X), ROOTS),
    "vmap of grad": (lambda: xs.vmap(xs.grad(safe_root))(X), ROOTS),
    "nested vmap": (lambda: xs.grad(total_of(xs.vmap(xs.vmap(safe_root))))(X.reshape(2, 2)), ROOTS.reshape(2, 2)),
    "jacfwd": (lambda: xs.jacfwd(xs.vmap(safe_root))(X), np.diag(ROOTS)),
    "jacrev": (lambda: xs.jacrev(xs.vmap(safe_root))(X), np.diag(ROOTS)),
    "hessian": (
        lambda: xs.hessian(total_of(xs.vmap(safe_root)))(X),
        np.diag([-1 / 32, 0, 0, -0.25 / 2.25**1.5]),
    ),
    "series": (
        lambda: jet.jet(xs.vmap(safe_root), (X,), ((np.ones_like(X), np.zeros_like(X)),))[1],
        [ROOTS, np.diag(np.diag([-1 / 32, 0, 0, -0.25 / 2.25**1.5]))],
    ),
    "transpose of a tangent": (
        lambda: xs.grad(lambda t: jnp.sum(xs.vmap(lambda x, t: xs.jvp(safe_root, (x,), (t,))[1])(X, t)))(X),
        ROOTS,
    ),
    "no example takes the branch": (
        lambda: xs.grad(lambda w: jnp.sum(xs.vmap(lambda x: lax.cond(x > 9, lambda: jnp.sqrt(w), lambda: x))(X)))(0.0),
        0.0,
    ),
    "while": (lambda: xs.jvp(xs.vmap(stepped), (X,), (np.ones_like(X),))[1], np.float32([0.16869755, 1, 1, 0.6508508])),
    "piecewise": (lambda: xs.grad(total_of(piecewise))(X), np.float32([0.25, 3, -2, 1 / 3])),
    "piecewise, more arguments": (
        lambda: xs.grad(lambda s: jnp.sum(jnp.piecewise(X, [X > 0], [lambda x, s: jnp.log(x) * s], s)))(2.0),
        np.log(9.0),
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_no_nan_comes_from_elsewhere(name: str) -> None:
    compute, wanted = VALUES[name]
    for y, expected in zip(xs.tree_util.tree_leaves(compute()), xs.tree_util.tree_leaves(wanted), strict=True):
        np.testing.assert_allclose(y, expected, rtol=2e-6)


def test_weights_are_not_repeated_for_each_example() -> None:
    """A branch's products with weights, its lookups in tables, and its jitted functions and loops take them as they
    are.
    """
    step = lambda w: lambda c, _: (jnp.tanh(w @ c), None)  # noqa: E731
    expert = xs.jit(lambda x, w: lax.scan(step(w), x @ w, None, length=2)[0])
    experts = [lambda x, w, i=i: expert(x, w) * i for i in range(3)]
    choose = xs.vmap(lambda i, x, w: lax.switch(i, experts, x, w), (0, 0, None))
    size, width = 64, 16
    program = xs.make_jaxpr(xs.grad(lambda w, i, x: jnp.sum(choose(i, x, w))))(
        np.ones((width, width), np.float32), np.zeros(size, np.int32), np.ones((size, width), np.float32)
    )
    assert f"{size},{width},{width}" not in str(program)
