"""A classifier that is evaluated on the test set every five steps, which is a batch of another size."""

import numpy as np


def train(xs, steps=30):
    jnp = xs.numpy
    rng = np.random.default_rng(2)
    centers = 2 * rng.normal(size=(4, 8))
    labels = rng.integers(0, 4, size=1000)
    points = (centers[labels] + rng.normal(size=(1000, 8))).astype("float32")
    train_x, train_y, test_x, test_y = points[:700], labels[:700], points[700:], labels[700:]
    params = {"w1": jnp.array(rng.normal(size=(8, 32)) * 0.3), "w2": jnp.array(rng.normal(size=(32, 4)) * 0.3)}

    @xs.jit
    def predict(params, x):
        return jnp.tanh(x @ params["w1"]) @ params["w2"]

    def loss_fn(params, x, y):
        logits = predict(params, x)
        return jnp.mean(xs.nn.logsumexp(logits, axis=1) - logits[jnp.arange(len(y)), y])

    @xs.jit
    def update(params, x, y):
        loss, grads = xs.value_and_grad(loss_fn)(params, x, y)
        return xs.tree.map(lambda p, g: p - 0.2 * g, params, grads), loss

    accuracies = []
    for step in range(steps):
        chosen = rng.integers(0, 700, size=64)
        params, loss = update(params, train_x[chosen], train_y[chosen])
        if step % 5 == 4:
            predicted = jnp.argmax(predict(params, test_x), axis=1)
            accuracies.append(float((predicted == test_y).mean()))
        yield loss
