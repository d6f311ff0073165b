"""Programs of jax, each run in processes of its own: this one must not import jax, as collecting doctests would."""

import importlib.util
import os
from collections.abc import Callable

import pytest

collect_ignore = ["programs", "asked.py", "one_run.py", "coverage_of.py"]

#: What the extra `jax-programs` brings.
LIBRARIES = ("diffrax", "equinox", "flax", "numpyro", "optax")


@pytest.fixture(scope="session")
def needs_libraries() -> Callable[[], None]:
    """Skip a test whose libraries are not here; in CI's slow part they have to be."""

    def check() -> None:
        missing = [each for each in LIBRARIES if importlib.util.find_spec(each) is None]
        if missing and not os.environ.get("XLASCOPE_REQUIRE_JAX_PROGRAMS"):
            pytest.skip(f"without {', '.join(missing)}: make .venv/.installed-jax-programs")
        assert not missing

    return check
