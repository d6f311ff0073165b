"""Record of the tests that are nearest to each source file, in tests/data/nearest.json.

`make mutants STEP=fast-part` writes it, by coverage (`tests/mutation/nearest.py`); `make test` and `make check` run the
tests nearest to what has changed (`tests/nearby.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.thorough import Unit

RECORD = Path(__file__).with_name("data") / "nearest.json"


def read_record() -> dict[str, list[Unit]]:
    """Return the units nearest to each file, the nearest first, by paths from the repository's root."""
    if not RECORD.exists():
        return {}
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    functions = record["functions"]
    return {file: [(functions[number // 4], number % 4) for number in units] for file, units in record["files"].items()}


def write_record(record: Mapping[str, Sequence[Unit]]) -> None:
    """Write a record: functions once, and units as numbers, four for each function."""
    functions = sorted({function for units in record.values() for function, _ in units})
    places = {function: place for place, function in enumerate(functions)}
    files = (
        f"{json.dumps(file)}: {json.dumps([4 * places[function] + quarter for function, quarter in units])}"
        for file, units in record.items()
    )
    text = '{"functions": [\n' + ",\n".join(map(json.dumps, functions))
    RECORD.write_text(text + '\n],\n"files": {\n' + ",\n".join(files) + "\n}}\n", encoding="utf-8")
