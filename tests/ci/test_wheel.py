"""What pip installs: looked into, and used in an empty environment of each Python that is here."""

import subprocess
import zipfile
from pathlib import Path

import pytest
from tests import matrix, wheels
from tests.core.test_layering import PACKAGES

from xlascope.runtime import supported_jaxlibs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

#: Pythons that pip may be told to install for; those that are not on the machine are skipped.
PYTHONS = ("3.11", "3.12", "3.13", "3.14")

COMPUTES = """
import sys
import numpy as np
import xlascope as xs
import xlascope.numpy as jnp

gradient = xs.jit(xs.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2)))
x = np.linspace(0.1, 1.0, 4, dtype=np.float32)
np.testing.assert_allclose(gradient(x), 2 * np.tanh(x) / np.cosh(x) ** 2, rtol=1e-5)
np.testing.assert_allclose(xs.numpy.linalg.cholesky(4 * np.eye(2)), 2 * np.eye(2))
print("fusions" if "tanh" in str(xs.inspect.fusions(gradient, x)) else "no fusions")
print(*sorted({module.__file__ for module in list(sys.modules.values()) if "xlascope" in module.__name__}), sep="\\n")
"""
CELLS = """
get_ipython().run_line_magic("load_ext", "xlascope")
import xlascope as xs, xlascope.numpy as jnp
get_ipython().run_line_magic("explore", "--text xs.jit(jnp.tanh)(jnp.ones(3))")
get_ipython().run_line_magic("target", "")
"""
SCRIPT = "import xlascope as xs, xlascope.numpy as jnp\nprint(xs.jit(lambda x: jnp.sin(x) + 1)(jnp.ones(3)))\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheels.build(tmp_path_factory.mktemp("wheel"))


def test_it_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    extension = {name for name in names if ".data/data/share/jupyter/labextensions/xlascope/" in name}
    assert {name.split("/xlascope/")[1] for name in extension} == {"package.json", "static/remoteEntry.js"}
    names -= extension
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *map(str, PACKAGES.values())],
        cwd=wheels.ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert names == {name.split("/", 1)[1] for name in tracked}
    for package in PACKAGES:
        assert f"{package}/py.typed" in names
    assert {"xlascope/numpy/__init__.pyi", "xlascope_widgets/static/widget.js"} <= names
    assert not any(name.endswith(".ipynb") or "/tests/" in name for name in names)


@pytest.fixture(scope="module", params=PYTHONS)
def installed(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has the wheel and what it asks for, and nothing else."""
    found = matrix.interpreter(request.param)
    if found is None:
        pytest.skip(f"there is no Python {request.param} on this machine")
    home = tmp_path_factory.mktemp("installed")
    subprocess.run([str(found), "-m", "venv", str(home / "venv")], check=True)
    python = home / "venv/bin/python"
    wheels.pip("install", str(wheel), python=python)
    return python


def said(python: Path, folder: Path, *arguments: str) -> str:
    """What a process of that interpreter prints, in an empty folder; fails where it fails or complains."""
    done = subprocess.run(
        [str(python), *arguments], cwd=folder, env=wheels.surroundings(), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    return done.stdout


def test_it_computes_with_nothing_of_the_checkout(installed: Path, tmp_path: Path) -> None:
    first, *files = said(installed, tmp_path, "-c", COMPUTES).splitlines()
    assert first == "fusions" and len(files) > 100
    assert all(file.startswith(str(installed.parents[1])) for file in files)
    packages = said(installed, tmp_path, "-m", "pip", "list", "--format", "freeze")
    (jaxlib,) = [line.partition("==")[2] for line in packages.splitlines() if line.startswith("jaxlib==")]
    assert supported_jaxlibs.is_tested(jaxlib) and "jax==" not in packages.replace("\njaxlib==", "")


def test_a_notebook_loads_it(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "cells.py").write_text(CELLS)
    shown = said(installed, tmp_path, "-m", "IPython", "--no-banner", "--colors=NoColor", "cells.py")
    assert "tanh" in shown and "compilers that are here: cpu" in shown


def test_a_terminal_asks_it(installed: Path, tmp_path: Path) -> None:
    assert "gpu: " in said(installed, tmp_path, "-m", "xlascope", "targets")
    (tmp_path / "train.py").write_text(SCRIPT)
    done = subprocess.run(
        [str(installed), "-m", "xlascope", "watch", "-o", "run", "train.py"],
        cwd=tmp_path,
        env=wheels.surroundings(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0 and done.stdout.startswith("[1.84147"), done.stderr
    assert "sin" in (tmp_path / "run.json").read_text() and "<script" in (tmp_path / "run.html").read_text()
