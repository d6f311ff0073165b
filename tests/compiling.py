"""How the programs of tests are compiled: kept from run to run, and quickly, where only what they give is tested.

Quickly means that LLVM optimizes nothing, as in the tests of jax. The last bits of numbers may come out otherwise, so
XLASCOPE_TESTS_COMPILE=fully compiles everything as it is compiled for users; CI does.
"""

import functools
import os
from collections.abc import Sequence
from typing import Any

import pytest
from tests import alone, oracle

#: Rooms where what a program gives is tested and not how it was compiled: what was compiled before is loaded.
_ROOMS = ["compositions", "control", "extend", "lax", "nn", "numpy", "operations", "random", "scipy", "transforms"]
KEPT_PLACES = tuple(f"core/{room}/" for room in _ROOMS)
#: Those where an answer is compared to its last bits, or where these decide about the first ones, as they do in
#: derivatives of the factors of singular matrices: compiled as for users. The others passed whole in both ways.
FULLY = ("core/lax/", "core/nn/", "core/numpy/", "core/operations/", "core/random/", "core/scipy/")
KEPT = oracle.ROOT / "build" / "compiled"

# Without xla_cpu_use_fusion_emitters it would take half of that again, but then XLA gets indices of uint8 wrong.
_QUICKLY = (("xla_backend_optimization_level", 0),)
_ALWAYS_FULLY = os.environ.get("XLASCOPE_TESTS_COMPILE") == "fully"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Compile from now on as this test's programs are to be compiled."""
    import xlascope  # noqa: PLC0415 -- not above: tests set what it reads from the environment when it is imported

    place = alone.place_of(item.path)
    folder = str(KEPT) if place.startswith(KEPT_PLACES) else None
    if xlascope.config.jax_compilation_cache_dir != folder:
        xlascope.config.update("compilation_cache_dir", folder)
    if not _ALWAYS_FULLY:
        _compile(quickly=folder is not None and not place.startswith(FULLY))


def _compile(quickly: bool) -> None:
    """Compile in one of two ways from now on; what was compiled in the other way is forgotten where that changes."""
    import xlascope  # noqa: PLC0415
    from xlascope.xla import compile as compiling  # noqa: PLC0415

    usual = _usual_options()
    options = _quick_options if quickly else usual
    if compiling.compile_options is not options:
        compiling.compile_options = options
        xlascope.clear_caches()


@functools.cache
def _usual_options() -> Any:
    from xlascope.xla import compile as compiling  # noqa: PLC0415

    return compiling.compile_options


def _quick_options(device: Any, overrides: Sequence[tuple[str, Any]] = ()) -> Any:
    return _usual_options()(device, (*_QUICKLY, *overrides))
