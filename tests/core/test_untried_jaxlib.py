"""A jaxlib that nobody has tried: the one that is here, which says that it is newer, in interpreters of their own.

`sitecustomize` says so before anything else is imported, to the process that checks as well.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from xlascope.runtime import supported_jaxlibs, untested_jaxlib

NEWER = f"{supported_jaxlibs.first_untested_version()}.0"
_FAKE = f"""
import pathlib
import jaxlib, jaxlib.version
jaxlib.__version__ = jaxlib.version.__version__ = {NEWER!r}
_glob = pathlib.Path.glob
def _find(folder, pattern, **options):
    if pattern == "jaxlib-*.dist-info":
        return iter([folder / "jaxlib-{NEWER}.dist-info"])
    return _glob(folder, pattern, **options)
pathlib.Path.glob = _find
"""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Compute with that jaxlib, in an interpreter whose user has a cache folder of the test's."""

    def run(broken: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "sitecustomize.py").write_text(_FAKE + broken)
        around = {name: value for name, value in os.environ.items() if not name.startswith("XLASCOPE_")}
        around |= {"PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), **settings}
        program = "import xlascope.numpy as jnp; print(jnp.ones(2) + 1)"
        return subprocess.run(
            [sys.executable, "-c", program], env=around, cwd=tmp_path, capture_output=True, text=True, timeout=300
        )

    return run


def test_it_starts_with_one_line_and_its_check_is_made_once(run: Run, tmp_path: Path) -> None:
    first = run()
    assert first.stdout == "[2. 2.]\n"
    (line,) = first.stderr.splitlines()
    assert line.startswith(f"jaxlib {NEWER} is newer than {supported_jaxlibs.NEWEST.version}, ")
    (kept,) = (tmp_path / "cache/xlascope/jaxlibs").iterdir()
    assert NEWER in kept.name
    # What is kept is believed: a call that would fail now is not made, and the program needs it not.
    again = run("import sys; sys.modules['jaxlib.lapack'] = None")
    assert (again.stdout, again.stderr) == (first.stdout, first.stderr)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("import sys; sys.modules['jaxlib.lapack'] = None", "call 'factorizations' fails: ModuleNotFoundError: "),
        ("from jaxlib import _jax; del _jax.array_result_handler", "call 'import xlascope' fails: AttributeError: "),
        (
            "from jaxlib import _jax; import os; _jax.pjit = lambda *_, **__: os.abort()",
            "call 'calls' ends the process (signal 6)",
        ),
    ],
)
def test_one_with_which_a_call_fails_is_refused_and_the_call_named(
    run: Run, tmp_path: Path, broken: str, words: str
) -> None:
    done = run(broken)
    error = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and error.startswith("ImportError: ") and words in error
    assert f'pip install --upgrade xlascope "{supported_jaxlibs.tested_requirement()}"' in error
    assert not (tmp_path / "cache/xlascope/jaxlibs").exists()


def test_developers_go_on_all_the_same(run: Run, tmp_path: Path) -> None:
    done = run("import sys; sys.modules['jaxlib.lapack'] = None", XLASCOPE_ALLOW_ANY_JAXLIB="1")
    assert (done.stdout, done.stderr) == ("[2. 2.]\n", "")
    assert not (tmp_path / "cache").exists()


def test_without_a_cache_folder_the_check_is_made_each_time(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert run().stdout == "[2. 2.]\n"


def test_settings_of_the_user_do_not_change_the_check(run: Run) -> None:
    assert run(JAX_ENABLE_X64="1", XLASCOPE_DISABLE_JIT="1", XLA_FLAGS="").stdout == "[2. 2.]\n"


@pytest.mark.parametrize(
    ("output", "call"),
    [
        (None, "import xlascope"),
        ("", "import xlascope"),
        ("add\n", "add"),
        ("add\nmul", "mul"),
        (b"add mul \xff", "\ufffd"),
    ],
)
def test_the_call_that_was_running_is_the_last_word(output: str | bytes | None, call: str) -> None:
    assert untested_jaxlib._last_word(output) == call
