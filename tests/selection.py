"""Plugin of pytest, `-p tests.selection`, that writes which tests were collected or runs those that a file names.

`--write-selected FILE` writes the id of each test and whether it is live; `--select-from FILE` leaves only the tests
whose ids the file has, in its order. Ids stay out of command lines, where thousands do not fit.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-selected", metavar="FILE", help="write the tests that were collected to this file")
    parser.addoption("--select-from", metavar="FILE", help="run only the tests that this file names")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if path := config.getoption("--select-from"):
        places = {test: place for place, test in enumerate(json.loads(Path(path).read_text(encoding="utf-8")))}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in places])
        items[:] = sorted((item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid])


def pytest_collection_finish(session: pytest.Session) -> None:
    if path := session.config.getoption("--write-selected"):
        selected = [(item.nodeid, "live" in item.keywords) for item in session.items]
        Path(path).write_text(json.dumps(selected), encoding="utf-8")
