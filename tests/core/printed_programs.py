"""Programs of published pages about JAX, and what they print there: run in a process of their own, on eight devices.

Each function returns what its program prints; `PRINTED` holds what the page shows, to as many digits. The pages' random
numbers are those of keys of 2021, which one setting gives back. docs/reproduced.md is the table of all claims.
"""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import grad, hessian, jit, lax, pmap, random, vmap
from xlascope.scipy.special import logit

Values = Any


# JAX's README of spring 2020 ------------------------------------------------------------------------------------------


def normalized() -> Values:
    return pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(jnp.arange(4.0))


@pmap
def _parallel(x: Any) -> Any:
    y = jnp.sin(x)

    @pmap
    def inner(z: Any) -> Any:
        return jnp.cos(z) * jnp.tan(y.sum()) * jnp.tanh(x).sum()

    return grad(lambda w: jnp.sum(inner(w)))(x)


def nested_pmap() -> Values:
    return _parallel(jnp.arange(8.0).reshape(4, 2))


def gradient_of_nested_pmap() -> Values:
    return grad(lambda x: jnp.sum(_parallel(x)))(jnp.arange(8.0).reshape(4, 2))


# A tutorial notebook of 2021 ------------------------------------------------------------------------------------------


def convolutions() -> Values:
    def convolve(x: Any, w: Any) -> Any:
        return jnp.array([jnp.dot(x[i - 1 : i + 2], w) for i in range(1, len(x) - 1)])

    x, w = jnp.arange(5), jnp.array([2.0, 3.0, 4.0])
    xs2, ws2 = jnp.stack([x, x]), jnp.stack([w, w])
    return [
        convolve(x, w),
        vmap(convolve)(xs2, ws2),
        vmap(convolve, in_axes=[0, None])(xs2, w),
        vmap(convolve, in_axes=1, out_axes=1)(xs2.T, ws2.T),
    ]


def draws() -> Values:
    key = random.PRNGKey(0)
    first = random.normal(key, (3,))
    key, subkey = random.split(key)
    second = random.normal(subkey, (3,))
    return [first, second, random.normal(random.split(key)[1], (3,))]


def sums_of_draws() -> Values:
    one, other = random.split(random.split(random.PRNGKey(0))[1], num=2)
    return random.uniform(one, (3,)) + 2 * random.uniform(other, (3,))


def one_by_one_and_at_once() -> Values:
    key = random.PRNGKey(42)
    return [[random.normal(each) for each in random.split(key, 3)], random.normal(key, (3,))]


def density_of_a_sample() -> Values:
    """Of a normal distribution with a diagonal covariance, at its own sample: the library that draws it is not here."""
    scales = jnp.array([0.1, 0.2, 0.3])
    standard = random.normal(random.PRNGKey(1234), (3,))
    return -0.5 * jnp.sum(standard**2) - jnp.sum(jnp.log(scales)) - 1.5 * jnp.log(2 * jnp.pi)


def derivatives() -> Values:
    found, f = [], lambda x: x**3 + 2 * x**2 - 3 * x + 1
    for _ in range(4):
        f = grad(f)
        found.append(f(1.0))
    return found


def values_and_gradients() -> Values:
    value, gx = xs.value_and_grad(lambda x, y: x**2 + y)(2.0, 3.0)
    gy = grad(lambda x, y: x**2 + y, argnums=1)(2.0, 3.0)
    (again, aux), g = xs.value_and_grad(lambda x, y: (x**2 + y, 42), has_aux=True)(2.0, 3.0)
    return [value, gx, gy, again, aux, g]


def _loss(weights: Any, inputs: Any, targets: Any) -> Any:
    predicted = 0.5 * (jnp.tanh(jnp.dot(inputs, weights) / 2) + 1)
    return -jnp.sum(jnp.log(predicted) * targets + jnp.log(1 - predicted) * (1 - targets))


def logistic_regression() -> Values:
    key = random.PRNGKey(1234)
    w, x, y = random.normal(key, (2,)), random.normal(key, (3, 2)), random.choice(key, 2, (3,))
    each = vmap(grad(_loss), in_axes=(None, 0, 0))(w, x, y)
    curved = vmap(hessian(_loss), in_axes=(None, 0, 0))(w, x, y)
    return [_loss(w, x, y), each, each.sum(axis=0), curved[0], curved.sum(axis=0)]


def products_with_jacobians() -> Values:
    key = random.PRNGKey(1234)
    w, x, u = random.normal(key, (2, 3)), random.normal(key, (3,)), random.normal(key, (2,))
    return [xs.vjp(lambda x: jnp.dot(w, x), x)[1](u)[0], xs.vjp(lambda w: jnp.dot(w, x), w)[1](u)[0]]


def temporal_difference() -> Values:
    def loss(theta: Any, before: Any, reward: Any, after: Any) -> Any:
        target = reward + jnp.dot(theta, after)
        return 0.5 * (lax.stop_gradient(target) - jnp.dot(theta, before)) ** 2

    theta = jnp.array([0.1, -0.1, 0.0])
    return grad(loss)(theta, jnp.array([1.0, 2.0, -1.0]), jnp.array(1.0), jnp.array([2.0, 1.0, 0.0]))


def straight_through() -> Values:
    def one_hot(y: Any) -> Any:
        return (jnp.argmax(y) == jnp.arange(3)).astype(jnp.float32)

    w, y = jnp.array([1, 2, 3]), jnp.array([0.1, 0.2, 0.7])
    lost, kept = (
        lambda y: jnp.dot(w, one_hot(y)),
        lambda y: jnp.dot(w, y + lax.stop_gradient(one_hot(y) - y)),
    )
    return [lost(y), grad(lost)(y), kept(y), grad(kept)(y)]


def gradients_of_examples() -> Values:
    x = jnp.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])
    return jit(vmap(grad(jnp.dot), in_axes=(None, 0)))(jnp.ones(3), x)


def first_step_of_adam() -> Values:
    """By hand: the library that the page uses is not here."""

    def loss(w: Any) -> Any:
        return jnp.sum(0.5 * (2 * jnp.ones((3, 2)) @ w - 1.0) ** 2)

    w = jnp.ones(2)
    g = grad(loss)(w)
    mean, square = 0.1 * g, 0.001 * g**2
    return [loss(w), g, mean, square, w - 0.1 * (mean / 0.1) / (jnp.sqrt(square / 0.001) + 1e-8)]


def linear_regression() -> Values:
    key = random.PRNGKey(0)
    true = {"W": random.normal(key, (5, 10)), "b": random.normal(key, (5,))}
    x = random.normal(key, (20, 10))
    y = x @ true["W"].T + true["b"] + 0.1 * random.normal(key, (20, 5))

    @jit
    def error(params: Any) -> Any:
        return jnp.mean(0.5 * jnp.sum((y - (x @ params["W"].T + params["b"])) ** 2, axis=1))

    step = jit(lambda p: xs.tree_map(lambda old, g: old - 0.3 * g, p, grad(error)(p)))
    params = xs.tree_map(jnp.zeros_like, true)
    told = [error(true), error(params), grad(error)(params)["b"]]
    for number in range(101):
        params = step(params)
        if number % 50 == 0:
            told.append(error(params))
    return told


def markov_chain() -> Values:
    moves, key = jnp.array([[0.9, 0.1], [0.5, 0.5]]), random.PRNGKey(0)
    first = random.categorical(key, logits=logit(jnp.array([0.8, 0.2])), shape=(1,))

    def draw(state: Any, key: Any) -> Any:
        found = random.categorical(key, logits=logit(moves[:, state]).flatten(), shape=(1,))
        return found, found

    return lax.scan(draw, first, random.split(random.split(key, 3)[1], 14))[1].ravel()


def a_counter_under_jit() -> Values:
    class Counter:
        n = 0

        def count(self) -> Any:
            self.n += 1
            return jnp.arange(0, 100, 2)[self.n - 1]

    counted = jit(Counter().count)
    return [counted() for _ in range(3)]


def sums_in_loops() -> Values:
    by_for = lax.fori_loop(1, 11, lambda i, s: s + i, 0)
    return [by_for, lax.while_loop(lambda v: v[1] <= 10, lambda v: (v[0] + v[1], v[1] + 1), (0, 0))[0]]


PRINTED: dict[Callable[[], Values], Values] = {
    normalized: [0.0, 0.16666667, 0.33333334, 0.5],
    nested_pmap: [[0.0, -0.7170853], [-3.1085174, -0.4824318], [10.366636, 13.135289], [0.22163185, -0.52112055]],
    gradient_of_nested_pmap: [
        *([-3.2369726, -1.6356447], [4.7572474, 11.606951], [-98.524414, 42.76499], [-1.6007166, -1.2568436])
    ],
    convolutions: [[11, 20, 29], [[11, 20, 29]] * 2, [[11, 20, 29]] * 2, [[11, 11], [20, 20], [29, 29]]],
    draws: [[1.816, -0.483, 0.34], [1.138, -1.221, -0.592], [-0.066, 0.167, 1.178]],
    sums_of_draws: [2.079, 2.002, 1.089],
    one_by_one_and_at_once: [[-0.048, 0.108, -1.223], [0.187, -1.281, -1.559]],
    density_of_a_sample: 1.7750063,
    derivatives: [4, 10, 6, 0],
    values_and_gradients: [7, 4, 1, 7, 42, 4],
    logistic_regression: [
        2.384371,
        [[0.596, -0.621], [0.315, 0.837], [-0.233, -0.448]],
        [0.677, -0.232],
        [[0.185, -0.193], [-0.193, 0.201]],
        [[0.357, 0.225], [0.225, 1.239]],
    ],
    products_with_jacobians: [[0.888, -0.538, -0.539], [[-0.009, -0.032, -0.474], [0.005, 0.019, 0.286]]],
    temporal_difference: [-1.2, -2.4, 1.2],
    straight_through: [3, [0, 0, 0], 3, [1, 2, 3]],
    gradients_of_examples: [[1, 2, 3], [2, 4, 6]],
    first_step_of_adam: [13.5, [18, 18], [1.8, 1.8], [0.324, 0.324], [0.9, 0.9]],
    linear_regression: [
        *(0.022292053, 24.97824, [0.036, 1.092, -0.413, -1.389, -0.862]),
        *(6.5597453, 0.013489487, 0.010002809),
    ],
    markov_chain: [0] * 7 + [1] * 7,
    a_counter_under_jit: [0, 0, 0],
    sums_in_loops: [55, 55],
}


def plain(values: Values) -> Values:
    """Lists of numbers."""
    return [plain(each) for each in values] if isinstance(values, list) else np.asarray(values).tolist()


def flat(values: Values) -> Iterator[float]:
    """The numbers in lists of lists."""
    if isinstance(values, list):
        for each in values:
            yield from flat(each)
    else:
        yield float(values)


if __name__ == "__main__":
    xs.config.update("num_cpu_devices", 8)
    xs.config.update("jax_threefry_partitionable", False)
    json.dump({program.__name__: plain(program()) for program in PRINTED}, sys.stdout)
