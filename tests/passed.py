"""Record of the files with which `make test` has passed here, and what has changed since.

build/passed.json has a checksum of each file of the sources and the tests. Where nothing has passed yet, what is not
committed and what is not in the branch that this one comes from counts as changed.
"""

from __future__ import annotations

import json
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "build" / "passed.json"
#: Folders whose files tests are about.
FOLDERS = ("core", "kernel_ext", "widgets", "tests")


def note() -> None:
    """Note that the files passed, as they are now."""
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps({file: _checksum(file) for file in _files()}, indent=0), encoding="utf-8")


def changed_files() -> list[Path]:
    """Return the files that differ from those that passed, in the order of their names; those that are gone are not."""
    if not RECORD.exists():
        return _uncommitted_files()
    passed = json.loads(RECORD.read_text(encoding="utf-8"))
    return [ROOT / file for file in _files() if passed.get(file) != _checksum(file)]


def _files() -> list[str]:
    return sorted({line for line in _git("ls-files", "-co", "--exclude-standard", *FOLDERS) if (ROOT / line).is_file()})


def _checksum(file: str) -> int:
    return zlib.crc32((ROOT / file).read_bytes())


def _uncommitted_files() -> list[Path]:
    base = next(_git("merge-base", "HEAD", "@{upstream}"), "HEAD")
    changed = {*_git("diff", "--name-only", base), *_git("ls-files", "--others", "--exclude-standard")}
    return [ROOT / line for line in sorted(changed) if line.startswith(FOLDERS) and (ROOT / line).is_file()]


def _git(*arguments: str) -> Iterator[str]:
    """Yield the lines that git prints; none where it fails."""
    ran = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    yield from ran.stdout.splitlines() if ran.returncode == 0 else ()


if __name__ == "__main__":
    note()
