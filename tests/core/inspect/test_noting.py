"""What noting calls takes: few looks at their results, and short bursts where each look takes long."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from xlascope.inspect.running import call_counter, profile_sampler
from xlascope.inspect.running.completion_tracker import CompletionTracker, DispatchedCall
from xlascope.inspect.running.profile_sampler import BURST_CALLS, PAIR_OF_CALLS, Sampler


class Result:
    """A result that is ready, of so many bytes; it counts how often its size was asked for."""

    asked = 0

    def __init__(self, size: int, deleted: bool = False) -> None:
        self._size, self._deleted = size, deleted

    @property
    def nbytes(self) -> int:
        Result.asked += 1
        return self._size

    def is_deleted(self) -> bool:
        return self._deleted

    def is_ready(self) -> bool:
        return True


RESULTS: dict[str, tuple[list[Sequence[Any]], list[int | None]]] = {  # of successive calls; which one is waited for
    "the same each time": ([[Result(9), Result(4), Result(7)]] * 3, [1, 1, 1]),
    "another number": ([[Result(9), Result(4)], [Result(1), Result(4), Result(7)]], [1, 0]),
    "a donated one": ([[Result(9), Result(4)], [Result(9), Result(4, deleted=True)]], [1, 0]),
    "none that can be waited for": ([[], [np.ones(3)], [np.ones(3), Result(4)]], [None, None, 1]),
}


@pytest.mark.parametrize("case", RESULTS)
def test_a_call_is_followed_by_its_smallest_result(case: str) -> None:
    tracker = CompletionTracker(lambda *_: None)
    calls, expected = RESULTS[case]
    chosen = [tracker._choose_array("f", results) for results in calls]
    assert chosen == [None if index is None else results[index] for results, index in zip(calls, expected, strict=True)]


def test_sizes_of_results_are_read_once_for_a_function() -> None:
    tracker = CompletionTracker(lambda *_: None)
    results = [Result(size) for size in range(1000, 0, -1)]
    Result.asked = 0
    for number in range(20):
        tracker.add(DispatchedCall("f", None, {"f": number + 1}, {}, 0.0), lambda: results)
    assert 0 < Result.asked <= 2 * len(results)
    tracker.stop(1.0)


@pytest.mark.parametrize(("noting", "most"), [(0.0, 40), (1e-3, 28)])
def test_calls_are_noted_more_rarely_where_noting_takes_long(
    monkeypatch: pytest.MonkeyPatch, noting: float, most: int
) -> None:
    now, number = 0.0, 0
    noted: list[int] = []

    def note(*_: Any) -> None:
        nonlocal now
        now += noting
        noted.append(number)

    monkeypatch.setattr(call_counter, "time", SimpleNamespace(perf_counter=lambda: now))
    counter = call_counter._make_counter(lambda function: function, note, None)
    for _ in range(200):
        number += 1
        counter.hook("f", (), {}, None)
        now += 2e-3
    assert noted[:12] == list(range(1, 13)) and most - 5 <= len(noted) <= most
    assert counter.read() == {"f": 200}


@pytest.mark.parametrize(
    ("noted", "seconds", "calls"),
    [(0, 0.0, BURST_CALLS), (50, 1e-3, BURST_CALLS), (10, 1e-3, 10), (10, 1.0, PAIR_OF_CALLS)],
)
def test_a_burst_takes_no_more_than_its_share_of_the_time(noted: int, seconds: float, calls: int) -> None:
    sampler = Sampler()
    sampler._noted, sampler._noting = noted, seconds
    assert sampler._burst_length() == calls
    share = profile_sampler.MAX_NOTING_FRACTION * profile_sampler.TICK_SECONDS
    assert calls == PAIR_OF_CALLS or calls * seconds / max(noted, 1) <= share
