"""An MLP with dropout: a typed key is split at every step, in Python and inside the jitted step."""

import numpy as np


def train(xs, steps=30):
    jnp, random = xs.numpy, xs.random
    key = random.key(42)
    key, key1, key2, data_key = random.split(key, 4)
    params = {
        "w1": random.normal(key1, (32, 64)) * 0.1,
        "b1": jnp.zeros(64),
        "w2": random.normal(key2, (64, 1)) * 0.1,
        "b2": jnp.zeros(1),
    }
    x = random.normal(data_key, (128, 32))
    y = jnp.sin(x.sum(axis=1, keepdims=True))

    def dropout(key, x, rate=0.2):
        keep = random.bernoulli(key, 1 - rate, x.shape)
        return jnp.where(keep, x / (1 - rate), 0.0)

    def loss_fn(params, key, x, y):
        key1, key2 = random.split(key)
        h = xs.nn.gelu(dropout(key1, x) @ params["w1"] + params["b1"])
        out = dropout(key2, h) @ params["w2"] + params["b2"]
        return jnp.mean((out - y) ** 2)

    @xs.jit
    def update(params, key, x, y):
        loss, grads = xs.value_and_grad(loss_fn)(params, key, x, y)
        return xs.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss

    shuffle = np.random.default_rng(0)
    for _ in range(steps):
        key, dropout_key = random.split(key)
        chosen = shuffle.permutation(128)[:64]
        params, loss = update(params, dropout_key, x[chosen], y[chosen])
        yield loss
