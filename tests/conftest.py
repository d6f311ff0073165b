"""What every test may use: the repository's root, and an interpreter that has imported nothing yet."""

import importlib
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from tests import oracle

os.environ.setdefault("MPLBACKEND", "Agg")
# Whoever reads the traceback of a failing test wants to see the library's frames.
os.environ.setdefault("XLASCOPE_TRACEBACK_FILTERING", "off")

# The same examples in every run, and no deadline: a first call compiles.
hypothesis.settings.register_profile("xlascope", deadline=None, derandomize=True)
hypothesis.settings.load_profile("xlascope")


#: Where tests drive a browser, a kernel or a profiler and wait for it: they need the machine for themselves.
ALONE = (
    "browser/",
    "kernel_ext/",
    "notebooks/",
    "widgets/test_feed",
    "core/inspect/",
    "core/readers/test_live_profile",
)


#: Where what a program gives is tested and not how it was compiled: what was compiled before is loaded.
COMPILED_BEFORE = tuple(
    f"core/{room}/"
    for room in ("compositions", "control", "extend", "lax", "nn", "numpy", "operations", "random", "transforms")
)
COMPILED = oracle.ROOT / "build" / "compiled"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    import xlascope  # noqa: PLC0415 -- not above: tests set what it reads from the environment when it is imported

    folder = str(COMPILED) if _place(item).startswith(COMPILED_BEFORE) else None
    if xlascope.config.jax_compilation_cache_dir != folder:
        xlascope.config.update("compilation_cache_dir", folder)


def _place(item: pytest.Item) -> str:
    """Where a test is, from this folder on."""
    here = Path(__file__).parent
    return item.path.relative_to(here).as_posix() if item.path.is_relative_to(here) else ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if seed := os.environ.get("XLASCOPE_TESTS_ORDER"):
        _rotate(items, seed)
    for item in items:
        if _place(item).startswith(ALONE):
            item.add_marker(pytest.mark.alone)


def _rotate(items: list[pytest.Item], seed: str) -> None:
    """Put the files of tests into an order that depends on the seed, so that no file is always the one not reached."""
    files = list(dict.fromkeys(item.path for item in items))
    random.Random(seed).shuffle(files)
    place = {file: number for number, file in enumerate(files)}
    items.sort(key=lambda item: place[item.path])


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many tests ran, which is fewer than were chosen when the run was stopped; `.ci/run` reads it."""
    outcomes = ("passed", "failed", "skipped", "xfailed", "xpassed", "error")
    ran = sum(len(terminalreporter.stats.get(outcome, [])) for outcome in outcomes)
    terminalreporter.write_line(f"{ran} tests ran")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture
def fresh_python(tmp_path: Path) -> Callable[[str], str]:
    """Run a program in an interpreter of its own and return what it printed; fail with its traceback."""

    def run(program: str, timeout: float = 120) -> str:
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=timeout
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def target_compilers() -> None:
    """The compilers for hardware that is not here; without the extra `targets` a test is skipped, in CI it fails."""
    targets = importlib.import_module("xlascope.xla.targets")  # not above: settings are read when it is imported
    try:
        for name in ("gpu:h100", "tpu:v5e"):
            targets.plugin_of(targets.find_target(name))
    except targets.MissingTargetError as error:
        if os.environ.get("XLASCOPE_REQUIRE_TARGETS"):
            raise
        pytest.skip(str(error))
