"""The programs of `programs/`, each a function `train(engine, steps)` that yields the loss of each step."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("programs")
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))
STEPS = 30


def load_program(name: str) -> Callable[..., Iterator[Any]]:
    """Return the function of a program."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    train: Callable[..., Iterator[Any]] = module.train
    return train


def compute_losses(engine: Any) -> dict[str, list[float]]:
    """Return the losses of every program, run with an engine."""
    return {name: [float(loss) for loss in load_program(name)(engine, STEPS)] for name in PROGRAMS}
