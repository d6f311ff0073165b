from collections.abc import Iterable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxlib._profile_data import ProfileData

from xlascope.readers.profile_events import TooManyEventsError
from xlascope.readers.profiles import ModuleProfile, read_profile
from xlascope.records import Span


class Run(NamedTuple):
    """One event of a hand-made profile; times in microseconds. A kernel that is ``over`` has its end mark."""

    kernel: str
    start: int
    duration: int
    run: int = 1
    device: int = 0
    thread: int = 1
    module: str = "jit_f"
    program: int = 7
    over: bool = True


def profile(events: Iterable[Run], plane: str = "/host:CPU") -> bytes:
    """The bytes that XLA's profiler would give; an event without a kernel's facts is one of module ''."""
    events = list(events)
    marked = {event.kernel for event in events if not event.module}
    events += [
        Run(f"end: {event.kernel}", event.start + event.duration, 0, thread=99, module="")
        for event in events
        if event.module and event.over and f"end: {event.kernel}" not in marked
    ]
    names = sorted({text for event in events for text in (event.kernel, event.module)})
    stats = ["hlo_op", "hlo_module", "program_id", "run_id", "device_ordinal"]
    lines = []
    for thread in sorted({event.thread for event in events}):
        inside = " ".join(_event(event, names) for event in events if event.thread == thread)
        lines.append(f'lines {{ id: {thread} name: "thread {thread}" {inside} }}')
    metadata = [f"event_metadata {{ key: {i} value {{ id: {i} name: {_quoted(n)} }} }}" for i, n in enumerate(names, 1)]
    metadata += [f'stat_metadata {{ key: {i} value {{ id: {i} name: "{n}" }} }}' for i, n in enumerate(stats, 1)]
    text = f'planes {{ name: "{plane}" {" ".join(lines)} {" ".join(metadata)} }}'
    return bytes(ProfileData.text_proto_to_serialized_xspace(text))


def _event(event: Run, names: list[str]) -> str:
    facts = [f"str_value: {_quoted(event.kernel)}", f"str_value: {_quoted(event.module)}"]
    facts += [f"int64_value: {number}" for number in (event.program, event.run, event.device)]
    stats = " ".join(f"stats {{ metadata_id: {i} {fact} }}" for i, fact in enumerate(facts, 1)) if event.module else ""
    times = f"offset_ps: {event.start * 10**6} duration_ps: {event.duration * 10**6}"
    return f"events {{ metadata_id: {names.index(event.kernel) + 1} {times} {stats} }}"


def _quoted(text: str) -> str:
    return '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'


def only(data: bytes, *entries: str) -> ModuleProfile:
    """The one module that was seen; ``entries`` are the kernels that every call runs."""
    (module,) = read_profile(data, schedules={"jit_f": (entries,)})
    return module


def micros(seconds: float) -> int:
    return round(seconds * 1e6)


def test_one_call() -> None:
    module = only(profile([Run("sine", 10, 5), Run("dot", 15, 20)]), "sine", "dot")
    assert (module.module, module.program_id, module.observed_calls, micros(module.step)) == ("jit_f", 7, 1, 25)
    (device,) = module.devices
    assert (device.device, micros(device.busy)) == ("cpu:0", 25)
    assert [(each.kernel, each.calls, micros(each.seconds)) for each in device.kernels] == [
        ("sine", 1, 5),
        ("dot", 1, 20),
    ]
    assert [(span.kernel, micros(span.start), micros(span.duration)) for span in device.spans] == [
        ("sine", 0, 5),
        ("dot", 5, 20),
    ]


def test_a_loop_keeps_only_its_own_time() -> None:
    events = [Run("while", 0, 100), Run("a", 10, 30), Run("a", 50, 30), Run("inner", 55, 5), Run("after", 100, 10)]
    (device,) = only(profile(events), "while", "after").devices
    times = {each.kernel: (each.calls, micros(each.seconds)) for each in device.kernels}
    assert times == {"while": (1, 40), "a": (2, 55), "inner": (1, 5), "after": (1, 10)}
    assert micros(device.busy) == 110


def test_the_median_call_is_shown() -> None:
    events = [Run("k", 1000 * run, duration, run) for run, duration in enumerate([10, 50, 30, 20, 40])]
    module = only(profile(events), "k")
    assert (module.observed_calls, micros(module.step), micros(module.seconds)) == (5, 30, 150)
    assert [micros(span.duration) for span in module.devices[0].spans] == [30]


def test_calls_cut_by_the_window_are_not_counted() -> None:
    events = [Run("b", 0, 5, run=1)]
    events += [Run(name, 10 * run + at, 5, run) for run in (2, 3, 4) for name, at in (("a", 0), ("b", 5))]
    events += [Run("a", 50, 5, run=5)]
    for entries in (("a", "b"), ()):
        module = only(profile(events), *entries)
        assert (module.observed_calls, micros(module.step), module.runs) == (3, 10, 8)
        assert list(map(micros, module.intervals)) == [10, 10]
        (device,) = module.devices
        assert {each.kernel: each.calls for each in device.kernels} == {"a": 3, "b": 3}, "parts are not mixed in"
        assert micros(device.busy) == 30 and device.whole


@pytest.mark.parametrize(
    ("events", "entries"),
    [
        ([Run("b", 0, 5)], ("a", "b")),
        ([Run("a", 0, 5), Run("c", 5, 5)], ("a", "b", "c")),
        ([Run("a", 0, 5), Run("b", 5, 5)], ()),  # nobody knows what a call runs
        ([Run("b", 0, 5, run=1), Run("a", 10, 5, run=2)], ("a", "b")),
        ([Run("a", 0, 5), Run("while", 5, 5, over=False), Run("body", 12, 5)], ("a", "while")),  # the loop goes on
    ],
)
def test_a_part_of_a_step_is_no_step(events: list[Run], entries: tuple[str, ...]) -> None:
    module = only(profile(events), *entries)
    assert (module.observed_calls, module.step, module.seconds) == (0, 0.0, 0.0)
    for device in module.devices:
        assert not device.whole and device.spans
        assert (device.kernels, device.busy) == ((), 0.0), "nothing is summed or ranked by it"


def test_a_kernel_that_the_profiler_never_tells_of_is_not_waited_for() -> None:
    events = [Run("a", 10 * run, 5, run) for run in range(4)]
    assert only(profile(events), "a", "silent").observed_calls == 4


def test_a_call_on_several_devices_is_whole_when_it_is_on_all() -> None:
    both = [Run("a", 10 * run + device, 5, run, device, thread=device + 1) for run in range(3) for device in (0, 1)]
    module = only(profile(both[:-1]), "a")
    assert module.observed_calls == 2
    assert [device.kernels[0].calls for device in module.devices] == [2, 2]


def test_the_time_in_which_calls_return_is_the_functions() -> None:
    calls = [Run("PjitFunction(f)", 20 * n, 9, thread=2, module="") for n in range(3)]
    calls += [Run("PjitFunction(g)", 5, 70, thread=2, module="")]
    events = [Run("a", 20 * n, 5, n) for n in range(3)]
    assert micros(only(profile(events + calls), "a").call_seconds) == 9


def test_devices_share_the_step() -> None:
    module = only(profile([Run("sine", 10, 10, device=1, thread=2), Run("sine", 20, 30, device=0, thread=1)]), "sine")
    assert (module.observed_calls, micros(module.step)) == (1, 40)
    assert [(device.device, micros(device.busy)) for device in module.devices] == [("cpu:0", 30), ("cpu:1", 10)]
    assert [micros(device.spans[0].start) for device in module.devices] == [10, 0]


def test_programs_of_one_name_stay_apart() -> None:
    modules = read_profile(profile([Run("a", 0, 5, program=1), Run("a", 5, 5, program=2), Run("a", 10, 5, module="g")]))
    assert [(module.module, module.program_id) for module in modules] == [("jit_f", 1), ("jit_f", 2), ("g", 7)]


def test_a_kernel_on_several_threads_lasts_until_its_end_mark() -> None:
    events = [Run("big", 0, 10), Run("end: big", 29, 1, thread=2, module=""), Run("next", 40, 5, thread=2)]
    (device,) = only(profile(events), "big", "next").devices
    assert [(each.kernel, micros(each.seconds)) for each in device.kernels] == [("big", 30), ("next", 5)]


def test_an_end_mark_after_the_next_kernel_does_not_count() -> None:
    events = [Run("big", 0, 10), Run("next", 20, 50, thread=2), Run("end: big", 71, 1, thread=2, module="")]
    (device,) = only(profile(events), "big", "next").devices
    assert [(each.kernel, micros(each.seconds)) for each in device.kernels] == [("big", 20), ("next", 50)]


def test_host_events_are_no_kernels() -> None:
    assert read_profile(profile([Run("ParseArguments", 0, 5, module="")])) == ()


def test_a_device_plane_names_its_platform() -> None:
    (device,) = only(profile([Run("loop_fusion", 0, 5)], plane="/device:GPU:0")).devices
    assert device.device == "gpu:0"


def test_what_is_more_than_the_limit_is_refused_since_any_part_would_be_missing() -> None:
    data = profile(Run("k", 10 * i, 5, run=i, over=False) for i in range(100))
    with pytest.raises(TooManyEventsError, match="at most 10 events"):
        read_profile(data, limit=10)
    assert read_profile(data, limit=100)[0].observed_calls == 98


@pytest.mark.parametrize("data", [b"x", b"\xff" * 100, b"\n\x05abcde"])
def test_bytes_that_are_no_profile(data: bytes) -> None:
    with pytest.raises(ValueError, match=f"these {len(data)} bytes are no profile"):
        read_profile(data)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        read_profile(data)
    except ValueError as error:
        assert "no profile" in str(error)


runs = st.builds(
    Run,
    kernel=st.sampled_from(["a", "b", "while"]),
    start=st.integers(0, 50),
    duration=st.integers(0, 50),
    run=st.integers(0, 3),
    device=st.integers(0, 1),
    thread=st.integers(1, 3),
    module=st.just("jit_f"),
    program=st.just(7),
)


@given(st.lists(runs, min_size=1, max_size=12), st.sampled_from([(), ("a",), ("a", "b")]))
def test_what_always_holds(events: list[Run], entries: tuple[str, ...]) -> None:
    module = only(profile(events), *entries)
    assert module.runs == len(events)
    assert sum(each.calls for device in module.devices for each in device.kernels) <= len(events)
    assert module.observed_calls <= len({event.run for event in events})
    assert all(device.whole == (module.observed_calls > 0) for device in module.devices)
    for device in module.devices:
        assert 0 <= micros(device.busy) <= 100
        assert all(each.seconds >= 0 for each in device.kernels)
        assert all(span.start >= 0 and span.duration >= 0 for span in device.spans)
        assert all(isinstance(span, Span) and span.start + span.duration < 101e-6 for span in device.spans)


def test_copies_of_a_device_are_shown_with_the_step_they_fall_into() -> None:
    copies = [Run("MemcpyH2D", start, duration, thread=2, module="") for start, duration in ((8, 4), (15, 2), (90, 5))]
    data = profile([Run("loop_fusion", 10, 20), *copies, Run("host work", 12, 3, thread=3, module="")], "/device:GPU:0")
    (device,) = only(data, "loop_fusion").devices
    assert [each.kernel for each in device.kernels] == ["loop_fusion"]
    found = [(each.kernel, micros(each.start), micros(each.duration)) for each in device.transfers]
    assert found == [("MemcpyH2D", 0, 2), ("MemcpyH2D", 5, 2)]


def test_copies_of_another_device_are_not_of_this_one() -> None:
    data = profile([Run("loop_fusion", 10, 20), Run("MemcpyD2H", 12, 3, thread=2, module="")], "/device:GPU:1")
    (device,) = only(data).devices
    assert device.device == "gpu:0" and device.transfers == ()  # the event says which device ran the kernel
