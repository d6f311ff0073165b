"""A step is a whole call: live, what is less is called a part; and the time of a call is there when one is done."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.measured import begins_again

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, records
from xlascope.inspect.engine import producer
from xlascope.inspect.engine.traced_calls import traces_of
from xlascope.inspect.running import profile_sampler
from xlascope.inspect.running.called_programs import CalledPrograms
from xlascope.inspect.running.interleaved_timing import WARM_UP_CALLS
from xlascope.inspect.running.profile_sampler import Sampler
from xlascope.inspect.running.program_reader import ArgumentStep, choose_paths, static_value
from xlascope.readers.hlo.schedules import read_schedules
from xlascope.readers.profiles import read_profile
from xlascope.xla.profiling.profiler_windows import Window

X = np.full((300, 300), 1e-3, np.float32)


def turns(n: int) -> Any:
    """A program of ``n`` matrix products, one after the other: as long as one likes."""

    @xs.jit
    def spin(x: Any) -> Any:
        return xs.lax.fori_loop(0, n, lambda i, y: jnp.tanh(y @ x), x)

    return spin


def as_long_as(seconds: float) -> Any:
    """A program of about so many seconds, or of more where the machine is busy, compiled and run before."""
    trial = turns(40)
    trial(X).block_until_ready()
    made = turns(max(1, int(40 * seconds / min(_seconds(trial) for _ in range(7)))))  # one alone may have waited
    made(X).block_until_ready()
    return made


def _seconds(run: Callable[[Any], Any]) -> float:
    began = time.perf_counter()
    run(X).block_until_ready()
    return time.perf_counter() - began


@pytest.fixture(scope="module")
def long() -> Any:
    return as_long_as(0.3)


def watch(run: Callable[[], Any], until: Callable[[Any], bool], most: float = 30.0) -> Iterator[records.Executed]:
    """Run again and again under a sampler until a record says so; the records so far."""
    seen: list[Any] = []
    with Sampler(emit=seen.append):
        end = time.monotonic() + most
        while time.monotonic() < end:
            run()
            if any(until(each) for each in seen if isinstance(each, records.Executed)):
                break
    return iter([each for each in seen if isinstance(each, records.Executed)])


@begins_again
def test_a_part_of_a_step_has_no_shares_and_windows_grow_until_one_is_whole(
    long: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "xlascope.inspect.running.profiler_schedule.LONG_WINDOW_SECONDS", 0.0
    )  # the first window is a short one
    monkeypatch.setattr("xlascope.inspect.running.profiler_schedule.CALIBRATION_WINDOW_SECONDS", 0.01)
    found = list(watch(lambda: long(X).block_until_ready(), lambda each: each.observed_calls > 0))
    parts = [each for each in found if each.devices and not each.observed_calls]
    assert parts and found[-1].observed_calls > 0
    for each in parts:
        assert all(not device.whole and not device.kernels and not device.busy for device in each.devices)
        assert any(device.spans for device in each.devices) and each.window == 0.0
        assert "no whole step was seen" in each.notes[0]
    last = found[-1]
    assert all("of the first call" in note for note in last.notes)
    assert last.profiling > 0 and all(device.whole for device in last.devices)
    (device,) = last.devices
    length = max(span.start + span.duration for span in device.spans)
    assert 0.5 * last.step < length < 2 * last.step, "the lane is a whole step"
    assert {each.calls for each in device.kernels if "while" in each.kernel} == {last.observed_calls}


def beginning(run: Callable[[], Any], most: int = 20) -> tuple[bytes, set[str]]:
    """The profile of the first tenth of a second of a call in which its loop ran, and the kernels that are in it.

    On a busy machine a call may not have come to its loop by then: another one is begun.
    """
    for _ in range(most):
        with Window() as begun:
            result = run()
            time.sleep(0.1)
        seen = {span.kernel for part in read_profile(begun.data) for device in part.devices for span in device.spans}
        result.block_until_ready()
        if any(name.startswith("while") for name in seen):
            return begun.data, seen
    pytest.fail(f"no loop ran in {most} windows")


@begins_again
def test_a_call_whose_loop_goes_on_is_not_whole(long: Any) -> None:
    data, seen = beginning(lambda: long(X))
    (part,) = read_profile(data)
    schedules = {part.module: read_schedules(long.lower(X).compile().as_text(), seen)}
    (part,) = read_profile(data, schedules=schedules)
    assert part.observed_calls == 0 and not any(device.whole for device in part.devices)
    with Window() as whole:
        long(X).block_until_ready()
    (all_of_it,) = read_profile(whole.data, schedules=schedules)
    assert all_of_it.observed_calls == 1


@begins_again
def test_the_time_of_a_call_is_there_when_one_is_done_by_the_host(long: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_sampler.Sampler, "_sample_window", lambda self: False)
    seen: list[Any] = []
    with Sampler(emit=seen.append):
        began = time.perf_counter()
        long(X).block_until_ready()
        once = time.perf_counter() - began
        end = time.monotonic() + 10
        while not any(isinstance(each, records.Executed) and each.step for each in seen) and time.monotonic() < end:
            time.sleep(0.01)
    first = next(each for each in seen if isinstance(each, records.Executed) and each.step)
    assert (first.calls, first.clock, first.devices) == (1, "host", ())
    assert 0.5 * once < first.step < 1.5 * once


@begins_again
def test_calls_that_were_made_and_are_not_done_have_no_time(long: Any) -> None:
    seen: list[Any] = []
    with Sampler(emit=seen.append, windows=False):
        results = [long(X) for _ in range(3)]
    last = [each for each in seen if isinstance(each, records.Executed)][-1]
    xs.block_until_ready(results)
    assert last.calls == 3 and (last.step, last.clock) == (0.0, "")


@begins_again
def test_calls_made_at_once_have_the_time_they_run_and_not_that_in_which_they_are_made(long: Any) -> None:
    seen: list[Any] = []
    with Sampler(emit=seen.append, windows=False):
        began = time.perf_counter()
        results = [long(X) for _ in range(6)]
        made = time.perf_counter() - began
        xs.block_until_ready(results)
        each_took = (time.perf_counter() - began) / 6
    last = [each for each in seen if isinstance(each, records.Executed)][-1]
    assert made / 6 < 0.5 * each_took, "calls return before they are done"
    assert last.clock == "host" and 0.6 * each_took < last.step < 1.5 * each_took


@begins_again
def test_time_between_calls_is_no_time_of_a_call() -> None:
    short = as_long_as(0.02)

    def run() -> None:
        short(X).block_until_ready()
        time.sleep(0.2)

    last = list(watch(run, lambda each: each.observed_calls > 0 and each.calls > 8))[-1]
    assert 0 < last.step < 0.12 and not last.at_most
    assert last.window > last.devices[0].busy * 1.2, "idle time counts in the window"


@begins_again
def test_two_programs_by_turns_are_both_seen_whole() -> None:
    one, other = as_long_as(0.05), as_long_as(0.01)
    seen: dict[int, records.Executed] = {}

    def run() -> None:
        one(X).block_until_ready()
        other(X).block_until_ready()

    def both(each: records.Executed) -> bool:
        seen[each.program] = each
        return len(seen) == 2 and all(each.observed_calls for each in seen.values())

    list(watch(run, both))
    first, second = sorted(seen.values(), key=lambda each: each.program)
    assert first.observed_calls and second.observed_calls and first.step > 1.5 * second.step


@begins_again
def test_the_time_of_a_measured_call_is_that_of_runs_without_the_profiler(monkeypatch: pytest.MonkeyPatch) -> None:
    small = xs.jit(lambda x: jnp.sum(jnp.sin(x) * 2.0))
    x = jnp.arange(100.0)
    calls: list[bool] = []
    opened: list[Window] = []
    enter, leave, caller = Window.__enter__, Window.__exit__, producer.make_user_call
    monkeypatch.setattr(Window, "__enter__", lambda self: (opened.append(self), enter(self))[1])
    monkeypatch.setattr(Window, "__exit__", lambda self, *error: (opened.pop(), leave(self, *error))[1])

    def counted(call: Any) -> Any:
        run = caller(call)

        def slower() -> None:
            calls.append(bool(opened))
            run()
            if opened:
                time.sleep(0.001)  # as a profiler that makes everything slower

        return slower

    monkeypatch.setattr(producer, "make_user_call", counted)
    (run,) = (each for each in inspect.timings(small, x).records if isinstance(each, records.Executed))
    assert run.clock == "host" and 0 < run.step < 0.001
    assert True in calls and run.calls == calls.count(False) - WARM_UP_CALLS
    assert run.observed_calls == calls.count(True), "every call in the windows is whole"


@begins_again
def test_timings_of_a_donating_function_are_measured_on_copies(donating: Any) -> None:
    (run,) = (
        each
        for each in inspect.timings(donating.update, *donating.arguments).records
        if isinstance(each, records.Executed)
    )
    assert run.step > 0 and run.observed_calls > 0


@pytest.mark.parametrize(
    ("precisions", "is_mixed"),
    [(("high",) * 20 + ("highest",) * 20, False), ((("high",) * 4 + ("highest",)) * 8, True)],
)
def test_calls_by_turns_of_programs_whose_arguments_are_alike_have_no_period(
    precisions: tuple[str, ...], is_mixed: bool
) -> None:
    add = xs.jit(lambda x: x @ x)
    array = jnp.ones((3, 3))
    seen: list[Any] = []
    with Sampler(emit=seen.append, windows=False):
        for precision in precisions:
            with xs.default_matmul_precision(precision):
                add(array).block_until_ready()
    last = {each.program: each for each in seen if isinstance(each, records.Executed)}
    assert sum(each.calls for each in last.values()) == 40 and len(last) == 2
    for record in last.values():
        assert any("by turns" in note for note in record.notes) == is_mixed
        assert (record.period is None) == is_mixed


class Batch(NamedTuple):
    """Arguments in a tuple with names."""

    x: Any
    y: Any = 1.0


#: Arguments of a function for two programs of it.
ALTERNATIVES: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "shapes": ((jnp.ones((30, 3)), 2), (jnp.ones((20, 3)), 2)),
    "dtypes": ((jnp.ones((30, 3)), 2), (jnp.ones((30, 3), "float16"), 2)),
    "NumPy's dtypes": ((np.ones((30, 3)), 2), (np.ones((30, 3), "int64"), 2)),
    "scalars": ((1, 2), (1.0, 2)),
    "static values": ((jnp.ones(3), 2), (jnp.ones(3), 3)),
    "weak types": ((jnp.ones(()), 2), (jnp.asarray(1.0), 2)),
    "items": (({"w": jnp.ones(4), "x": [jnp.ones((30, 3))]}, 2), ({"w": jnp.ones(4), "x": [jnp.ones((20, 3))]}, 2)),
    "fields": ((Batch(jnp.ones((30, 3))), 2), (Batch(jnp.ones((20, 3))), 2)),
    "structures": (({"w": jnp.ones(4)}, 2), ({"w": jnp.ones(4), "x": jnp.ones(4)}, 2)),
    "types of numbers": (({"x": jnp.ones(4), "n": 2}, 2), ({"x": jnp.ones(4), "n": 2.0}, 2)),
}


@pytest.mark.parametrize("kind", ALTERNATIVES)
def test_calls_are_of_the_program_that_their_arguments_have(kind: str) -> None:
    power = xs.jit(lambda x, n: xs.tree.map(lambda leaf: leaf**n, x), static_argnums=1)
    first, second = ALTERNATIVES[kind]
    for arguments in (first, second, first, second):
        power(*arguments)
    numbers = [traced.number for traced in traces_of(power)]
    by_turns = (first, second) * 60, ((first,) * 7 + (second,)) * 8
    for sequence in (first,) * 40, (second,) * 3 + (first,), (first, second) * 3, (second,) * 2, *by_turns:
        seen: list[Any] = []
        with Sampler(emit=seen.append, windows=False):
            for arguments in sequence:
                xs.block_until_ready(power(*arguments))
        last = {each.program: each for each in seen if isinstance(each, records.Executed)}
        expected = {
            numbers[0]: sum(each is first for each in sequence),
            numbers[1]: sum(each is second for each in sequence),
        }
        assert {number: each.calls for number, each in last.items()} == {n: c for n, c in expected.items() if c}
        assert not any("by turns" in note for each in last.values() for note in each.notes)


def test_programs_of_calls_between_noted_ones() -> None:
    called = CalledPrograms()
    called.start(2, 7)
    assert not called.is_known(2) and called.is_known(3)
    called.note(3, 7)
    called.note(10, 7)
    assert list(called.divide(3, 12)) == [(7, 10)] and not called.is_uncertain(10)
    called.note(20, 8)
    assert called.is_uncertain(20) and not called.is_alternating
    assert list(called.divide(3, 24)) == [(7, 12), (8, 10)]
    called.note(21, 7)
    assert called.is_alternating and dict(called.noted_calls()) == {7: 3, 8: 1}
    called.start(21, 9)
    assert list(called.divide(20, 25)) == [(8, 1), (7, 1), (9, 4)]


def test_programs_that_appear_later_are_told_apart_as_well() -> None:
    add = xs.jit(lambda x, y: x + y)
    arrays = {size: jnp.ones((size, 3)) for size in (1, 20, 30, 40)}
    sizes = (30,) * 9 + ((20,) + (30,) * 6) * 9 + ((1,) + (20,) * 3 + (40,) + (30,) * 5) * 9
    calls: dict[str, int] = {}
    seen: list[Any] = []
    with Sampler(emit=seen.append, windows=False):
        for size in sizes:
            add(arrays[size], arrays[1]).block_until_ready()
    for each in seen:
        if isinstance(each, records.Executed):
            calls[str(each.program)] = each.calls
    assert sorted(calls.values()) == sorted(sizes.count(size) for size in arrays)


def test_arguments_that_tell_programs_apart() -> None:
    x, y, n = (ArgumentStep(0), ArgumentStep(0)), (ArgumentStep(0), ArgumentStep(1)), (ArgumentStep(0), ArgumentStep(2))
    types = {1: {x: "a", y: "b"}, 2: {x: "a", y: "c"}, 3: {x: "d", y: "c", n: static_value(1)}}
    assert choose_paths(types) == [(x, False), (y, False)]
    assert choose_paths({1: {x: "a"}, 2: {x: "a"}}) == ()
    assert choose_paths({1: {n: static_value(1)}, 2: {n: static_value(1.0)}}) == [(n, True)]
    assert choose_paths({}) == []


def test_an_operation_has_the_lines_that_call_it() -> None:
    array = jnp.ones((7, 5))
    seen: list[Any] = []
    with Sampler(emit=seen.append, windows=False):
        for _ in range(2):
            jnp.linalg.norm(array)
        jnp.linalg.norm(array)
    (record,) = [each for each in seen if isinstance(each, records.Executed) and each.function == "norm"][-1:]
    here = test_an_operation_has_the_lines_that_call_it.__code__.co_firstlineno
    (note,) = (note for note in record.notes if note.startswith("called at"))
    assert record.calls == 3 and f"called at test_steps.py:{here + 5} and test_steps.py:{here + 6} (" in note
