"""The repository's address, which stands once, in pyproject.toml, and everything that is made of it."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
BRANCH = "main"

COLAB, BINDER = "https://colab.research.google.com", "https://mybinder.org"
#: What stands between these two comments of a page is written by `make notebooks`.
_BADGES = re.compile(r"(<!-- badges: made by `make notebooks` -->\n).*?(<!-- end -->)", re.DOTALL)


@cache
def repository() -> str:
    """The address of the repository, on GitHub."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["urls"]["Repository"])


def slug() -> str:
    """Owner and name.

    >>> slug().count("/")
    1
    """
    return repository().removeprefix("https://github.com/")


def colab(path: Path) -> str:
    """Where Colab opens a notebook of the repository."""
    return f"{COLAB}/github/{slug()}/blob/{BRANCH}/{path.relative_to(ROOT).as_posix()}"


def binder(path: Path) -> str:
    """Where Binder does."""
    return f"{BINDER}/v2/gh/{slug()}/{BRANCH}?urlpath=lab/tree/{path.relative_to(ROOT).as_posix()}"


def badges(path: Path) -> str:
    """Both, as pictures that are links."""
    return (
        f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({colab(path)})\n"
        f"[![Open in Binder]({BINDER}/badge_logo.svg)]({binder(path)})\n"
    )


def with_badges(page: str, path: Path) -> str:
    """A page with the badges of one notebook where it has a place for them."""
    return _BADGES.sub(lambda found: found[1] + badges(path) + found[2], page)


def notebook_files() -> list[Path]:
    """Every notebook of the repository: those to be read in order, then those for Colab."""
    found = (each for each in NOTEBOOKS.rglob("[!.]*.ipynb") if ".ipynb_checkpoints" not in each.parts)
    return sorted(found, key=lambda path: (len(path.parts), path.name))
