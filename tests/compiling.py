"""How the programs of tests are compiled: kept from run to run, and quickly, where only what they give is tested.

Quickly means that LLVM optimizes nothing, for us and for jax, whose answers may be compared to the last bit. Against
other oracles those may come out otherwise: XLASCOPE_TESTS_COMPILE=fully compiles as for users, for both; CI does.
"""

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests import alone

#: Rooms where what a program gives is tested and not how it was compiled: what was compiled before is loaded.
_ROOMS = ["compositions", "control", "extend", "lax", "nn", "numpy", "operations", "random", "scipy", "transforms"]
KEPT_PLACES = tuple(f"core/{room}/" for room in _ROOMS)
KEPT = Path(__file__).resolve().parents[1] / "build" / "compiled"
#: What makes compiling fast, in a third of the time.
_QUICKLY = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
#: Tests that need what this leaves out: without fusion emitters XLA gets indices of uint8 wrong, and the last bits of
#: numbers depend on what becomes one loop.
_NEVER_QUICKLY = ("narrow_indices", "core/random/test_bits_of_jax", "core/random/test_generators")
_ALWAYS_FULLY = os.environ.get("XLASCOPE_TESTS_COMPILE") == "fully"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Compile from now on as this test's programs are to be compiled."""
    import xlascope  # noqa: PLC0415 -- not above: tests set what it reads from the environment when it is imported

    place = alone.place_of(item.path)
    folder = str(KEPT) if place.startswith(KEPT_PLACES) else None
    if xlascope.config.jax_compilation_cache_dir != folder:
        xlascope.config.update("compilation_cache_dir", folder)
    _compile(quickly=folder is not None and not any(each in item.nodeid for each in _NEVER_QUICKLY))


def flags() -> dict[str, Any]:
    """XLA's flags for what is compiled now, beside those of users."""
    from xlascope.xla import compile as compiling  # noqa: PLC0415

    return _QUICKLY if compiling.compile_options is _quick_options else {}


def _compile(quickly: bool) -> None:
    """Compile in one of two ways from now on; what was compiled in the other way is forgotten where that changes."""
    import xlascope  # noqa: PLC0415
    from xlascope.xla import compile as compiling  # noqa: PLC0415

    usual = _usual_options()
    options = _quick_options if quickly and not _ALWAYS_FULLY else usual
    if compiling.compile_options is not options:
        compiling.compile_options = options
        xlascope.clear_caches()


@functools.cache
def _usual_options() -> Any:
    from xlascope.xla import compile as compiling  # noqa: PLC0415

    return compiling.compile_options


def _quick_options(device: Any, overrides: Sequence[tuple[str, Any]] = ()) -> Any:
    return _usual_options()(device, (*_QUICKLY.items(), *overrides))
