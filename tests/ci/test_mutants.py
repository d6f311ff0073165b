"""Counts of mutants: what is recorded is what CONTRIBUTING says."""

from typing import Any

import pytest
from tests.mutation import counts
from tests.mutation.counts import Count

FIRST = Count("2026-11-28", "a7fff748", "2026", 80, 76, 53, 49)


def test_the_page_has_the_table_of_the_record() -> None:
    page = counts.PAGE.read_text(encoding="utf-8")
    assert "\n".join(counts.table(counts.read())) in page
    assert counts.with_table(page, counts.read()) == page
    assert counts.with_table(page, [FIRST, FIRST]) != page


def test_counts_are_added_up() -> None:
    assert counts.table([FIRST, FIRST._replace(seed="1", counted=24, suite=17, fast=16)])[2:] == [
        "| by the whole suite | 70 of 100, 70 % | 60 to 78 % |",
        "| by `make test` | 65 of 100, 65 % | 55 to 74 % |",
        "| of what the whole suite noticed, by `make test` | 65 of 70, 93 % | 84 to 97 % |",
    ]


def test_what_fails_its_import_or_a_smoke_test_does_not_count() -> None:
    outcomes: list[dict[str, Any]] = [
        {"outcome": "import"},
        {"outcome": "smoke"},
        {"outcome": "survived", "fast": False},
    ]
    outcomes += [{"outcome": "noticed", "fast": True}, {"outcome": "noticed", "fast": False}]
    assert Count.of(outcomes, "abc", "7")[1:] == ("abc", "7", 5, 3, 2, 1)


def test_a_session_that_goes_on_replaces_its_own_count(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RECORD", "PAGE"):
        path = tmp_path / name
        path.write_text(getattr(counts, name).read_text(encoding="utf-8"), encoding="utf-8")
        monkeypatch.setattr(counts, name, path)
    before = counts.read()
    for counted in (80, 90):
        counts.keep(FIRST._replace(seed="of this test", counted=counted))
    assert counts.read() == [*before, FIRST._replace(seed="of this test", counted=90)]
    assert "\n".join(counts.table(counts.read())) in counts.PAGE.read_text(encoding="utf-8")
