"""The parts of a device's report, on the CPU: small ones here, the whole with the slow tests."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.records import Executed
from xlascope.tools.device import (
    environment,
    jit_options,
    more_checks,
    operations,
    pages,
    profiles,
    report_reader,
    transfers,
)
from xlascope.tools.device.archive import read_archive, write_archive
from xlascope.tools.device.context import Context
from xlascope.tools.device.parts import NAMES
from xlascope.tools.device.programs.engine import load_engine
from xlascope.tools.device.programs.journal import attempt
from xlascope.tools.device.programs.measure import measure
from xlascope.tools.device.programs.table import PROGRAMS
from xlascope.tools.device.rows.group import Group
from xlascope.tools.device.rows.row import cases_of, uniform
from xlascope.tools.device.rows.table import all_cases


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(tmp_path, "cpu")


def run(items, name: str) -> dict:
    (item,) = [each for each in items if each.name == name]
    found = attempt(item)
    assert found["result"] == "works", found
    return found


def test_the_table_has_each_row_once() -> None:
    cases = all_cases()
    assert len(cases) >= 200 and len({case.name for case in cases}) == len(cases)
    assert all(np.array_equal(x, y) for case in cases[:40] for x, y in zip(case.make(), case.make(), strict=True))


def test_twenty_rows_agree(context: Context) -> None:
    items = {item.name: item for item in operations.items(context)}
    for name in ("value 81-100", "batching 81-100", "gradient 81-100"):
        found = attempt(items[name])
        assert found["result"] == "works" and found["agree"] == found["tried"] > 5, found


def test_rows_that_are_wrong_are_named(context: Context) -> None:
    def fail(x):
        raise ValueError("no such thing")

    cases = [
        *cases_of("right", jnp.sin, uniform(3), oracle=np.sin),
        *cases_of("wrong", jnp.sin, uniform(3), oracle=np.cos),
        *cases_of("raises", fail, uniform(3)),
    ]
    found = operations.try_group("value", Group(cases), context)
    assert found["result"] == "fails" and (found["agree"], found["tried"]) == (1, 3)
    said = {each["row"]: f"{each['what']}: {each['error']}" for each in found["failures"]}
    assert said["wrong float32"].startswith("NumPy: off by")
    assert said["raises float32"] == "value: ValueError: no such thing"
    (differs,) = operations.iter_failures("value", cases[:1], [[np.ones(2)]], [[np.zeros(2)]])
    assert differs.error == "off by 1 in numbers up to 1"


def test_a_program_that_took_its_process_down_is_tried_row_by_row(tmp_path: Path) -> None:
    crashed = Context(tmp_path, "cpu", crashed=frozenset({"gradient 1-20"}))
    alone = [item.name for item in operations.items(crashed) if item.name.startswith("gradient of")]
    assert len(alone) == 20


@pytest.mark.parametrize("name", ["n-body", "fft", "loop"])
def test_a_program_is_measured(name: str) -> None:
    found = measure(load_engine("xlascope"), xs.devices("cpu")[0], name, "small")
    assert found["step_ms_low"] <= found["step_ms"] <= found["step_ms_high"] and found["rounds"] >= 3
    assert found["dispatch_us"] > 0 and found["first_call_s"] > 0 and found["numbers"][0]["norm"] > 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_say_which_argument_they_replace(name: str) -> None:
    program = PROGRAMS[name](load_engine("xlascope"), "small")
    results = xs.eval_shape(program.function, *program.arguments)
    if program.updates:
        shapes = [xs.tree_util.tree_map(lambda x: x.shape, tree) for tree in (results[0], program.arguments[0])]
        assert xs.tree_util.tree_leaves(shapes[0]) == xs.tree_util.tree_leaves(shapes[1])


def test_the_checks_beyond_the_fourteen(context: Context) -> None:
    for check in more_checks.MORE_CHECKS.values():
        check(context.device)


def test_what_the_machine_is(context: Context) -> None:
    items = [*environment.items(context)]
    assert run(items, "device")["platform"] == "cpu" and "jaxlib" in run(items, "versions")["versions"]
    assert run(items, "machine")["cores"] >= 1 and "words" in run(items, "variables")


def test_memory_and_its_end(context: Context) -> None:
    items = [*transfers.items(context)]
    assert "OutOfMemoryError, names what lives" in run(items, "out of memory")["words"]
    assert run(items, "donation")["words"] and run(items, "after it")["words"]


def test_options_are_compared(context: Context) -> None:
    found = run(jit_options.items(context), "reroll, unrolled")
    kernels = {row["value"]: row["kernels"] for row in found["rows"]}
    assert kernels["always"] < kernels["off"]


@pytest.mark.live
def test_a_profile_is_saved_and_drawn(context: Context, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(profiles.items(context), "raw profile of mlp")["calls"] >= 1
    results = {"format": "xlascope device report", "version": 1, "made": "", "seconds": 1, "budget": 1, "parts": []}
    target = tmp_path / "report.zip"
    assert write_archive(target, tmp_path, results, "") == []
    report = read_archive(target)
    assert {"profiles/mlp.xplane.pb", "hlo/mlp.txt", "records/mlp_compiled.json"} <= report.members.keys()
    ((_, found),) = pages._iter_drawable(report)
    assert isinstance(found[-1], Executed) and found[-1].observed_calls and found[-1].devices
    assert report_reader.main([target], None) == 0
    assert "mlp_profile.html" in capsys.readouterr().out
    page = tmp_path / "report_pages" / "mlp_profile.html"
    assert page.stat().st_size > 100_000


def test_without_a_renderer_it_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(form: str) -> None:
        raise pages.NoRendererError("nothing draws .html files")

    monkeypatch.setattr(pages, "find_renderer", nothing)
    results = {"format": "xlascope device report", "version": 1, "parts": []}
    write_archive(tmp_path / "report.zip", tmp_path, results, "")
    said = [*pages.write_pages(read_archive(tmp_path / "report.zip"), tmp_path / "pages")]
    assert "nothing draws" in said[0] and "xlascope show" in said[1]


def command(*words: str, timeout: float = 200) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-m", "xlascope", "doctor", *words]
    return subprocess.run(whole, capture_output=True, text=True, timeout=timeout)


def test_what_is_no_report_is_said(tmp_path: Path) -> None:
    done = command("--read", str(tmp_path / "nothing.zip"))
    assert done.returncode == 1 and "nothing.zip" in done.stderr and "Traceback" not in done.stderr
    done = command("--device", "--out", str(tmp_path / "a.zip"), "--only", "horoscope")
    assert done.returncode == 2 and "there is no part horoscope" in done.stderr


@pytest.mark.slow
def test_what_is_stopped_leaves_an_archive(tmp_path: Path) -> None:
    target = tmp_path / "report.zip"
    whole = [sys.executable, "-m", "xlascope", "doctor", "--device", "--platform", "cpu", "--out", str(target)]
    process = subprocess.Popen([*whole, "--only", "programs"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline().startswith("environment")
    process.terminate()
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "stopped; written to" in said
    assert [part["name"] for part in read_archive(target).results["parts"]] == ["environment", "programs"]


@pytest.mark.slow
@pytest.mark.live
def test_the_whole_report_on_the_cpu(tmp_path: Path) -> None:
    target = tmp_path / "report.zip"
    done = command("--device", "--out", str(target), "--platform", "cpu", "--seconds", "60", timeout=120)
    assert target.stat().st_size < 16_000_000, done.stderr
    report = read_archive(target)
    failures = [item for part in report.results["parts"] for item in part["items"] if item["result"] == "fails"]
    assert not failures and done.returncode == 0, json.dumps(failures, indent=1)
    assert len(report.summary.splitlines()) <= 40 and "xlascope device report" in report.summary
    assert [part["name"] for part in report.results["parts"]] == [*NAMES]
    assert any(name.endswith(".xplane.pb") for name in report.members)
    again = command("--read", str(target), str(target), "--pages", str(tmp_path / "pages"))
    assert again.returncode == 0 and "What changed" in again.stdout, again.stderr
