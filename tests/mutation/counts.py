"""Counts of mutants of several sessions: `tests/data/mutants.json` has one for each, CONTRIBUTING their sum.

A session takes hours, and its data in build/mutation go with the machine. Sessions draw by other seeds, from code that
differs little, so their counts add up to one sample.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.mutation.intervals import share_and_interval

_ROOT = Path(__file__).resolve().parents[2]
RECORD = _ROOT / "tests" / "data" / "mutants.json"
PAGE = _ROOT / "CONTRIBUTING.md"
_TABLE = re.compile(r"(?<=<!-- mutants: made by `make mutants STEP=keep` -->\n\n).*?(?=\n\n)", re.DOTALL)


class Count(NamedTuple):
    """Mutants of one session: how many were tried, how many count, and how many of these were noticed.

    ``suite`` are those that the whole suite noticed, ``fast`` those of them that the fast part noticed.
    """

    date: str
    revision: str
    seed: str
    tried: int
    counted: int
    suite: int
    fast: int

    @classmethod
    def of(cls, mutants: Sequence[dict[str, Any]], revision: str, seed: str) -> Count:
        """Return the count of the mutants that a session has tried, with today's date."""
        counted = [mutant for mutant in mutants if mutant["outcome"] in ("noticed", "survived")]
        suite = sum(mutant["outcome"] == "noticed" for mutant in counted)
        fast = sum(bool(mutant["fast"]) for mutant in counted)
        today = datetime.date.today().isoformat()
        return cls(today, revision, seed, len(mutants), len(counted), suite, fast)


def read() -> list[Count]:
    """Return the recorded counts, those of the first session first."""
    return [Count(**row) for row in json.loads(RECORD.read_text(encoding="utf-8"))]


def keep(count: Count) -> None:
    """Record a session's count, in place of an earlier one of the same seed, and write the table of CONTRIBUTING."""
    counts = [*(row for row in read() if row.seed != count.seed), count]
    rows = ",\n".join(json.dumps(row._asdict()) for row in counts)
    RECORD.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), counts), encoding="utf-8")


def with_table(page: str, counts: Iterable[Count]) -> str:
    """Return a page with the table of the counts' sum in place of the one that it has."""
    return _TABLE.sub(lambda _: "\n".join(table(counts)), page)


def table(counts: Iterable[Count]) -> list[str]:
    """Return the lines of the table: what was noticed of all mutants that count, with 95 % intervals."""
    rows = list(counts)
    counted, suite, fast = (sum(getattr(row, name) for row in rows) for name in ("counted", "suite", "fast"))
    lines = [
        ("by the whole suite", suite, counted),
        ("by `make test`", fast, counted),
        ("of what the whole suite noticed, by `make test`", fast, suite),
    ]
    cells = [(name, *share_and_interval(part, of)) for name, part, of in lines]
    return ["| | noticed | 95 % interval |", "| --- | --- | --- |", *(f"| {' | '.join(row)} |" for row in cells)]
