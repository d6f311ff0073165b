"""Plugin of pytest, `-p tests.selection`, that writes which tests were collected or runs those that a file names.

`--write-selected FILE` writes the id of each test and whether it is live; `--select-from FILE` leaves only the tests
that the file names, in its order. A name is the id of a test, a quarter of the rows of a function (`a.py::f#2`, see
`tests/thorough.py`) or a file of tests. Names stay out of command lines, where thousands do not fit.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.thorough import Unit, unit_of


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-selected", metavar="FILE", help="write the tests that were collected to this file")
    parser.addoption("--select-from", metavar="FILE", help="run only the tests that this file names")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if path := config.getoption("--select-from"):
        places: dict[str, int] = {}
        for place, name in enumerate(json.loads(Path(path).read_text(encoding="utf-8"))):
            places.setdefault(name, place)
        found = [min((places[name] for name in names_of(item.nodeid) if name in places), default=-1) for item in items]
        config.hook.pytest_deselected(items=[item for item, place in zip(items, found, strict=True) if place < 0])
        chosen = [(place, item) for item, place in zip(items, found, strict=True) if place >= 0]
        items[:] = [item for _, item in sorted(chosen, key=lambda pair: pair[0])]


def names_of(test: str) -> tuple[str, str, str]:
    """Return the names under which a file may choose a test: its id, its quarter of a function's rows, its file.

    >>> names_of("tests/test_a.py::test_b[c]")
    ('tests/test_a.py::test_b[c]', 'tests/test_a.py::test_b#1', 'tests/test_a.py')
    """
    return test, name_of(unit_of(test)), test.partition("::")[0]


def name_of(unit: Unit) -> str:
    """Return the name of a quarter of the rows of a function."""
    function, quarter = unit
    return f"{function}#{quarter}"


def pytest_collection_finish(session: pytest.Session) -> None:
    if path := session.config.getoption("--write-selected"):
        selected = [(item.nodeid, "live" in item.keywords) for item in session.items]
        Path(path).write_text(json.dumps(selected), encoding="utf-8")
