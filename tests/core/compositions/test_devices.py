"""pmap and shard_map in transformations, and these in them, against one device."""

from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).with_name("devices.py")


@pytest.mark.parametrize(("which", "least"), [("few", 10), pytest.param("many", 166, marks=pytest.mark.slow)])
def test_many_devices_give_what_one_gives(which: str, least: int, on_eight: Any) -> None:
    found = on_eight(PROGRAMS, which)
    assert len(found) >= least
    assert {row: error for row, error in found.items() if not error < 1e-5} == {}
