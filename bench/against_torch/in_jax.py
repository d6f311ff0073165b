"""The models for xlascope and for jax: jitted steps that give the loss and what the next step begins with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..sides import Side
from .data import BLOCKS, HEADS, HIDDEN, WIDTH

RATE = 0.01

#: A step: state and batch to state and loss.
Step = Callable[[Any, Any], tuple[Any, Any]]


def make(of: Side, model: str) -> tuple[Callable[[Any], Any], Step]:
    """Return what makes a model's first state of its weights, and its jitted step."""
    loss = {"transformer": _transformer, "convolutional net": _convolutional, "LSTM": _lstm}.get(model)
    if loss is None:
        return _adam(of, _perceptron(of))
    return (lambda weights: weights), _descent(of, loss(of))


def _descent(of: Side, loss: Callable[[Any, Any], Any]) -> Step:
    def step(weights: Any, batch: Any) -> tuple[Any, Any]:
        value, gradient = of.xs.value_and_grad(loss)(weights, batch)
        return of.xs.tree_util.tree_map(lambda w, g: w - RATE * g, weights, gradient), value

    return of.xs.jit(step, donate_argnums=0)  # type: ignore[no-any-return]


def _adam(of: Side, loss: Callable[[Any, Any], Any]) -> tuple[Callable[[Any], Any], Step]:
    xs, jnp = of.xs, of.jnp
    tree_map = xs.tree_util.tree_map

    def start(weights: Any) -> Any:
        return weights, tree_map(jnp.zeros_like, weights), tree_map(jnp.zeros_like, weights), jnp.zeros(())

    def step(state: Any, batch: Any) -> tuple[Any, Any]:
        weights, mean, square, count = state
        value, gradient = xs.value_and_grad(loss)(weights, batch)
        count = count + 1
        mean = tree_map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, square, gradient)
        rate, widened = 1e-3 / (1 - 0.9**count), jnp.sqrt(1 - 0.999**count)
        weights = tree_map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) / widened + 1e-8), weights, mean, square)
        return (weights, mean, square, count), value

    return start, xs.jit(step, donate_argnums=0)


def _cross_entropy(of: Side, scores: Any, labels: Any) -> Any:
    chosen = of.jnp.take_along_axis(of.xs.nn.log_softmax(scores), labels[..., None], axis=-1)
    return -of.jnp.mean(chosen)


def _perceptron(of: Side) -> Callable[[Any, Any], Any]:
    def loss(w: Any, batch: Any) -> Any:
        x = batch["images"]
        for n in range(2):
            x = of.xs.nn.relu(x @ w[f"w{n}"] + w[f"b{n}"])
        return _cross_entropy(of, x @ w["w2"] + w["b2"], batch["labels"])

    return loss


def _convolutional(of: Side) -> Callable[[Any, Any], Any]:
    xs, jnp = of.xs, of.jnp

    def layer(x: Any, kernel: Any, bias: Any) -> Any:
        x = xs.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = xs.nn.relu(x + bias)
        return xs.lax.reduce_window(x, -jnp.inf, xs.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(w: Any, batch: Any) -> Any:
        x = layer(layer(batch["images"], w["first"], w["first_bias"]), w["second"], w["second_bias"])
        return _cross_entropy(of, x.reshape(len(x), -1) @ w["dense"] + w["dense_bias"], batch["labels"])

    return loss


def _lstm(of: Side) -> Callable[[Any, Any], Any]:
    xs, jnp = of.xs, of.jnp

    def loss(w: Any, batch: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            hidden, cell = carry
            i, f, g, o = jnp.split(x @ w["input"] + hidden @ w["state"] + w["bias"], 4, axis=-1)
            cell = xs.nn.sigmoid(f) * cell + xs.nn.sigmoid(i) * jnp.tanh(g)
            return (xs.nn.sigmoid(o) * jnp.tanh(cell), cell), None

        start = jnp.zeros((batch["sequences"].shape[1], HIDDEN))
        (hidden, _), _ = xs.lax.scan(step, (start, start), batch["sequences"])
        return jnp.mean((hidden @ w["out"] - batch["wanted"]) ** 2)

    return loss


def _transformer(of: Side) -> Callable[[Any, Any], Any]:
    xs, jnp = of.xs, of.jnp

    def norm(x: Any, scale: Any, shift: Any) -> Any:
        mean = jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift

    def attention(w: Any, n: int, x: Any) -> Any:
        batch, tokens, _ = x.shape
        query, key, value = (
            (x @ w[f"{n}.{name}"]).reshape(batch, tokens, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = query @ jnp.swapaxes(key, -1, -2) / math.sqrt(WIDTH / HEADS)
        scores = jnp.where(jnp.tril(jnp.ones((tokens, tokens), bool)), scores, -1e9)
        mixed = xs.nn.softmax(scores) @ value
        return mixed.transpose(0, 2, 1, 3).reshape(batch, tokens, WIDTH) @ w[f"{n}.out"]

    def loss(w: Any, batch: Any) -> Any:
        sentences = batch["sentences"]
        x = w["words"][sentences[:, :-1]] + w["places"]
        for n in range(BLOCKS):
            x = x + attention(w, n, norm(x, w[f"{n}.scale_1"], w[f"{n}.shift_1"]))
            hidden = xs.nn.gelu(norm(x, w[f"{n}.scale_2"], w[f"{n}.shift_2"]) @ w[f"{n}.up"] + w[f"{n}.up_bias"])
            x = x + hidden @ w[f"{n}.down"] + w[f"{n}.bias"]
        return _cross_entropy(of, x @ w["words"].T, sentences[:, 1:])

    return loss
