"""Joining of processes: clocks, who is late, who waits, what differs; and records that are refused."""

import dataclasses
import json
import random

import pytest
from tests.core.analysis.job import synthetic_jobs as synthetic

from xlascope import records
from xlascope.analysis.job.clocks import align_clocks
from xlascope.analysis.job.job_text import job_text
from xlascope.analysis.job.join import join_processes, join_records
from xlascope.analysis.job.process_records import ProcessRecords, make_digest
from xlascope.records.store import document, text_of


def clocks_of(job):
    return align_clocks([ProcessRecords.of(listed) for listed in job])


@pytest.mark.parametrize("offsets", [(0.0, 0.25), (0.0, -3600.0), (0.0, 0.0, 1e-3), (0.0, 12.5, -0.25, 7.0)], ids=str)
@pytest.mark.parametrize("late", [(), "first", "last"], ids=str)
def test_an_offset_is_found_within_its_uncertainty(offsets, late):
    lags = {"first": [0.05] + [0.0] * (len(offsets) - 1), "last": [0.0] * (len(offsets) - 1) + [0.05]}.get(late, ())
    reference, clocks = clocks_of(synthetic.job(offsets, late=lags))
    assert reference == 0
    for number, offset in enumerate(offsets):
        clock = clocks[number]
        assert clock.low <= offset <= clock.high
        assert abs(clock.offset - offset) <= clock.uncertainty + 1e-9 <= 2e-4
        assert clock.meetings == 50


def test_bounds_hold_for_any_machine():
    """Whatever the pauses, delays and lateness are, the true offset lies within the bounds."""
    rng = random.Random(3)
    for seed in range(40):
        options = {"late": [rng.choice([0, 0.3 * rng.random()]) for _ in range(3)], "noise": 10 ** rng.uniform(-6, 0)}
        offsets = (0.0, rng.uniform(-5, 5), rng.uniform(-5, 5))
        _, clocks = clocks_of(synthetic.job(offsets, rng.choice([1, 2, 30]), seed=seed, **options))
        assert all(clocks[i].low - 1e-6 <= offsets[i] <= clocks[i].high + 1e-6 for i in range(3))


def test_a_drift_is_found():
    _, clocks = clocks_of(synthetic.job((0.0, 0.5), 400, drift=2e-5, pause=0.5))
    clock = clocks[1]
    assert abs(clock.drift - 2e-5) < 1e-6 and clock.uncertainty < 2e-4
    assert abs(clock.to_reference(1e9 + 100 + 0.5 + 2e-5 * 100) - (1e9 + 100)) < 5e-4


def test_a_clock_is_aligned_through_another_process():
    first, second = synthetic.steps(20, (0.0, 1.0)), synthetic.steps(20, (1.0, 3.0), seed=1)
    job = [
        [synthetic.run(0, 3), synthetic.shared(first[0], digest="a")],
        [synthetic.run(1, 3), synthetic.shared(first[1], digest="a"), synthetic.shared(second[0], 2, digest="b")],
        [synthetic.run(2, 3), synthetic.shared(second[1], digest="b")],
    ]
    reference, clocks = clocks_of(job)
    assert reference == 1
    assert [round(clocks[number].offset, 2) for number in range(3)] == [-1.0, 0.0, 2.0]
    job[1][2] = dataclasses.replace(job[1][2], synchronizes=False)  # then these two have no meeting
    assert clocks_of(job).clocks[2] == records.JobClock()
    report = join_records(job)
    assert "the clock of process 2 could not be aligned" in report.notes[0]


@pytest.mark.parametrize("late, slowest", [((0.0, 0.03), 1), ((0.004, 0.0), 0), ((0.0, 0.0), None)])
def test_who_is_late_and_who_waits(late, slowest):
    (program,) = join_records(synthetic.job((0.0, -7.0), late=late)).programs
    assert (program.function, program.processes, program.calls, program.compared) == ("step", (0, 1), 50, 50)
    assert program.slowest == slowest
    for pace, lag in zip(program.paces, late, strict=True):
        assert pace.arrival == pytest.approx(lag, abs=3e-4) and pace.waits == pytest.approx(max(late) - lag, abs=3e-4)
        assert pace.period == pytest.approx(0.012 + max(late), abs=3e-4) and pace.calls == 50
        assert (pace.last == 50) == (pace.process == slowest)
    assert all(
        step.slowest == slowest and step.late == pytest.approx(max(late), abs=3e-4) for step in program.steps
    ) or (slowest is None)


def test_a_call_begins_when_the_one_before_has_ended():
    """Calls made ahead are no earlier arrivals."""
    job = synthetic.job()
    ahead = job[0][-1]
    job[0][-1] = dataclasses.replace(ahead, began=tuple(ahead.began[0] + 1e-5 * i for i in range(50)))
    (program,) = join_records(job).programs
    assert program.paces[1].arrival == pytest.approx(0.002, abs=3e-4)


def test_only_calls_of_all_processes_are_compared():
    job = synthetic.job()
    began, ended = job[1][-1].began, job[1][-1].ended
    job[1][-1] = synthetic.shared((began[:30:2], ended[:30:2]), numbers=tuple(range(0, 30, 2)), calls=30)
    (program,) = join_records(job).programs
    assert program.compared == 15 and [step.number for step in program.steps] == list(range(0, 30, 2))
    assert program.paces[0].period is None and [pace.calls for pace in program.paces] == [50, 30]


def test_a_collective_has_its_line_and_who_comes_last():
    job = synthetic.job()
    job[0].append(synthetic.executed("cpu:0", 0.002, 0.008))
    job[1].append(synthetic.executed("cpu:2048", 0.009, 0.001))
    (program,) = join_records(job).programs
    (collective,) = program.collectives
    assert (collective.kernel, collective.kind, collective.operation) == ("all-reduce.1", "all-reduce", "reduce_sum")
    assert collective.source == synthetic.LINE and collective.last == 1 and collective.runs == 10
    assert collective.waits == pytest.approx((0.007, 0.0)) and program.slowest == 1
    assert [pace.waits_inside for pace in program.paces] == pytest.approx([0.007, 0.0])
    lanes = {lane.device: lane for lane in program.lanes}
    assert lanes["cpu:0"].process == 0 and lanes["cpu:2048"].process == 1
    for lane in lanes.values():  # the collective ends at the common origin
        (last,) = [span for span in lane.spans if span.kernel == "all-reduce.1"]
        assert last.start + last.duration == pytest.approx(0.0)
    assert lanes["cpu:0"].waits[0].duration == pytest.approx(0.007) and not lanes["cpu:2048"].waits
    assert "in its collectives the others wait for process 1" in job_text(join_records(job))


def test_without_a_profile_of_all_processes_nothing_is_said_of_collectives():
    job = synthetic.job()
    job[0].append(synthetic.executed("cpu:0", 0.002, 0.008))
    (program,) = join_records(job).programs
    assert program.collectives[0].seconds == () and program.collectives[0].last is None and program.lanes == ()
    assert program.paces[0].in_collectives is None and "not profiled" in job_text(join_records(job))


OTHER = "{ lambda ; a:f32[4]. let b:f32[] = reduce_max a in (b,) }"
RETRACED = synthetic.traced(3, "f", OTHER, "x is f32[5]", "again", 1.0)
DIFFERENCES = {
    "another program": (
        [synthetic.traced(2, "f")], [synthetic.traced(2, "f", OTHER)],
        [("program", "f", (0,), "reduce_sum"), ("program", "f", (1,), "reduce_max")],
    ),
    "an address": ([synthetic.traced(2, "f", "<f at 0x12>")], [synthetic.traced(2, "f", "<f at 0x34>")], []),
    "alone": ([], [synthetic.traced(2, "g")], [("alone", "g", (1,), "ran only there")]),
    "an operation alone": ([], [synthetic.traced(2, "sin", origin="operation")], []),
    "retraced": (
        [synthetic.traced(2, "f")], [synthetic.traced(2, "f"), RETRACED],
        [("retrace", "f", (1,), "was traced 2 times in process 1, elsewhere 1; the last time: x is f32[5]")],
    ),
    "an error": (
        [], [records.Failure(1, "step", "run", 0.0, "ValueError", "bad data\nin batch 7", synthetic.LINE)],
        [("failure", "step", (1,), "raised ValueError: bad data")],
    ),
    "an end": ([], [synthetic.run(1, 2, "")], [("end", "train.py", (1,), "left no end")]),
}  # fmt: skip


@pytest.mark.parametrize("case", DIFFERENCES)
def test_what_differs_between_processes(case):
    first, second, expected = DIFFERENCES[case]
    job = synthetic.job()
    report = join_records([[*first, *job[0]], [*second, *job[1]]])
    found = [(item.kind, item.function, item.processes) for item in report.differences]
    assert found == [row[:3] for row in expected]
    assert all(row[3] in item.text for item, row in zip(report.differences, expected, strict=True))


def test_a_report_survives_json_and_is_text():
    report = join_records(synthetic.job((0.0, 0.25, 4.0), late=(0.0, 0.02, 0.0)))
    assert records.from_json(json.loads(json.dumps(records.to_json(report)))) == report
    text = job_text(report)
    assert text.startswith("train.py: a job of 3 processes") and "reference" in text and "250 ms ±" in text
    assert "the others wait for process 1, last in 50 of them, which begins 20" in text


def test_a_missing_process_is_named():
    report = join_records(synthetic.job((0.0, 1.0, 2.0))[:2])
    assert report.count == 3 and report.notes == ("no records of process 2",)


def content(*listed):
    return document(map(text_of, listed))


ROW = ([1.0, 2.0], [1.5, 2.5])
REFUSED = {
    "no JSON": (b"hello", "no JSON"),
    "other JSON": (b"[1]", "no xlascope records"),
    "no process": (content(synthetic.traced()), "do not say its number"),
    "a number too large": (content(records.JobProcess(None, "f", 0.0, 2, 2)), "no process 2 of 2"),
    "a negative number": (content(records.JobProcess(None, "f", 0.0, -1, 2)), "no process -1 of 2"),
    "too many processes": (content(records.JobProcess(None, "f", 0.0, 1, 10**8)), "up to 4096"),
    "numbers that repeat": (content(synthetic.run(0, 2), synthetic.shared(ROW, numbers=(1, 1))), "have to increase"),
    "negative numbers": (content(synthetic.run(0, 2), synthetic.shared(ROW, numbers=(-1, 1))), "have to increase"),
    "unequal lengths": (content(synthetic.run(0, 2), synthetic.shared(ROW, numbers=(1,))), "equally long"),
    "too many programs": (content(synthetic.run(0, 2), *[synthetic.shared(ROW)] * 257), "at most 256"),
    "a text for a time": (
        b'{"xlascope_records": 1, "records": [{"kind": "JobProcess", "program": 1, "function": "f", "time": "now"}]}',
        "JobProcess.time",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_untrusted_records_are_refused(case):
    data, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        ProcessRecords.from_bytes(data)


def test_times_that_are_no_numbers_are_left_out():
    row = ([1.0, float("nan"), 3.0, float("inf")], [1.5, 2.5, 2.0, float("inf")])
    process = ProcessRecords.from_bytes(content(synthetic.run(0, 2), synthetic.shared(row)))
    assert process.shared[0].numbers == (0,) and process.shared[0].ended == (1.5,)


@pytest.mark.parametrize(
    "processes, message",
    [
        ([], "no records of processes"),
        ([(0, 2), (0, 2)], "2 times the records of process 0"),
        ([(0, 2), (1, 3)], "jobs of 2 and 3 processes"),
    ],
)
def test_processes_of_no_one_job_are_refused(processes, message):
    with pytest.raises(ValueError, match=message):
        join_processes([ProcessRecords.of([synthetic.run(*pair)]) for pair in processes])


def test_digests_are_of_functions_and_texts():
    assert len({make_digest("f", "a"), make_digest("g", "a"), make_digest("f", "b")}) == 3
