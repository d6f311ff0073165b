"""`make lab` says what it does and which page shows the first notebook; notebooks are numbered without gaps."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from notebooks.making import address

ROOT = address.ROOT
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+(/\S*)\?token=")


#: What `make` hands on to a `make` that it runs, as these tests do under `make test`.
OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES")


def lab_lines(*arguments: str) -> list[str]:
    """The lines that `make lab` would run in a fresh checkout, or print."""
    made = ["make", "--no-print-directory", "--dry-run", "lab", "VENV=build/no-such-environment", *arguments]
    alone = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    return subprocess.run(made, cwd=ROOT, env=alone, capture_output=True, text=True, check=True).stdout.splitlines()


def test_make_lab_says_what_it_is_doing() -> None:
    lines = lab_lines()
    said = [number for number, line in enumerate(lines) if line.startswith("echo ")]
    slow = [number for number, line in enumerate(lines) if re.search(r"-m (venv|pip|jupyterlab) ", line)]
    assert len(slow) == 3 and said == [number - 1 for number in slow]
    assert all(len(lines[number]) < 100 for number in said)


def test_the_printed_address_is_that_of_the_first_notebook(tmp_path: Path) -> None:
    command = shlex.split(lab_lines("LAB_ARGS=--no-browser")[-1])
    assert command[1:3] == ["-m", "jupyterlab"] and "--no-browser" in command
    home = {name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    first = f"/lab/tree/{address.notebook_files()[0].relative_to(ROOT)}"
    server = subprocess.Popen(
        [sys.executable, *command[1:], "--ServerApp.port=0"],
        cwd=ROOT,
        env=os.environ | home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert server.stdout is not None
        printed = (found[1] for line in server.stdout if (found := ADDRESS.search(line)))
        assert next(printed, "no address") == first
    finally:
        server.terminate()
        server.communicate(timeout=60)


def test_notebooks_are_numbered_without_gaps() -> None:
    for folder, prefix, digits in ((address.NOTEBOOKS, "", 2), (address.NOTEBOOKS / "colab", "c", 1)):
        names = sorted(path.name for path in folder.glob("*.ipynb"))
        assert [name.partition("_")[0] for name in names] == [
            f"{prefix}{number:0{digits}}" for number in range(1, len(names) + 1)
        ]
