"""What noting calls takes: few looks at their results, and short bursts where each look takes long."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from xlascope.inspect.running import call_counter, profile_sampler, result_paths, running_programs
from xlascope.inspect.running.completion_tracker import CompletionTracker, DispatchedCall
from xlascope.inspect.running.profile_sampler import BURST_CALLS, PAIR_OF_CALLS, Sampler
from xlascope.records import Compiled, Kernel, Started


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
    "another number": ([[Result(9), Result(4)], [Result(1), Result(4), Result(7)]], [1, 1]),
    "a donated one": ([[Result(9), Result(4)], [Result(9), Result(4, deleted=True)]], [1, 0]),
    "none that can be waited for": ([[], [np.ones(3)], [np.ones(3), Result(4)]], [None, None, 1]),
}


@pytest.mark.parametrize("case", RESULTS)
def test_a_call_is_followed_by_its_smallest_result(case: str) -> None:
    tracker = CompletionTracker(lambda *_: None)
    calls, expected = RESULTS[case]
    chosen = [tracker._choose_array("f", results, flatten) for results in calls]
    assert chosen == [None if index is None else results[index] for results, index in zip(calls, expected, strict=True)]


class Node:
    """A container that only the registry of trees knows."""

    def __init__(self, *children: Any) -> None:
        self.children = children


class Pair(NamedTuple):
    first: Any
    second: Any


def flatten(results: Any) -> list[Any]:
    """Return the leaves of results, as an engine's registry does."""
    if isinstance(results, dict):
        results = [results[key] for key in sorted(results)]
    children = results.children if isinstance(results, Node) else results
    return [leaf for child in children for leaf in flatten(child)] if isinstance(children, list | tuple) else [results]


A, B, C = Result(1), Result(2), Result(3)
STRUCTURES: dict[str, tuple[Any, Any, Any, Any]] = {  # results, one of them, those of another call, what is found there
    "the result itself": (A, A, B, B),
    "a named tuple in a dict": ({"p": Pair(A, B), "q": C}, B, {"p": Pair(B, A), "q": C}, A),
    "another key": ({"p": A}, A, {"q": A}, None),
    "shorter": ([A, B], B, [A], None),
    "an array in place of a container": (([A],), A, (B,), None),
    "an unknown container": ((Node(A, B), C), B, (Node(C, A), B), A),
    "an unknown container of another size": ((Node(A, B), C), B, (Node(A, B, C), C), None),
}


@pytest.mark.parametrize("case", STRUCTURES)
def test_a_path_leads_to_the_same_place_in_another_calls_results(case: str) -> None:
    results, array, others, expected = STRUCTURES[case]
    path = result_paths.find_path(results, array, flatten)
    assert result_paths.follow_path(results, path, flatten) is array
    assert result_paths.follow_path(others, path, flatten) is expected


def test_sizes_of_results_are_read_once_for_a_function() -> None:
    tracker = CompletionTracker(lambda *_: None)
    results = [Result(size) for size in range(1000, 0, -1)]
    Result.asked = 0
    for number in range(20):
        tracker.add(DispatchedCall("f", None, {"f": number + 1}, {}, 0.0), results, flatten)
    assert 0 < Result.asked <= 2 * len(results)
    tracker.stop(1.0)


@pytest.mark.parametrize(("seconds", "noting", "most"), [(2e-2, 0.0, 40), (2e-3, 0.0, 18), (2e-2, 1e-2, 18)])
def test_calls_are_noted_more_rarely_where_they_are_joined_or_noting_takes_long(
    monkeypatch: pytest.MonkeyPatch, seconds: float, noting: float, most: int
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
        now += seconds
    first = call_counter.FIRST_REPORTED_CALLS
    assert noted[:first] == list(range(1, first + 1)) and most - 5 <= len(noted) <= most
    assert counter.read() == {"f": 200}


@pytest.mark.parametrize(
    ("call_seconds", "noted", "seconds", "calls"),
    [
        (0.1, 0, 0.0, BURST_CALLS),
        (0.1, 100, 1e-3, BURST_CALLS),
        (0.1, 20, 1e-3, 10),
        (0.1, 10, 1.0, PAIR_OF_CALLS),
        (2e-3, 100, 1e-3, PAIR_OF_CALLS),
        (2e-3, 10, 1.0, PAIR_OF_CALLS),
        (1e-4, 100, 1e-3, PAIR_OF_CALLS),
        (0.0, 100, 1e-3, PAIR_OF_CALLS),
    ],
)
def test_a_burst_takes_no_more_than_its_share_of_the_time(
    call_seconds: float, noted: int, seconds: float, calls: int
) -> None:
    sampler = Sampler()
    sampler._noted, sampler._noting = noted, seconds
    assert sampler._burst_length(call_seconds) == calls
    share = profile_sampler.MAX_NOTING_FRACTION * profile_sampler.TICK_SECONDS
    assert calls == PAIR_OF_CALLS or calls * seconds / max(noted, 1) <= share


def test_times_are_computed_once_at_a_read_of_the_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler, computed = Sampler(windows=False), []
    running = sampler._running
    compute = running._compute_times
    monkeypatch.setattr(running, "_compute_times", lambda: computed.append(1) or compute())
    for number in range(3):
        sampler._completed.append((DispatchedCall("f", None, {"f": number}, {}, 0.0), float(number), True, False))
        sampler._update_counts()
        sampler._completed.append((DispatchedCall("f", None, {"f": number}, {}, 0.0), 0.5 + number, True, False))
        sampler._ask_for_calls()
        assert len(computed) == number + 1


def test_completions_are_added_up_together_before_the_next_program_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = Sampler(windows=False)
    seen: list[str] = []
    running = sampler._running
    monkeypatch.setattr(running, "add_completion", lambda call, *_: seen.append(f"completion {call.returned:.0f}"))
    monkeypatch.setattr(running, "add_python_call", lambda *_: seen.append("begin"))
    monkeypatch.setattr(sampler, "_wake", lambda: None)
    for number in range(4):
        sampler._on_completion(DispatchedCall("f", None, {}, {}, float(number)), 0.0, True, False)
    assert seen == ["completion 0"]  # the first time of a function is published at once
    sampler._receive(Started(1, "g", "run", 0.0))
    assert seen == ["completion 0", "completion 1", "completion 2", "completion 3", "begin"]
    for number in range(profile_sampler.MAX_BATCH_COMPLETIONS):
        sampler._on_completion(DispatchedCall("f", None, {}, {}, float(number)), 0.0, True, False)
    assert len(seen) == 5 + profile_sampler.MAX_BATCH_COMPLETIONS


def test_the_first_time_of_a_program_is_published_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = Sampler(windows=False)
    finished = sampler._running._finished
    monkeypatch.setattr(sampler._running, "add_completion", lambda call, *_: finished.update({call.program or 0: 1}))
    woken = []
    for program in (1, 1, 2):
        sampler._wake_event.clear()
        sampler._on_completion(DispatchedCall(None, program, {}, {}, 0.0), 0.0, True, False)
        woken.append(sampler._wake_event.is_set())
    assert woken == [True, False, True]


def test_calls_that_were_noted_keep_the_starts_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = Sampler(windows=False)
    monkeypatch.setattr(sampler, "_wake", lambda: None)
    noted = []
    for _ in range(3):
        sampler._receive(Started(1, "g", "run", 0.0))
        noted.append(sampler._starts)
    assert noted == [{1: 1}, {1: 2}, {1: 3}]


def compiled(module: str) -> Compiled:
    kernel = Kernel("sin", "fusion", "single", "f32[4]", (), 1, 0, 16, 16, 0)
    text = "ENTRY %main (x: f32[4]) -> f32[4] {\n  ROOT %sin = f32[4]{0} sine(%x)\n}"
    return Compiled(1, "f", 0.0, 1.0, "miss", "cpu", ("cpu:0",), module, (kernel,), text)


def test_the_order_of_kernels_is_read_when_a_profile_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    original = running_programs.read_schedules
    monkeypatch.setattr(running_programs, "read_schedules", lambda *args: read.append(args[0]) or original(*args))
    programs = running_programs.RunningPrograms(lambda function: ())
    for number in range(3):
        programs.learn_modules(compiled(f"m{number}"))
        programs.learn_modules(compiled(f"m{number}"))
    assert not read
    assert programs.schedules == {f"m{number}": (("sin",),) for number in range(3)} and len(read) == 3
    assert len(programs.schedules) == len(read) == 3
    for number in range(running_programs.MAX_UNREAD_MODULES + 2):
        programs.learn_modules(compiled(f"n{number}"))
    assert len(read) == 5  # texts are large: not all of them wait
