"""Training steps of four networks."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .engine import BenchmarkProgram, EngineModules, Sizes, draw_normal, make_descent_step

_MLP: Sizes = {"small": {"width": 256, "batch": 128}, "large": {"width": 4096, "batch": 2048}}
_TRANSFORMER: Sizes = {
    "small": {"blocks": 2, "width": 64, "heads": 4, "tokens": 32, "batch": 4, "words": 128},
    "large": {"blocks": 6, "width": 768, "heads": 12, "tokens": 512, "batch": 8, "words": 8192},
}
_CONVOLUTIONS: Sizes = {
    "small": {"batch": 8, "size": 16, "channels": 8},
    "large": {"batch": 128, "size": 64, "channels": 64},
}
_LSTM: Sizes = {
    "small": {"steps": 20, "batch": 8, "width": 64},
    "large": {"steps": 128, "batch": 128, "width": 512},
}


def mlp(engine: EngineModules, size: str) -> BenchmarkProgram:
    """Return an Adam step of a multilayer perceptron with four layers."""
    jnp, tree_map = engine.np, engine.xs.tree_util.tree_map
    width, batch = _MLP[size]["width"], _MLP[size]["batch"]
    widths = (64, width, width, width, 10)
    weights = [draw_normal((m, n), (n,), scale=m**-0.5, seed=n) for m, n in itertools.pairwise(widths)]

    def loss(weights: Any, x: Any, labels: Any) -> Any:
        for w, b in weights[:-1]:
            x = jnp.tanh(x @ w + b)
        w, b = weights[-1]
        return -jnp.mean(jnp.take_along_axis(engine.nn.log_softmax(x @ w + b), labels[:, None], axis=1))

    def update(state: Any, x: Any, labels: Any) -> Any:
        weights, mean, square, step = state
        value, slopes = engine.xs.value_and_grad(loss)(weights, x, labels)
        step = step + 1
        mean = tree_map(lambda m, g: 0.9 * m + 0.1 * g, mean, slopes)
        square = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, square, slopes)
        rate = 1e-3 * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        weights = tree_map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-6), weights, mean, square)
        return (weights, mean, square, step), value

    zeros = [[np.zeros_like(parameter) for parameter in layer] for layer in weights]
    labels = np.random.default_rng(1).integers(0, 10, batch).astype(np.int32)
    state = (weights, zeros, zeros, np.float32(0))
    return BenchmarkProgram(update, (state, *draw_normal((batch, 64), scale=1.0), labels), updates=True, tolerance=2e-2)


def transformer(engine: EngineModules, size: str) -> BenchmarkProgram:
    """Return a training step of a causal language model."""
    jnp, sizes = engine.np, _TRANSFORMER[size]
    width, heads, tokens, batch, words = (sizes[name] for name in ("width", "heads", "tokens", "batch", "words"))
    shapes = [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)]
    blocks = [draw_normal(*shapes, scale=0.3 * width**-0.5, seed=number) for number in range(sizes["blocks"])]
    embedding, places = draw_normal((words, width), (tokens, width), scale=0.1)
    mask = np.tril(np.ones((tokens, tokens), bool))

    def normalize(x: Any) -> Any:
        centred = x - jnp.mean(x, -1, keepdims=True)
        return centred / jnp.sqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5)

    def attend(x: Any, project: Any, out: Any) -> Any:
        split = (x @ project).reshape(batch, tokens, 3, heads, width // heads)
        query, key, value = (split[:, :, part] for part in range(3))
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / (width // heads) ** 0.5
        shares = engine.nn.softmax(jnp.where(mask, scores, -1e9))
        return jnp.einsum("bhqk,bkhd->bqhd", shares, value).reshape(batch, tokens, width) @ out

    def loss(weights: Any, sentences: Any) -> Any:
        embedding, places, blocks = weights
        x = embedding[sentences] + places
        for project, out, up, down in blocks:
            x = x + attend(normalize(x), project, out)
            x = x + engine.nn.gelu(normalize(x) @ up) @ down
        scores = engine.nn.log_softmax(normalize(x)[:, :-1] @ embedding.T)
        return -jnp.mean(jnp.take_along_axis(scores, sentences[:, 1:, None], axis=-1))

    sentences = np.random.default_rng(2).integers(0, words, (batch, tokens)).astype(np.int32)
    return BenchmarkProgram(
        make_descent_step(engine, loss), ((embedding, places, blocks), sentences), updates=True, tolerance=2e-2
    )


def convolutions(engine: EngineModules, size: str) -> BenchmarkProgram:
    """Return a training step of a convolutional network: convolutions, pooling, a dense layer."""
    jnp, lax = engine.np, engine.lax
    batch, side, channels = (_CONVOLUTIONS[size][name] for name in ("batch", "size", "channels"))
    kernels = [
        draw_normal((3, 3, m, n), scale=(9 * m) ** -0.5, seed=n)[0] for m, n in ((3, channels), (channels, channels))
    ]
    dense = draw_normal(((side // 4) ** 2 * channels, 10), scale=0.02)[0]

    def loss(weights: Any, images: Any, labels: Any) -> Any:
        x = images
        for kernel in weights[0]:
            x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = lax.reduce_window(engine.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        scores = engine.nn.log_softmax(x.reshape(batch, -1) @ weights[1])
        return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))

    labels = np.random.default_rng(3).integers(0, 10, batch).astype(np.int32)
    images = draw_normal((batch, side, side, 3), scale=1.0)[0]
    return BenchmarkProgram(
        make_descent_step(engine, loss), ((kernels, dense), images, labels), updates=True, tolerance=2e-2
    )


def lstm(engine: EngineModules, size: str) -> BenchmarkProgram:
    """Return a training step of an LSTM: a scan forward and one backward."""
    jnp, sigmoid = engine.np, engine.nn.sigmoid
    steps, batch, width = (_LSTM[size][name] for name in ("steps", "batch", "width"))
    weights = draw_normal((32, 4 * width), (width, 4 * width), (4 * width,), (width, 8), scale=width**-0.5)

    def loss(weights: Any, sequence: Any, targets: Any) -> Any:
        into, across, bias, out = weights

        def advance(carry: Any, x: Any) -> Any:
            h, c = carry
            i, f, g, o = jnp.split(x @ into + h @ across + bias, 4, axis=-1)
            c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
            h = sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros((batch, width))
        _, hidden = engine.lax.scan(advance, (start, start), sequence)
        return jnp.mean((hidden @ out - targets) ** 2)

    data = draw_normal((steps, batch, 32), (steps, batch, 8), scale=1.0, seed=4)
    return BenchmarkProgram(make_descent_step(engine, loss, 0.1), (weights, *data), updates=True, tolerance=2e-2)
