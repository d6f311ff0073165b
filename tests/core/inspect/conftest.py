"""A small training step with all its parts: forward, backward, update."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp


class Step(NamedTuple):
    """A jitted update, its loss, and arguments for both."""

    update: Any
    loss: Any
    params: Any
    x: Any
    y: Any

    @property
    def arguments(self) -> tuple[Any, Any, Any]:
        return self.params, self.x, self.y


def make_step(**options: Any) -> Step:
    def predict(params: Any, x: Any) -> Any:
        for w, b in params[:-1]:
            x = jnp.tanh(x @ w + b)
        w, b = params[-1]
        return x @ w + b

    def loss(params: Any, x: Any, y: Any) -> Any:
        return jnp.mean((predict(params, x) - y) ** 2)

    def update(params: Any, x: Any, y: Any) -> Any:
        gradient = xs.grad(loss)(params, x, y)
        return xs.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, gradient)

    random = np.random.default_rng(0)
    params = [
        (jnp.asarray(0.1 * random.standard_normal((m, n), np.float32)), jnp.zeros(n)) for m, n in ((16, 32), (32, 4))
    ]
    x, y = random.random((8, 16), np.float32), random.random((8, 4), np.float32)
    return Step(xs.jit(update, **options), loss, params, x, y)


@pytest.fixture
def step() -> Step:
    """A new training step that nobody has called."""
    return make_step()


@pytest.fixture
def donating() -> Step:
    """The same, reusing the memory of its parameters."""
    return make_step(donate_argnums=0)
