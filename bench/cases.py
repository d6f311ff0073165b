"""What is measured. Each case, given a side, returns seconds for one unit of work (the best of several runs), those of
the models also how many equations the program has.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .kinds import transformer_12
from .mlp import digits_like, init, make_update
from .models import MODELS, equations_in
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


def chain(side: Side) -> Callable[[Any], Any]:
    """A function of 3,001 equations; a new one each time, because jax remembers traces by function."""
    jnp = side.jnp

    def looped(x: Any) -> Any:
        for _ in range(_LENGTH):
            x = jnp.sin(x) * 2.0 + x
        return jnp.sum(x)

    return looped


def trace(side: Side) -> float:
    """Seconds per equation to trace a chain of sin, mul, add."""
    x = side.jnp.ones(10)
    return _best(lambda: side.xs.make_jaxpr(chain(side))(x)) / _EQUATIONS


def grad_trace(side: Side) -> float:
    """Seconds per forward equation to trace the gradient of that chain."""
    x = side.jnp.ones(10)
    return _best(lambda: side.xs.make_jaxpr(side.xs.grad(chain(side)))(x)) / _EQUATIONS


def vmap_grad_trace(side: Side) -> float:
    """Seconds per forward equation to trace that gradient for a batch of examples."""
    x = side.jnp.ones((4, 10))
    return _best(lambda: side.xs.make_jaxpr(side.xs.vmap(side.xs.grad(chain(side))))(x)) / _EQUATIONS


def lower(side: Side) -> float:
    """Seconds per equation to lower that chain to a StableHLO module."""
    x = side.jnp.ones(10)
    return min(_best(side.lower(chain(side), x), 1) for _ in range(4)) / _EQUATIONS


# Models --------------------------------------------------------------------------------------------------------------


def _stage(model: str, stage: str, side: Side) -> tuple[float, int]:
    """Seconds for one stage of a model's program, and the equations of the program that it makes (or lowers)."""
    xs = side.xs
    loss, weights, example = MODELS[model](side)
    examples = xs.tree_util.tree_map(lambda x: np.stack([x] * 4), example)
    make, data = {
        "trace": (loss, example),
        "grad_trace": (lambda: xs.grad(loss()), example),
        "vmap_grad_trace": (lambda: xs.vmap(xs.grad(loss()), in_axes=(None, 0)), examples),
        "lower": (lambda: xs.grad(loss()), example),
    }[stage]
    equations = equations_in(xs.make_jaxpr(make())(weights, data).jaxpr)
    if stage == "lower":
        return min(_best(side.lower(make(), weights, data), 1) for _ in range(4)), equations
    return _best(lambda: xs.make_jaxpr(make())(weights, data)), equations


STAGES = ("trace", "grad_trace", "vmap_grad_trace", "lower")
MODEL_CASES = {f"{model}_{stage}": partial(_stage, model, stage) for model in MODELS for stage in STAGES}


# Calls ---------------------------------------------------------------------------------------------------------------


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


def compiled_call(side: Side) -> float:
    """Seconds per call of a function that was compiled ahead of time."""
    x = side.jnp.ones(10)
    return _repeat(side.xs.jit(lambda x: side.jnp.sin(x)).lower(x).compile(), x)


def tree_map(side: Side) -> float:
    """Seconds to map a function over the leaves of nested dicts, lists and tuples (120 leaves)."""
    tree = [{"w": (1.0, 2.0), "b": [3.0, {"x": 4.0}], "n": (5.0, 6.0)} for _ in range(20)]
    return _best(lambda: [side.xs.tree_util.tree_map(_same, tree) for _ in range(300)]) / 300


def _same(x: Any) -> Any:
    return x


def eager_sin(side: Side) -> float:
    """Seconds for ``jnp.sin(x)`` outside of jit."""
    return _repeat(side.jnp.sin, side.jnp.ones(10), 1000)


def eager_sum(side: Side) -> float:
    """Seconds for ``jnp.sum(x)`` outside of jit."""
    return _repeat(side.jnp.sum, side.jnp.ones(10), 1000)


def eager_grad(side: Side) -> float:
    """Seconds for the gradient of a chain of 300 operations outside of jit."""
    jnp = side.jnp

    def looped(x: Any) -> Any:
        for _ in range(100):
            x = jnp.sin(x) * 2.0 + x
        return jnp.sum(x)

    gradient, x = side.xs.grad(looped), jnp.ones(10)
    side.xs.block_until_ready(gradient(x))
    return _best(lambda: side.xs.block_until_ready(gradient(x)))


def eager_index(side: Side) -> float:
    """Seconds for ``x[0]`` outside of jit."""
    return _repeat(lambda x: x[0], side.jnp.ones(10), 1000)


def eager_slice(side: Side) -> float:
    """Seconds for ``x[1:3]`` outside of jit."""
    return _repeat(lambda x: x[1:3], side.jnp.ones(10), 1000)


def eager_gather(side: Side) -> float:
    """Seconds for ``x[idx]`` with an array of integers outside of jit."""
    places = side.jnp.array([3, 1, 4])
    return _repeat(lambda x: x[places], side.jnp.ones(10), 1000)


def eager_mask(side: Side) -> float:
    """Seconds for ``x[mask]`` outside of jit, where the shape depends on values."""
    mask = np.arange(10) % 2 == 0
    return _repeat(lambda x: x[mask], side.jnp.ones(10), 1000)


def eager_set(side: Side) -> float:
    """Seconds for ``x.at[0].set(1.)`` outside of jit."""
    return _repeat(lambda x: x.at[0].set(1.0), side.jnp.ones(10), 1000)


def asarray_numpy(side: Side) -> float:
    """Seconds for ``asarray`` of a NumPy array of ten numbers."""
    return _repeat(side.jnp.asarray, np.ones(10, np.float32), 1000)


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
    return _from_disk(side, first_call_cold)


def first_result_cold(side: Side) -> float:
    """Seconds to the first result of a training step of twelve transformer blocks: trace, lower, compile, run."""
    function, arguments, _ = transformer_12(side)
    return _best(lambda: side.xs.block_until_ready(function(*arguments)), 1)


def first_result_warm(side: Side) -> float:
    """The same when another process has compiled it before and kept it on disk."""
    return _from_disk(side, first_result_cold)


def transformer_step(side: Side) -> float:
    """Seconds for one such step, once it is compiled."""
    function, (state, sentences), _ = transformer_12(side)
    state = side.xs.block_until_ready(function(state, sentences))

    def steps() -> None:
        current = state
        for _ in range(20):
            current = function(current, sentences)
        side.xs.block_until_ready(current)

    return _best(steps) / 20


def _from_disk(side: Side, cold: Callable[[Side], float]) -> float:
    """Seconds of a case when another process has run it before and kept on disk what was compiled."""
    with tempfile.TemporaryDirectory() as folder:
        side.xs.config.update("jax_compilation_cache_dir", folder)
        side.xs.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        kept = {"JAX_COMPILATION_CACHE_DIR": folder, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        command = [sys.executable, "-m", "bench.one", side.name, cold.__name__]
        subprocess.run(command, check=True, env={**os.environ, **kept}, capture_output=True)
        return cold(side)


CASES: dict[str, Callable[[Side], Any]] = {
    case.__name__: case
    for case in (
        trace,
        grad_trace,
        vmap_grad_trace,
        lower,
        jit_dispatch,
        compiled_call,
        tree_map,
        eager_sin,
        eager_sum,
        eager_grad,
        eager_index,
        eager_slice,
        eager_gather,
        eager_mask,
        eager_set,
        asarray_numpy,
        eager_multiply,
        training_step,
        first_step,
        first_call_cold,
        first_call_warm,
        first_result_cold,
        first_result_warm,
        transformer_step,
    )
} | MODEL_CASES
