"""Programs of jax as records, in a process of its own: prints rows as JSON."""

import json
from collections import Counter

import jax
import jax.numpy as jnp

from xlascope_jax.bridge.jaxpr_records import describe_jaxpr


def loss(w, x):
    def body(carry, _):
        return jnp.tanh(carry @ w), None

    carry, _ = jax.lax.scan(jax.checkpoint(body), x, length=3)
    return (jax.nn.relu(carry) + jax.nn.relu(carry * 2)).sum()


def programs(jaxpr):
    yield jaxpr
    for each in jaxpr.equations:
        for body in each.bodies:
            yield from programs(body)


x = jnp.ones((3, 3))
found = describe_jaxpr(jax.make_jaxpr(jax.grad(loss))(x, x).jaxpr)
times = Counter(name for each in programs(found) for name in each.variables)
(back,) = [each for each in found.equations if each.operation == "scan" and each.role == "backward"]
inside = [each for body in back.bodies for each in body.walk()]
print(
    json.dumps(
        {
            "named twice": [name for name, count in times.items() if count > 1],
            "roles": sorted({each.role for each in inside}),
            "transposed": sorted({each.transposes for each in inside if each.transposes}),
            "again": [each.operation for each in inside if "rematted" in each.scope and each.transposes is None],
        }
    )
)
