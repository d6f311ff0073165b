"""How the programs of tests are compiled: kept from run to run, and quickly, where only what they give is tested.

Quickly means that LLVM optimizes nothing, for us and for jax, whose answers may be compared to the last bit. Against
other oracles those may come out otherwise: XLASCOPE_TESTS_COMPILE=fully compiles as for users, for both.
XLASCOPE_TESTS_COMPILE=fully:2026-11-26 does so for a third of the files, others each day; CI does.
"""

import functools
import os
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests import days, live

#: Rooms where what a program gives is tested and not how it was compiled: what was compiled before is loaded.
_ROOMS = ["compositions", "control", "example_libraries", "experimental", "extend", "lax", "nn", "numpy", "operations"]
_ROOMS += ["random", "scipy", "transforms"]
#: The same rooms of the engine, and others, whose docstrings have examples.
_EXAMPLES = (*(f"core/xlascope/{room}/" for room in [*_ROOMS, "api", "special"]), "core/xlascope/image")
_FILES = ("core/test_api_transforms", "core/test_noops", "core/test_planned", "everyday/test_nothing_compiled_twice")
#: Where programs are kept and compiled quickly.
KEPT_PLACES = (*(f"core/{room}/" for room in _ROOMS), *_FILES, *_EXAMPLES)
#: Where they are kept and compiled as for users: it is tested what XLA makes of them.
KEPT_AS_MADE = ("core/xla/test_materialization", "core/xla/test_known_faults")
#: Where they are compiled quickly, each time anew: it is tested what becomes of them, or what is told.
QUICK_PLACES = (
    "core/analysis/test_doctor",
    "core/robustness/",
    "core/test_callbacks",
    "core/test_error_pages",
    "core/test_errors",
    "core/test_gate",
    "core/test_jit",
    "core/test_keys",
    "core/test_leaks",
    "core/test_printed",
    "core/test_recent",
    "core/test_retraces",
    "core/test_settings",
    "core/test_stages",
    "everyday/",
    "docs/test_pages",
)
KEPT = Path(__file__).resolve().parents[1] / "build" / "compiled"
#: What makes compiling fast, in a third of the time, where XLA has these options.
_QUICKLY = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
#: Tests that need what this leaves out: without fusion emitters XLA gets indices of uint8 wrong, and the last bits of
#: numbers depend on what becomes one loop and which products and sums become one instruction.
_NEVER_QUICKLY = re.compile(r"narrow_indices|test_bits_of_jax.*-every\]|test_generators.*::test_numbers")
#: "fully", "fully:DAY", or nothing.
_MODE, _, _DAY = os.environ.get("XLASCOPE_TESTS_COMPILE", "").partition(":")
#: In how many days each file is compiled fully once.
DAYS = 3


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Compile from now on as this test's programs are to be compiled."""
    import xlascope  # noqa: PLC0415 -- not above: tests set what it reads from the environment when it is imported

    place = live.place_of(item.path) or item.path.relative_to(item.config.rootpath).as_posix()
    folder = str(KEPT) if place.startswith((*KEPT_PLACES, *KEPT_AS_MADE)) else None
    if xlascope.config.jax_compilation_cache_dir != folder:
        xlascope.config.update("compilation_cache_dir", folder)
    quick = place.startswith((*KEPT_PLACES, *QUICK_PLACES)) and not is_fully(place)
    _compile(_quickly() if quick and not _NEVER_QUICKLY.search(item.nodeid) else {})


def is_fully(place: str, mode: str = _MODE, day: str = _DAY) -> bool:
    """Return whether the programs of a file are compiled as for users although only what they give is tested.

    >>> is_fully("core/numpy/test_sums.py", "fully", ""), is_fully("core/numpy/test_sums.py", "", "")
    (True, False)
    >>> [is_fully("core/numpy/test_sums.py", "fully", f"2026-11-{day}") for day in (26, 27, 28)].count(True)
    1
    """
    return mode == "fully" and (not day or zlib.crc32(place.encode()) % DAYS == days.number_of(day) % DAYS)


@functools.cache
def _quickly() -> Mapping[str, Any]:
    return {name: value for name, value in _QUICKLY.items() if _is_known(name, value)}


def _is_known(option: str, value: Any) -> bool:
    """Whether XLA has an option, which it says only while it compiles."""
    from jaxlib import _jax  # noqa: PLC0415

    from xlascope.xla.compilation import compile_program as compiling  # noqa: PLC0415
    from xlascope.xla.devices import backend  # noqa: PLC0415

    client = backend.client()
    device = client.local_devices()[0]
    devices, options = _jax.DeviceList((device,)), compiling.compile_options(device, [(option, value)])
    try:
        client.compile_and_load("func.func public @main() { return }", devices, options)
    except RuntimeError as error:
        assert option in str(error)
        return False
    return True


def xla_flags() -> str:
    """XLA's flags for compiling quickly, where that is asked for."""
    return "" if is_fully("processes") else _flags(_quickly())


def quickly(keep: bool = True) -> dict[str, str]:
    """The environment of a process whose programs are compiled quickly and kept, unless all are compiled fully."""
    kept = {"XLASCOPE_COMPILATION_CACHE_DIR": str(KEPT)} if keep else {}
    return kept | {"XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {xla_flags()}".strip()}


def xla_flags_now() -> str:
    """XLA's flags, beside those of users, for what is compiled now."""
    return _flags(_now)


def _flags(options: Mapping[str, Any]) -> str:
    return " ".join(f"--{name}={str(value).lower()}" for name, value in options.items())


#: XLA's options, beside the engine's own.
_now: dict[str, Any] = {}


def _compile(options: Mapping[str, Any]) -> None:
    """Compile with some options from now on; what was compiled with others is forgotten."""
    import xlascope  # noqa: PLC0415
    from xlascope.xla.compilation import compile_program as compiling  # noqa: PLC0415

    if compiling.compile_options is not _compile_options:
        _usual.append(compiling.compile_options)
        compiling.compile_options = _compile_options
    if _now != options:
        _now.clear()
        _now.update(options)
        xlascope.clear_caches()


#: The engine's own options.
_usual: list[Callable[..., Any]] = []


def _compile_options(device: Any, overrides: Sequence[tuple[str, Any]] = ()) -> Any:
    return _usual[0](device, (*_now.items(), *overrides))
