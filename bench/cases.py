"""What is measured. Each case, given a side, returns seconds for one unit of work (the best of several runs)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from .mlp import digits_like, init, make_update
from .sides import Side
from .transformer import make_gradient, weights_and_tokens

_LENGTH = 1000
_EQUATIONS = 3 * _LENGTH + 1


def _best(work: Callable[[], Any], runs: int = 5) -> float:
    seconds = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def _chain(side: Side) -> Callable[[Any], Any]:
    """A function of 3,001 equations; a new one each time, because jax remembers traces by function."""
    jnp = side.jnp

    def chain(x: Any) -> Any:
        for _ in range(_LENGTH):
            x = jnp.sin(x) * 2.0 + x
        return jnp.sum(x)

    return chain


def trace(side: Side) -> float:
    """Seconds per equation to trace a chain of sin, mul, add."""
    x = side.jnp.ones(10)
    return _best(lambda: side.xs.make_jaxpr(_chain(side))(x)) / _EQUATIONS


def grad_trace(side: Side) -> float:
    """Seconds per forward equation to trace the gradient of that chain."""
    x = side.jnp.ones(10)
    return _best(lambda: side.xs.make_jaxpr(side.xs.grad(_chain(side)))(x)) / _EQUATIONS


def lower(side: Side) -> float:
    """Seconds per equation to lower that chain to a StableHLO module."""
    x = side.jnp.ones(10)
    return min(_best(side.lower(_chain(side), x), 1) for _ in range(4)) / _EQUATIONS


def _repeat(function: Callable[[Any], Any], x: Any, calls: int = 3000) -> float:
    def loop() -> None:
        for _ in range(calls):
            y = function(x)
        side_effect_free = y
        side_effect_free.block_until_ready()

    function(x)
    return _best(loop) / calls


def jit_dispatch(side: Side) -> float:
    """Seconds per call of a compiled function of one small array."""
    return _repeat(side.xs.jit(lambda x: side.jnp.sin(x)), side.jnp.ones(10))


def eager_index(side: Side) -> float:
    """Seconds for ``x[0]`` outside of jit."""
    return _repeat(lambda x: x[0], side.jnp.ones(10), 1000)


def eager_slice(side: Side) -> float:
    """Seconds for ``x[1:3]`` outside of jit."""
    return _repeat(lambda x: x[1:3], side.jnp.ones(10), 1000)


def eager_multiply(side: Side) -> float:
    """Seconds for ``x * 2.0`` outside of jit."""
    return _repeat(lambda x: x * 2.0, side.jnp.ones(10), 1000)


def training_step(side: Side) -> float:
    """Seconds for one jitted Adam step of the notebook's network (64-512-512-10, batches of 128)."""
    images, labels = digits_like()
    state = init(side)
    update = make_update(side)
    for _ in range(20):
        state = update(state, images, labels)
    side.xs.block_until_ready(state)

    def steps() -> None:
        current = state
        for _ in range(100):
            current = update(current, images, labels)
        side.xs.block_until_ready(current)

    return _best(steps) / 100


def first_step(side: Side) -> float:
    """Seconds from nothing to the first result of that step: trace, lower, compile, run."""
    images, labels = digits_like()
    state = init(side)
    return _best(lambda: side.xs.block_until_ready(make_update(side)(state, images, labels)), 1)


def first_call_cold(side: Side) -> float:
    """Seconds to the first gradient of twelve transformer blocks: trace, lower, compile, run."""
    weights, tokens = weights_and_tokens()
    gradient = make_gradient(side)
    return _best(lambda: side.xs.block_until_ready(gradient(weights, tokens)), 1)


def first_call_warm(side: Side) -> float:
    """The same when another process has compiled it before and kept it on disk."""
    with tempfile.TemporaryDirectory() as folder:
        side.xs.config.update("jax_compilation_cache_dir", folder)
        side.xs.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        kept = {"JAX_COMPILATION_CACHE_DIR": folder, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        command = [sys.executable, "-m", "bench.one", side.name, "first_call_cold"]
        subprocess.run(command, check=True, env={**os.environ, **kept}, capture_output=True)
        return first_call_cold(side)


CASES = {
    case.__name__: case
    for case in (
        trace,
        grad_trace,
        lower,
        jit_dispatch,
        eager_index,
        eager_slice,
        eager_multiply,
        training_step,
        first_step,
        first_call_cold,
        first_call_warm,
    )
}
