"""Programs that call Python: they compile, and calls happen in the program's order, whatever moves its equations."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.experimental import io_callback

OPERANDS = [np.linspace(0.1, 1 - i / 10, 64 * 256, dtype=np.float32).reshape(64, 256) for i in range(6)]
WEIGHTS = np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32) / 16
FUNCTIONS = [jnp.tanh, jnp.sin, jnp.sqrt, jnp.arctan, jnp.cos, jnp.square, jnp.log1p]

Call = Callable[[str, Any], Any]


def called(kind: str, log: list[str]) -> Call:
    """A function that has a name logged when the program runs, given a value."""

    def note(name: str) -> Callable[[Any], np.float32]:
        return lambda _: np.float32(log.append(name) or 0)

    def debug(name: str, x: Any, ordered: bool) -> None:
        xs.debug.callback(lambda v: note(name)(v) and None, x, ordered=ordered)

    return {
        "ordered debug": lambda name, x: debug(name, x, True),
        "debug": lambda name, x: debug(name, x, False),
        "ordered io": lambda name, x: io_callback(note(name), np.float32(0), x, ordered=True),
        "io": lambda name, x: io_callback(note(name), np.float32(0), x),
    }[kind]


@xs.jit
def large(x):
    """Many equations without a period: calls are gathered, and nothing within them becomes a loop."""
    for i, pick in enumerate(np.random.default_rng(0).integers(0, len(FUNCTIONS), 60)):
        x = jnp.clip(FUNCTIONS[pick](jnp.abs(x) + i / 70), -3, 3)
    return x


def calls(x: Any, call: Call, *more: Any) -> Any:
    """Calls of one function with effects between them, of results and of operands."""
    found = []
    for i, each in enumerate((x, *more)):
        h = large(each)
        call(f"result {i}", jnp.sum(h))
        call(f"operand {i}", each)
        found.append(h)
    return found


def layers(x: Any, call: Call, *more: Any) -> Any:
    """An encoder called twice, then layers: one loop of all of them would be what a call in the middle prevents."""
    h = large(x) + large(more[0])
    call("encoded", h.mean())
    for step in range(60):
        if step == 30:
            call("half", x.mean())
        h = h - (0.1 + 0.01 * step) * jnp.tanh(jnp.tanh(h @ WEIGHTS) @ WEIGHTS)
    call("end", h.mean())
    return h


def branches(x: Any, call: Call, *_: Any) -> Any:
    def taken(x):
        call("taken", x.mean())
        return x * 2

    def otherwise(x):
        call("other", x.mean())
        return x

    x = lax.cond(x[0, 0] > 0, taken, otherwise, x)
    call("between", jnp.max(jnp.exp(x), 0))
    return lax.switch(jnp.argmax(x) % 2, [taken, otherwise], x)


def loops(x: Any, call: Call, *_: Any) -> Any:
    def step(c, k):
        h = jnp.tanh(c * k)
        call("step", h.mean())
        call("slice", k)
        return h, jnp.sum(h)

    def body(c):
        call("body", jnp.tanh(c[1]).mean())
        return c[0] + 1, jnp.tanh(c[1])

    h, sums = lax.scan(step, x, np.float32([1, 2, 3]))
    call("sums", sums)
    return lax.while_loop(lambda c: c[0] < 2, body, (0, h))[1]


def nested(x: Any, call: Call, *_: Any) -> Any:
    @xs.jit
    def inner(x):
        h = jnp.tanh(x)
        call("inner", jnp.sqrt(jnp.sum(h * h, 1)))
        return h

    for i in range(3):
        x = inner(x)
        call(f"outer {i}", x.var())
    return x


def gradient(x: Any, call: Call, *_: Any) -> Any:
    def loss(w):
        h = jnp.tanh(w)
        call("forward", lax.stop_gradient(h).mean())
        return jnp.sum(h * h)

    found = xs.grad(loss)(x)
    call("gradient", found.mean())
    return x - found


def nothing(x: Any, call: Call, *_: Any) -> Any:
    """No result at all."""
    h = jnp.tanh(x)
    call("mean", h.mean())
    call("largest", h.max(0))
    return ()


PROGRAMS = {f.__name__: f for f in (calls, layers, branches, loops, nested, gradient, nothing)}
SETTINGS: dict[str, dict[str, Any]] = {"auto": {}, "always": {"reroll": "always"}, "off": {"reroll": "off"}}
ROWS = [(name, kind, how) for name in PROGRAMS for kind in ("ordered debug", "io") for how in ("auto", "always")]
ROWS += [(name, kind, "auto") for name in PROGRAMS for kind in ("debug", "ordered io")]
ROWS += [(name, "ordered debug", "off") for name in ("calls", "layers")]


@pytest.mark.parametrize(("name", "kind", "how"), ROWS)
def test_calls_happen_in_the_order_of_the_program(name: str, kind: str, how: str) -> None:
    log: list[str] = []
    wanted: list[str] = []
    program = PROGRAMS[name]
    found = xs.jit(lambda x, *more: program(x, called(kind, log), *more), **SETTINGS[how])(*OPERANDS)
    with xs.disable_jit():
        expected = program(OPERANDS[0], called(kind, wanted), *OPERANDS[1:])
    assert log == wanted
    assert len(log) >= 2
    for y, z in zip(xs.tree_util.tree_leaves(found), xs.tree_util.tree_leaves(expected), strict=True):
        # Sums of sixty layers: where they cancel, what is left has the round-off of the largest.
        np.testing.assert_allclose(y, z, rtol=1e-4, atol=1e-5 * max(1, np.abs(z).max()))
