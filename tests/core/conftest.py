"""The oracle: the jax of this environment in an interpreter of its own, running the same programs as we do."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests import oracle


def load(path: Path) -> ModuleType:
    """A file of programs that either library can run: functions of the library."""
    spec = importlib.util.spec_from_file_location(f"programs_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def programs() -> Callable[[Path], ModuleType]:
    return load


@pytest.fixture(scope="session")
def jax_says() -> Callable[..., Any]:
    """What a program gives with jax as the library: ``jax_says(path, "function", enable_x64="1")``."""
    return lambda path, function, **settings: oracle.ask(path, function, settings)
