"""The training step of the first notebook, for either side."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .sides import Side

_SIZES = (64, 512, 512, 10)


def digits_like() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A batch with the shapes of the digits data: 128 images of 64 pixels, and labels."""
    random = np.random.default_rng(0)
    return random.random((128, 64), np.float32), random.integers(0, 10, 128).astype(np.int32)


def init(side: Side) -> Any:
    """Parameters, and Adam's two running means of them, and the step number."""
    random = np.random.default_rng(1)
    params = [
        (side.jnp.asarray(0.1 * random.standard_normal((m, n), np.float32)), side.jnp.zeros(n))
        for m, n in itertools.pairwise(_SIZES)
    ]
    zeros = side.xs.tree_util.tree_map(lambda x: x * 0.0, params)
    return params, zeros, zeros, side.jnp.zeros(())


def make_update(side: Side) -> Callable[..., Any]:
    """A jitted Adam step."""
    xs, jnp = side.xs, side.jnp
    tree_map = xs.tree_util.tree_map

    def predict(params: Any, x: Any) -> Any:
        for w, b in params[:-1]:
            x = jnp.tanh(x @ w + b)
        w, b = params[-1]
        return x @ w + b

    def loss(params: Any, x: Any, y: Any) -> Any:
        scores = xs.nn.log_softmax(predict(params, x))
        return -jnp.mean(jnp.sum(scores * xs.nn.one_hot(y, 10), axis=1))

    @xs.jit
    def update(state: Any, x: Any, y: Any) -> Any:
        params, mean, square, step = state
        gradient = xs.grad(loss)(params, x, y)
        step = step + 1
        mean = tree_map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, square, gradient)
        rate = 0.002 * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        params = tree_map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), params, mean, square)
        return params, mean, square, step

    return update
