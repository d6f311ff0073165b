"""The sampler on programs that run: exact counts, measured times, and nothing left behind."""

import threading
import time
from typing import Any

import pytest
from jaxlib import _profiler

import xlascope as xs
from xlascope import inspect, records
from xlascope.inspect.running.profile_sampler import STOP_TIMEOUT_SECONDS, Sampler
from xlascope.records.watchers import watchers
from xlascope.runtime.boot import post_hook


def run(step: Any, seconds: float) -> int:
    """Train for so long; returns the number of calls."""
    params, calls, until = step.params, 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        params = step.update(params, step.x, step.y)
        calls += 1
        if calls % 20 == 0:
            xs.block_until_ready(params)
    xs.block_until_ready(params)
    return calls


def executed(seen: list[Any]) -> list[Any]:
    return [each for each in seen if isinstance(each, records.Executed)]


def test_calls_are_counted_exactly_and_times_are_measured(step: Any) -> None:
    step.update(*step.arguments)
    seen: list[Any] = []
    calls, began = 0, time.perf_counter()
    with records.watch(seen.append), Sampler():
        while time.perf_counter() < began + 60.0 and not any(each.observed_calls for each in executed(seen)):
            calls += run(step, 0.5)
        elapsed = time.perf_counter() - began
    last = executed(seen)[-1]
    assert last.function == "update" and last.calls == calls
    assert 0.5 * elapsed < last.seconds < 1.5 * elapsed
    assert last.observed_calls > 0 and 0 < last.step < 1
    compiled = next(each for each in seen if isinstance(each, records.Compiled))
    assert compiled.program == last.program
    assert {each.kernel for each in last.devices[0].kernels} <= {each.name for each in compiled.kernels}


def test_counts_move_while_the_program_runs(step: Any) -> None:
    step.update(*step.arguments)
    seen: list[Any] = []
    with records.watch(seen.append), Sampler(windows=False):
        run(step, 1.8)
        counts = [each.calls for each in executed(seen)]
    assert len(counts) > 2 and counts == sorted(counts) and counts[0] < counts[-1]


def test_a_program_made_before_is_introduced(step: Any) -> None:
    step.update(*step.arguments)
    seen: list[Any] = []
    with Sampler(emit=seen.append):
        step.update(*step.arguments)
        step.update(*step.arguments)
    # Counts may be told several times: the sampler's clock ticks between two calls where the machine is busy.
    assert list(dict.fromkeys(type(each).__name__ for each in seen)) == ["Traced", "Compiled", "Executed"]
    assert seen[-1].calls == 2 and len({each.program for each in seen}) == 1


def test_two_programs_of_one_function_are_told_apart(step: Any) -> None:
    seen: list[Any] = []
    with Sampler(emit=seen.append):
        step.update(*step.arguments)
        step.update(step.params, step.x[:4], step.y[:4])
    last = {each.program: each.calls for each in executed(seen)}
    assert sorted(last.values()) == [1, 1]


@pytest.mark.parametrize("again", [1, 40])
@pytest.mark.parametrize("windows", [False, True])
def test_calls_before_a_retrace_and_after_it_are_told_apart(step: Any, windows: bool, again: int) -> None:
    """The profiler has seen one call of the second program, and some of the first one's: no shares follow of that."""
    seen: list[Any] = []
    with records.watch(seen.append), Sampler(windows=windows):
        calls = run(step, 0.7)
        for _ in range(again):
            xs.block_until_ready(step.update(step.params, step.x[:4], step.y[:4]))
    last = {each.program: each.calls for each in executed(seen)}
    assert sorted(last.values()) == sorted([calls, again])


def test_of_several_programs_only_those_that_run_are_introduced(step: Any) -> None:
    step.update(*step.arguments)
    step.update(step.params, step.x[:4], step.y[:4])
    seen: list[Any] = []
    with Sampler(emit=seen.append):
        step.update(step.params, step.x[:4], step.y[:4])
    traced, compiled, *counts = seen
    ran = counts[-1]
    assert "f32[4,16]" in traced.text and traced.program == compiled.program == ran.program and ran.calls == 1


def test_the_first_call_is_told_on_the_thread_that_calls(step: Any) -> None:
    step.update(*step.arguments)
    first: list[Any] = []
    with Sampler(emit=lambda record: None, first=lambda function: first.append((function, threading.get_ident()))):
        run(step, 0.01)
    assert first == [(step.update, threading.get_ident())]


def test_an_error_while_telling_of_a_call_does_not_reach_it(step: Any, caplog: pytest.LogCaptureFixture) -> None:
    def fail(function: Any) -> None:
        raise RuntimeError("on purpose")

    step.update(*step.arguments)
    with Sampler(emit=lambda record: None, first=fail):
        step.update(*step.arguments)
    assert "on purpose" in caplog.text


def test_calls_on_behalf_of_an_inspection_do_not_count(step: Any) -> None:
    seen: list[Any] = []
    with Sampler(emit=seen.append):
        inspect.timings(step.update, *step.arguments)
    assert executed(seen) == []


def threads_of_ours() -> list[str]:
    """Those that watch; one that compiles stays for the next program, and counts when it has asked for its name."""
    return sorted(thread.name for thread in threading.enumerate() if thread.name.startswith("xlascope"))


def test_stopping_leaves_nothing_behind(step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []
    join = threading.Thread.join

    def other(*_: Any) -> None:
        pass

    def noted(self: threading.Thread, timeout: float | None = None) -> None:
        waits.append(timeout)
        join(self, timeout)

    post_hook.set_global(other)
    try:
        before = post_hook.get_global(), list(watchers), threads_of_ours()
        with Sampler(emit=lambda record: None) as sampler:
            run(step, 0.3)
            monkeypatch.setattr(threading.Thread, "join", noted)
        assert waits and all(wait is not None and wait <= STOP_TIMEOUT_SECONDS for wait in waits)
        give_up = time.perf_counter() + 5  # a window that is read meanwhile is read to its end
        while threads_of_ours() and time.perf_counter() < give_up:
            time.sleep(0.05)
        assert (post_hook.get_global(), list(watchers), threads_of_ours()) == before
        sampler.stop()
    finally:
        post_hook.set_global(None)


def test_nothing_is_profiled_while_nothing_runs(step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    watch = Sampler._record_window

    def noted(self: Sampler, length: float) -> Any:
        looks.append(time.perf_counter())
        return watch(self, length)

    monkeypatch.setattr(Sampler, "_record_window", noted)
    monkeypatch.setattr("xlascope.inspect.running.profiler_schedule.next_pause_seconds", lambda spent: 0.0)
    with Sampler(emit=lambda record: None):
        run(step, 0.3)
        ended = time.perf_counter()
        time.sleep(2.2)
    # A call that nobody had looked for is looked for once, a window in which calls were seen is followed by one; the
    # clock does not say when, since reading what a window saw takes its time.
    assert looks and sum(look > ended for look in looks) <= 2


def test_somebody_elses_profiler_is_named_once_and_calls_are_still_counted(
    step: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xlascope.inspect.running.profiler_schedule.next_pause_seconds", lambda spent: 0.0)
    step.update(*step.arguments)
    seen: list[Any] = []
    session = _profiler.ProfilerSession()
    try:
        with Sampler(emit=seen.append):
            calls = run(step, 0.8)
    finally:
        session.stop()
    (failure,) = (each for each in seen if isinstance(each, records.Failure))
    assert (failure.program, failure.stage, failure.error) == (None, "profile", "ProfilerInUseError")
    assert executed(seen)[-1].calls == calls and executed(seen)[-1].observed_calls == 0
