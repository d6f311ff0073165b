"""The phase of each equation, by the function that wrote it: forward, backward or update, however calls are nested."""

from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax
from xlascope_widgets import wire
from xlascope_widgets.program_store import ProgramStore

# The phases of the equations that compute something, by the innermost function of their line.
PHASES = """(() => {
    const program = new Program(a), found = {};
    for (const [path, equation] of program.equations) {
        if (equation.bodies || !equation.src) continue;
        const name = equation.src[3].split(".").pop();
        (found[name] ??= new Set()).add(program.getPass(path));
    }
    const calls = [...program.equations.values()].filter(one => one.bodies?.[0].name === "update");
    for (const call of calls) (found["call of update"] ??= new Set()).add(program.getPass(call.path));
    return Object.fromEntries(Object.entries(found).map(([name, phases]) => [name, [...phases].sort()]));
})()"""

X, Y = np.ones((4, 3), np.float32), np.ones(4, np.float32)
W, M = np.ones(3, np.float32), np.zeros(3, np.float32)
BOTH, FORWARD, UPDATE = ["backward", "forward"], ["forward"], ["update"]


def loss(w: Any, x: Any, y: Any) -> Any:
    return jnp.mean((jnp.tanh(x @ w) - y) ** 2)


def update(w: Any, g: Any) -> Any:
    return w - 0.1 * g


def momentum(w: Any, m: Any, g: Any) -> Any:
    m = 0.9 * m + g
    return w - 0.1 * m, m


def adam(w: Any, m: Any, v: Any, t: Any, g: Any) -> Any:
    t = t + 1.0
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return w - 0.1 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.99**t)) + 1e-8), m, v, t


def measure(w: Any, x: Any, y: Any) -> Any:
    return jnp.max(jnp.abs(x @ w - y))


def inline(w: Any, x: Any, y: Any) -> Any:
    return update(w, xs.grad(loss)(w, x, y))


def nested(w: Any, x: Any, y: Any) -> Any:
    return xs.jit(update)(w, xs.grad(loss)(w, x, y))


def twice_nested(w: Any, x: Any, y: Any) -> Any:
    return xs.jit(lambda w, g: xs.jit(update)(w, g))(w, xs.grad(loss)(w, x, y))


def whole_step_nested(w: Any, x: Any, y: Any) -> Any:
    return xs.jit(inline)(w, x, y)


def whole_step_twice_nested(w: Any, x: Any, y: Any) -> Any:
    return xs.jit(whole_step_nested)(w, x, y), measure(w, x, y)


def gradient_nested(w: Any, x: Any, y: Any) -> Any:
    value, g = xs.jit(xs.value_and_grad(loss))(w, x, y)
    return update(w, g), value


def both_nested(w: Any, x: Any, y: Any) -> Any:
    return xs.jit(update)(w, xs.jit(xs.grad(loss))(w, x, y))


def nested_momentum(w: Any, m: Any, x: Any, y: Any) -> Any:
    return xs.jit(momentum)(w, m, xs.grad(loss)(w, x, y))


def nested_adam(w: Any, m: Any, x: Any, y: Any) -> Any:
    return xs.jit(adam)(w, m, m, 0.0, xs.grad(loss)(w, x, y))


def adam_in_nested_step(w: Any, m: Any, t: Any, x: Any, y: Any) -> Any:
    return xs.jit(lambda w, m, t: adam(w, m, m, t, xs.jit(xs.grad(loss))(w, x, y)))(w, m, t)


def inference(w: Any, x: Any, y: Any) -> Any:
    return xs.jit(loss)(w, x, y), measure(w, x, y)


def gradient_alone(w: Any, x: Any, y: Any) -> Any:
    return xs.jit(xs.value_and_grad(xs.jit(loss)))(w, x, y)


def steps_in_scan(w: Any, x: Any, y: Any) -> Any:
    return lax.scan(lambda w, _: (update(w, xs.grad(loss)(w, x, y)), None), w, None, 5)[0]


def gradients_in_scan(w: Any, x: Any, y: Any) -> Any:
    def add(total: Any, row: Any) -> Any:
        return total + xs.grad(loss)(w, row[0][None], row[1][None]), None

    return update(w, lax.scan(add, jnp.zeros_like(w), (x, y))[0])


def two_steps(w: Any, x: Any, y: Any) -> Any:
    return inline(inline(w, x, y), x, y)


def penalized(w: Any, x: Any, y: Any) -> Any:
    def penalty(w: Any) -> Any:
        return jnp.sum(jnp.cos(xs.grad(loss)(w, x, y)))

    return xs.jit(xs.value_and_grad(lambda w: penalty(w) + loss(w, x, y)))(w)


def tangents(w: Any, x: Any, y: Any) -> Any:
    return xs.jit(lambda w: measure(xs.jvp(lambda w: jnp.sin(x @ w), (w,), (w,))[1], jnp.eye(4), y))(w)


STEP = {"loss": BOTH, "update": UPDATE}
TABLE: dict[str, tuple[Any, tuple[Any, ...], dict[str, list[str]]]] = {
    "update inline": (inline, (W, X, Y), STEP),
    "update in a nested jit": (nested, (W, X, Y), {**STEP, "call of update": UPDATE}),
    "update in two nested jits": (twice_nested, (W, X, Y), {**STEP, "call of update": UPDATE}),
    "the step in a nested jit": (whole_step_nested, (W, X, Y), STEP),
    "the step in two nested jits": (whole_step_twice_nested, (W, X, Y), {**STEP, "measure": FORWARD}),
    "the gradient in a nested jit": (gradient_nested, (W, X, Y), STEP),
    "gradient and update in two nested jits": (both_nested, (W, X, Y), {**STEP, "call of update": UPDATE}),
    "momentum in a nested jit": (nested_momentum, (W, M, X, Y), {"loss": BOTH, "momentum": UPDATE}),
    "Adam in a nested jit": (nested_adam, (W, M, X, Y), {"loss": BOTH, "adam": UPDATE}),
    "Adam in a nested step": (adam_in_nested_step, (W, M, np.float32(0), X, Y), {"loss": BOTH, "adam": UPDATE}),
    "inference": (inference, (W, X, Y), {"loss": FORWARD, "measure": FORWARD}),
    "a gradient alone": (gradient_alone, (W, X, Y), {"loss": BOTH}),
    "steps in a scan": (steps_in_scan, (W, X, Y), STEP),
    "gradients in a scan": (gradients_in_scan, (W, X, Y), STEP),
    "two steps": (two_steps, (W, X, Y), STEP),
    "a gradient in a loss": (penalized, (W, X, Y), {"penalty": BOTH}),
    "tangents": (tangents, (W, X, Y), {"measure": FORWARD}),
}


@pytest.mark.parametrize("name", TABLE)
def test_phases(script: Any, name: str) -> None:
    function, args, expected = TABLE[name]
    program = ProgramStore.of(list(inspect.explore(xs.jit(function), *args).records)).main
    found = script(PHASES, wire.encode_heavy(program))
    assert {key: found.get(key) for key in expected} == expected
    if "update" not in [phase for phases in expected.values() for phase in phases]:
        assert "update" not in [phase for phases in found.values() for phase in phases]
