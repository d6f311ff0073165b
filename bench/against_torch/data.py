"""The weights and batches that all sides begin with, as NumPy arrays by name. It imports neither engine."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Arrays = dict[str, np.ndarray]

WIDTH, HEADS, BLOCKS, TOKENS, WORDS = 128, 4, 4, 64, 256
HIDDEN, FEATURES, STEPS = 128, 32, 50


def transformer() -> tuple[Arrays, Arrays]:
    """Four blocks of width 128 over sentences of 64 of 256 words, a batch of 16."""
    random = np.random.default_rng(0)
    shapes = {"words": (WORDS, WIDTH), "places": (TOKENS, WIDTH)}
    for number in range(BLOCKS):
        shapes |= {f"{number}.{name}": (WIDTH, WIDTH) for name in ("query", "key", "value", "out")}
        shapes |= {f"{number}.up": (WIDTH, 4 * WIDTH), f"{number}.down": (4 * WIDTH, WIDTH)}
        shapes |= {f"{number}.{name}": (WIDTH,) for name in ("bias", "shift_1", "shift_2")}
        shapes |= {f"{number}.up_bias": (4 * WIDTH,)}
    weights = {name: _normal(random, shape) for name, shape in shapes.items()}
    scales = {f"{number}.scale_{of}": np.ones(WIDTH, np.float32) for number in range(BLOCKS) for of in (1, 2)}
    return weights | scales, {"sentences": random.integers(0, WORDS, (16, TOKENS + 1)).astype(np.int32)}


def convolutional() -> tuple[Arrays, Arrays]:
    """Two convolutions of 3 × 3 with pooling and a dense layer, 64 images of 28 × 28, channels last."""
    random = np.random.default_rng(1)
    shapes = {"first": (3, 3, 1, 16), "first_bias": (16,), "second": (3, 3, 16, 32), "second_bias": (32,)}
    shapes |= {"dense": (7 * 7 * 32, 10), "dense_bias": (10,)}
    weights = {name: _normal(random, shape) for name, shape in shapes.items()}
    images = random.random((64, 28, 28, 1), np.float32)
    return weights, {"images": images, "labels": random.integers(0, 10, 64).astype(np.int32)}


def lstm() -> tuple[Arrays, Arrays]:
    """A recurrent network of 128 units over 32 sequences of 50 steps."""
    random = np.random.default_rng(2)
    shapes = {"input": (FEATURES, 4 * HIDDEN), "state": (HIDDEN, 4 * HIDDEN), "bias": (4 * HIDDEN,), "out": (HIDDEN,)}
    weights = {name: _normal(random, shape) for name, shape in shapes.items()}
    sequences = random.standard_normal((STEPS, 32, FEATURES)).astype(np.float32)
    return weights, {"sequences": sequences, "wanted": random.standard_normal(32).astype(np.float32)}


def perceptron() -> tuple[Arrays, Arrays]:
    """Three dense layers, 784 to 512 to 512 to 10, 128 images, trained by Adam."""
    random = np.random.default_rng(3)
    sizes = (784, 512, 512, 10)
    weights = {f"w{n}": _normal(random, sizes[n : n + 2]) for n in range(3)}
    weights |= {f"b{n}": np.zeros(sizes[n + 1], np.float32) for n in range(3)}
    images = random.random((128, 784), np.float32)
    return weights, {"images": images, "labels": random.integers(0, 10, 128).astype(np.int32)}


def _normal(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    fan_in = math.prod(shape[:-1]) or shape[0]
    return (random.standard_normal(shape) / math.sqrt(fan_in)).astype(np.float32)


MODELS: dict[str, Callable[[], tuple[Arrays, Arrays]]] = {
    "transformer": transformer,
    "convolutional net": convolutional,
    "LSTM": lstm,
    "perceptron with Adam": perceptron,
}
