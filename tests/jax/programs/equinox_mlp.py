"""An MLP of equinox on a spiral, with filtered transformations and optax."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax


def spirals(key, count):
    turn_key, noise_key = jax.random.split(key)
    turn = jnp.sqrt(jax.random.uniform(turn_key, (count,))) * 3 * jnp.pi
    label = jnp.arange(count) % 2
    angle = turn + jnp.pi * label
    points = jnp.stack([turn * jnp.cos(angle), turn * jnp.sin(angle)], axis=1) / 10
    return points + 0.02 * jax.random.normal(noise_key, points.shape), label


class Classifier(eqx.Module):
    mlp: eqx.nn.MLP
    norm: eqx.nn.LayerNorm

    def __init__(self, key):
        self.mlp = eqx.nn.MLP(2, 32, width_size=64, depth=3, activation=jax.nn.swish, key=key)
        self.norm = eqx.nn.LayerNorm(32)

    def __call__(self, x):
        return jnp.sum(self.norm(self.mlp(x)))


@eqx.filter_value_and_grad
def loss_and_gradient(model, points, labels):
    logits = jax.vmap(model)(points)
    return optax.sigmoid_binary_cross_entropy(logits, labels).mean()


@eqx.filter_jit
def step(model, state, points, labels):
    loss, gradient = loss_and_gradient(model, points, labels)
    updates, state = optimizer.update(gradient, state, eqx.filter(model, eqx.is_inexact_array))
    return eqx.apply_updates(model, updates), state, loss


@eqx.filter_jit
def accuracy(model, points, labels):
    return jnp.mean((jax.vmap(model)(points) > 0) == labels)


points, labels = spirals(jax.random.PRNGKey(0), 512)
model = Classifier(jax.random.PRNGKey(1))
optimizer = optax.adamw(3e-3)
state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
for number in range(60):
    model, state, loss = step(model, state, points, labels)
    if number % 20 == 0:
        print(number, loss.item())
print("accuracy", accuracy(model, points, labels).item())
