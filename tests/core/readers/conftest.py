from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jaxlib import _jax, xla_client

from xlascope.xla.devices.backend import client, default_device


@pytest.fixture(scope="session")
def sample(root: Path) -> Callable[[str], str]:
    """The optimized HLO that jaxlib 0.10.2 made of ``tests/data/NAME.mlir`` for the CPU; ``NAME.jaxlib_0_11`` is what
    jaxlib 0.11.2 made of it, where that differs.
    """
    return lambda name: (root / "tests" / "data" / f"{name}.hlo.txt").read_text()


@pytest.fixture(scope="session")
def load_program(root: Path) -> Callable[[str], Any]:
    """What the jaxlib here compiles ``tests/data/NAME.mlir`` to."""

    def load(name: str) -> Any:
        text = (root / "tests" / "data" / f"{name}.mlir").read_text()
        devices = _jax.DeviceList((default_device(),))
        return client().compile_and_load(text, devices, xla_client.CompileOptions())

    return load


@pytest.fixture(scope="session")
def compiled(load_program: Callable[[str], Any]) -> Callable[[str], str]:
    """The optimized HLO of ``tests/data/NAME.mlir``, compiled now."""
    return lambda name: str(load_program(name).hlo_modules()[0].to_string())
