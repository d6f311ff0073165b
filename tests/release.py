"""Whether a tag can be released: it, the package's two versions and the changelog have to say the same.

`python -m tests.release v1.2.3`, without anything installed: the release's workflow asks it first.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def complaints(tag: str, root: Path = ROOT) -> list[str]:
    """What speaks against releasing a tag; nothing where nothing does."""
    version = tag.removeprefix("v")
    found = []
    if not re.fullmatch(r"v\d+\.\d+\.\d+((a|b|rc)\d+)?", tag):
        found.append(f"the tag {tag!r} is no version: it reads as v1.2.3 does")
    declared = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if declared != version:
        found.append(f"pyproject.toml has version {declared}")
    init = (root / "core/xlascope/__init__.py").read_text(encoding="utf-8")
    said = re.search(r'^__version__ = "(.*)"$', init, re.MULTILINE)
    if said is None or said[1] != version:
        found.append(f"xlascope.__version__ is {said[1] if said else 'not there'}")
    return [*found, *_of_changelog(version, (root / "CHANGELOG.md").read_text(encoding="utf-8"))]


def _of_changelog(version: str, text: str) -> list[str]:
    parts = dict(re.findall(r"^## \[(.+?)\][^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    found = []
    if "-" not in parts.get(version, ""):
        found.append(f"CHANGELOG.md has nothing under [{version}]")
    if "-" in parts.get("Unreleased", ""):
        found.append("CHANGELOG.md has changes under [Unreleased]: they belong to this version or to a later commit")
    return found


def main(words: Sequence[str]) -> int:
    """Print what speaks against a tag; the exit status."""
    found = complaints(words[0])
    print("\n".join(found) or f"{words[0]} can be released")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
