"""The time of a call by the host's clock, from when calls are done: in loops of every kind, by hand-made finishes."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from xlascope.inspect.running.step_time import Completion, CompletionHistory, StepTime, StepTimes


class Call(NamedTuple):
    """One call of a program: how long it runs, what its caller does before it, and whether the caller waits for it."""

    program: int
    seconds: float
    before: float = 0.0
    waits: bool = False
    inline: bool = False


def finishes(calls: list[Call], seen: Callable[[int], bool] = lambda number: True) -> Iterator[Completion]:
    """What is heard of these calls on a device that runs one after the other."""
    now = free = 0.0
    counts: dict[int, int] = {}
    for number, call in enumerate(calls, 1):
        now += call.before
        counts[call.program] = counts.get(call.program, 0) + 1
        done = max(now, free) + call.seconds
        returned = done if call.inline else now + 1e-6
        is_queued = returned < free
        free, now = done, done if call.waits or call.inline else returned
        if seen(number):
            yield Completion(call.program, dict(counts), returned, done, waited=not call.inline, queued=is_queued)


def pace_of(calls: list[Call], seen: Callable[[int], bool] = lambda number: True) -> CompletionHistory:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    for finish in finishes(calls, seen):
        pace.add_completion(finish)
    return pace


def seldom(number: int) -> bool:
    return number in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)


LOOPS = {
    "made at once": ([Call(1, 0.08)] * 10, {}, 0.08, "host"),
    "waited for": ([Call(1, 0.08, waits=True)] * 10, {}, 0.08, "host"),
    "made at once, then slept": ([Call(1, 0.08, waits=True, before=0.3)] * 10, {}, 0.08, "host"),
    "a small program": ([Call(1, 2e-5, inline=True)] * 60, {1: 6e-5}, 2e-5, "host"),
    "a small program between sleeps": ([Call(1, 2e-5, before=0.01, inline=True)] * 60, {1: 3e-5}, 3e-5, "profile"),
    "a program of its own before": ([Call(2, 1.0, waits=True), *[Call(1, 0.08)] * 10], {}, 0.08, "host"),
    "one call": ([Call(1, 5.0)], {}, 5.0, "host"),
}


@pytest.mark.parametrize("seen", [lambda number: True, seldom], ids=["every call", "some calls"])
@pytest.mark.parametrize("loop", LOOPS)
def test_the_time_of_a_call(loop: str, seen: Callable[[int], bool]) -> None:
    calls, profiled, seconds, clock = LOOPS[loop]
    found = StepTimes(pace_of(calls, seen), profiled).step(1)
    assert found == StepTime(pytest.approx(seconds, rel=0.02), clock)


def test_two_programs_by_turns_have_times_of_their_own() -> None:
    calls = [Call(1, 0.08), Call(2, 0.02)] * 10
    for pace in (pace_of(calls), pace_of(calls, lambda number: number in (*range(1, 13), 16, 20))):
        times = StepTimes(pace, {})
        assert times.step(1).seconds == pytest.approx(0.08, rel=0.02)
        assert times.step(2).seconds == pytest.approx(0.02, rel=0.02)


def test_where_nothing_tells_a_call_from_what_is_between_it_is_at_most_that() -> None:
    calls = [Call(1, 2e-5, before=0.01, inline=True)] * 10
    assert StepTimes(pace_of(calls), {}).step(1) == StepTime(pytest.approx(0.01, rel=0.02), "host", at_most=True)


def test_before_a_call_is_done_there_is_no_time() -> None:
    assert StepTimes(pace_of([]), {}).step(1) == StepTime(0.0, "")


def test_the_time_from_call_to_call_holds_what_is_between() -> None:
    pace = pace_of([Call(1, 0.08, waits=True, before=0.3)] * 10)
    assert StepTimes(pace, {}).pace(1) == pytest.approx(0.38, rel=0.01)


def test_calls_under_a_profiler_count_only_where_there_are_no_others() -> None:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    slow = [Call(1, 0.5, waits=True)] * 3
    heard = list(finishes([*slow, *[Call(1, 0.1, waits=True)] * 2]))
    pace.begin_window(0.0)
    for finish in heard[:3]:
        pace.add_completion(finish)
    pace.end_window(1.5)
    assert StepTimes(pace, {}).step(1).seconds == pytest.approx(0.5, rel=0.01)
    for finish in heard[3:]:
        pace.add_completion(finish)
    assert StepTimes(pace, {}).step(1).seconds == pytest.approx(0.1, rel=0.01)


def test_a_finish_that_is_heard_late_is_not_believed_against_the_profiler() -> None:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    for number in range(1, 6):  # 80 ms of the program, and Python is busy for 300 ms after each call is made
        pace.add_completion(Completion(1, {1: number}, 0.3 * number - 0.299, 0.3 * number, waited=True))
    assert StepTimes(pace, {1: 0.085}).step(1) == StepTime(0.085, "profile")


def test_a_call_that_was_made_through_python_begins_when_it_was_made() -> None:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    pace.add_completion(Completion(1, {1: 1}, 10.2, 10.5, waited=True, began=10.0))  # it was compiled before
    assert StepTimes(pace, {}).step(1) == StepTime(pytest.approx(0.5), "host")


def test_making_the_next_call_is_time_of_the_call() -> None:
    pace = pace_of([Call(1, 0.002, before=0.0004, waits=True)] * 10)
    assert StepTimes(pace, {1: 0.0021}).step(1) == StepTime(pytest.approx(0.0021, rel=0.01), "profile")
    assert StepTimes(pace, {1: 0.0021}, {1: 0.0004}).step(1) == StepTime(pytest.approx(0.0024, rel=0.01), "host")


@pytest.mark.parametrize("looked", [0.01, 0.3])
def test_two_unprofiled_calls_do_not_outweigh_a_thousand_others(looked: float) -> None:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    pace.begin_window(0.1)
    pace.end_window(0.1 + looked)
    calls = [Call(1, 2e-3)] * 3 + [Call(1, 5e-4)] * 1000  # the first ones take longer
    for finish in finishes(calls, lambda number: number in (1, 2, 3, 1003)):
        pace.add_completion(finish)
    assert StepTimes(pace, {}).pace(1) == pytest.approx(5e-4, rel=0.01)


PERIODS = {
    "made at once": ([Call(1, 0.08)] * 12, 0.08),
    "a small program": ([Call(1, 2e-5, inline=True)] * 60, 2e-5),
    "other work between the calls": ([Call(1, 8.5e-5, before=0.002, inline=True)] * 60, 0.002085),
    "two programs by turns": ([Call(1, 0.08), Call(2, 0.02)] * 12, 0.1),
    "slow first calls": ([Call(1, 5.0), Call(1, 1.0), *[Call(1, 0.08)] * 12], 0.08),
    "a pause in the middle": ([*[Call(1, 0.08)] * 12, Call(1, 0.08, before=9.0), *[Call(1, 0.08)] * 12], 0.08),
}


@pytest.mark.parametrize("loop", PERIODS)
def test_the_period_is_of_warm_calls(loop: str) -> None:
    calls, seconds = PERIODS[loop]
    found = pace_of(calls).period(1)
    assert found is not None and found.clock == "host"
    assert found.low <= found.median <= found.high
    assert found.median == pytest.approx(seconds, rel=0.02)


def test_fewer_than_five_warm_calls_are_listed_one_by_one() -> None:
    pace = pace_of([Call(1, seconds, waits=True) for seconds in (0.9, 0.3, 0.1, 0.2)])
    assert pace.period(1) is None
    assert pace.logs[1].first_calls == pytest.approx([0.3, 0.1, 0.2], rel=0.01)  # nobody knows when the first began


def test_calls_after_a_compilation_are_warm_up_again() -> None:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    heard = list(finishes([*[Call(1, 0.5, waits=True)] * 20, *[Call(1, 0.1, waits=True)] * 20]))
    for finish in heard[:20]:
        pace.add_completion(finish)
    assert pace.is_warm(1)
    pace.restart(1, heard[19].time)
    assert not pace.is_warm(1) and pace.period(1) is None
    for finish in heard[20:]:
        pace.add_completion(finish)
    found = pace.period(1)
    assert found is not None and found.median == pytest.approx(0.1, rel=0.01)
    assert found.calls == 17 and pace.logs[1].warm_from == 23


@pytest.mark.parametrize("late", [{2, 3, 4, 5, 6}, {9, 10, 11}, set(range(3, 20, 2))])
def test_completions_that_are_noticed_late_are_no_times(late: set[int]) -> None:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    heard = list(finishes([Call(1, 0.01)] * 20))
    for number, finish in enumerate(heard, 1):
        noticed = min(other.time for later, other in enumerate(heard, 1) if later >= number and later not in late)
        pace.add_completion(finish._replace(time=noticed + 1e-6 * number, late=number in late))
    found = pace.period(1)
    assert found is not None and found.median == pytest.approx(0.01, rel=0.05)
    assert StepTimes(pace, {}).step(1).seconds == pytest.approx(0.01, rel=0.05)


def test_results_that_are_donated_leave_the_moments_of_return() -> None:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    for number in range(1, 33):  # the queue fills
        pace.add_donated(1, number, 1e-5 * number)
    for number in range(33, 100):
        pace.add_donated(1, number, 0.002 * (number - 32))
    found = pace.period(1)
    assert found is not None and found.median == pytest.approx(0.002, rel=0.02)


NOTING = {  # seconds of noting a call, and of the period; whether a call has ended when it returned
    "calls that have ended": (4e-5, 1e-5, lambda number: True, 1e-5),
    "short calls, most of which have ended": (4e-5, 1e-5, lambda number: number % 3 > 0, 1e-5),
    "short calls, a third of which has ended": (4e-5, 1e-5, lambda number: number % 3 == 0, 1e-5),
    "long calls, noted while they run": (4e-5, 1e-3, lambda number: False, 1e-3),
}


@pytest.mark.parametrize("loop", NOTING)
def test_noting_calls_is_no_part_of_a_period_that_it_makes_longer(loop: str) -> None:
    noting, period, has_ended, seconds = NOTING[loop]
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    now, overhead = 0.0, 0.0
    for number in range(1, 400):
        now += period
        if number < 12 or not number % 20:
            waited = not has_ended(number)
            done = now + 1e-6 * waited
            pace.add_completion(Completion(1, {1: number}, now, done, waited=waited, overhead=overhead))
            is_hidden = period > noting
            now, overhead = now + noting * (not is_hidden), overhead + noting
    found = pace.period(1)
    assert found is not None and found.median == pytest.approx(seconds, rel=0.05)
    assert found.mean == pytest.approx(seconds, rel=0.1)


def test_a_call_before_the_warm_ones_is_not_the_time_of_calls_that_were_noticed_late() -> None:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    pace.add_completion(Completion(1, {1: 1}, 2e-4, 2e-4, waited=True, began=0.0))  # it compiled
    assert StepTimes(pace, {}).step(1) == StepTime(2e-4, "host")
    for number in range(2, 13):
        returned = 2e-4 + 1e-5 * number
        pace.add_completion(Completion(1, {1: number}, returned, 8e-4, waited=True, late=True))
    found = StepTimes(pace, {}).step(1)
    assert found.at_most or not found.seconds


def test_waiting_for_room_in_the_queue_is_no_part_of_a_call() -> None:
    calls = [Call(1, 8e-4), Call(2, 5e-5)] * 30
    times = StepTimes(pace_of(calls), {1: 8e-4, 2: 5e-5}, {1: 4e-4, 2: 4e-4})
    assert times.step(2).seconds == pytest.approx(5e-5, rel=0.05)
    inline = [Call(1, 4e-5, before=1e-3, inline=True)] * 30
    assert StepTimes(pace_of(inline), {1: 5e-6}, {1: 4e-5}).step(1).seconds == pytest.approx(4e-5, rel=0.02)


@pytest.mark.parametrize(("first", "seconds", "clock"), [(8e-4, 7.7e-5, "host"), (1.6e-3, 8e-5, "profile")])
def test_a_divided_share_is_no_shorter_than_a_short_profiled_call(first: float, seconds: float, clock: str) -> None:
    pace = pace_of([Call(1, 8e-4), Call(2, 5e-5)] * 30, lambda number: number % 2 == 0)
    times = StepTimes(pace, {1: first, 2: 8e-5}, short={2: 7e-5})
    assert times.step(2) == StepTime(pytest.approx(seconds, rel=0.02), clock)


def test_the_dispatch_of_a_call_that_runs_within_it_counts_once() -> None:
    calls = [Call(1, 3e-6, before=9e-5)] * 30  # Python takes 90 µs between calls of 38 µs
    times = StepTimes(pace_of(calls), {1: 1e-6}, {1: 3.8e-5})
    assert times.step(1) == StepTime(3.8e-5, "profile")


def test_calls_that_seem_to_be_queued_for_longer_than_their_profile_were_noticed_late() -> None:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    for number in range(1, 30):  # 0.5 ms of the program, and Python holds the interpreter for 3 ms after each call
        returned = 3e-3 * number - 3.1e-3
        pace.add_completion(Completion(1, {1: number}, returned, 3e-3 * number, waited=True, queued=True))
    assert StepTimes(pace, {}).step(1).seconds == pytest.approx(3e-3, rel=0.01)
    assert StepTimes(pace, {1: 6e-4}, {1: 2e-5}).step(1) == StepTime(6e-4, "profile")


@pytest.mark.parametrize(
    ("short", "seconds", "clock"), [(3.2e-4, 3e-4, "host"), (4.3e-4, 5e-4, "profile")], ids=["likely", "unlikely"]
)
def test_queued_calls_that_are_shorter_than_profiled_ones_were_noticed_together(
    short: float, seconds: float, clock: str
) -> None:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    for number in range(1, 30):
        pace.add_completion(Completion(1, {1: number}, 0.0, 3e-4 * number, waited=True, queued=True))
    found = StepTimes(pace, {1: 5e-4}, short={1: short})._isolated_step(1)
    assert found == StepTime(pytest.approx(seconds), clock)


def test_a_share_that_is_far_below_the_profile_is_no_time_of_a_call() -> None:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    for number in range(1, 31):  # both are noticed together, the second one 10 µs after the first
        pace.add_completion(Completion(1, {1: number, 2: number - 1}, 0.0, 1e-3 * number, waited=True, queued=True))
        ended = 1e-3 * number + 1e-5
        pace.add_completion(Completion(2, {1: number, 2: number}, 0.0, ended, waited=True, queued=True))
    assert StepTimes(pace, {}).step(2).seconds == pytest.approx(1e-5, rel=0.01)
    assert StepTimes(pace, {1: 9e-4, 2: 8e-5}).step(2) == StepTime(8e-5, "profile")
    inline = [Call(1, 2e-5, inline=True)] * 60  # the profiler makes a small program three times as slow
    assert StepTimes(pace_of(inline), {1: 6e-5}).step(1) == StepTime(pytest.approx(2e-5), "host")


def test_a_share_below_half_of_the_profile_is_no_time_of_a_call_that_was_not_queued() -> None:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    pace.add_completion(Completion(1, {1: 1, 2: 1}, 0.0, 1e-3, waited=True))
    for number in range(2, 31):  # the second is noticed late, and the next call of the first soon after it
        pace.add_completion(Completion(2, {1: number - 1, 2: number}, 0.0, 1e-3 * number, waited=True))
        pace.add_completion(Completion(1, {1: number, 2: number}, 0.0, 1e-3 * number + 2e-4, waited=True))
    assert StepTimes(pace, {1: 8e-4, 2: 8e-5}, {1: 4e-4}).step(1) == StepTime(8e-4, "profile")


def test_calls_that_seem_to_be_queued_while_the_device_is_idle_were_noticed_late() -> None:
    pace = CompletionHistory(Completion(0, {}, 0.0, 0.0, waited=False))
    for number in range(1, 60):  # both calls of 5 ms are noticed when Python lets go, one soon after the other
        noticed = 5e-3 * (number // 2) + 6e-5 * (number % 2)
        pace.add_completion(Completion(1, {1: number}, noticed - 1e-3, noticed, waited=True, queued=number % 2 == 1))
    assert pace.period(1).median == pytest.approx(2.5e-3, rel=0.1)
    assert StepTimes(pace, {}).step(1) == StepTime(pytest.approx(2.5e-3, rel=0.1), "host", at_most=True)
