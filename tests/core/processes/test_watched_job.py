"""`python -m xlascope watch` on the processes of a job: files of each, joined by `show`."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests import compiling
from tests.core.processes.conftest import free_address, run_job

from xlascope import records
from xlascope.__main__ import main
from xlascope.scripts.job_files import load_job

SCRIPT = str(Path(__file__).with_name("watched_job.py"))
ENVIRONMENT = compiling.quickly() | {"XLASCOPE_NUM_CPU_DEVICES": "1", "JAX_PLATFORMS": "cpu"}


def commands(folder, count, *words):
    address = free_address()
    watch = [sys.executable, "-P", "-m", "xlascope", "watch", "--progress", "plain", "-o", f"{folder}/", SCRIPT]
    return [[*watch, address, str(count), str(number), *words] for number in range(count)]


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """The folder with the files of a job of two processes, and how they ended."""
    folder = tmp_path_factory.mktemp("watched") / "runs"
    return folder, run_job(commands(folder, 2), ENVIRONMENT)


def test_each_process_writes_its_records(watched):
    folder, ended = watched
    assert [process.status for process in ended] == [0, 0], ended
    names = {f"watched_job.xlascope.{number}.{suffix}" for number in (0, 1) for suffix in ("html", "json")}
    assert {path.name for path in folder.iterdir()} == names
    for number, process in enumerate(ended):
        assert f"watched_job.xlascope.{number}.json" in process.error
        run, joined, *listed = records.load(folder / f"watched_job.xlascope.{number}.json")
        assert run.process == f"{number} of 2" and (joined.number, joined.count) == (number, 2)
        assert joined.devices == (f"cpu:{2048 * number}",)
        calls = next(item for item in listed if isinstance(item, records.SharedCalls) and item.function == "step")
        assert calls.calls == 20 and calls.numbers == tuple(range(20)) and calls.synchronizes
        compiled = next(item for item in listed if isinstance(item, records.Compiled) and item.function == "step")
        assert compiled.processes == (0, 1)


def test_clocks_of_one_machine_are_equal_within_the_bounds(watched):
    """Both processes have the same clock, so the true offset is 0, up to how exactly each reads it."""
    report = load_job([watched[0]])
    first, second = (member.clock for member in report.members)
    assert first.offset == 0.0 and second.meetings >= 20
    assert second.low - 1e-3 <= 0.0 <= second.high + 1e-3 and second.low <= second.offset <= second.high


def test_the_report_says_who_is_late_and_what_differs(watched):
    report = load_job([watched[0]])
    step = next(program for program in report.programs if program.function == "step")
    assert step.processes == (0, 1) and step.calls == step.compared == 20
    assert step.slowest == 1 and step.paces[1].arrival > 0.01 and step.paces[0].waits > 0.01
    (collective,) = step.collectives
    assert collective.kind == "all-reduce" and collective.operation == "reduce_sum"
    assert Path(collective.source.file).name == "watched_job.py" and collective.source.line == 17
    retraced = [difference for difference in report.differences if difference.kind == "retrace"]
    assert [difference.processes for difference in retraced] == [(1,)] and "f32[2] → f32[3]" in retraced[0].text


@pytest.mark.parametrize("suffix", ["", ".txt", ".json"])
def test_show_joins_a_folder(suffix, watched, tmp_path, capsys):
    folder, output = watched[0], tmp_path / f"job{suffix}"
    assert main(["show", str(folder), *(["-o", str(output)] if suffix else [])]) == 0
    if suffix == ".json":
        assert records.load(output) == (load_job([folder]),)
        assert main(["show", str(output)]) == 0
    text = output.read_text() if suffix == ".txt" else capsys.readouterr().out
    assert "a job of 2 processes" in text and "the others wait for process 1" in text
    assert "all-reduce" in text and "watched_job.py:17" in text


def test_show_says_what_is_wrong_with_a_folder(watched, tmp_path, capsys):
    (tmp_path / "notes.json").write_text("{}")
    assert main(["show", str(tmp_path)]) == 1 and "has no records of processes" in capsys.readouterr().err
    content = (watched[0] / "watched_job.xlascope.0.json").read_bytes()
    (tmp_path / "half.json").write_bytes(content[:1000])
    assert main(["show", str(tmp_path)]) == 1 and "half.json: no JSON, or only a part" in capsys.readouterr().err
    (tmp_path / "half.json").write_bytes(content.replace(b'"process": "0 of 2"', b'"process": ""').replace(
        b'"number": 0, "count": 2', b'"number": 0, "count": 3'))  # fmt: skip
    (tmp_path / "first.json").write_bytes(content)
    assert main(["show", str(tmp_path)]) == 1 and "records of several jobs" in capsys.readouterr().err


@pytest.mark.slow
def test_four_processes_have_one_report(tmp_path):
    folder = tmp_path / "runs"
    ended = run_job(commands(folder, 4), ENVIRONMENT)
    assert [process.status for process in ended] == [0] * 4, ended
    report = load_job([folder])
    step = next(program for program in report.programs if program.function == "step")
    assert [member.number for member in report.members] == [0, 1, 2, 3] and not report.notes
    assert step.processes == (0, 1, 2, 3) and step.compared == 20 and step.slowest == 1
    for member in report.members:
        assert member.clock.low - 1e-3 <= 0.0 <= member.clock.high + 1e-3
    paths = sorted(folder.glob("*.json"))
    assert load_job(paths) == report and load_job(paths[:3]).notes == ("no records of process 3",)


@pytest.mark.slow
def test_a_killed_process_leaves_what_it_has(tmp_path):
    """Each process of a job writes its records every now and then; the others write theirs when they fail."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": os.environ | ENVIRONMENT}
    processes = [subprocess.Popen(command, **pipes) for command in commands(tmp_path, 2, "wait")]
    try:
        for process in processes:
            while "total" not in process.stdout.readline():
                assert process.poll() is None
        killed = tmp_path / "watched_job.xlascope.1.json"
        while not killed.exists() or not any(
            isinstance(item, records.SharedCalls) and item.calls == 20 for item in records.load(killed)
        ):
            assert processes[1].poll() is None
        processes[1].send_signal(signal.SIGKILL)
        _, error = processes[0].communicate(timeout=60)
        assert "process 1" in error and processes[0].returncode in (1, 75)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    report = load_job([tmp_path])
    assert report.members[0].ended in ("the failure of its job", "PeerLostError") and report.members[1].ended == ""
    assert next(program for program in report.programs if program.function == "step").compared == 20
    assert ("end", (1,)) in [(difference.kind, difference.processes) for difference in report.differences]
