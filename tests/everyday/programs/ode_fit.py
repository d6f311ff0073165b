"""The parameters of a differential equation are fitted to observations, through an integrator that is a scan."""

import numpy as np


def train(xs, steps=30):
    jnp = xs.numpy
    times = np.linspace(0, 4, 41)
    true = np.array([1.0, 0.6, 0.4, 0.8], "float32")

    def field(state, theta):
        prey, predators = state
        a, b, c, d = theta
        return jnp.array([a * prey - b * prey * predators, c * prey * predators - d * predators])

    def solve(theta):
        dt = times[1] - times[0]

        def rk4(state, _):
            k1 = field(state, theta)
            k2 = field(state + dt / 2 * k1, theta)
            k3 = field(state + dt / 2 * k2, theta)
            k4 = field(state + dt * k3, theta)
            state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return state, state

        start = jnp.array([2.0, 1.0])
        return xs.lax.scan(rk4, start, None, length=len(times) - 1)[1]

    observed = xs.jit(solve)(true) + 0.02 * np.random.default_rng(11).normal(size=(40, 2))

    @xs.jit
    def update(log_theta, learning_rate):
        loss, grad = xs.value_and_grad(lambda p: jnp.mean((solve(jnp.exp(p)) - observed) ** 2))(log_theta)
        return log_theta - learning_rate * grad / jnp.maximum(1.0, jnp.linalg.norm(grad)), loss

    log_theta = jnp.log(jnp.array([0.8, 0.8, 0.5, 0.5]))
    for _ in range(steps):
        log_theta, loss = update(log_theta, 0.05)
        yield loss
