"""The engine as the programs see it, and the type of a program."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np


class EngineModules(NamedTuple):
    """Modules of one engine, xlascope or jax, under names that are the same for both."""

    name: str
    xs: Any
    np: Any
    lax: Any
    nn: Any
    random: Any


class BenchmarkProgram(NamedTuple):
    """Function before it is jitted, and its arguments.

    ``updates`` says that the first result replaces the first argument in the next call. ``tolerance`` is the allowed
    difference between two engines, relative to the largest number of a result.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    updates: bool = False
    tolerance: float = 1e-3


#: The sizes of a program: ``"small"`` for a CPU, ``"large"`` for an accelerator.
Sizes = Mapping[str, Mapping[str, int]]
MakeProgram = Callable[[EngineModules, str], BenchmarkProgram]


def load_engine(name: str) -> EngineModules:
    """Import the modules of an engine, ``"xlascope"`` or ``"jax"``."""
    xs = importlib.import_module(name)
    numpy, lax, nn, random = (importlib.import_module(f"{name}.{part}") for part in ("numpy", "lax", "nn", "random"))
    return EngineModules(name, xs, numpy, lax, nn, random)


def draw_normal(*shapes: tuple[int, ...], scale: float = 0.1, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Return normally distributed float32 arrays of these shapes, the same on each call.

    ``scale`` is their standard deviation.
    """
    random = np.random.default_rng(seed)
    return [(scale * random.standard_normal(shape, np.float32)).astype(np.float32) for shape in shapes]


def make_descent_step(engine: EngineModules, loss: Callable[..., Any], rate: float = 0.01) -> Callable[..., Any]:
    """Return a training step of gradient descent, a function from ``(weights, *data)`` to ``(new weights, loss)``.

    ``loss(weights, *data)`` returns a scalar, ``rate`` is the learning rate.
    """
    xs = engine.xs

    def step(weights: Any, *data: Any) -> Any:
        value, slopes = xs.value_and_grad(loss)(weights, *data)
        return xs.tree_util.tree_map(lambda w, slope: w - rate * slope, weights, slopes), value

    return step
