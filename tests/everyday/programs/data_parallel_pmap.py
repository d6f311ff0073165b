"""Data-parallel training by pmap: a batch and a replica of the parameters on each of eight devices."""

import functools

import numpy as np


def train(xs, steps=30):
    jnp = xs.numpy
    devices = len(xs.devices())
    rng = np.random.default_rng(8)
    params = {"w": rng.normal(size=(16, 4)).astype("float32") * 0.2, "b": np.zeros(4, "float32")}
    params = xs.tree.map(lambda p: jnp.stack([p] * devices), params)

    def loss_fn(params, x, y):
        logits = x @ params["w"] + params["b"]
        return -jnp.mean(jnp.take_along_axis(xs.nn.log_softmax(logits), y[:, None], axis=1))

    @functools.partial(xs.pmap, axis_name="batch", in_axes=(0, 0, 0, None))
    def update(params, x, y, learning_rate):
        loss, grads = xs.value_and_grad(loss_fn)(params, x, y)
        grads = xs.lax.pmean(grads, "batch")
        return xs.tree.map(lambda p, g: p - learning_rate * g, params, grads), xs.lax.pmean(loss, "batch")

    for _ in range(steps):
        x = rng.normal(size=(devices, 8, 16)).astype("float32")
        y = (x[..., 0] > 0) + 2 * (x[..., 1] > 0)
        params, loss = update(params, x, y, 0.5)
        yield loss[0]
