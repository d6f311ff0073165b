"""Hamiltonian Monte Carlo with typed keys: the posterior of a logistic regression."""

import numpy as np


def train(xs, steps=30):
    jnp, random = xs.numpy, xs.random
    rng = np.random.default_rng(10)
    x = rng.normal(size=(100, 3)).astype("float32")
    y = (x @ np.array([1.0, -2.0, 0.5]) + 0.3 * rng.normal(size=100) > 0).astype("float32")

    def log_posterior(w):
        logits = x @ w
        return jnp.sum(y * logits - xs.nn.softplus(logits)) - 0.5 * jnp.sum(w**2)

    def leapfrog(w, momentum, step_size, count):
        def one(carry, _):
            w, momentum = carry
            momentum = momentum + 0.5 * step_size * xs.grad(log_posterior)(w)
            w = w + step_size * momentum
            momentum = momentum + 0.5 * step_size * xs.grad(log_posterior)(w)
            return (w, momentum), None

        return xs.lax.scan(one, (w, momentum), None, length=count)[0]

    @xs.jit
    def hmc_step(key, w, step_size):
        momentum_key, accept_key = random.split(key)
        momentum = random.normal(momentum_key, w.shape)
        new_w, new_momentum = leapfrog(w, momentum, step_size, 10)
        energy = log_posterior(w) - 0.5 * jnp.sum(momentum**2)
        new_energy = log_posterior(new_w) - 0.5 * jnp.sum(new_momentum**2)
        accept = jnp.log(random.uniform(accept_key)) < new_energy - energy
        return jnp.where(accept, new_w, w), accept, log_posterior(w)

    key, w, step_size = random.key(0), jnp.zeros(3), 0.1
    accepted = 0
    for step in range(steps):
        key, step_key = random.split(key)
        w, accept, density = hmc_step(step_key, w, step_size)
        accepted += int(accept)
        if step < 10:
            step_size *= 1.05 if accept else 0.8
        yield density
