"""Programs with a Python loop in them, which is traced step by step, and calls of one function: for either side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .programs import Program, arrays
from .sides import Side


def _gradient(side: Side, loss: Callable[..., Any], *arguments: Any) -> Program:
    return Program(side.xs.jit(side.xs.grad(loss)), arguments)


def lstm_64(side: Side) -> Program:
    """The gradient of an LSTM over 64 steps."""
    xs, jnp = side.xs, side.jnp

    def loss(weights: Any, inputs: Any) -> Any:
        w_in, w_state = weights
        h = c = jnp.zeros((32, 64), inputs.dtype)
        for t in range(64):
            i, f, g, o = jnp.split(inputs[t] @ w_in + h @ w_state, 4, -1)
            c = xs.nn.sigmoid(f) * c + xs.nn.sigmoid(i) * jnp.tanh(g)
            h = xs.nn.sigmoid(o) * jnp.tanh(c)
        return jnp.mean(h * h)

    w_in, w_state, inputs = arrays((64, 256), (64, 256), (64, 32, 64))
    return _gradient(side, loss, (w_in, w_state), inputs)


def lstm_64_forward(side: Side) -> Program:
    """The last state of a wider LSTM after 64 steps."""
    xs, jnp = side.xs, side.jnp

    def last(w_in: Any, w_state: Any, inputs: Any) -> Any:
        h = c = jnp.zeros((128, 256), inputs.dtype)
        for t in range(64):
            i, f, g, o = jnp.split(inputs[t] @ w_in + h @ w_state, 4, -1)
            c = xs.nn.sigmoid(f) * c + xs.nn.sigmoid(i) * jnp.tanh(g)
            h = xs.nn.sigmoid(o) * jnp.tanh(c)
        return h

    return Program(xs.jit(last), tuple(arrays((64, 1024), (256, 1024), (64, 128, 64))))


def lstm_64_states(side: Side) -> Program:
    """All its states, in one array."""
    xs, jnp = side.xs, side.jnp

    def states(w_in: Any, w_state: Any, inputs: Any) -> Any:
        h = c = jnp.zeros((128, 256), inputs.dtype)
        found = []
        for t in range(64):
            i, f, g, o = jnp.split(inputs[t] @ w_in + h @ w_state, 4, -1)
            c = xs.nn.sigmoid(f) * c + xs.nn.sigmoid(i) * jnp.tanh(g)
            h = xs.nn.sigmoid(o) * jnp.tanh(c)
            found.append(h)
        return jnp.stack(found)

    return Program(xs.jit(states), tuple(arrays((64, 1024), (256, 1024), (64, 128, 64))))


def _leapfrog(side: Side, steps: int) -> Callable[[Any], Any]:
    jnp = side.jnp

    def force(x: Any) -> Any:
        away = x[None] - x[:, None]
        squared = jnp.sum(away * away, -1) + 0.1
        return jnp.sum(away / (squared * jnp.sqrt(squared))[..., None], 1)

    def path(x: Any) -> Any:
        v = jnp.zeros_like(x)
        for _ in range(steps):
            v = v + 0.01 * force(x)
            x = x + 0.01 * v
            v = v + 0.01 * force(x)
        return x

    return path


def n_body_50(side: Side) -> Program:
    """Fifty steps of 128 bodies."""
    return Program(side.xs.jit(_leapfrog(side, 50)), tuple(arrays((128, 3))))


def n_body_50_gradient(side: Side) -> Program:
    """The gradient through them."""
    path = _leapfrog(side, 50)
    return _gradient(side, lambda x: side.jnp.sum(path(x) ** 2), *arrays((128, 3)))


def _sinkhorn(side: Side) -> Callable[[Any], Any]:
    xs, jnp = side.xs, side.jnp

    def distance(cost: Any) -> Any:
        f = g = jnp.zeros(cost.shape[0], cost.dtype)
        for _ in range(50):
            f = -xs.nn.logsumexp(g[None] - 10 * cost, 1)
            g = -xs.nn.logsumexp(f[:, None] - 10 * cost, 0)
        return jnp.sum(jnp.exp(f[:, None] + g[None] - 10 * cost) * cost)

    return distance


def sinkhorn_50(side: Side) -> Program:
    """Fifty rounds of Sinkhorn's algorithm on a hundred points."""
    return Program(side.xs.jit(_sinkhorn(side)), tuple(arrays((100, 100))))


def sinkhorn_50_gradient(side: Side) -> Program:
    """The gradient through them."""
    return _gradient(side, _sinkhorn(side), *arrays((100, 100)))


def runge_kutta_40(side: Side) -> Program:
    """Forty steps of a network's differential equation, by Runge and Kutta's method of the fourth order."""
    jnp = side.jnp

    def end(weights: Any, y: Any) -> Any:
        first, second = weights

        def slope(y: Any) -> Any:
            return jnp.tanh(y @ first) @ second

        for _ in range(40):
            a = slope(y)
            b = slope(y + 0.05 * a)
            c = slope(y + 0.05 * b)
            d = slope(y + 0.1 * c)
            y = y + 0.1 / 6 * (a + 2 * b + 2 * c + d)
        return y

    first, second, y = arrays((32, 128), (128, 32), (256, 32))
    return Program(side.xs.jit(end), ((first, second), y))


def denoising_30(side: Side) -> Program:
    """Thirty steps of a denoiser, which is one perceptron, with a number for each step."""
    xs = side.xs

    def sample(weights: Any, x: Any) -> Any:
        for k in range(30):
            h = x
            for w in weights:
                h = xs.nn.gelu(h @ w)
            x = x - (0.1 + 0.01 * k) * h
        return x

    *weights, x = arrays((256, 512), (512, 512), (512, 256), (64, 256))
    return Program(xs.jit(sample), (weights, x))


def newton_schulz_10(side: Side) -> Program:
    """Ten steps towards the orthogonal matrices of eight matrices, one after the other."""

    def orthogonal(matrices: Any) -> Any:
        found = []
        for x in matrices:
            x = x / side.jnp.sqrt(side.jnp.sum(x * x))
            for _ in range(10):
                squared = x @ x.T
                x = 1.5 * x - 0.5 * squared @ x
            found.append(x)
        return found

    return Program(side.xs.jit(orthogonal), (arrays(*[(128, 256)] * 8),))


def learned_step_20(side: Side) -> Program:
    """The gradient through twenty steps of gradient descent."""
    xs, jnp = side.xs, side.jnp

    def inner(w: Any, x: Any, y: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ w[0]) @ w[1] - y) ** 2)

    def loss(start: Any, x: Any, y: Any) -> Any:
        w = start
        for _ in range(20):
            slope = xs.grad(inner)(w, x, y)
            w = [a - 0.1 * b for a, b in zip(w, slope, strict=True)]
        return inner(w, x, y)

    first, second, x, y = arrays((16, 64), (64, 1), (128, 16), (128, 1))
    return _gradient(side, loss, [first, second], x, y)


def towers(side: Side) -> Program:
    """Three calls of one jitted tower of eight layers, and what tells their results apart."""
    xs, jnp = side.xs, side.jnp

    @xs.jit
    def tower(weights: Any, x: Any) -> Any:
        for w in weights:
            h = x @ w
            x = x + xs.nn.gelu(h) * xs.nn.sigmoid(h)
        return x / jnp.sqrt(jnp.sum(x * x, -1, keepdims=True))

    def loss(weights: Any, anchor: Any, near: Any, far: Any) -> Any:
        a, b, c = (tower(weights, x) for x in (anchor, near, far))
        return jnp.mean(jnp.sum(a * c, -1) - jnp.sum(a * b, -1))

    *weights, anchor, near, far = arrays(*[(256, 256)] * 8, *[(64, 256)] * 3)
    return Program(xs.jit(loss), (weights, anchor, near, far))


UNROLLED: dict[str, Callable[[Side], Program]] = {
    each.__name__: each
    for each in (
        *(lstm_64, lstm_64_forward, lstm_64_states, n_body_50, n_body_50_gradient, sinkhorn_50, sinkhorn_50_gradient),
        *(runge_kutta_40, denoising_30, newton_schulz_10, learned_step_20, towers),
    )
}
