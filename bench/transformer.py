"""The gradient of twelve transformer blocks, for either side: what takes long to compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .sides import Side

_BLOCKS, _WIDTH, _TOKENS = 12, 64, 32


def weights_and_tokens() -> tuple[Any, Any]:
    """The blocks' weights, and a sequence."""
    random = np.random.default_rng(0)

    def matrix(m: int, n: int) -> np.ndarray[Any, Any]:
        return (0.05 * random.standard_normal((m, n))).astype(np.float32)

    shapes = [(_WIDTH, _WIDTH)] * 4 + [(_WIDTH, 4 * _WIDTH), (4 * _WIDTH, _WIDTH)]
    return [[matrix(*shape) for shape in shapes] for _ in range(_BLOCKS)], matrix(_TOKENS, _WIDTH)


def make_gradient(side: Side) -> Callable[..., Any]:
    """A jitted gradient of a loss with respect to all weights; a new one each time."""
    xs, jnp = side.xs, side.jnp

    def block(weights: Any, x: Any) -> Any:
        query, key, value, out, up, down = weights
        h = (x - jnp.mean(x, axis=-1, keepdims=True)) / jnp.sqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-5)
        scores = xs.nn.softmax((h @ query) @ (h @ key).T / _WIDTH**0.5)
        x = x + scores @ (h @ value) @ out
        return x + jnp.tanh(x @ up) @ down

    def loss(blocks: Any, x: Any) -> Any:
        for weights in blocks:
            x = block(weights, x)
        return jnp.mean(x * x)

    return xs.jit(xs.grad(loss))  # type: ignore[no-any-return]
