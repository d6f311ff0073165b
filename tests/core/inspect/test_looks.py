"""When the profiler looks, and for how long: windows grow until a call fits, and cost what they may."""

from typing import NamedTuple

import pytest

from xlascope.inspect.running.accumulator import EARLIER_NOTE, ProgramTally
from xlascope.inspect.running.earlier_profiles import EarlierProfiles
from xlascope.inspect.running.profiler_schedule import (
    CALIBRATION_WINDOW_SECONDS,
    MAX_BACKOFF_WINDOWS,
    MAX_PROGRAM_COST_SECONDS,
    MAX_WINDOW_COST_SECONDS,
    ProfilerSchedule,
)
from xlascope.inspect.running.step_time import Completion, CompletionHistory, StepTimes
from xlascope.readers.profiles import ModuleProfile
from xlascope.records.events import DeviceTime, KernelTime, TimeDistribution
from xlascope.xla.profiling.profiler_windows import MAX_WHOLE_CALL_SECONDS


class Program(NamedTuple):
    """A program that is called again and again: its step, the time from call to call, and what a second of it costs."""

    step: float
    apart: float
    rate: float = 0.1


class Window(NamedTuple):
    seconds: float
    cost: float
    pause: float
    whole: bool


def look(program: Program, times: int, known: bool = True) -> list[Window]:
    """The windows that are opened; a call is whole in one if it is as long as two calls and the time between."""
    looks, found = ProfilerSchedule(), []
    tally = ProgramTally(1, "f", 0.0, calls=10, seconds=1.0)
    pace = CompletionHistory(Completion(1, {}, 0.0, 0.0, waited=False))
    for number in (1, 2) if known else ():
        pace.add_completion(
            Completion(1, {1: number}, number * program.apart - program.step, number * program.apart, waited=True)
        )
    for _ in range(times):
        profiled = {1: program.step} if tally.observed else {}
        seconds = looks.next_length({1: tally}, StepTimes(pace, profiled), {1: 5})
        if not seconds:
            continue
        whole = seconds >= program.step + program.apart
        seen = ModuleProfile("m", 1, int(whole), program.step * whole, (), program.step * whole, runs=10)
        tally.add_window([seen], seconds)
        cost = seconds * program.rate
        found.append(Window(seconds, cost, looks.add_window(seconds, cost, [seen], {1: tally}), whole))
    return found


@pytest.mark.parametrize("program", [Program(0.08, 0.08), Program(0.08, 0.4), Program(0.2, 0.2), Program(1.2, 1.2)])
def test_the_first_window_that_is_to_hold_a_step_holds_one(program: Program) -> None:
    first, *more = look(program, 2)
    assert first.whole or (first.seconds == CALIBRATION_WINDOW_SECONDS and more[0].whole)


def test_nobody_knows_how_long_a_call_takes_and_windows_grow() -> None:
    found = [each.seconds for each in look(Program(100.0, 100.0), 9, known=False)]
    assert found[1:-1] == sorted(found[1:-1]) and found[-1] > 1.0 and max(found) <= MAX_WHOLE_CALL_SECONDS


def test_a_step_that_is_longer_than_any_window_is_given_up() -> None:
    found = look(Program(60.0, 60.0, rate=0.001), 50)
    assert (
        found[-1].seconds == MAX_WHOLE_CALL_SECONDS
        and len(found) <= MAX_BACKOFF_WINDOWS + 2
        and not any(each.whole for each in found)
    )


@pytest.mark.parametrize("rate", [0.1, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("step", [1e-4, 0.08, 0.5, 2.0])
def test_looking_for_a_whole_step_costs_what_it_may_once(step: float, rate: float) -> None:
    found = look(Program(step, step, rate), 50)
    first = next((n for n, each in enumerate(found) if each.whole), len(found) - 1)
    unknown = 0.5 * rate  # what looking costs is known after the first window
    assert sum(each.cost for each in found[: first + 1]) <= max(MAX_PROGRAM_COST_SECONDS, unknown) + 1e-9
    assert any(each.whole for each in found) == (
        2.2 * step * rate <= MAX_PROGRAM_COST_SECONDS - CALIBRATION_WINDOW_SECONDS * rate * (step > 0.2) or step < 0.2
    )


@pytest.mark.parametrize("program", [Program(1e-4, 1e-4, 3.0), Program(0.08, 0.08, 0.4), Program(0.5, 0.5, 0.2)])
def test_after_the_first_whole_step_a_minute_costs_less_than_a_hundredth(program: Program) -> None:
    found = look(program, 200)
    first = next(n for n, each in enumerate(found) if each.whole)
    passed, costs = found[first].pause, []
    for each in found[first + 1 :]:
        if passed < 60:
            costs.append(each.cost)
        passed += each.seconds + each.pause
    assert sum(costs) < 0.01 * 60 and all(cost <= MAX_WINDOW_COST_SECONDS for cost in costs)


def test_the_second_program_is_looked_for_when_the_first_was_seen() -> None:
    looks, pace = ProfilerSchedule(), CompletionHistory(Completion(1, {}, 0.0, 0.0, waited=False))
    tallies = {n: ProgramTally(n, "f", 0.0, calls=10, seconds=float(n)) for n in (1, 2)}
    for number in range(1, 5):
        pace.add_completion(
            Completion(1 + number % 2, {1: number // 2, 2: (number + 1) // 2}, 0.0, 0.1 * number, waited=True)
        )
    for sought in (2, 1, None):
        seconds = looks.next_length(tallies, StepTimes(pace, {}), {})
        assert looks.target_program == sought and seconds > 0
        if sought is not None:
            tallies[sought].add_window([ModuleProfile("m", 1, 1, 0.1, (), 0.1, runs=3)], seconds)
            looks.add_window(seconds, 0.01, [ModuleProfile("m", 1, 1, 0.1, (), 0.1, runs=3)], tallies)


def test_of_a_trace_that_was_compiled_twice_one_module_is_added_up() -> None:
    def ran(module: str, kernel: str, seconds: float) -> ModuleProfile:
        device = DeviceTime("cpu:0", seconds, (KernelTime(kernel, 2, seconds),), ())
        return ModuleProfile(module, 1, 2, seconds / 2, (device,), seconds)

    tally = ProgramTally(1, "f", 0.0, calls=10, seconds=1.0)
    tally.add_window([ran("jit_f", "one", 0.4)])
    tally.add_window([ran("jit_f", "one", 0.4), ran("jit_f.1", "other", 0.9)])
    first = tally.record()
    assert (first.module, first.observed_calls, first.devices[0].kernels) == ("jit_f", 4, (KernelTime("one", 4, 0.8),))
    tally.add_window([ran("jit_f.1", "other", 0.9)])
    second = tally.record()
    assert (second.module, second.observed_calls, second.window) == ("jit_f.1", 2, 0.9)
    assert second.devices[0].kernels == (KernelTime("other", 2, 0.9),)
    assert (
        tally.profiled_calls == 8
        and "compiled to 2 different programs" in second.notes[0]
        and "jit_f.1" in second.notes[0]
    )


def test_modules_with_the_same_kernels_are_added_up_together() -> None:
    tally = ProgramTally(1, "f", 0.0, modules={"jit_f": 7, "jit_f.1": 7})
    for place, module in enumerate(tally.modules):
        device = DeviceTime(f"cpu:{place}", 0.1, (KernelTime("one", 1, 0.1),), ())
        tally.add_window([ModuleProfile(module, 1, 1, 0.1, (device,), 0.1)])
    found = tally.record()
    assert [each.device for each in found.devices] == ["cpu:0", "cpu:1"] and not found.notes


def test_a_profile_of_first_calls_gives_way_to_one_of_warm_calls() -> None:
    def ran(seconds: float, calls: int) -> ModuleProfile:
        device = DeviceTime("cpu:0", seconds * calls, (KernelTime("one", calls, seconds * calls),), ())
        return ModuleProfile("m", 1, calls, seconds, (device,), seconds * calls, durations=(seconds,) * calls)

    tally = ProgramTally(1, "f", 0.0, calls=10, seconds=1.0)
    tally.add_window([ran(0.4, 2)], warm=False)
    cold = tally.record()
    assert cold.observed_calls == 2 and cold.device_time is None and "of the first 2 calls" in cold.notes[0]
    assert not tally.needs_profile
    tally.has_warm_calls = True
    assert tally.needs_profile
    tally.add_window([ran(0.1, 6)])
    tally.add_window([ran(0.4, 1)], warm=False)
    warm = tally.record()
    assert warm.observed_calls == 6 and not warm.notes
    assert warm.device_time is not None and warm.device_time.median == pytest.approx(0.1)
    assert (warm.device_time.calls, warm.device_time.clock) == (6, "profile")


def test_a_program_begins_with_its_profile_of_an_earlier_run() -> None:
    def ran(seconds: float, calls: int) -> ModuleProfile:
        device = DeviceTime("cpu:0", seconds * calls, (KernelTime("one", calls, seconds * calls),), ())
        return ModuleProfile("m", 1, calls, seconds, (device,), seconds * calls, durations=(seconds,) * calls)

    profiles = EarlierProfiles()
    first, cold, unknown = (ProgramTally(number, "f", 0.0, calls=10, seconds=1.0) for number in (1, 2, 3))
    first.add_window([ran(0.1, 6)])
    cold.add_window([ran(0.1, 2)], warm=False)
    profiles.store({1: first, 2: cold, 3: unknown})
    again, *others = (ProgramTally(number, "f", 1.0, calls=10, seconds=1.0) for number in (1, 2, 3))
    for tally in (again, *others):
        profiles.begin(tally)
    assert again.is_earlier and not any(tally.is_earlier for tally in others)
    shown = again.record()
    assert (shown.observed_calls, shown.devices, shown.device_time) == (6, first.record().devices, None)
    assert shown.notes == (EARLIER_NOTE,) and again.needs_profile
    profiles.store({1: again})  # it is no newer
    again.add_window([ran(0.4, 1)], warm=False)
    assert again.record().devices == shown.devices
    again.add_window([ran(0.2, 5)])
    newer = again.record()
    assert newer.observed_calls == 5 and not newer.notes and not again.needs_profile
    assert newer.device_time is not None and newer.device_time.median == pytest.approx(0.2)
    recompiled = ProgramTally(1, "f", 2.0, calls=1)
    profiles.begin(recompiled)
    recompiled.forget_earlier()
    assert not recompiled.observed and not recompiled.record().devices


DEVICE_TIMES = {  # seconds of calls, from begin to begin, runs of kernels in a call, the period; the median, its bound
    "as the profiler has it": (5e-4, 6e-4, 9, None, 5e-4, False),
    "the profiler makes calls slower": (5e-4, 6e-4, 9, 4.8e-4, 4e-4, False),
    "other calls are slower": (5e-4, 6e-4, 9, 8e-4, 5e-4, False),
    "the devices mostly wait": (5e-4, 2e-3, 9, 1e-3, 5e-4, False),
    "calls overlap": (5e-4, 3e-4, 9, 2e-4, 5e-4, False),
    "one short kernel": (8e-7, 1e-5, 1, 1e-5, 8e-7, True),
    "one kernel of five microseconds": (5e-6, 1e-5, 1, 1e-5, 5e-6, False),
    "many short kernels": (2e-5, 1e-4, 10, 1e-4, 2e-5, True),
}


@pytest.mark.parametrize("case", DEVICE_TIMES)
def test_a_device_time_is_without_what_the_profiler_takes_or_a_bound(case: str) -> None:
    seconds, interval, kernels, period, median, is_bound = DEVICE_TIMES[case]
    device = DeviceTime("cpu:0", seconds * 9, (KernelTime("one", 9 * kernels, seconds * 9),), ())
    tally = ProgramTally(1, "f", 0.0, calls=10, seconds=1.0)
    tally.add_window(
        [ModuleProfile("m", 1, 9, seconds, (device,), 9 * seconds, 0, 0.0, (seconds,) * 9, (interval,) * 8)]
    )
    of_loop = None if period is None else TimeDistribution(*[period] * 4, 90, "host")
    found = tally.record(period=of_loop).device_time
    assert found is not None and found.median == found.mean == pytest.approx(median)
    assert found.at_most == is_bound and found.scale == pytest.approx(median / seconds)


def test_each_program_with_a_fair_share_of_the_time_gets_five_windows() -> None:
    looks, pace = ProfilerSchedule(), CompletionHistory(Completion(1, {}, 0.0, 0.0, waited=False))
    tallies = {n: ProgramTally(n, "f", 0.0, calls=10, seconds=seconds) for n, seconds in ((1, 5.0), (2, 2.0), (3, 0.1))}
    for number in range(1, 9):
        counts = {1: number // 2, 2: (number + 1) // 2}
        pace.add_completion(Completion(1 + number % 2, counts, 0.0, 0.1 * number, waited=True))
    opened = []
    for _ in range(12):
        seconds = looks.next_length(tallies, StepTimes(pace, {}), {})
        main = looks._find_least_profiled(tallies)
        assert main is not None and seconds > 0
        number = looks.target_program or main.program
        opened.append(number)
        seen = ModuleProfile("m", 1, 1, 0.1, (), 0.1, runs=3)
        tallies[number].add_window([seen], seconds)
        looks.add_window(seconds, 0.001, [seen], tallies)
    assert sorted(opened) == [1] * 7 + [2] * 5
