"""Data-parallel training by jit: batches are cut over eight devices, parameters are replicated."""

import numpy as np


def train(xs, steps=30):
    jnp = xs.numpy
    mesh = xs.sharding.Mesh(np.array(xs.devices()), ("data",))
    replicated = xs.sharding.NamedSharding(mesh, xs.sharding.PartitionSpec())
    by_rows = xs.sharding.NamedSharding(mesh, xs.sharding.PartitionSpec("data"))
    rng = np.random.default_rng(7)
    params = {"w1": rng.normal(size=(16, 32)) * 0.2, "w2": rng.normal(size=(32, 1)) * 0.2}
    params = xs.device_put(xs.tree.map(lambda p: p.astype("float32"), params), replicated)

    def loss_fn(params, x, y):
        return jnp.mean((jnp.tanh(x @ params["w1"]) @ params["w2"] - y) ** 2)

    @xs.jit
    def update(params, x, y, learning_rate):
        loss, grads = xs.value_and_grad(loss_fn)(params, x, y)
        return xs.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss

    for step in range(steps):
        x = rng.normal(size=(64, 16)).astype("float32")
        y = np.cos(x.sum(axis=1, keepdims=True))
        x, y = xs.device_put((x, y), by_rows)
        params, loss = update(params, x, y, 0.1 / (1 + 0.1 * step))
        yield loss
