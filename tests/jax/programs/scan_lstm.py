"""An LSTM written with lax.scan, trained to add up the numbers that it is shown."""

import jax
import jax.numpy as jnp
from jax import lax

HIDDEN = 32


def cell(weights, carry, x):
    hidden, memory = carry
    gates = x @ weights["x"] + hidden @ weights["h"] + weights["b"]
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    memory = jax.nn.sigmoid(f + 1) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
    hidden = jax.nn.sigmoid(o) * jnp.tanh(memory)
    return (hidden, memory), hidden


def predict(weights, sequence):
    start = jnp.zeros((sequence.shape[1], HIDDEN))
    _, hidden = lax.scan(lambda carry, x: cell(weights, carry, x), (start, start), sequence)
    return hidden @ weights["out"]


def loss(weights, sequence):
    sums = jnp.cumsum(sequence, axis=0)
    return jnp.mean((predict(weights, sequence) - sums) ** 2)


@jax.jit
def step(weights, sequence):
    value, gradient = jax.value_and_grad(loss)(weights, sequence)
    return jax.tree.map(lambda w, g: w - 0.05 * g, weights, gradient), value


@jax.jit
def many_steps(weights, sequences):
    return lax.fori_loop(0, 5, lambda i, w: step(w, sequences[i])[0], weights)


key = jax.random.key(0)
weights = {
    "x": 0.3 * jax.random.normal(jax.random.fold_in(key, 0), (1, 4 * HIDDEN)),
    "h": 0.1 * jax.random.normal(jax.random.fold_in(key, 1), (HIDDEN, 4 * HIDDEN)),
    "b": jnp.zeros(4 * HIDDEN),
    "out": 0.1 * jax.random.normal(jax.random.fold_in(key, 2), (HIDDEN, 1)),
}
sequences = jax.random.uniform(jax.random.key(1), (20, 12, 16, 1))
for number in range(20):
    weights, value = step(weights, sequences[number])
    if number % 5 == 0:
        print(number, float(value))
weights = many_steps(weights, sequences)
print(float(loss(weights, sequences[0])))
