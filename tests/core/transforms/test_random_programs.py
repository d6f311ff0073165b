"""Random programs under random nestings of transformations, against slower ways of computing the same."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

import xlascope as xs
from xlascope import settings
from xlascope.operations import arithmetic as a
from xlascope.operations import elementwise as e
from xlascope.operations import indexing, linear_algebra
from xlascope.operations import reductions as r
from xlascope.operations import shapes as s

N = 3
RANDOM = np.random.default_rng(11)
X, DIRECTION, WEIGHTS = (RANDOM.uniform(-1, 1, (N, N)) for _ in range(3))


def total(x):
    return s.reduce_sum(x, (0, 1))


def matmul(x, y):
    return linear_algebra.dot_general(x, y, (((1,), (0,)), ((), ())))


def spread(row):
    return s.broadcast_in_dim(row, (N, N), (1,))


#: Steps from one or two 3x3 matrices to another, none of which lets values grow much.
STEPS = {
    "sin": lambda x, y: e.sin(x),
    "tanh": lambda x, y: e.tanh(x),
    "logistic": lambda x, y: e.logistic(a.mul(x, 2.0)),
    "exp": lambda x, y: e.exp(e.neg(e.square(x))),
    "log1p": lambda x, y: e.log1p(e.square(x)),
    "add": lambda x, y: a.mul(a.add(x, y), 0.5),
    "sub": lambda x, y: a.mul(a.sub(x, y), 0.5),
    "mul": lambda x, y: a.mul(e.tanh(x), y),
    "div": lambda x, y: a.div(x, a.add(1.0, e.square(y))),
    "pow": lambda x, y: a.pow(a.add(1.5, e.sin(x)), e.tanh(y)),
    "max": lambda x, y: a.max(x, e.sin(y)),
    "select": lambda x, y: a.select(a.gt(x, y), x, e.sin(y)),
    "clamp": lambda x, y: a.clamp(-0.9, x, 0.9),
    "transpose": lambda x, y: s.transpose(x, (1, 0)),
    "reshape": lambda x, y: s.reshape(s.slice_in_dim(s.reshape(s.concatenate([x, y], 0), (2 * N * N,)), 4, 13), (N, N)),
    "slice and pad": lambda x, y: s.pad(s.slice_(x, (0, 1), (3, 3), (2, 1)), 0.25, ((0, 0, 1), (1, 0, 0))),
    "rev": lambda x, y: s.rev(x, (0,)),
    "row sums": lambda x, y: e.sin(spread(s.reduce_sum(x, (0,)))),
    "row maxima": lambda x, y: a.mul(spread(r.reduce_max(x, (1,))), y),
    "product": lambda x, y: spread(r.reduce_prod(e.tanh(x), (0,))),
    "scalar": lambda x, y: a.mul(y, e.tanh(total(x))),
    "cumsum": lambda x, y: e.tanh(r.cumsum(x, 1)),
    "cumprod": lambda x, y: r.cumprod(e.sin(x), 0, True),
    "dot": lambda x, y: e.tanh(matmul(x, y)),
    "gather": lambda x, y: s.reshape(
        indexing.gather(x, np.int32([[2], [0], [2]]), indexing.GatherDimensionNumbers((1,), (0,), (0,)), (1, N)), (N, N)
    ),
    "update": lambda x, y: indexing.dynamic_update_slice(
        x, s.slice_in_dim(y, 0, 2, 1), (np.int32(0), r.argmax(total_rows(x), 0, "int32"))
    ),
}  # fmt: skip


def total_rows(x):
    return s.reduce_sum(x, (1,))


class Step(NamedTuple):
    """A step of a program: which, applied to the results of which earlier steps, and whether in a call of its own."""

    name: str
    left: int
    right: int
    call: bool


PROGRAMS = st.lists(
    st.builds(Step, st.sampled_from(sorted(STEPS)), st.integers(0, 3), st.integers(0, 3), st.booleans()),
    min_size=3,
    max_size=12,
)
NESTINGS = st.lists(st.sampled_from(["jit", "grad", "jvp", "vmap"]), min_size=1, max_size=3)


def function_of(program, calls):
    """A program as a function; with ``calls``, what follows a marked step runs in a nested jit."""

    def run(values, rest):
        values = list(values)
        for index, step in enumerate(rest):
            x, y = values[-1 - step.left % len(values)], values[-1 - step.right % len(values)]
            values.append(STEPS[step.name](x, y))
            if step.call and calls:
                return xs.jit(lambda *given, after=rest[index + 1 :]: run(given, after))(*values)
        return values[-1]

    return lambda x: run([x], program)


def weighted(f):
    return lambda x: total(a.mul(f(x), WEIGHTS))


def mapped(f):
    return lambda x: s.reduce_sum(
        xs.vmap(f)(s.concatenate([s.expand_dims(x, (0,)), s.expand_dims(e.sin(x), (0,))], 0)), (0,)
    )


FAST = {
    "jit": xs.jit,
    "grad": lambda f: xs.grad(weighted(f)),
    "jvp": lambda f: lambda x: xs.jvp(f, (x,), (DIRECTION,))[1],
    "vmap": mapped,
}
SLOW = {
    "jit": lambda f: f,
    "grad": lambda f: xs.jacfwd(weighted(f)),
    "jvp": lambda f: lambda x: xs.linearize(f, x)[1](DIRECTION),
    "vmap": lambda f: lambda x: a.add(f(x), f(e.sin(x))),
}


def check(program: list[Step], nesting: list[str]) -> None:
    fast, slow = function_of(program, True), function_of(program, False)
    for name in nesting:
        fast, slow = FAST[name](fast), SLOW[name](slow)
    with settings.enable_x64():
        wanted = xs.jit(slow)(X)
        found: list[Any] = [xs.jit(fast)(X)]
        if "jit" not in nesting[-1:]:
            found.append(fast(X))
    scale = 1 + np.max(np.abs(wanted))
    for y in found:
        np.testing.assert_allclose(y, wanted, rtol=1e-7, atol=1e-8 * scale)


@examples(max_examples=12)
@given(PROGRAMS, NESTINGS)
def test_random_programs(program, nesting):
    check(program, nesting)


@pytest.mark.slow
@examples(max_examples=200)
@given(PROGRAMS, NESTINGS)
def test_many_random_programs(program, nesting):
    check(program, nesting)


@pytest.mark.parametrize("name", STEPS)
def test_each_step_under_three_transformations(name):
    check([Step("sin", 0, 0, True), Step(name, 0, 1, False), Step("tanh", 0, 1, True)], ["jvp", "grad", "vmap"])
