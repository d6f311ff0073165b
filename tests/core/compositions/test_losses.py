"""Models that are loops, branches and solvers: derivatives by every order of transformations, jax and differences."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
from xlascope.ir.checker import check_jaxpr
from xlascope.xla.lowering.module_lowering import lower

HERE = Path(__file__).with_name("losses.py")
NAMES = [
    "LSTM after a training step", "RNN", "hidden Markov model", "Kalman filter", "moving average", "Runge-Kutta",
    "leapfrog with a gradient inside", "Newton's method by custom_root", "hypergradient of projected descent",
    "conjugate gradients by custom_linear_solve", "fixed point", "cond in a scan",
    "cond with a mapped predicate in a scan", "switch in a scan", "scan in a cond after a while",
    "updates in place in a scan", "sort and gather in a scan", "scatter in a scan", "integers and booleans carried",
    "alignment in nested scans", "nested scans", "recurrence", "recurrence in reverse", "associative scan",
    "for in a map", "dropout with keys carried", "checkpoint in a scan", "checkpoint with a policy in a scan",
    "scan in a checkpoint", "scan of checkpoints in a checkpoint", "custom_jvp in a scan", "custom_vjp in a scan",
    "straight-through estimator", "straight-through estimator by custom_vjp", "gradient clipping in a for",
    "psum in a scan in a vmap", "ring of processes",
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def wide():
    with xs.enable_x64():
        yield


@pytest.fixture(scope="module")
def table(programs: Any) -> Any:
    return programs(HERE)


@pytest.fixture(scope="module")
def models(table):
    return table.losses(xs)


@pytest.fixture(scope="module")
def of_jax(jax_says):
    return jax_says(HERE, "by_jax", enable_x64="1")


@pytest.fixture(scope="module")
def interpret(table):
    def run(whole):
        program = xs.make_jaxpr(whole)()
        check_jaxpr(program)
        return table.INTERPRETING.interpreted_closed(program, lower)

    return run


def near(found, wanted, tolerance=1e-8):
    for y, expected in zip(xs.tree.leaves(found), xs.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance)


def test_every_model_is_tested(models):
    assert list(models) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name, table, models, of_jax, interpret):
    """Value, gradient and its derivative along a direction are those of jax, and slopes of the value and gradient."""
    loss, operands = models[name]
    ts, h = table.directions(operands), 1e-5

    def whole():
        ends = [tuple(x + sign * h * t for x, t in zip(operands, ts, strict=True)) for sign in (1, -1)]
        return xs.tree.leaves([table.derivatives(xs, loss, operands), *(table.derivatives(xs, loss, x) for x in ends)])

    found = interpret(whole)
    count = len(found) // 3
    centre, above, below = found[:count], found[count : 2 * count], found[2 * count :]
    near(centre, of_jax[name])
    if name in table.INEXACT:
        return
    value, gradient, along = centre[0], centre[1 : 1 + len(operands)], centre[1 + len(operands) :]
    slope = sum(np.sum(g * t) for g, t in zip(gradient, ts, strict=True))
    near((above[0] - below[0]) / (2 * h), slope, 1e-6 * (1 + abs(value)))
    near([(a - b) / (2 * h) for a, b in zip(above[1 : 1 + len(operands)], below[1:], strict=False)], along, 1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_orders(name, table, models, interpret):
    """jit, vmap and the modes of differentiation in other orders."""
    loss, operands = models[name]
    every, ts = tuple(range(len(operands))), table.directions(operands)
    gradient, add = xs.grad(loss, every), xs.numpy.add
    batch = tuple(np.stack([x, 0.9 * x]) for x in operands)

    def along(*given):
        return table.dotted(xs, gradient(*given), ts)

    def whole():
        each = xs.tree.map(add, gradient(*operands), gradient(*(0.9 * x for x in operands)))
        pairs = {
            "jit": (xs.jit(gradient)(*operands), xs.grad(xs.jit(loss), every)(*operands)),
            "vmap of grad": (xs.tree.map(lambda g: g.sum(0), xs.vmap(gradient)(*batch)), each),
            "grad of vmap": (
                xs.tree.map(lambda g: g.sum(0), xs.grad(lambda *given: xs.vmap(loss)(*given).sum(), every)(*batch)),
                each,
            ),
            "jit of vmap of grad": (xs.tree.map(lambda g: g.sum(0), xs.jit(xs.vmap(gradient))(*batch)), each),
            "checkpoint": (xs.grad(xs.checkpoint(loss), every)(*operands), gradient(*operands)),
        }  # fmt: skip
        if name not in table.INEXACT:  # the derivative of what is no gradient is not symmetric
            pairs["grad of grad"] = (xs.grad(along, every)(*operands), xs.jvp(gradient, operands, ts)[1])
        if name not in table.REVERSE:
            slope = table.dotted(xs, gradient(*operands), ts)
            pairs["jvp"] = (xs.jvp(loss, operands, ts)[1], slope)
            pairs["linearize"] = (xs.linearize(loss, *operands)[1](*ts), slope)
            pairs["jacfwd"] = (xs.jacfwd(loss, every)(*operands), gradient(*operands))
            second = xs.jvp(along, operands, ts)[1]
            forward = xs.jvp(lambda *given: xs.jvp(loss, given, ts)[1], operands, ts)[1]
            pairs["jvp of jvp"] = (forward, second)
            pairs["grad of jvp"] = (
                xs.grad(lambda *given: xs.jvp(loss, given, ts)[1], every)(*operands),
                xs.grad(along, every)(*operands),
            )
        labels[:] = [label for label, (a, _) in pairs.items() for _ in xs.tree.leaves(a)]
        return [
            y
            for a, b in pairs.values()
            for pair in zip(xs.tree.leaves(a), xs.tree.leaves(b), strict=True)
            for y in pair
        ]

    labels: list[str] = []
    values = interpret(whole)
    wrong = [
        label
        for label, a, b in zip(labels, values[::2], values[1::2], strict=True)
        if not np.allclose(a, b, rtol=1e-8, atol=1e-8)
    ]
    assert len(labels) >= 5 * len(operands)
    assert not wrong


@pytest.mark.parametrize("name", ["Kalman filter", "updates in place in a scan", "dropout with keys carried"])
def test_compiled(name, table, models, of_jax):
    """What XLA makes of it is what the interpreter says."""
    loss, operands = models[name]
    near(xs.jit(lambda: table.derivatives(xs, loss, operands))(), list(of_jax[name]))
