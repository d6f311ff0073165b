"""Linear regression with momentum: the loss is printed every ten steps as a Python float."""

import numpy as np


def train(xs, steps=30):
    jnp = xs.numpy
    rng = np.random.default_rng(1)
    x = rng.normal(size=(256, 16)).astype("float32")
    y = x @ rng.normal(size=16).astype("float32") + 0.1 * rng.normal(size=256).astype("float32")
    w, velocity = jnp.zeros(16), jnp.zeros(16)
    history = []

    def loss_fn(w):
        return jnp.mean((x @ w - y) ** 2)

    @xs.jit
    def step_fn(w, velocity):
        loss, grad = xs.value_and_grad(loss_fn)(w)
        velocity = 0.9 * velocity - 0.05 * grad
        return w + velocity, velocity, loss

    for step in range(steps):
        w, velocity, loss = step_fn(w, velocity)
        if step % 10 == 0:
            history.append(f"step {step}: {float(loss):.4f}, |w| = {jnp.linalg.norm(w):.3f}")
        yield loss
