"""Jacobians and Hessians of a batch: vmap, jacfwd, jacrev, hessian, linearize."""

import jax
import jax.numpy as jnp


def arm(angles):
    """Where the hand of an arm with some joints is, and its direction."""
    along = jnp.cumsum(angles)
    place = jnp.stack([jnp.cos(along).sum(), jnp.sin(along).sum()])
    return place, along[-1]


def hand(angles):
    return arm(angles)[0]


def distance(angles, target):
    return jnp.sum((hand(angles) - target) ** 2)


@jax.jit
@jax.vmap
def reach(angles, target):
    def step(angles, _):
        jacobian = jax.jacfwd(hand)(angles)
        away = target - hand(angles)
        damped = jacobian @ jacobian.T + 0.01 * jnp.eye(2)
        return angles + jacobian.T @ jnp.linalg.solve(damped, away), None

    angles, _ = jax.lax.scan(step, angles, length=10)
    return angles, distance(angles, target)


@jax.jit
def curvature(angles, targets):
    return jax.vmap(jax.hessian(distance))(angles, targets)


key = jax.random.key(0)
angles = jax.random.uniform(key, (2048, 5))
targets = jax.random.normal(jax.random.fold_in(key, 1), (2048, 2))
for _ in range(5):
    angles, left = reach(angles, targets)
print(float(left.max()))
print(float(jnp.linalg.eigvalsh(curvature(angles, targets)).min()))
value, push = jax.linearize(hand, angles[0])
print(value.tolist(), push(jnp.ones(5)).tolist())
print(jax.jit(jax.vmap(jax.jacrev(hand)))(angles).sum().item())
