"""`python -m xlascope doctor --device --out`: what its parts find, what stops them, and what is read of it."""

import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from xlascope.tools.device import archive, parts, supervisor, worker
from xlascope.tools.device.comparison import describe_difference, describe_disagreement
from xlascope.tools.device.full_report import ReportRun
from xlascope.tools.device.programs.journal import Item, Journal, Skipped, attempt
from xlascope.tools.device.report_changes import describe_changes
from xlascope.tools.device.summary import MAX_COLUMNS, MAX_LINES, failure_lines, summarize

PART = parts.Part("checks", 10, 1.0, "a part for tests")
#: A worker that crashes, hangs and goes wrong; it gets what a worker gets.
WORKER = """
import json, os, sys, time
path, platform, size, seconds, skip, *_ = sys.argv[1:]
sys.path.insert(0, {programs!r})
from journal import Item, Journal, Skipped
def fail(): raise ValueError("off by 3")
def leave_out(): raise Skipped("there is one device")
items = [Item("good", lambda: "fine"), Item("crash", os.abort), Item("hang", lambda: time.sleep(60)),
         Item("wrong", fail), Item("left out", leave_out), Item("facts", lambda: {{"words": "two", "number": 2}})]
Journal(path, float(seconds), json.loads(skip)).run(items)
"""


def run_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, seconds: float = 30.0) -> dict[str, dict]:
    programs = str(Path(supervisor.__file__).parent / "programs")
    real = supervisor._build_command

    def command(*given):
        return [sys.executable, "-c", code.format(programs=programs), *real(*given)[4:]]

    monkeypatch.setattr(supervisor, "_build_command", command)
    found = supervisor.run_part(PART, supervisor.PartSettings(tmp_path), seconds)
    return {item["name"]: item for item in found}


def test_what_crashes_or_hangs_costs_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "START_TIMEOUT_SECONDS", 20.0)
    found = run_worker(tmp_path, monkeypatch, WORKER)
    results = {name: item["result"] for name, item in found.items()}
    assert results == {
        "good": "works",
        "crash": "fails",
        "hang": "fails",
        "wrong": "fails",
        "left out": "skipped",
        "facts": "works",
    }
    assert found["crash"]["words"] == "its process ended with signal 6" and found["crash"]["crashed"]
    assert found["hang"]["words"].startswith("it did not end within")
    assert found["wrong"]["words"] == "ValueError: off by 3" and "Traceback" in found["wrong"]["traceback"]
    assert found["facts"]["number"] == 2


def test_a_process_that_cannot_start_is_one_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run_worker(tmp_path, monkeypatch, "import a_module_that_is_not_here")
    assert list(found) == ["process"] and "a_module_that_is_not_here" in found["process"]["words"]


def test_a_part_ends_when_its_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "GRACE_SECONDS", 0.1)
    slow = WORKER.replace("items = [", 'items = [Item("slow", lambda: time.sleep(20)), ')
    monkeypatch.setattr(supervisor, "START_TIMEOUT_SECONDS", 20.0)
    found = run_worker(tmp_path, monkeypatch, slow, seconds=0.5)
    assert found["slow"]["result"] == "not reached", found


def test_a_worker_without_time_reaches_nothing(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "journal"), 0.0, ["known"])
    journal.run([Item("known", lambda: "x"), Item("new", lambda: "x")])
    lines = supervisor.read_journal(tmp_path / "journal")
    assert [(line["name"], line["result"]) for line in lines] == [("new", "not reached")]


BEGUN, DONE = {"name": "b", "result": "begun"}, {"name": "a", "result": "works"}


@pytest.mark.parametrize(
    ("lines", "before", "reason", "goes_on", "outcome"),
    [
        (
            [DONE, BEGUN],
            1,
            "signal 6",
            True,
            {"name": "b", "result": "fails", "words": "signal 6: log", "crashed": True},
        ),
        ([DONE], 0, "signal 6", True, DONE),  # between two items
        ([DONE], 1, "signal 6", False, {"name": "process", "result": "fails", "words": "signal 6: log"}),
        ([DONE, BEGUN], 0, supervisor._OUT_OF_TIME, False, {"name": "b", "result": "not reached"}),
        ([DONE], 0, supervisor._OUT_OF_TIME, False, DONE),
    ],
)
def test_a_crash_is_noted_and_the_part_goes_on_if_another_item_may_run(
    tmp_path: Path, lines: list[dict[str, str]], before: int, reason: str, goes_on: bool, outcome: dict[str, object]
) -> None:
    journal, log = tmp_path / "journal", tmp_path / "log"
    journal.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    log.write_text("log\n")
    assert supervisor._note_crash(journal, before, reason, log) == goes_on
    last = supervisor.read_journal(journal)[-1]
    assert {name: last.get(name) for name in outcome} == outcome


@pytest.mark.parametrize(
    ("requested", "platform", "size"),
    [
        (None, None, "small"),
        (None, "cpu", "small"),
        (None, "gpu", "large"),
        ("large", "cpu", "large"),
        ("small", "gpu", "small"),
    ],
)
def test_programs_have_a_size_that_suits_the_device(
    tmp_path: Path, requested: str | None, platform: str | None, size: str
) -> None:
    run = ReportRun(tmp_path / "report.zip", 1.0, None, requested)
    run.parts.append({"name": "environment", "items": [{"name": "device", "platform": platform}]})
    assert run._size() == size


def test_a_torn_journal_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b'{"name": "a", "result": "begun"}\n{"name": "a", "result": "works"}\n[1]\n{"name": "b", "res')
    assert supervisor.latest_outcomes(supervisor.read_journal(path)) == [{"name": "a", "result": "works"}]


def test_how_an_item_goes() -> None:
    def leave_out() -> str:
        raise Skipped("no GPU")

    assert attempt(Item("a", lambda: None)) == {"result": "works", "words": ""}
    assert attempt(Item("a", lambda: {"result": "fails", "words": "3 rows"})) == {"result": "fails", "words": "3 rows"}
    assert attempt(Item("a", leave_out)) == {"result": "skipped", "words": "no GPU"}


def test_every_part_has_a_worker() -> None:
    assert {part.name for part in parts.PARTS} == {*worker.ITEMS, "jax"}
    assert sum(part.reserve for part in parts.PARTS) <= parts.DEFAULT_SECONDS


# Archives ------------------------------------------------------------------------------------------------------------


def program(step: float, **more: object) -> dict:
    return {
        "name": "mlp",
        "result": "works",
        "words": "",
        "first_call_s": 2.0,
        "step_ms": step,
        "step_ms_low": 0.9 * step,
        "step_ms_high": 1.1 * step,
        "dispatch_us": 50.0,
        "tolerance": 1e-3,
        "numbers": [{"norm": 2.0, "largest": 1.0, "first": [0.5]}],
        **more,
    }


def results(*changed: dict, failures: list[dict] | None = None) -> dict:
    rows = {"name": "value 1-20", "result": "fails" if failures else "works", "tried": 20, "agree": 20}
    environment = {"name": "device", "result": "works", "words": "gpu: H100", "platform": "gpu"}
    return {
        "format": archive.FORMAT,
        "version": archive.VERSION,
        "made": "2026-11-26",
        "seconds": 100.0,
        "budget": 240.0,
        "size": "large",
        "parts": [
            {"name": "environment", "seconds": 1.0, "items": [environment]},
            {"name": "programs", "seconds": 1.0, "items": [*changed]},
            {"name": "operations", "seconds": 1.0, "items": [{**rows, "failures": failures or []}]},
        ],
    }


def failure(row: str) -> dict:
    return {"row": row, "what": "value", "dtype": "float32", "error": "off by 1"}


def test_an_archive_comes_back(tmp_path: Path) -> None:
    for name in ("profiles/mlp.xplane.pb", "records/mlp.json", "logs/checks_0.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    target = tmp_path / "report.zip"
    assert archive.write_archive(target, tmp_path, results(program(1.0)), "fine\n") == []
    found = archive.read_archive(target)
    assert found.summary == "fine\n" and found.results["left_out"] == []
    assert found.members["profiles/mlp.xplane.pb"] == b"profiles/mlp.xplane.pb" and len(found.members) == 3


def test_an_archive_is_never_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 400_000)
    (tmp_path / "profiles").mkdir()
    for size in (100_000, 150_000, 10_000):
        data = np.random.default_rng(size).bytes(size)
        (tmp_path / "profiles" / f"{size}.pb").write_bytes(data)
    target = tmp_path / "report.zip"
    assert archive.write_archive(target, tmp_path, results(), "") == ["profiles/150000.pb"]
    assert target.stat().st_size < 400_000 and archive.read_archive(target).results["left_out"]


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "a/../../b", "records/\x1b[2J", "C:\\evil", "a/b/c/d"])
def test_strange_members_are_refused(tmp_path: Path, name: str) -> None:
    target = tmp_path / "report.zip"
    with zipfile.ZipFile(target, "w") as file:
        file.writestr(archive.RESULTS, json.dumps(results()))
        file.writestr(name, "x")
    with pytest.raises(archive.ArchiveError, match="is none of a device report"):
        archive.read_archive(target)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "xlascope device report", "version": 99}', "[" * 100_000])
def test_other_zip_files_are_refused(tmp_path: Path, text: str) -> None:
    target = tmp_path / "report.zip"
    with zipfile.ZipFile(target, "w") as file:
        file.writestr(archive.RESULTS, text)
    with pytest.raises(archive.ArchiveError):
        archive.read_archive(target)
    target.write_bytes(b"PK no zip")
    with pytest.raises(archive.ArchiveError):
        archive.read_archive(target)


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 1_000_000)
    target = tmp_path / "report.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(archive.RESULTS, " " * 2_000_000)
    with pytest.raises(archive.ArchiveError, match="too large"):
        archive.read_archive(target)


# Summaries and changes -----------------------------------------------------------------------------------------------


def test_a_summary_fits_on_a_page() -> None:
    many = results(*[program(1.0, name=f"p{n}") for n in range(15)], failures=[failure(f"row {n}") for n in range(99)])
    many["parts"][0]["items"][0]["words"] = "gpu \x1b[31m" + "x" * 500
    text = summarize(many)
    lines = text.splitlines()
    assert len(lines) <= MAX_LINES and max(map(len, lines)) <= MAX_COLUMNS and "\x1b" not in text
    assert "other failures" in lines[-1] and len(failure_lines(many["parts"])) == 99


def test_two_reports_are_compared() -> None:
    before = results(program(1.0), failures=[failure("sin float32"), failure("cos float32")])
    after = results(program(2.0, numbers=[{"norm": 3.0, "largest": 1.0, "first": [0.5]}]), failures=[failure("tan")])
    changes = "\n".join(describe_changes(before, after))
    assert "new: FAILS operations: tan" in changes and "gone: FAILS operations: cos float32" in changes
    assert "step 1.000 → 2.000 ms (×2.00, slower)" in changes and "numbers off by 0.5" in changes
    assert describe_changes(before, before)[1:] == [
        "programs: mlp: step 1.000 → 1.000 ms (×1.00), first call 2.00 → 2.00 s"
    ]


def test_numbers_are_compared() -> None:
    one = np.array([1.0, np.nan, np.inf])
    assert describe_difference(one, one, 0.0) == ""
    assert describe_difference(one, np.array([1.0, 2.0, np.inf]), 1.0) == "other infinities or NaNs"
    assert describe_difference(np.float32(1.0), np.float32(1.5), 0.1) == "off by 0.5 in numbers up to 1.5"
    assert describe_difference(one, np.array([1.0, np.nan, -np.inf]), 1.0) == "other infinities or NaNs"
    assert describe_difference(one, one[:2], 1.0) == "shape (3,) instead of (2,)"
    assert describe_disagreement(program(1.0), program(9.0)) == ""
    assert describe_disagreement(program(1.0), program(1.0, numbers=[])) == "1 results instead of 0"
