"""An MLP whose learning rate follows a schedule of Python numbers."""

import math

import numpy as np


def train(xs, steps=30):
    jnp = xs.numpy
    rng = np.random.default_rng(0)
    images = rng.normal(size=(640, 64)).astype("float32")
    labels = rng.integers(0, 10, size=640)
    params = [
        {"w": jnp.array(rng.normal(size=(n, m)) / n**0.5, jnp.float32), "b": jnp.zeros(m)}
        for n, m in [(64, 128), (128, 128), (128, 10)]
    ]

    def predict(params, x):
        for layer in params[:-1]:
            x = xs.nn.relu(x @ layer["w"] + layer["b"])
        return x @ params[-1]["w"] + params[-1]["b"]

    def loss_fn(params, x, y):
        log_probs = xs.nn.log_softmax(predict(params, x))
        return -jnp.mean(jnp.sum(log_probs * xs.nn.one_hot(y, 10), axis=-1))

    @xs.jit
    def update(params, x, y, learning_rate):
        loss, grads = xs.value_and_grad(loss_fn)(params, x, y)
        return xs.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss

    def schedule(step):
        warmup = min(1.0, (step + 1) / 5)
        return 0.1 * warmup * 0.5 * (1 + math.cos(math.pi * step / steps))

    for step in range(steps):
        batch = slice(step % 10 * 64, step % 10 * 64 + 64)
        params, loss = update(params, images[batch], labels[batch], schedule(step))
        yield loss
