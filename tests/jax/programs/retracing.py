"""What compiles again and again: a jit made in a loop, shapes that grow, a Python number that is static."""

import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, static_argnames="power")
def moment(x, power):
    return jnp.mean(x**power)


@jax.jit
def normalized(x):
    return (x - x.mean()) / x.std()


for length in range(8, 12):
    print(length, float(normalized(jnp.arange(float(length))).max()))
for power in range(1, 4):
    print(power, float(moment(jnp.arange(10.0), power=power)))
for scale in (1.0, 2.0, 3.0):
    scaled = jax.jit(lambda x, scale=scale: jnp.tanh(x * scale).sum())
    print(scale, float(scaled(jnp.arange(5.0))))
print(float(normalized(jnp.arange(8)).max()), float(normalized(jnp.arange(8.0, dtype=jnp.bfloat16)).max()))
