"""Programs that people write, traced: a training step, a transformer, a loop over time, a sampler, one unrolled."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax
from xlascope.records import Record

_BLOCKS, _WIDTH, _TOKENS = 6, 16, 8


def _shaped(*shape: int, dtype: str = "float32") -> Any:
    return xs.ShapeDtypeStruct(shape, dtype)


#: From a function and arguments to records.
See = Callable[..., list[Record]]


def explored(function: Callable[..., Any], *args: Any) -> list[Record]:
    """What tracing tells."""
    return list(inspect.explore(function, *args).records)


def measured(function: Callable[..., Any], *args: Any) -> list[Record]:
    """What running tells, with small numbers for arguments of which only the shapes are known."""

    def filled(shaped: Any) -> Any:
        numbers = np.arange(math.prod(shaped.shape)).reshape(shaped.shape)
        return (numbers % 7 * (1 if shaped.dtype.kind in "iu" else 0.01)).astype(shaped.dtype)

    return list(inspect.timings(xs.jit(function), *xs.tree_util.tree_map(filled, args)).records)


def _adam(loss: Callable[..., Any]) -> Callable[..., Any]:
    def update(params: Any, mean: Any, square: Any, step: Any, *batch: Any) -> Any:
        gradients = xs.grad(loss)(params, *batch)
        step = step + 1
        mean = xs.tree_util.tree_map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradients)
        square = xs.tree_util.tree_map(lambda v, g: 0.999 * v + 0.001 * g**2, square, gradients)
        rate = 0.001 * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        params = xs.tree_util.tree_map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), params, mean, square)
        return params, mean, square, step

    return update


def digits(see: See = explored) -> list[Record]:
    """The step of the first notebook: three layers, Adam."""

    def predict(params: Any, image: Any) -> Any:
        activations = image
        for w, b in params[:-1]:
            activations = jnp.tanh(jnp.dot(activations, w) + b)
        w, b = params[-1]
        scores = jnp.dot(activations, w) + b
        return scores - xs.nn.logsumexp(scores)

    def loss(params: Any, images: Any, labels: Any) -> Any:
        log_probabilities = xs.vmap(predict, in_axes=(None, 0))(params, images)
        return -jnp.mean(jnp.sum(log_probabilities * xs.nn.one_hot(labels, 10), axis=1))

    params = [(_shaped(m, n), _shaped(n)) for m, n in ((64, 32), (32, 32), (32, 10))]
    labels = _shaped(16, dtype="int32")
    return see(_adam(loss), params, params, params, _shaped(), _shaped(16, 64), labels)


def transformer(see: See = explored) -> list[Record]:
    """Six blocks with named parts, Adam: some 1,500 equations."""

    def norm(x: Any) -> Any:
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        return centred * lax.rsqrt(jnp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)

    def attention(weights: Any, x: Any) -> Any:
        query, key, value = jnp.split(x @ weights[0], 3, axis=-1)
        scores = query @ key.T / jnp.sqrt(_WIDTH)
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape, bool)), scores, -1e9)
        return xs.nn.softmax(scores, axis=-1) @ value @ weights[1]

    def block(weights: Any, x: Any) -> Any:
        with xs.named_scope("attention"):
            x = x + attention(weights[:2], norm(x))
        with xs.named_scope("mlp"):
            return x + xs.nn.gelu(norm(x) @ weights[2]) @ weights[3]

    def loss(weights: Any, tokens: Any) -> Any:
        words, blocks = weights
        x = words[tokens]
        for each in blocks:
            x = block(each, x)
        scores = xs.nn.log_softmax(norm(x) @ words.T)
        return -jnp.mean(jnp.take_along_axis(scores, tokens[:, None], axis=-1))

    w = _WIDTH
    blocks = [[_shaped(w, 3 * w), _shaped(w, w), _shaped(w, 4 * w), _shaped(4 * w, w)] for _ in range(_BLOCKS)]
    params = (_shaped(32, w), blocks)
    tokens = _shaped(_TOKENS, dtype="int32")
    return see(_adam(loss), params, params, params, _shaped(), tokens)


def lstm(see: See = explored) -> list[Record]:
    """A cell in a scan, and its gradient."""

    def cell(params: Any, carry: Any, x: Any) -> Any:
        h, c = carry
        gates = x @ params["wx"] + h @ params["wh"] + params["b"]
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        c = xs.nn.sigmoid(f) * c + xs.nn.sigmoid(i) * jnp.tanh(g)
        h = xs.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def loss(params: Any, sequence: Any, y: Any) -> Any:
        h = jnp.zeros((4, 8))
        (h, _), _ = lax.scan(lambda carry, x: cell(params, carry, x), (h, h), sequence)
        return jnp.mean((h @ params["out"] - y) ** 2)

    def train(params: Any, sequence: Any, y: Any) -> Any:
        value, gradients = xs.value_and_grad(loss)(params, sequence, y)
        return value, xs.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, gradients)

    params = {"wx": _shaped(6, 32), "wh": _shaped(8, 32), "b": _shaped(32), "out": _shaped(8, 1)}
    return see(train, params, _shaped(50, 4, 6), _shaped(4, 1))


def sampler(see: See = explored) -> list[Record]:
    """Hamiltonian Monte Carlo: a loop in a loop, the gradient inside."""

    def log_density(w: Any) -> Any:
        return -jnp.sum(xs.nn.softplus(w)) - 0.5 * jnp.sum(w * w)

    def leapfrog(w: Any, p: Any, size: float) -> Any:
        def one(_: Any, state: Any) -> Any:
            w, p = state
            p = p + 0.5 * size * xs.grad(log_density)(w)
            w = w + size * p
            return w, p + 0.5 * size * xs.grad(log_density)(w)

        return lax.fori_loop(0, 10, one, (w, p))

    def step(w: Any, key: Any) -> Any:
        a, b = xs.random.split(key)
        p = xs.random.normal(a, w.shape)
        new, q = leapfrog(w, p, 0.01)
        ratio = log_density(new) - 0.5 * jnp.sum(q * q) - log_density(w) + 0.5 * jnp.sum(p * p)
        accept = jnp.log(xs.random.uniform(b)) < ratio
        return jnp.where(accept, new, w), accept

    def sample(w: Any, key: Any) -> Any:
        return lax.scan(step, w, xs.random.split(key, 100))

    return see(sample, _shaped(20), _shaped(2, dtype="uint32"))


def unrolled(see: See = explored, times: int = 10) -> list[Record]:
    """A network unrolled over time: thousands of equations of two lines."""

    def block(w: Any, x: Any) -> Any:
        h = jnp.tanh(x @ w + 0.1)
        return x + h * xs.nn.sigmoid(x)

    def loss(weights: Any, x: Any) -> Any:
        for _ in range(times):
            for w in weights:
                x = block(w, x)
        return jnp.sum(x * x)

    return see(xs.grad(loss), [_shaped(4, 4)] * 20, _shaped(2, 4))
