"""What every test may use: the repository's root, and an interpreter that has imported nothing yet."""

import gc
import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
from tests import compiling, durations, live, thorough

os.environ.setdefault("MPLBACKEND", "Agg")
# `nbformat` brings `jsonschema`, which would build 38 grammars of addresses in other scripts, in two seconds of each
# process; it does without them where they are not installed, and no notebook has such an address.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
# Whoever reads the traceback of a failing test wants to see the library's frames.
os.environ.setdefault("XLASCOPE_TRACEBACK_FILTERING", "off")

# Who runs the tests behind something else (`make test &`, `nohup`) has signals ignored in all that is started; tests
# send them to processes of theirs.
for _number, _answer in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _answer)

# The same examples in every run, and no deadline: a first call compiles.
hypothesis.settings.register_profile("xlascope", deadline=None, derandomize=True)
hypothesis.settings.load_profile("xlascope")


def pytest_configure(config: pytest.Config) -> None:
    for plugin in (
        compiling,
        durations,
        live,
        thorough,
    ):  # for examples in docstrings too, which are no files of this folder
        config.pluginmanager.register(plugin, plugin.__name__)


def pytest_collection_finish() -> None:
    """Leave what collecting made out of what the garbage collector goes through again and again, in 16,000 tests.

    And let it look after thousands of new objects: after hundreds, as usual, it takes a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


@pytest.fixture(scope="module")
def fresh_collector() -> None:
    """For tests that collect garbage often: what thousands of tests before them made is not gone through each time."""
    pytest_collection_finish()


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
    """The compilers for hardware that is not here; without them a test is skipped, in CI it fails."""
    targets = importlib.import_module("xlascope.xla.targets")  # not above: settings are read when it is imported
    try:
        for name in ("gpu:h100", "tpu:v5e"):
            targets.find_plugin(targets.find_target(name))
    except targets.MissingTargetError as error:
        if os.environ.get("XLASCOPE_REQUIRE_TARGETS"):
            raise
        pytest.skip(str(error))
