"""Records of a cell of several processes, joined without any process: what a view receives, and what is refused."""

import dataclasses
import json

import pytest
from tests.core.analysis.job import synthetic_jobs as synthetic

from xlascope import records
from xlascope_ipython.cluster.joined_cell import JoinedCell
from xlascope_ipython.cluster.messages import decode_records, encode_records
from xlascope_ipython.cluster.record_sender import RecordSender
from xlascope_widgets.wire_job import encode_job

ENDED = {"ended": True}


def profiled(late):
    """Records of two processes, of which the second is late: the first spends more time in the collective."""
    job = synthetic.job(late=(0.0, late))
    for process, (listed, device) in enumerate(zip(job, ("cpu:0", "cpu:2048"), strict=True)):
        index = next(i for i, record in enumerate(listed) if isinstance(record, records.Compiled))
        listed[index] = dataclasses.replace(listed[index], processes=(0, 1))
        listed.append(synthetic.executed(device, 0.01, 0.001 if process else 0.001 + late))
    return job


def join(job):
    """Pass the records of processes through messages to one cell; return what a view receives."""
    received = []
    cell = JoinedCell(list(range(len(job))), received.append)
    for process, listed in enumerate(job):
        cell.receive(process, ENDED, decode_records(encode_records(listed)))
    cell.finish()
    return received


def of(kind, received):
    return [record for record in received if isinstance(record, kind)]


def test_a_view_receives_one_program_with_the_lanes_of_all_processes():
    received = join(profiled(0.03))
    (traced,) = of(records.Traced, received)
    (compiled,) = of(records.Compiled, received)
    assert compiled.devices == ("process 0", "process 1") and compiled.program == traced.program
    last = of(records.Executed, received)[-1]
    assert [device.device for device in last.devices] == ["process 0", "process 1"]
    assert all(span.start >= 0 for device in last.devices for span in device.spans)


def test_the_report_names_who_is_waited_for_and_the_line_of_the_collective():
    (report,) = of(records.JobReport, join(profiled(0.03)))
    assert report.programs[0].slowest == 1
    wire = json.loads(json.dumps(encode_job(report)))["job"]
    assert wire["slow"] and wire["lines"][0] == "2 processes"
    assert "the others wait for process 1" in wire["lines"][1] and "all-reduce.1 at train.py:22" in wire["lines"][1]
    assert encode_job(None) == {}


def test_without_a_profile_of_all_there_are_the_lanes_of_the_first():
    job = profiled(0.03)
    job[1] = [record for record in job[1] if not isinstance(record, records.Executed)]
    assert [device.device for device in of(records.Executed, join(job))[-1].devices] == ["process 0"]


def test_programs_and_failures_of_some_processes_are_told_apart():
    job = profiled(0.0)
    job[1] += [synthetic.traced(7, "other", "{ lambda ; . let  in () }")]
    failure = records.Failure(None, "In[3]", "run", 1e9, "ValueError", "bad batch")
    for listed in job:
        listed.append(failure)
    job[1].append(dataclasses.replace(failure, error="KeyError"))
    received = join(job)
    assert {record.function for record in of(records.Traced, received)} == {"step", "other (process 1)"}
    assert {(record.function, record.error) for record in of(records.Failure, received)} == {
        ("In[3] in processes 0 and 1", "ValueError"),
        ("In[3] in process 1", "KeyError"),
    }


def test_a_cell_in_which_nothing_ran_shows_nothing():
    job = [[record for record in listed if isinstance(record, records.JobProcess)] for listed in profiled(0.0)]
    assert join(job) == []


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"xlascope_records": 1, "records": [{"kind": "os.system"}]}', b"\x80\x04."]
)
def test_other_data_are_refused(data):
    with pytest.raises(ValueError):
        decode_records(data)


@pytest.mark.parametrize("sends_hlo", [True, False])
def test_one_process_sends_the_text_of_hlo(sends_hlo):
    sent = []
    sender = RecordSender(lambda content, data: sent.extend(decode_records(data)), sends_hlo=sends_hlo)
    sender.receive(dataclasses.replace(synthetic.compiled(), hlo="HloModule step"))
    sender.end({})
    assert [record.hlo for record in of(records.Compiled, sent)] == ["HloModule step" if sends_hlo else ""]


def test_a_sender_sends_each_record_once_and_only_the_latest_measurement():
    sent = []
    sender = RecordSender(lambda content, data: sent.append((content, decode_records(data))))
    for calls in (1, 2, 3):
        sender.receive(dataclasses.replace(synthetic.executed("cpu:0", 0.1, 0.1), calls=calls))
    sender.receive(synthetic.traced())
    sender.end({"error": ""})
    everything = [record for _, listed in sent for record in listed]
    assert [record.calls for record in of(records.Executed, everything)][-1] == 3
    assert len(of(records.Traced, everything)) == 1
    assert [content.get("ended") for content, _ in sent][-1] is True
