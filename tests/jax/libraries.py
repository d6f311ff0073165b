"""The libraries that programs of jax are written with, which only the slow tests have."""

import importlib.util
import os

import pytest

#: What the extra `jax-programs` brings.
LIBRARIES = ("diffrax", "equinox", "flax", "numpyro", "optax")


def need_libraries() -> None:
    """Skip a test where they are not; where XLASCOPE_REQUIRE_JAX_PROGRAMS is set they have to be."""
    missing = [each for each in LIBRARIES if importlib.util.find_spec(each) is None]
    if missing and not os.environ.get("XLASCOPE_REQUIRE_JAX_PROGRAMS"):
        pytest.skip(f"without {', '.join(missing)}: make .venv/.installed-jax-programs")
    assert not missing
