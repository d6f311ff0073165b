"""Comparisons read from files that ``Diff.to_json`` wrote, computed anew."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ...records.events import Record
from ...records.store import VERSION, from_json, load
from .changes import Timing
from .compare import Diff, compare
from .timing import compare_timings

_KEY = "xlascope_diff"


def load_shown(file: str | os.PathLike[str]) -> tuple[Record, ...] | Diff:
    """Return the records or the comparison that a file holds.

    Raises ValueError, naming the file, when it is damaged, holds something else, or has another version.
    """
    with Path(file).open("rb") as stream:
        begin = stream.read(200)
    if f'"{_KEY}"'.encode() not in begin:
        return load(file)
    try:
        return diff_from_json(json.loads(Path(file).read_bytes()))
    except RecursionError:
        raise ValueError(f"{os.fspath(file)}: nested too deeply to be a comparison") from None
    except ValueError as error:
        raise ValueError(f"{os.fspath(file)}: {error}") from error


def diff_from_json(data: dict[str, Any]) -> Diff:
    """Return the comparison in a dict of :meth:`Diff.to_json`; raise ValueError for any other dict."""
    if data.get(_KEY) != VERSION:
        raise ValueError(f"a comparison of version {data.get(_KEY)!r}; this xlascope reads version {VERSION}")
    labels, sides = data.get("labels"), [data.get("before"), data.get("after")]
    if not (isinstance(labels, list) and len(labels) == 2 and all(isinstance(item, str) for item in labels)):
        raise ValueError("labels: expected two texts")
    if not all(isinstance(side, list) for side in sides):
        raise ValueError("before and after: expected lists of records")
    before, after = ([from_json(item) for item in side or ()] for side in sides)
    return compare(
        before,
        after,
        labels=(labels[0], labels[1]),
        timing=_timing_from_json(data.get("timing")),
        unmeasured=str(data.get("unmeasured", "")),
    )


def _timing_from_json(data: Any) -> Timing | None:
    if data is None:
        return None
    try:
        sides = [[float(value) for value in data[name]] for name in ("before", "after")]
        first, second = data.get("calls", (0, 0))
        return compare_timings(sides[0], sides[1], str(data["source"]), (int(first), int(second)))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError("timing: expected measurements of both programs") from error
