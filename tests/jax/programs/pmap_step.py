"""The older way to several devices: pmap, with gradients averaged over them."""

import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"

import functools

import jax
import jax.numpy as jnp

COUNT = jax.local_device_count()


def loss(weights, x, y):
    return jnp.mean((jnp.tanh(x @ weights["w"] + weights["b"]) - y) ** 2)


@functools.partial(jax.pmap, axis_name="devices")
def step(weights, x, y):
    value, gradient = jax.value_and_grad(loss)(weights, x, y)
    gradient = jax.lax.pmean(gradient, axis_name="devices")
    return jax.tree.map(lambda w, g: w - 0.2 * g, weights, gradient), jax.lax.pmean(value, "devices")


key = jax.random.key(0)
weights = {"w": jax.random.normal(key, (16, 4)) / 4, "b": jnp.zeros(4)}
weights = jax.tree.map(lambda w: jnp.broadcast_to(w, (COUNT, *w.shape)), weights)
x = jax.random.normal(jax.random.fold_in(key, 1), (COUNT, 32, 16))
y = jnp.sin(x[..., :4])
for number in range(10):
    weights, value = step(weights, x, y)
    print(number, float(value[0]))
