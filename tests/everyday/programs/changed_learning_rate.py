"""Logistic regression whose learning rate, a static argument, is divided by ten after half of the steps."""

import functools

import numpy as np


def train(xs, steps=30):
    jnp = xs.numpy
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 10))
    y = x @ rng.normal(size=10) > 0
    w = jnp.zeros(10)

    def loss_fn(w, x, y):
        logits = x @ w
        return jnp.mean(jnp.logaddexp(0.0, jnp.where(y, -logits, logits)))

    @functools.partial(xs.jit, static_argnames="learning_rate")
    def update(w, x, y, *, learning_rate):
        loss, grad = xs.value_and_grad(loss_fn)(w, x, y)
        return w - learning_rate * grad, loss

    learning_rate = 1.0
    for step in range(steps):
        if step == steps // 2:
            learning_rate /= 10
        w, loss = update(w, x, y, learning_rate=learning_rate)
        yield loss
