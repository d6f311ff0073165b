"""Polynomial regression that stops when the loss on held-out data has not fallen for a while."""

import numpy as np


def train(xs, steps=30, patience=5):
    jnp = xs.numpy
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, size=60).astype("float32")
    y = np.sin(4 * x) + 0.5 * rng.normal(size=60).astype("float32")
    features = jnp.vander(x, 12)
    w = jnp.zeros(12)

    def loss_fn(w, features, y):
        return jnp.mean(jnp.square(features @ w - y))

    grad = xs.jit(xs.grad(loss_fn))
    evaluate = xs.jit(loss_fn)
    best, best_w, waited = float("inf"), w, 0
    for _ in range(steps):
        w = w - 0.3 * grad(w, features[:30], y[:30])
        held_out = evaluate(w, features[30:], y[30:])
        if held_out < best - 1e-4:
            best, best_w, waited = held_out, w, 0
        else:
            waited += 1
        if waited >= patience:
            break
        yield held_out
    yield evaluate(best_w, features[30:], y[30:])
