"""Programs whose values are sick, each at one line, and healthy ones that look alike."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax

_random = np.random.default_rng(0)
NORMAL = _random.standard_normal((16, 16)).astype(np.float32)
SMALL = (NORMAL / 4).astype(np.float32)


class Program(NamedTuple):
    """Function of arrays, its arguments, and what is to be found: a rule, words of the sentence, and text of the line.

    A healthy program has no rule.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    rule: str = ""
    words: str = ""
    line: str = ""


def cross_entropy(logits: Any, labels: Any) -> Any:
    probabilities = jnp.exp(logits) / jnp.exp(logits).sum(-1, keepdims=True)
    return -(labels * jnp.log(probabilities)).mean()  # log of a probability


def distance(x: Any) -> Any:
    return jnp.sqrt((x**2).sum(-1)).sum()  # length of a vector


def half_precision(x: Any) -> Any:
    wide = x.astype(jnp.float16)
    return (wide * wide).sum()  # square in float16


def deep(weights: Any, x: Any) -> Any:
    for w in weights:
        x = jnp.tanh(x @ w)  # layer
    return x.sum()


def sigmoids(weights: Any, x: Any) -> Any:
    for w in weights:
        x = xs.nn.sigmoid(x @ w)  # layer of a sigmoid
    return x.sum()


def residual(weights: Any, x: Any) -> Any:
    for w in weights:
        x = x + 0.2 * jnp.tanh(x @ w)
    return x.mean()


def recurrent(w: Any, x: Any) -> Any:
    def step(state: Any, _: Any) -> tuple[Any, Any]:
        state = state @ w  # state of the network
        return state, state.mean()

    return lax.scan(step, x, None, length=60)[0].sum()


def relu_network(w: Any, bias: Any, x: Any) -> Any:
    hidden = jnp.maximum(x @ w + bias, 0.0)  # relu
    return hidden.mean()


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T
    exponentials = jnp.exp(scores - scores.max(-1, keepdims=True))
    return (exponentials / exponentials.sum(-1, keepdims=True)) @ v  # softmax


def normalize(x: Any) -> Any:
    centered = x - x.mean(0)
    return centered / jnp.sqrt((centered**2).mean(0))  # divided by the deviation


def initial(weights: Any, x: Any) -> Any:
    for w in weights:
        x = jnp.maximum(x @ w, 0.0)  # layer of the initial network
    return x.mean()


def train(steps: int) -> Callable[..., Any]:
    def run(w: Any, rate: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            return state - rate * 2.0 * state  # gradient step

        return lax.fori_loop(0, steps, step, w)

    return run


def masked_log(x: Any) -> Any:
    safe = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.log(safe), 0.0).sum()


def masked_attention(x: Any) -> Any:
    scores = jnp.where(jnp.tril(jnp.ones(x.shape, bool)), x, -jnp.inf)
    return xs.nn.softmax(scores).sum()


def mixed_product(x: Any, w: Any) -> Any:
    return jnp.sum(x @ w)  # product of large numbers


LABELS = np.eye(16, dtype=np.float32)
STEEP = np.zeros((16, 16), np.float32)
STEEP[3, 5], STEEP[4, 4] = -200.0, -150.0
POINTS = np.array(NORMAL)
POINTS[2] = 0.0
CONSTANT = np.array(NORMAL)
CONSTANT[:, 7] = 2.0
LAYERS = [SMALL] * 40
LARGE, MIXED = np.full((16, 16), 1e30, np.float32), np.full((16, 16), 1e30, np.float32)
MIXED[::2] *= -1
ORTHOGONAL = np.linalg.qr(NORMAL)[0].astype(np.float32)

SICK = [
    Program("log of 0", cross_entropy, (STEEP, LABELS + 0.1), "infinity born", "log of 0: 2 of 256", "log of a prob"),
    Program("sqrt at 0", xs.grad(distance), (POINTS,), "NaN born", "0 · inf: 16 of 256", "length of a vector"),
    Program("float16", half_precision, (NORMAL * 300,), "overflow in half precision", "float16, 65504", "square in"),
    Program(
        "vanishing", xs.grad(deep), ([SMALL / 24] * 40, NORMAL), "gradients by depth", "from layer to layer", "layer"
    ),
    Program("sigmoids", xs.grad(sigmoids), ([SMALL] * 40, NORMAL), "gradients by depth", "over 40 layers", "a sigmoid"),
    Program("exploding", recurrent, (NORMAL * 3, NORMAL), "NaN born", "of infinite operands", "state of the network"),
    Program("dead relu", relu_network, (SMALL, jnp.float32(-9), NORMAL), "dead units", "100 % of the", "relu"),
    Program("softmax", attention, (NORMAL * 90, NORMAL * 90, NORMAL), "saturated softmax", "Each row", "softmax"),
    Program("variance", normalize, (CONSTANT,), "NaN born", "0 / 0, the divisor: 1 of 16", "divided by"),
    Program("initial", initial, ([NORMAL * 10] * 6, NORMAL), "scale by depth", "grow", "initial network"),
    Program("product", mixed_product, (LARGE, MIXED), "NaN born", "up and down: inf - inf", "product of large"),
    Program("step 340", train(400), (jnp.float32(1e-3), jnp.float32(1.649)), "infinity born", "", "gradient step"),
]

HEALTHY = [
    Program("cross entropy", cross_entropy, (NORMAL, LABELS)),
    Program("distance", xs.grad(distance), (NORMAL,)),
    Program("float16", half_precision, (NORMAL,)),
    Program("deep", xs.grad(deep), ([ORTHOGONAL] * 6, NORMAL)),
    Program("residual", xs.grad(residual), ([SMALL] * 40, NORMAL)),
    Program("recurrent", recurrent, (ORTHOGONAL, NORMAL)),
    Program("relu", relu_network, (SMALL, jnp.float32(0), NORMAL)),
    Program("attention", attention, (SMALL, SMALL, NORMAL)),
    Program("masked log", xs.grad(masked_log), (np.maximum(NORMAL, 0),)),
    Program("masked attention", masked_attention, (NORMAL,)),
    Program("training", train(20), (jnp.float32(1e-3), jnp.float32(0.1))),
]
