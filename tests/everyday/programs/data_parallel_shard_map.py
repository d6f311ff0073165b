"""Data-parallel training by shard_map: gradients are averaged over eight devices by hand."""

import functools

import numpy as np


def train(xs, steps=30):
    jnp, P = xs.numpy, xs.sharding.PartitionSpec
    mesh = xs.sharding.Mesh(np.array(xs.devices()), ("data",))
    rng = np.random.default_rng(9)
    params = {"w1": jnp.array(rng.normal(size=(12, 24)) * 0.3), "w2": jnp.array(rng.normal(size=(24, 2)) * 0.3)}

    def loss_fn(params, x, y):
        return jnp.mean((xs.nn.silu(x @ params["w1"]) @ params["w2"] - y) ** 2)

    @xs.jit
    @functools.partial(
        xs.shard_map, mesh=mesh, in_specs=(P(), P("data"), P("data"), P()), out_specs=(P(), P()), check_vma=False
    )
    def update(params, x, y, learning_rate):
        loss, grads = xs.value_and_grad(loss_fn)(params, x, y)
        loss, grads = xs.lax.pmean((loss, grads), "data")
        return xs.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss

    for step in range(steps):
        x = rng.normal(size=(64, 12)).astype("float32")
        y = np.stack([np.sin(x[:, 0]), x[:, 1] * x[:, 2]], axis=1)
        params, loss = update(params, x, y, 0.2 if step < 20 else 0.1)
        yield loss
