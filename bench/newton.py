"""Truncated Newton-CG by both engines and in plain Python: how many times as fast compiling makes it.

``python -m bench.newton`` makes the table anew, in REPORTS.md too, where it leaves the others alone. The three problems
are those of R. Frostig, M. J. Johnson and C. Leary, Compiling machine learning programs via high-level tracing (2018),
of sizes of our own, since theirs are not told. All sides take the same steps in double precision, one after the other
in processes of their own, each on one core; the whole minimization is one compiled program on the engines' sides, and a
loop over NumPy arrays in Python's (``newton_numpy``), whose gradients are written by hand.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import newton_numpy
from .newton_numpy import BACKTRACKS, CONJUGATE, NEWTON, PROBLEMS, TOLERANCE, Data
from .results import replace_table
from .sides import Side, side

#: The factors over Python that the paper has for these problems.
PAPER = {"convex_quadratic": 114, "hidden_markov_model": 153, "logistic_regression": 3}
SIDES = ("python", "xlascope", "jax")
ROUNDS = 5
HEAD = [
    "| truncated Newton-CG, one core | Python | xlascope | jax | xlascope's factor | jax's factor | the paper's | "
    "xlascope / jax | goal |",
    "|---|---|---|---|---|---|---|---|---|",
]


class Found(NamedTuple):
    """Seconds of a minimization once compiled, of the first one, the value that it ends at, and its steps."""

    seconds: float
    first: float
    value: float
    steps: int


def convex_quadratic(side: Side, data: Data) -> Callable[[Any], Any]:
    """Half of x A x less b x."""
    return lambda x: 0.5 * (x @ (data["matrix"] @ x)) - data["vector"] @ x


def logistic_regression(side: Side, data: Data) -> Callable[[Any], Any]:
    """The mean of log(1 + e^-m) over the margins m, and a ridge."""
    jnp = side.jnp
    return lambda x: jnp.mean(jnp.logaddexp(0.0, -(data["examples"] @ x))) + 0.5e-3 * (x @ x)


def hidden_markov_model(side: Side, data: Data) -> Callable[[Any], Any]:
    """Less the logarithm of the probability of what was seen, by the forward algorithm, and a ridge."""
    jnp = side.jnp
    special = importlib.import_module(f"{side.name}.scipy.special")
    states, symbols, seen = int(data["states"]), int(data["symbols"]), data["seen"]

    def loss(x: Any) -> Any:
        ends = (states, states + states * states)
        first = special.log_softmax(x[: ends[0]])
        moves = special.log_softmax(jnp.reshape(x[ends[0] : ends[1]], (states, states)), axis=1)
        shown = special.log_softmax(jnp.reshape(x[ends[1] :], (states, symbols)), axis=1).T

        def step(before: Any, symbol: Any) -> Any:
            return special.logsumexp(before[:, None] + moves, axis=0) + shown[symbol], None

        last, _ = side.xs.lax.scan(step, first + shown[seen[0]], jnp.asarray(seen[1:]))
        return 0.5e-1 * (x @ x) - special.logsumexp(last)

    return loss


FUNCTIONS = {each.__name__: each for each in (convex_quadratic, hidden_markov_model, logistic_regression)}


def minimize(side: Side, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The whole minimization as one compiled program: from a start to the place, the value there, and the steps."""
    xs, jnp = side.xs, side.jnp
    while_loop = xs.lax.while_loop
    slope = xs.grad(function)

    def conjugate(x: Any, gradient: Any) -> Any:
        """About -H⁻¹ g: ends early by the gradient's size, and where the function curves downward."""
        size = jnp.sqrt(gradient @ gradient)
        wanted = (size * jnp.minimum(0.5, jnp.sqrt(size))) ** 2

        def far(state: Any) -> Any:
            _, _, _, left, count, down = state
            return (left > wanted) & (count < CONJUGATE) & ~down

        def step(state: Any) -> Any:
            p, r, d, left, count, _ = state
            moved = xs.jvp(slope, (x,), (d,))[1]
            curve = d @ moved
            down = curve <= 0
            part = left / jnp.where(down, 1.0, curve)
            ended = jnp.where(count == 0, d, p)
            r_next = r - part * moved
            after = r_next @ r_next
            return jnp.where(down, ended, p + part * d), r_next, r_next + after / left * d, after, count + 1, down

        start = (jnp.zeros_like(x), -gradient, -gradient, gradient @ gradient, 0, False)
        return while_loop(far, step, start)[0]

    def searched(x: Any, value: Any, gradient: Any, p: Any) -> Any:
        fall = 1e-4 * (gradient @ p)

        def high(state: Any) -> Any:
            t, count = state
            return (function(x + t * p) > value + t * fall) & (count < BACKTRACKS)

        return while_loop(high, lambda state: (state[0] / 2, state[1] + 1), (1.0, 0))[0]

    @xs.jit
    def minimized(x: Any) -> Any:
        def far(state: Any) -> Any:
            _, _, gradient, count = state
            return (gradient @ gradient > TOLERANCE**2) & (count < NEWTON)

        def step(state: Any) -> Any:
            x, value, gradient, count = state
            p = conjugate(x, gradient)
            x = x + searched(x, value, gradient, p) * p
            return x, function(x), slope(x), count + 1

        x, value, _, count = while_loop(far, step, (x, function(x), slope(x), 0))
        return x, value, count

    return minimized  # type: ignore[no-any-return]


def measure(name: str, problem: str) -> Found:
    """One problem on one side, in this process: the best of several runs."""
    data = PROBLEMS[problem]()
    start = data["start"]
    if name == "python":
        run: Callable[[], Any] = lambda: newton_numpy.minimize(newton_numpy.FUNCTIONS[problem](data), start)  # noqa: E731
    else:
        engine = side(name)
        engine.xs.config.update("jax_enable_x64", True)
        program = minimize(engine, FUNCTIONS[problem](engine, data))
        run = lambda: engine.xs.block_until_ready(program(start))  # noqa: E731
    times = []
    for _ in range(3 if name == "python" else 8):
        began = time.perf_counter()
        _, value, steps = run()
        times.append(time.perf_counter() - began)
    return Found(min(times[1:]), times[0], float(value), int(steps))


def _alone(name: str, problem: str) -> Found:
    """One problem on one side, in a process of its own on one core."""
    code = f"import os; os.sched_setaffinity(0, {{{max(os.sched_getaffinity(0))}}}); import sys, runpy; "
    code += f"sys.argv[1:] = [{name!r}, {problem!r}]; runpy.run_module('bench.newton', run_name='__main__')"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    return Found(*json.loads(done.stdout.splitlines()[-1]))


def row(problem: str) -> str:
    """A line of the table: the best of rounds, in each of which the sides follow one another."""
    rounds = [{name: _alone(name, problem) for name in SIDES} for _ in range(ROUNDS)]
    for found in rounds:
        values = [each.value for each in found.values()]
        assert np.allclose(values, values[0], rtol=1e-6, atol=1e-9), f"{problem} ends at {values}"
    # the best, since whatever else runs on a machine only makes a side slower
    seconds = {name: min(found[name].seconds for found in rounds) for name in SIDES}
    ours, theirs = (seconds["python"] / seconds[name] for name in SIDES[1:])
    ratio = seconds["xlascope"] / seconds["jax"]
    steps = "/".join(str(rounds[0][name].steps) for name in SIDES)
    cells = [f"{problem.replace('_', ' ')} ({steps} steps)", *(_text(seconds[name]) for name in SIDES)]
    cells += [f"**{ours:.3g}x**", f"{theirs:.3g}x", f"{PAPER[problem]}x", f"**{ratio:.2f}**", "≤ 1"]
    return f"| {' | '.join(cells)} |"


def _text(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def table() -> list[str]:
    """The table, a problem a line."""
    return [*HEAD, *(row(problem) for problem in PAPER)]


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(measure(*sys.argv[1:])))
    else:
        made = table()
        print("\n".join(made))
        replace_table(made)
