"""The order of the front end's rooms: a file imports from its own room and from those above it in ROOMS, no others.

Types count as well: what a comment takes by `import("…")` has to be found where it may be imported from.
"""

import posixpath
import re
from collections.abc import Iterator

import pytest

from xlascope_widgets import assets
from xlascope_widgets.linker import parse_module

#: The ground first. Rooms of one line do not import from each other.
ROOMS = (
    "ground",
    "program",
    "layout",
    "store",
    "parts",
    "source graph compiler time compare cards array",
    "pictures",
    "frame",
)
RANK = {room: rank for rank, line in enumerate(ROOMS) for room in line.split()}
FILES = sorted(path.relative_to(assets.STATIC).as_posix() for path in assets.STATIC.rglob("*.js"))
#: Columns of a line, as in Python.
MOST_COLUMNS = 120
#: Lines of code that hold a text or a pattern.
_LITERAL = re.compile(r"^(?! *(?:/\*\*|\*|//)).*[\"`]|^ */[\^[]")
_TYPE = re.compile(r'import\("(\.[^"]+)"\)')


def room_of(file: str) -> str:
    return file.partition("/")[0] if "/" in file else ""


def imports_of(file: str) -> Iterator[str]:
    """The files that a file imports values or types from."""
    text = (assets.STATIC / file).read_text(encoding="utf-8")
    yield from (each.source for each in parse_module(assets.STATIC, file).imports)
    yield from (posixpath.normpath(posixpath.join(posixpath.dirname(file), found)) for found in _TYPE.findall(text))


def is_allowed(file: str, source: str) -> bool:
    """Return whether a file may import from another one; what stands beside the rooms may import from all."""
    own, other = room_of(file), room_of(source)
    return not own or own == other or (other in RANK and RANK[other] < RANK[own])


def long_lines_of(text: str) -> list[int]:
    """Return the numbers of the lines that are too long; text in quotes and patterns may not be broken."""
    lines = enumerate(text.splitlines(), 1)
    return [number for number, line in lines if len(line) > MOST_COLUMNS and not _LITERAL.search(line)]


def test_every_file_is_in_a_room():
    assert {room_of(file) for file in FILES} == {"", *RANK}


@pytest.mark.parametrize("file", FILES)
def test_imports_run_one_way(file):
    wrong = [source for source in imports_of(file) if not is_allowed(file, source)]
    assert not wrong, f"{file} ({ROOMS}) imports from {', '.join(wrong)}"


@pytest.mark.parametrize("file", FILES)
def test_lines_can_be_read(file):
    assert not long_lines_of((assets.STATIC / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("file", "source", "allowed"),
    [
        ("store/a.js", "ground/b.js", True),
        ("store/a.js", "store/b.js", True),
        ("store/a.js", "frame/b.js", False),
        ("time/a.js", "graph/b.js", False),
        ("widget.js", "frame/b.js", True),
        ("ground/a.js", "widget.js", False),
    ],
)
def test_what_is_allowed(file, source, allowed):
    assert is_allowed(file, source) == allowed
