"""The account of a thread's time: exclusive parts, exact counts, and everything restored."""

import contextlib
import copy
import dis
import itertools
import linecache
import math
import pickle
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from jaxlib import _jax

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.analysis.time_account_text import time_account_text
from xlascope.inspect.running.profile_sampler import Sampler
from xlascope.inspect.time_account import accountant, call_intervals, span_ledger, thread_looks
from xlascope.inspect.time_account.account_parts import CalledFunction, SeenLines, ThreadTimes, build_parts
from xlascope.inspect.time_account.accountant import TimeAccountant
from xlascope.inspect.time_account.call_intervals import (
    FIRST_SERIES_CALLS,
    MIN_FIRST_SERIES_CALLS,
    MIN_SERIES_CALLS,
    MIN_SERIES_PERIOD_SECONDS,
    SERIES_CALLS,
    CallIntervals,
    TimedCalls,
    estimate_call_seconds,
)
from xlascope.inspect.time_account.call_probe import MAX_PROBE_EVENTS, CallProbe
from xlascope.inspect.time_account.numpy_waits import is_array_read
from xlascope.inspect.time_account.span_ledger import NO_PROGRAM, OuterTotals, SpanLedger, SpanTotal
from xlascope.inspect.time_account.thread_looks import MAX_LOOK_SECONDS, STEADY_LOOKS
from xlascope.records import TimeAccount, TimePart
from xlascope.records.stage_spans import span_listeners, stage_span
from xlascope.runtime.array_spans import watch_arrays
from xlascope.runtime.boot import post_hook

REPLACED = (
    (_jax.ArrayImpl, "block_until_ready"),
    (_jax.ArrayImpl, "__array__"),
    (_jax.ArrayImpl, "_single_device_array_to_np_array_did_copy"),
    (_jax, "batched_device_put"),
    (_jax, "batched_block_until_ready"),
)
NO_LINES = SeenLines(0.0, 0.0, {}, Counter(), Counter())


class Account:
    """The account of a `with` block."""

    record: TimeAccount

    def __enter__(self) -> "Account":
        self.sampler = Sampler(windows=False)
        self.sampler.start()
        self.accountant = TimeAccountant(self.sampler.read_calls)
        self.accountant.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.accountant.stop()
        self.sampler.stop()
        self.record = self.accountant.build_record("In[1]")

    def part(self, activity: str, function: str = "") -> TimePart:
        (part,) = (p for p in self.record.parts if p.activity == activity and p.function == function)
        return part


def state() -> list[Any]:
    """Everything that an account changes while it is kept."""
    members = [owner.__dict__[name] for owner, name in REPLACED]
    return [*members, post_hook.get_global(), list(span_listeners), sys.gettrace()]


@pytest.fixture
def step() -> Any:
    def step(w: Any) -> Any:
        return w * 0.5

    return xs.jit(step)


def interrupted_call(step: Any) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        for number in itertools.count():
            step(jnp.ones(3))
            if number == 100:
                raise KeyboardInterrupt


def failing_trace(step: Any) -> None:
    with contextlib.suppress(ZeroDivisionError):
        xs.jit(lambda x: x / (1 // 0))(1.0)


def eager_loop(step: Any) -> None:
    y = jnp.ones(3)
    for _ in range(300):
        y = y * 1.5


def deleted_array(step: Any) -> None:
    array = jnp.ones(3)
    array.delete()
    with contextlib.suppress(RuntimeError):
        array.block_until_ready()
    with contextlib.suppress(RuntimeError):
        np.asarray(array)


@pytest.mark.parametrize("cell", [interrupted_call, failing_trace, eager_loop, deleted_array], ids=lambda f: f.__name__)
def test_everything_is_restored_and_all_spans_are_ended(cell: Callable[[Any], None], step: Any) -> None:
    before = state()
    for _ in range(4):
        with Account() as account:
            cell(step)
            assert state() != before
        assert state() == before
        assert not account.accountant._ledger.is_open
        assert not any(thread.name == "xlascope-account" for thread in threading.enumerate())
        assert abs(account.record.unaccounted_seconds) <= account.record.seconds


def test_parts_are_exclusive_and_counts_are_exact(step: Any) -> None:
    x = jnp.ones(3)
    with Account() as account:
        y = x
        for _ in range(100):
            y = step(y)
        y.block_until_ready()
        for _ in range(7):
            y = y * 1.25  # the line of most operations
        xs.device_put(np.ones(5))
    assert account.part("dispatch", "step").count == 100
    assert account.part("eager").count == 7
    assert account.part("wait").count == 1
    assert account.part("to_device").count >= 1
    assert account.part("trace").count == 1
    source = account.part("eager").source
    assert source is None or source.file == __file__
    assert all(part.seconds >= 0 for part in account.record.parts)
    assert sum(part.seconds for part in account.record.parts) <= account.record.seconds * (1 + 1e-6)


def test_counts_are_those_of_each_cell(step: Any) -> None:
    x = jnp.ones(3)
    for calls in (3, 50, 1, 7):
        with Account() as account:
            for _ in range(calls):
                step(x)
        assert account.part("dispatch", "step").count == calls


def test_functions_of_the_library_are_operations() -> None:
    x = jnp.ones(3)
    for _ in range(2):
        with Account() as account:
            for _ in range(20):
                jnp.mean(x)
        assert account.part("eager").count == 20
        assert not [part for part in account.record.parts if part.activity == "dispatch"]


def test_the_line_that_starts_most_operations_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_intervals, "MAX_SERIES_SECONDS", math.inf)  # under load the series would end early
    y = jnp.ones(3) * 1.5
    with Account() as account:
        for _ in range(60):
            y = y * 1.5
        y = y * 2.5
    part = account.part("eager")
    assert part.count == 61 and part.measured >= 40
    assert part.source is not None and part.source.file == __file__ and part.line_share > 0.9


def test_the_line_at_which_a_thread_sleeps_is_found() -> None:
    x = jnp.ones(3) * 1.5
    with Account() as account:
        x * 2.5  # looks begin with the first operation
        for _ in range(3):
            time.sleep(0.2)
    part = account.part("blocked")
    assert part.seconds > 0.5 and part.source is not None and part.line_share > 0.9
    assert linecache.getline(part.source.file, part.source.line).strip() == "time.sleep(0.2)"


def test_a_wait_of_another_thread_is_not_in_the_account() -> None:
    x = jnp.ones(3)
    with Account() as account:
        thread = threading.Thread(target=lambda: [x.block_until_ready() for _ in range(5)])
        thread.start()
        thread.join()
        x.block_until_ready()
    assert account.part("wait").count == 1


@pytest.mark.parametrize("own_calls", [0, 50])
def test_calls_of_another_thread_are_not_in_the_account(step: Any, own_calls: int) -> None:
    def train() -> None:
        for _ in range(200):
            step(x)

    x = jnp.ones(3)
    step(x)
    with Account() as account:
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
        for _ in range(own_calls):
            step(x)
    calls = sum(part.count for part in account.record.parts if part.activity == "dispatch")
    assert calls == pytest.approx(own_calls, abs=2)


def test_two_accounts_of_one_thread(step: Any) -> None:
    before = state()
    x = jnp.ones(3)
    with Account() as outer:
        x.block_until_ready()
        with Account() as inner:
            x.block_until_ready()
            step(x)
        x.block_until_ready()
    assert (outer.part("wait").count, inner.part("wait").count) == (3, 1)
    assert outer.part("trace").count == inner.part("trace").count == 1
    assert state() == before


def test_accounts_that_end_in_the_order_in_which_they_began() -> None:
    before = [owner.__dict__[name] for owner, name in REPLACED]
    ledgers = [SpanLedger(threading.get_ident()) for _ in range(2)]
    ends = [watch_arrays(ledger) for ledger in ledgers]
    x = jnp.ones(3)
    x.block_until_ready()
    ends[0]()
    x.block_until_ready()
    ends[1]()
    assert [owner.__dict__[name] for owner, name in REPLACED] == before
    assert [ledger.totals()["wait", NO_PROGRAM].spans for ledger in ledgers] == [1, 2]


def test_replaced_functions_return_and_raise_what_the_originals_do() -> None:
    x, y = jnp.ones(3), jnp.ones(3)
    y.delete()

    def results() -> list[Any]:
        found: list[Any] = []
        for call in (
            lambda: x.block_until_ready() is x,
            lambda: x.block_until_ready(1),
            lambda: type(x).block_until_ready(x) is x,
            lambda: type(x).block_until_ready(1),
            lambda: type(x).block_until_ready.__name__,
            lambda: y.block_until_ready(),
            lambda: np.asarray(x).tolist(),
            lambda: x.__array__(np.float64).dtype,
            lambda: x.__array__(copy=True).flags.owndata,
            lambda: np.asarray(y),
            lambda: xs.device_put(np.arange(3)).tolist(),
        ):
            try:
                found.append(call())  # type: ignore[no-untyped-call]
            except Exception as error:
                found.append((type(error), str(error)))
        return found

    plain = results()
    end = watch_arrays(SpanLedger(threading.get_ident()))
    watched = results()
    end()
    assert watched == plain == results()


def test_an_array_is_pickled_and_printed_as_ever() -> None:
    x = jnp.arange(3.0)
    expected = pickle.loads(pickle.dumps(x)), repr(x), copy.deepcopy(x)
    with Account():
        assert repr(pickle.loads(pickle.dumps(x))) == repr(expected[0])
        assert repr(x) == expected[1] and repr(copy.deepcopy(x)) == repr(expected[2])


# The ledger -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """A clock that stands still until it is set."""
    now = [0.0]
    monkeypatch.setattr(span_ledger, "_clock", lambda: now[0])
    monkeypatch.setattr(span_ledger, "_processor_clock", lambda: now[0] / 2)
    yield now


def test_a_span_is_without_those_inside(clock: list[float]) -> None:
    ledger = SpanLedger(threading.get_ident())
    ledger.enter("compile")
    clock[0] = 1.0
    ledger.enter("trace")
    clock[0] = 3.0
    ledger.add_wait(2.5)
    ledger.leave()
    clock[0] = 7.0
    ledger.leave()
    ledger.add("to_device", 7.0, 8.0)
    assert ledger.totals() == {
        ("compile", NO_PROGRAM): (5.0, 1),
        ("trace", NO_PROGRAM): (1.5, 1),
        ("to_device", NO_PROGRAM): (1.0, 1),
        ("wait", NO_PROGRAM): (0.5, 1),
    }
    assert ledger.outer(9.0) == OuterTotals(8.0, 4.5, 0.0, 1)


def test_an_open_span_counts_until_now_and_is_closed_at_the_end(clock: list[float]) -> None:
    ledger = SpanLedger(threading.get_ident())
    ledger.enter("compile")
    assert ledger.outer(4.0).wall == 4.0
    clock[0] = 5.0
    threading.Thread(target=ledger.leave).start()  # another thread's span is none of this one
    thread = threading.Thread(target=ledger.close)
    thread.start()
    thread.join()
    assert ledger.totals() == {("compile", NO_PROGRAM): (5.0, 1)} and not ledger.is_open


def test_what_goes_on_is_counted_until_now(clock: list[float]) -> None:
    ledger = SpanLedger(threading.get_ident())
    ledger.enter("compile")
    clock[0] = 2.0
    ledger.enter("trace")
    clock[0] = 3.0
    ledger.waiting_since = 2.5
    outer, totals = ledger.until(3.0)
    assert totals == {
        ("compile", NO_PROGRAM): (2.0, 1),
        ("trace", NO_PROGRAM): (0.5, 1),
        ("wait", NO_PROGRAM): (0.5, 1),
    }
    assert outer.wall == 3.0 == sum(total.seconds for total in totals.values())
    ledger.add_wait(2.5)
    ledger.close()
    assert ledger.until(9.0)[0].wall == 3.0
    ledger.waiting_since = 8.0
    assert ledger.until(9.0)[0].wall == 4.0 and ledger.until(9.0)[1]["wait", NO_PROGRAM] == (1.5, 2)


def test_an_account_is_told_while_its_thread_goes_on(step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accountant, "PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr(accountant, "MIN_PAUSE_FACTOR", 1)
    told: list[TimeAccount | None] = []
    seen = threading.Event()

    def on_progress() -> None:
        told.append(account.build_snapshot("In[1]"))
        waits = [part.count for snapshot in told if snapshot for part in snapshot.parts if part.activity == "wait"]
        if len(waits) > 3 and waits[-1] > waits[0] >= 1:
            seen.set()

    sampler = Sampler(windows=False)
    account = TimeAccountant(sampler.read_calls, on_progress=on_progress)
    sampler.start()
    account.start()
    y = step(jnp.ones(8))
    while not seen.is_set():  # until somebody has been told; the test's time is its limit
        float(step(y)[0])
    account.stop()
    sampler.stop()
    assert account.build_snapshot("In[1]") is None
    whole = account.build_record("In[1]")
    for snapshot in filter(None, told):
        assert snapshot.seconds <= whole.seconds and abs(snapshot.unaccounted_seconds) <= snapshot.seconds
        counts = {part.activity: part.count for part in snapshot.parts}
        assert all(count <= whole_count(whole, activity) for activity, count in counts.items())


def whole_count(account: TimeAccount, activity: str) -> int:
    return sum(part.count for part in account.parts if part.activity == activity)


def test_a_stage_ends_whatever_happens_in_it() -> None:
    events: list[tuple[str, tuple[int, str], bool]] = []

    def listen(*event: Any) -> None:
        events.append(event)

    assert stage_span("trace", 1, "f") is stage_span("run", 2, "g")  # nothing listens
    span_listeners.append(listen)
    try:
        with pytest.raises(KeyboardInterrupt), stage_span("trace", 1, "f"):
            raise KeyboardInterrupt
    finally:
        span_listeners.remove(listen)
    assert events == [("trace", (1, "f"), True), ("trace", (1, "f"), False)]


# Parts ----------------------------------------------------------------------------------------------------------------


def timed(*intervals: float, probed: tuple[float, ...] = ()) -> TimedCalls:
    calls = TimedCalls()
    calls.intervals, calls.probed = list(intervals), list(probed)
    return calls


def seconds(parts: tuple[TimePart, ...]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for part in parts:
        totals[part.activity] = round(totals.get(part.activity, 0.0) + part.seconds, 9)
    return totals


def test_parts_add_up_to_the_whole() -> None:
    spans = {("wait", NO_PROGRAM): SpanTotal(2.0, 4), ("run", (1, "f")): SpanTotal(0.5, 1)}
    times = ThreadTimes(10.0, 4.0, 1.0, OuterTotals(2.5, 0.5, 0.5), spans)
    lines = SeenLines(1.0, 0.5, {}, Counter(), Counter())
    calls = [CalledFunction(1, "f", 10, timed(0.1, 0.1, 0.1))]
    parts = build_parts(times, calls, [], lines)
    assert seconds(parts) == {
        "wait": round(2.0 + 3.5 / 3, 9),
        "dispatch": 1.5,
        "queue": round(3.5 * 2 / 3, 9),
        "python": 2.5,
        "processor": 0.5,
    }
    (dispatch,) = (part for part in parts if part.activity == "dispatch")
    assert (dispatch.count, dispatch.measured) == (11, 4)


def test_calls_take_no_more_than_the_processor_gave() -> None:
    times = ThreadTimes(10.0, 3.0, 0.0, OuterTotals(0.0, 0.0), {})
    parts = build_parts(times, [CalledFunction(1, "f", 100, timed(1.0, 1.0))], [], NO_LINES)
    assert seconds(parts)["dispatch"] == 3.0 and "python" not in seconds(parts)


def test_what_no_look_saw_is_unaccounted() -> None:
    times = ThreadTimes(10.0, 2.0, 0.0, OuterTotals(0.0, 0.0), {})
    parts = build_parts(times, [], [], NO_LINES)
    assert TimeAccount(None, "In[1]", 0.0, 10.0, 2.0, parts).unaccounted_seconds == 8.0
    blocked = {(is_array_read.__code__, 0): 1.0}
    parts = build_parts(times, [], [], SeenLines(0.0, 0.0, blocked, Counter(), Counter()))
    assert seconds(parts)["blocked"] == 1.0  # an eighth of it was seen


def test_a_thread_that_ran_nothing_of_ours_was_blocked_in_pythons_code() -> None:
    times = ThreadTimes(3.0, 1.0, 0.0, OuterTotals(0.0, 0.0), {})
    parts = build_parts(times, [], [], NO_LINES._replace(has_looked=False))
    assert seconds(parts) == {"python": 1.0, "blocked": 2.0}


def test_smaller_programs_are_one_part() -> None:
    calls = [CalledFunction(number, f"f{number}", 10, timed(number * 1e-3)) for number in range(1, 10)]
    parts = build_parts(ThreadTimes(10.0, 10.0, 0.0, OuterTotals(0.0, 0.0), {}), calls, [], NO_LINES)
    dispatched = [part for part in parts if part.activity == "dispatch"]
    assert [part.function for part in dispatched] == ["f9", "f8", "f7", "f6", "f5", "f4", ""]
    assert dispatched[-1].program is None and dispatched[-1].count == 30


@pytest.mark.parametrize(
    ("intervals", "probed", "expected"),
    [
        ((), (), 0.0),
        ((3.0,), (), 3.0),
        ((), (2.0, 2.0), 2.0),
        ((1.0, 1.0, 1.0, 9.0, 9.0), (), 1.0),  # calls that waited for the device
        ((5.0, 5.0, 5.0), (0.5, 0.5, 0.5), 0.5),  # Python before each call
    ],
)
def test_the_time_of_a_call(intervals: tuple[float, ...], probed: tuple[float, ...], expected: float) -> None:
    assert estimate_call_seconds(intervals, probed) == expected


# Probes and looks -----------------------------------------------------------------------------------------------------


def test_a_probe_finds_the_instruction_before_a_call() -> None:
    probe, found = CallProbe(), []

    def call() -> None:
        found.append((probe.frame is sys._getframe(1), time.perf_counter() - probe.began))

    def user() -> float:
        probe.begin(sys._getframe())
        began = time.perf_counter()
        total = 0
        for number in range(50):
            total += number
        call()
        probe.end()
        return time.perf_counter() - began

    total_seconds = user()
    ((is_frame, since),) = found
    assert is_frame and 0 < since < total_seconds
    assert sys.gettrace() is None


def test_a_probe_ends_after_a_number_of_instructions() -> None:
    probe = CallProbe()
    probe.begin(sys._getframe())
    for _ in range(MAX_PROBE_EVENTS):
        pass
    assert sys.gettrace() is None and probe.frame is None
    assert sys._getframe().f_trace is None


def test_a_tracer_of_somebody_else_stays() -> None:
    def tracer(*_: Any) -> None:
        return None

    before = sys.gettrace()
    probe = CallProbe()
    sys.settrace(tracer)
    try:
        probe.begin(sys._getframe())
        assert sys.gettrace() is tracer and probe.frame is None
        probe.end()
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)


@pytest.mark.parametrize(
    ("source", "expected"),
    [("np.asarray(y)", True), ("array(y)", True), ("time.sleep(1)", False), ("f(np.asarray)", False)],
)
def test_reads_of_arrays_are_known_by_what_is_called(source: str, expected: bool) -> None:
    code = compile(source, "example", "eval")
    call = [item.offset for item in dis.get_instructions(code) if item.opname.startswith("CALL")][-1]
    assert is_array_read(code, call) is expected


def test_blocked_is_what_neither_ran_nor_waited_for_a_processor() -> None:
    reading = thread_looks._Reading
    before = reading(0.0, 0.0, 0.0, OuterTotals(0.0, 0.0))
    after = reading(10.0, 3.0, 2.0, OuterTotals(4.0, 1.0, 1.5))
    assert thread_looks.blocked_seconds(before, after) == pytest.approx(10 - 4 - (3 - 1) - (2 - 1.5))


# Text and files -------------------------------------------------------------------------------------------------------


def test_an_account_is_written_and_read(tmp_path: Any, step: Any) -> None:
    with Account() as account:
        step(jnp.ones(3))
    records.save([account.record], tmp_path / "account.json")
    assert records.load(tmp_path / "account.json") == (account.record,)


def test_the_text_says_what_is_a_sample_and_what_is_unaccounted() -> None:
    source = records.SourceRange("In[7]", 4, 0, 4, 9, "<module>")
    parts = (
        TimePart("dispatch", 0.1, 100, 1, "update", 26, at_most=True),
        TimePart("eager", 0.2, 1500, measured=64, source=source, line_share=0.75),
        TimePart("wait", 0.3, 1),
    )
    devices = (records.DeviceShare(1, "update", 100, 0.25),)
    text = time_account_text(TimeAccount(None, "In[7]", 0.0, 1.0, 0.5, parts, devices, ("a note",)))
    assert text.splitlines() == [
        "In[7] took 1 s; its thread:",
        "      300 ms   30 %  waiting for results, 1 wait",
        "      200 ms   20 %  operations outside of jit, 1,500 operations, measured on 64, "
        "at line 4 of In[7] (75 % of the looks)",
        "      100 ms   10 %  dispatching update, 100 calls, measured on 26, "
        "at most: with the Python code before the calls",
        "      400 ms   40 %  unaccounted",
        "on the devices meanwhile (measured by the profiler, no part of the above):",
        "      250 ms         update, 100 calls",
        "note: a note",
    ]


class HookedEngine:
    """An engine of which only the hook is known."""

    current: Any = None

    def hook(self) -> Any:
        return self.current

    def set_hook(self, hook: Any) -> None:
        self.current = hook


@pytest.mark.parametrize(
    ("seconds", "first", "later"),
    [
        (1e-5, FIRST_SERIES_CALLS, SERIES_CALLS),
        (1e-2, MIN_FIRST_SERIES_CALLS, MIN_SERIES_CALLS),
        (1.0, MIN_FIRST_SERIES_CALLS, MIN_SERIES_CALLS),
    ],
)
def test_a_series_of_long_calls_has_fewer(
    monkeypatch: pytest.MonkeyPatch, seconds: float, first: int, later: int
) -> None:
    now = 0.0
    monkeypatch.setattr(call_intervals, "_clock", lambda: now)
    engine: Any = HookedEngine()
    intervals = CallIntervals(SpanLedger(threading.get_ident()), lambda function: (function, False), lambda: None)

    def count_calls(calls: int) -> int:
        nonlocal now
        now += 1.0
        intervals.begin_series(engine, calls)
        number = 0
        while engine.current is not None:
            now += seconds
            number += 1
            engine.current("f", (), {}, None)
        return number

    assert [count_calls(FIRST_SERIES_CALLS), count_calls(SERIES_CALLS)] == [first, later]
    assert len(intervals.timed["f"].intervals) == first + later - 2  # of the first ones the begin is not known
    intervals.begin_series(engine, SERIES_CALLS)
    is_early = (later - 1) * seconds < MIN_SERIES_PERIOD_SECONDS  # since the first call of the last series
    assert (engine.current is None) == is_early
    intervals.close()


def test_looks_become_rarer_sooner_at_a_thread_that_stays_where_it_is() -> None:
    with Account() as account:
        looks = account.accountant._looks

        def pauses(same_looks: int) -> list[float]:
            looks._same_looks = same_looks
            return list(itertools.accumulate(range(20), lambda pause, _: looks._next_pause(pause), initial=0.005))

        moving, steady = pauses(0), pauses(STEADY_LOOKS)
    assert all(a <= b for a, b in zip(moving, steady, strict=True)) and sum(moving) < sum(steady)
    assert moving[-1] == steady[-1] == MAX_LOOK_SECONDS


@pytest.mark.parametrize(("limit", "count"), [(math.inf, 0), (-1.0, 1)])
def test_looks_are_frequent_again_behind_a_long_stage(
    monkeypatch: pytest.MonkeyPatch, limit: float, count: int
) -> None:
    monkeypatch.setattr(accountant, "LONG_SPAN_SECONDS", limit)
    often: list[bool] = []
    with Account() as account:
        monkeypatch.setattr(account.accountant._looks, "look_often", lambda: often.append(True))
        for begins in (True, False):
            account.accountant._on_span("compile", (1, "f"), begins)
    assert len(often) == count


def test_an_alarm_ends_one_wait() -> None:
    alarm = thread_looks._Alarm()
    assert not alarm.wait(0.0)
    alarm.trigger()
    alarm.trigger()
    assert alarm.wait(60.0) and not alarm.wait(0.0)


def test_the_arrays_of_a_tree_are_waited_for_at_once(step: Any) -> None:
    tree = [step(jnp.ones(3)), {"a": jnp.ones(2), "b": (xs.random.key(0), 1.0, None)}]
    with Account() as account:
        assert xs.block_until_ready(tree) is tree
    assert account.part("wait").count <= 2  # a random key waits for its own words
    tree[1]["a"].delete()
    with pytest.raises(RuntimeError, match="deleted"):
        xs.block_until_ready(tree)
