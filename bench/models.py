"""Models as people write them, for either side: what tracing costs outside of artificial chains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .sides import Side


class Model(NamedTuple):
    """A scalar loss of weights and one example, with both; ``make`` gives a new function each time, because jax
    remembers traces by function.
    """

    make: Callable[[], Callable[[Any, Any], Any]]
    weights: Any
    example: Any


def _normal(random: np.random.Generator, *shape: int) -> Any:
    return (0.05 * random.standard_normal(shape)).astype(np.float32)


def mlp(side: Side, layers: int = 50, width: int = 32) -> Model:
    """A network of 50 dense layers with tanh, and a mean squared error."""
    jnp = side.jnp
    random = np.random.default_rng(0)
    weights = [(_normal(random, width, width), _normal(random, width)) for _ in range(layers)]

    def make() -> Callable[[Any, Any], Any]:
        def loss(weights: Any, example: Any) -> Any:
            x, y = example
            for w, b in weights:
                x = jnp.tanh(jnp.dot(x, w) + b)
            return jnp.mean((x - y) ** 2)

        return loss

    return Model(make, weights, (_normal(random, 8, width), _normal(random, 8, width)))


def transformer(side: Side, blocks: int = 12, tokens: int = 16, width: int = 32, heads: int = 4) -> Model:
    """Twelve blocks in plain NumPy style: layer norm, attention with a causal mask, GELU, cross entropy."""
    jnp = side.jnp
    random = np.random.default_rng(0)
    words = 64

    def block_weights() -> dict[str, Any]:
        shapes = {"query": (width, width), "key": (width, width), "value": (width, width), "out": (width, width)}
        shapes |= {"up": (width, 4 * width), "down": (4 * width, width), "up_bias": (4 * width,), "bias": (width,)}
        shapes |= {"scale_1": (width,), "shift_1": (width,), "scale_2": (width,), "shift_2": (width,)}
        return {name: _normal(random, *shape) for name, shape in shapes.items()}

    weights = {"words": _normal(random, words, width), "places": _normal(random, tokens, width)}
    weights |= {"blocks": [block_weights() for _ in range(blocks)]}

    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        mean = jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift

    def gelu(x: Any) -> Any:
        return 0.5 * x * (1.0 + jnp.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    def attention(w: Any, x: Any) -> Any:
        def split(y: Any) -> Any:
            return jnp.transpose(jnp.reshape(y, (tokens, heads, width // heads)), (1, 0, 2))

        query, key, value = (split(x @ w[name]) for name in ("query", "key", "value"))
        scores = query @ jnp.swapaxes(key, -1, -2) / jnp.sqrt(width / heads)
        scores = jnp.where(jnp.tril(jnp.ones((tokens, tokens), bool)), scores, -1e9)
        scores = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
        weighted = scores / jnp.sum(scores, axis=-1, keepdims=True) @ value
        return jnp.reshape(jnp.transpose(weighted, (1, 0, 2)), (tokens, width)) @ w["out"]

    def block(w: Any, x: Any) -> Any:
        x = x + attention(w, layer_norm(x, w["scale_1"], w["shift_1"]))
        hidden = gelu(layer_norm(x, w["scale_2"], w["shift_2"]) @ w["up"] + w["up_bias"])
        return x + hidden @ w["down"] + w["bias"]

    def make() -> Callable[[Any, Any], Any]:
        def loss(weights: Any, sentence: Any) -> Any:
            x = weights["words"][sentence[:-1]] + weights["places"]
            for w in weights["blocks"]:
                x = block(w, x)
            scores = x @ weights["words"].T
            peak = jnp.max(scores, axis=-1, keepdims=True)
            normalizer = jnp.log(jnp.sum(jnp.exp(scores - peak), axis=-1, keepdims=True)) + peak
            return -jnp.mean(jnp.take_along_axis(scores - normalizer, sentence[1:, None], axis=-1))

        return loss

    return Model(make, weights, random.integers(0, words, tokens + 1).astype(np.int32))


def lstm(side: Side, width: int = 32, steps: int = 20) -> Model:
    """A recurrent network by ``scan``, and the mean square of what it ends with."""
    xs, jnp = side.xs, side.jnp
    random = np.random.default_rng(0)
    weights = {"input": _normal(random, width, 4 * width), "state": _normal(random, width, 4 * width)}
    weights |= {"bias": _normal(random, 4 * width), "out": _normal(random, width)}

    def make() -> Callable[[Any, Any], Any]:
        def loss(weights: Any, inputs: Any) -> Any:
            def step(carry: Any, x: Any) -> Any:
                hidden, cell = carry
                gates = x @ weights["input"] + hidden @ weights["state"] + weights["bias"]
                i, f, g, o = jnp.split(gates, 4, axis=-1)
                cell = xs.nn.sigmoid(f + 1.0) * cell + xs.nn.sigmoid(i) * jnp.tanh(g)
                hidden = xs.nn.sigmoid(o) * jnp.tanh(cell)
                return (hidden, cell), hidden

            start = jnp.zeros(width), jnp.zeros(width)
            (hidden, _), every = xs.lax.scan(step, start, inputs)
            return jnp.mean((every @ weights["out"]) ** 2) + jnp.mean(hidden**2)

        return loss

    return Model(make, weights, _normal(random, steps, width))


def per_example(side: Side, layers: int = 6, width: int = 32) -> Model:
    """The mean of clipped gradients of single examples, a scalar of them: vmap of grad inside of the function."""
    xs, jnp = side.xs, side.jnp
    inner = mlp(side, layers, width)

    def make() -> Callable[[Any, Any], Any]:
        one = inner.make()

        def clipped(weights: Any, example: Any) -> Any:
            gradient = xs.grad(one)(weights, example)
            norm = jnp.sqrt(sum(jnp.sum(g**2) for g in xs.tree_util.tree_leaves(gradient)))
            return xs.tree_util.tree_map(lambda g: g / jnp.maximum(1.0, norm), gradient)

        def loss(weights: Any, examples: Any) -> Any:
            gradients = xs.vmap(clipped, in_axes=(None, 0))(weights, examples)
            return sum(jnp.sum(jnp.mean(g, axis=0) ** 2) for g in xs.tree_util.tree_leaves(gradients))

        return loss

    x, y = inner.example
    return Model(make, inner.weights, (x[:, None], y[:, None]))


MODELS = {"mlp": mlp, "transformer": transformer, "lstm": lstm, "per_example": per_example}


def equations_in(jaxpr: Any) -> int:
    """The equations of a program, those of the programs that it holds included; the same count for both sides."""
    held = (getattr(x, "jaxpr", x) for eqn in jaxpr.eqns for value in eqn.params.values() for x in _several(value))
    return len(jaxpr.eqns) + sum(equations_in(each) for each in held if hasattr(each, "eqns"))


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)
