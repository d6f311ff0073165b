"""The programs that panels in the pages show, and their source with them."""

import xlascope as xs
import xlascope.numpy as jnp


def predict(params, images):
    hidden = jnp.tanh(images @ params[0])
    return xs.nn.log_softmax(hidden @ params[1])


def loss(params, images, labels):
    return -jnp.mean(predict(params, images) * xs.nn.one_hot(labels, 10))


@xs.jit
def update(params, images, labels):
    gradients = xs.grad(loss)(params, images, labels)
    return [p - 0.1 * g for p, g in zip(params, gradients, strict=True)]


def layer(x, w):
    y = jnp.tanh(x @ w)
    return (y - jnp.mean(y)) * 2.0
