"""Parameters and the optimizer's state are saved every five steps, and training goes on from the file."""

import os
import pickle
import tempfile

import numpy as np


def train(xs, steps=30):
    jnp = xs.numpy
    rng = np.random.default_rng(3)
    x = jnp.linspace(-2, 2, 100)[:, None]
    y = jnp.sin(3 * x) + 0.1 * rng.normal(size=(100, 1)).astype("float32")
    params = [jnp.array(rng.normal(size=shape) * 0.5) for shape in [(1, 32), (32,), (32, 1), (1,)]]
    state = {"params": params, "m": xs.tree.map(jnp.zeros_like, params), "v": xs.tree.map(jnp.zeros_like, params)}

    def loss_fn(params):
        w1, b1, w2, b2 = params
        return jnp.mean((jnp.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2)

    @xs.jit
    def adam(state, step):
        loss, grads = xs.value_and_grad(loss_fn)(state["params"])
        m = xs.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], grads)
        v = xs.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, state["v"], grads)
        scale = jnp.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))
        params = xs.tree.map(lambda p, m, v: p - 0.02 * scale * m / (jnp.sqrt(v) + 1e-8), state["params"], m, v)
        return {"params": params, "m": m, "v": v}, loss

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pickle")
        for step in range(steps):
            state, loss = adam(state, step)
            if step % 5 == 0:
                with open(path, "wb") as file:
                    pickle.dump(xs.device_get(state), file)
            if step % 10 == 5:
                with open(path, "rb") as file:
                    state = xs.tree.map(jnp.asarray, pickle.load(file))
            yield loss
