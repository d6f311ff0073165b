"""A data-parallel step by shard_map on eight virtual devices of one CPU."""

import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))


def forward(weights, x):
    hidden = jax.nn.relu(x @ weights["up"] + weights["bias"])
    return jax.lax.psum(hidden @ weights["down"], "model")


specs = {"up": P(None, "model"), "bias": P("model"), "down": P("model", None)}


@functools.partial(jax.shard_map, mesh=mesh, in_specs=(specs, P("data"), P("data")), out_specs=P())
def loss(weights, x, y):
    error = jnp.mean((forward(weights, x) - y) ** 2)
    return jax.lax.pmean(error, "data")


@jax.jit
def step(weights, x, y):
    value, gradient = jax.value_and_grad(loss)(weights, x, y)
    return jax.tree.map(lambda w, g: w - 0.05 * g, weights, gradient), value


keys = jax.random.split(jax.random.key(0), 4)
weights = {
    "up": jax.random.normal(keys[0], (32, 64)) / 6,
    "bias": jnp.zeros(64),
    "down": jax.random.normal(keys[1], (64, 8)) / 8,
}
weights = jax.device_put(weights, {name: NamedSharding(mesh, spec) for name, spec in specs.items()})
x = jax.device_put(jax.random.normal(keys[2], (256, 32)), NamedSharding(mesh, P("data")))
y = jax.device_put(jax.random.normal(keys[3], (256, 8)), NamedSharding(mesh, P("data")))
for number in range(20):
    weights, value = step(weights, x, y)
    if number % 5 == 0:
        print(number, float(value))
