"""What a plan of memory comes to."""

from xlascope.analysis.memory import live_buffers_at, live_bytes, peak_position
from xlascope.records import Buffer


def test_live_ranges_count_shared_places_once() -> None:
    carry = [Buffer(name, "temporary", (), 0, 8, 16, 0, 2) for name in "ab"]
    later = Buffer("c", "temporary", (), 0, 0, 32, 3, 3)
    assert live_bytes([*carry, later], 5) == [16, 16, 16, 32, 0]
    assert live_buffers_at([*carry, later], 1) == carry[:1]
    assert peak_position([]) == 0
