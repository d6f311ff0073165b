"""Gradients of four small batches are summed up, outside of jit, before each update."""

import numpy as np


def train(xs, steps=30):
    jnp = xs.numpy
    rng = np.random.default_rng(6)
    x = jnp.array(rng.normal(size=(128, 20)), jnp.float32)
    y = jnp.array(rng.normal(size=(128, 3)), jnp.float32)
    params = {"w": jnp.array(rng.normal(size=(20, 3)) * 0.1, jnp.float32), "b": jnp.zeros(3)}

    @xs.jit
    @xs.value_and_grad
    def loss_and_grad(params, x, y):
        return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

    for _ in range(steps):
        grads = xs.tree.map(jnp.zeros_like, params)
        total = 0.0
        for i in range(4):
            loss, new = loss_and_grad(params, x[32 * i : 32 * (i + 1)], y[32 * i : 32 * (i + 1)])
            grads = xs.tree.map(jnp.add, grads, new)
            total += loss / 4
        params = xs.tree.map(lambda p, g: p - 0.1 * g / 4, params, grads)
        yield total
