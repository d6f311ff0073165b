"""Programs of many kinds, for either side: loops, solvers, samplers, gradients of each example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .language_model import state_and_tokens, train_step
from .mlp import digits_like, init, make_update
from .sides import Side


class Program(NamedTuple):
    """A jitted function, its arguments, and whether its result is the next call's first argument."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    follows: bool = False


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    """Small random numbers, the same each time."""
    random = np.random.default_rng(0)
    return [0.1 * random.standard_normal(shape, np.float32) for shape in shapes]


def language_model(side: Side) -> Program:
    """A training step of six transformer blocks: some hundred kernels, two cores at once. Ours alone."""
    assert side.name == "xlascope"
    state, tokens = state_and_tokens()
    return Program(train_step, (state, tokens), follows=True)


def digits(side: Side) -> Program:
    """The training step of the first notebook."""
    return Program(make_update(side), (init(side), *digits_like()), follows=True)


def lstm(side: Side) -> Program:
    """A training step of an LSTM: a scan forward, and one back."""
    xs, jnp = side.xs, side.jnp
    weights = dict(zip(("x", "h", "b", "out"), arrays((32, 512), (128, 512), (512,), (128, 8)), strict=True))

    def cell(weights: Any, carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ weights["x"] + h @ weights["h"] + weights["b"], 4, axis=-1)
        c = xs.nn.sigmoid(f) * c + xs.nn.sigmoid(i) * jnp.tanh(g)
        h = xs.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def loss(weights: Any, sequence: Any, wanted: Any) -> Any:
        start = jnp.zeros((sequence.shape[1], 128))
        _, hidden = xs.lax.scan(lambda carry, x: cell(weights, carry, x), (start, start), sequence)
        return jnp.mean((hidden @ weights["out"] - wanted) ** 2)

    @xs.jit
    def lstm_step(weights: Any, sequence: Any, wanted: Any) -> Any:
        gradient = xs.grad(loss)(weights, sequence, wanted)
        return xs.tree_util.tree_map(lambda w, g: w - 0.1 * g, weights, gradient)

    return Program(lstm_step, (weights, *arrays((50, 16, 32), (50, 16, 8))), follows=True)


def n_body(side: Side) -> Program:
    """The gradient of where one of 64 bodies is after a hundred steps of time: thousands of small kernels."""
    xs, jnp = side.xs, side.jnp

    def forces(x: Any, mass: Any) -> Any:
        apart = x[:, None] - x[None, :]
        square = jnp.sum(apart * apart, -1) + 1e-2
        return -jnp.sum(mass[None, :, None] * apart / square[..., None] ** 1.5, axis=1)

    def move(_: Any, state: Any, mass: Any, dt: float = 0.01) -> Any:
        x, v = state
        v = v + 0.5 * dt * forces(x, mass)
        x = x + dt * v
        return x, v + 0.5 * dt * forces(x, mass)

    def miss(v: Any, x: Any, mass: Any, target: Any) -> Any:
        end, _ = xs.lax.fori_loop(0, 100, lambda i, state: move(i, state, mass), (x, v))
        return jnp.sum((end[0] - target) ** 2)

    x, v, mass, target = arrays((64, 3), (64, 3), (64,), (3,))
    return Program(xs.jit(xs.grad(miss)), (v, x, np.abs(mass), target))


def gauss_newton(side: Side) -> Program:
    """A fit of three numbers by Gauss-Newton until it converges: as small as programs get."""
    xs, jnp = side.xs, side.jnp

    def residual(theta: Any, at: Any, seen: Any) -> Any:
        a, b, c = theta
        return a * jnp.exp(-b * at) + c - seen

    def improve(state: Any, at: Any, seen: Any) -> Any:
        theta, _, turn = state
        jacobian = xs.jacfwd(residual)(theta, at, seen)
        normal = jacobian.T @ jacobian + 1e-6 * jnp.eye(3)
        crosses = [jnp.cross(normal[i], normal[j]) for i, j in ((1, 2), (2, 0), (0, 1))]
        inverse = jnp.stack(crosses, axis=1) / jnp.dot(normal[0], crosses[0])
        step = inverse @ (jacobian.T @ residual(theta, at, seen))
        return theta - step, step, turn + 1

    @xs.jit
    def fit(theta: Any, at: Any, seen: Any) -> Any:
        def goes_on(state: Any) -> Any:
            return (jnp.linalg.norm(state[1]) > 1e-6) & (state[2] < 50)

        return xs.lax.while_loop(goes_on, lambda state: improve(state, at, seen), (theta, jnp.ones(3), 0))[0]

    at = np.linspace(0.0, 1.0, 100, dtype=np.float32)
    return Program(fit, (np.asarray([1.0, 1.0, 0.0], np.float32), at, 2.0 * np.exp(-1.5 * at) + np.float32(0.5)))


def clipped_gradients(side: Side) -> Program:
    """A gradient of each example, clipped: a few large kernels."""
    xs, jnp = side.xs, side.jnp

    def loss(weights: Any, x: Any, y: Any) -> Any:
        hidden = jnp.tanh(x @ weights["in"] + weights["b"])
        return -xs.nn.log_softmax(hidden @ weights["out"])[y]

    def norm(gradient: Any) -> Any:
        return jnp.sqrt(sum(jnp.vdot(each, each) for each in xs.tree_util.tree_leaves(gradient)))

    @xs.jit
    def clipped(weights: Any, x: Any, y: Any) -> Any:
        gradients = xs.vmap(xs.grad(loss), in_axes=(None, 0, 0))(weights, x, y)
        scale = jnp.minimum(1.0, 1.0 / xs.vmap(norm)(gradients))
        return xs.tree_util.tree_map(lambda g: jnp.einsum("b,b...->...", scale, g) / x.shape[0], gradients)

    into, bias, out, x = arrays((64, 128), (128,), (128, 10), (256, 64))
    y = np.random.default_rng(1).integers(0, 10, 256).astype(np.int32)
    return Program(clipped, ({"in": into, "b": bias, "out": out}, x, y))


def hamiltonian(side: Side) -> Program:
    """Two hundred steps of Hamiltonian Monte Carlo: random numbers, a loop in a loop, a branch."""
    xs, jnp = side.xs, side.jnp

    def log_density(q: Any) -> Any:
        return -0.5 * jnp.sum(q**2) - 0.1 * jnp.sum(q**4)

    def leap(_: Any, state: Any, dt: float = 0.1) -> Any:
        q, p = state
        p = p + 0.5 * dt * xs.grad(log_density)(q)
        q = q + dt * p
        return q, p + 0.5 * dt * xs.grad(log_density)(q)

    def step(q: Any, key: Any) -> Any:
        key1, key2 = xs.random.split(key)
        p = xs.random.normal(key1, q.shape)
        new_q, new_p = xs.lax.fori_loop(0, 10, leap, (q, p))
        gain = (log_density(new_q) - 0.5 * jnp.sum(new_p**2)) - (log_density(q) - 0.5 * jnp.sum(p**2))
        accepted = jnp.log(xs.random.uniform(key2)) < gain
        q = xs.lax.cond(accepted, lambda: new_q, lambda: q)
        return q, q

    @xs.jit
    def sample(q: Any, key: Any) -> Any:
        return xs.lax.scan(step, q, xs.random.split(key, 200))[1]

    return Program(sample, (*arrays((20,)), xs.random.PRNGKey(0)))


PROGRAMS = {
    made.__name__: made for made in (language_model, digits, lstm, n_body, gauss_newton, clipped_gradients, hamiltonian)
}
