"""What was recorded of programs, with the text that is shown of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from xlascope.records import Executed, Record
from xlascope_widgets import text


def measured_programs(seen: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the last measurement of each program among records, as a dictionary, with the ``text`` shown of it."""
    numbers = dict.fromkeys(record.program for record in seen if isinstance(record, Executed))
    return [_measured([record for record in seen if getattr(record, "program", None) == number]) for number in numbers]


def _measured(of_program: Sequence[Record]) -> dict[str, Any]:
    last = next(record for record in reversed(of_program) if isinstance(record, Executed))
    return dataclasses.asdict(dataclasses.replace(last, devices=())) | {"text": text(of_program, jaxpr=False)}
