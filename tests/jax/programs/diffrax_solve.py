"""Fitting the parameters of Lotka and Volterra's equations through diffrax's solver."""

import diffrax
import jax
import jax.numpy as jnp
import optax

TIMES = jnp.linspace(0.0, 10.0, 40)


def field(t, y, parameters):
    prey, predators = y
    a, b, c, d = parameters
    return jnp.stack([a * prey - b * prey * predators, -c * predators + d * prey * predators])


@jax.jit
def solve(parameters, start):
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        t0=0.0,
        t1=10.0,
        dt0=0.1,
        y0=start,
        args=parameters,
        saveat=diffrax.SaveAt(ts=TIMES),
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-5),
    )
    return solution.ys


@jax.jit
def step(parameters, state, seen):
    def loss(parameters):
        return jnp.mean((solve(parameters, START) - seen) ** 2)

    value, gradient = jax.value_and_grad(loss)(parameters)
    updates, state = optimizer.update(gradient, state)
    return optax.apply_updates(parameters, updates), state, value


START = jnp.array([1.0, 0.8])
truth = jnp.array([1.0, 0.6, 0.8, 0.5])
seen = solve(truth, START)
parameters = truth * 1.1
optimizer = optax.adam(1e-2)
state = optimizer.init(parameters)
for number in range(30):
    parameters, state, value = step(parameters, state, seen)
    if number % 10 == 0:
        print(number, float(value))
print(parameters.tolist())
