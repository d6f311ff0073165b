"""Deep residual blocks whose values are computed again going backward: checkpoint, and checkpoint inside scan."""

import functools

import jax
import jax.numpy as jnp

DEPTH, WIDTH = 6, 64


def block(weights, x):
    up, down = weights
    normed = x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)
    return x + jax.nn.silu(normed @ up) @ down


@jax.checkpoint
def again(weights, x):
    return block(weights, x)


@functools.partial(jax.remat, policy=jax.checkpoint_policies.dots_saveable)
def dots_kept(weights, x):
    return block(weights, x)


def loss(layers, x):
    def body(x, weights):
        return again(weights, x), None

    x, _ = jax.lax.scan(body, x, layers)
    for number in range(2):
        x = dots_kept(jax.tree.map(lambda w, n=number: w[n], layers), x)
    return jnp.mean(x**2)


@jax.jit
def step(layers, x):
    value, gradient = jax.value_and_grad(loss)(layers, x)
    return jax.tree.map(lambda w, g: w - 0.1 * g, layers, gradient), value


up_key, down_key, x_key = jax.random.split(jax.random.key(0), 3)
layers = (
    jax.random.normal(up_key, (DEPTH, WIDTH, 4 * WIDTH)) / 8,
    jax.random.normal(down_key, (DEPTH, 4 * WIDTH, WIDTH)) / 16,
)
x = jax.random.normal(x_key, (128, WIDTH))
for number in range(10):
    layers, value = step(layers, x)
    print(number, float(value))
