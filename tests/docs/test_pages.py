"""Every Python block of every page runs, a block with prompts prints what the page shows, and links lead somewhere.

Blocks of one page share their names, from top to bottom. A block fenced as ```` ```python notest ```` is only shown.
"""

import os
import re
import subprocess
import sys
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from pathlib import Path
from typing import Any

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser
from tests import compiling

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "notebooks/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")
#: How a page begins that is about several devices: they have to be there before the first array is made.
DEVICES = re.compile(r"<!-- on (\d+) devices -->")
#: How one begins whose blocks import jax, which has a process of its own.
WITH_JAX = "<!-- with jax -->"
SYBIL = Sybil([PythonCodeBlockParser(doctest_optionflags=ELLIPSIS | NORMALIZE_WHITESPACE)], path=str(ROOT))


#: Pages that show what was measured: whole calls have to be seen, which another process may prevent.
MEASURED = {"doctor.md"}


def _row(page: Path) -> Any:
    marks = [pytest.mark.live] if page.name in MEASURED else []
    return pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks)


every_page = pytest.mark.parametrize("page", [_row(page) for page in PAGES])


@every_page
def test_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if wanted := DEVICES.match(text):
        run_apart(page, {"XLASCOPE_NUM_CPU_DEVICES": wanted[1]})
    elif text.startswith(WITH_JAX):
        run_apart(page, {"JAX_PLATFORMS": "cpu"})
    else:
        run(page)


def run_apart(page: Path, environment: dict[str, str], folder: Path = ROOT) -> None:
    """Run what stands on a page in a process of its own, in a folder."""
    program = f"from pathlib import Path; from tests.docs.test_pages import run; run(Path({str(page)!r}))"
    surroundings = {**os.environ, **compiling.quickly(keep=False), "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=surroundings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


def run(page: Path) -> None:
    """Run what stands on a page."""
    for example in SYBIL.parse(page).examples():
        example.evaluate()


@every_page
def test_links_to_files_lead_somewhere(page: Path) -> None:
    links = LINK.findall(re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8")))  # not in code
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


PROSE = sorted({*PAGES, *(ROOT / "core").rglob("*.md"), *(ROOT / "widgets").rglob("*.md")})


@pytest.mark.parametrize("page", PROSE, ids=[str(page.relative_to(ROOT)) for page in PROSE])
def test_prose_is_as_wide_as_code(page: Path) -> None:
    blocks = re.split(r"^ *```.*$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = (line for block in blocks[::2] for line in block.splitlines())
    assert [line for line in lines if len(line) > 120 and not line.startswith(("|", "!", "<", "[!["))] == []
