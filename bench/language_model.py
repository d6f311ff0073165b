"""A training step of a small language model, as its user would write it: six transformer blocks, Adam."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax

_WORDS, _TOKENS, _WIDTH, _HEADS, _BLOCKS, _BATCH = 256, 64, 128, 4, 6, 8


def _layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred * lax.rsqrt(variance + 1e-5) * scale + shift


def _attention(weights: Any, x: Any) -> Any:
    tokens, width = x.shape
    parts = jnp.split(x @ weights["in"], 3, axis=-1)
    query, key, value = (each.reshape(tokens, _HEADS, width // _HEADS).transpose(1, 0, 2) for each in parts)
    scores = jnp.einsum("htd,hsd->hts", query, key) / jnp.sqrt(width // _HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((tokens, tokens), bool)), scores, -1e9)
    mixed = jnp.einsum("hts,hsd->htd", xs.nn.softmax(scores, axis=-1), value)
    return mixed.transpose(1, 0, 2).reshape(tokens, width) @ weights["out"]


def _block(weights: Any, x: Any) -> Any:
    with xs.named_scope("attention"):
        x = x + _attention(weights["attention"], _layer_norm(x, *weights["norm1"]))
    with xs.named_scope("mlp"):
        hidden = xs.nn.gelu(_layer_norm(x, *weights["norm2"]) @ weights["up"] + weights["up_bias"])
        return x + hidden @ weights["down"] + weights["down_bias"]


def _scores(weights: Any, tokens: Any) -> Any:
    x = weights["words"][tokens] + weights["places"][: tokens.shape[0]]
    for each in weights["blocks"]:
        x = _block(each, x)
    return _layer_norm(x, *weights["norm"]) @ weights["words"].T


def _loss(weights: Any, tokens: Any) -> Any:
    scores = xs.nn.log_softmax(xs.vmap(partial(_scores, weights))(tokens[:, :-1]))
    return -jnp.mean(jnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1))


@xs.jit
def train_step(state: Any, tokens: Any) -> Any:
    """One Adam step; the state is the weights, two running means of their gradients, and the step's number."""
    weights, mean, square, step = state
    gradient = xs.grad(_loss)(weights, tokens)
    step = step + 1
    mean = xs.tree_util.tree_map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
    square = xs.tree_util.tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, square, gradient)
    rate = 1e-3 * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    weights = xs.tree_util.tree_map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), weights, mean, square)
    return weights, mean, square, step


def state_and_tokens() -> tuple[Any, Any]:
    """A first state, and a batch."""
    random = np.random.default_rng(0)

    def matrix(*shape: int) -> Any:
        return jnp.asarray(0.02 * random.standard_normal(shape, np.float32))

    def norm() -> Any:
        return jnp.ones(_WIDTH), jnp.zeros(_WIDTH)

    blocks = [
        {
            "attention": {"in": matrix(_WIDTH, 3 * _WIDTH), "out": matrix(_WIDTH, _WIDTH)},
            "norm1": norm(),
            "norm2": norm(),
            "up": matrix(_WIDTH, 4 * _WIDTH),
            "up_bias": jnp.zeros(4 * _WIDTH),
            "down": matrix(4 * _WIDTH, _WIDTH),
            "down_bias": jnp.zeros(_WIDTH),
        }
        for _ in range(_BLOCKS)
    ]
    weights = {"words": matrix(_WORDS, _WIDTH), "places": matrix(_TOKENS, _WIDTH), "blocks": blocks, "norm": norm()}
    zeros = xs.tree_util.tree_map(jnp.zeros_like, weights)
    tokens = random.integers(0, _WORDS, (_BATCH, _TOKENS)).astype(np.int32)
    return (weights, zeros, zeros, jnp.zeros(())), tokens
