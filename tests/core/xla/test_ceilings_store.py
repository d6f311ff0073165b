"""The ceilings of this machine: calibrated in fresh processes, kept with date and load, the best of all counts."""

import math
import os
import time
from pathlib import Path
from typing import Any

import pytest

from xlascope.xla.devices.backend import default_device
from xlascope.xla.profiling import calibration, ceilings_store, measured_ceilings
from xlascope.xla.profiling.calibration import PROCESSES, calibrate_cpu
from xlascope.xla.profiling.ceilings_store import DeviceCeilings, join_ceilings, read_ceilings, store_ceilings

FOUND = DeviceCeilings(1e11, 2e10, "a product and a pass", time.time(), 0.1, 3)
RATES = [{"flops": f, "bytes_per_second": b, "programs": "a product and a pass"} for f, b in ((3, 1), (1, 2), (2, 1))]


@pytest.fixture
def device() -> Any:
    return default_device()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ceilings_store, "default_cache_folder", lambda: str(tmp_path / "xlascope" / "executables"))
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    return tmp_path / "xlascope" / "ceilings"


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of each process that was started; each measures its own rates."""
    started: list[int] = []

    def measure() -> Any:
        started.append(len(started))
        return RATES[started[-1] % len(RATES)]

    monkeypatch.setattr(calibration, "_measure_in_process", measure)
    return started


def set_load(monkeypatch: pytest.MonkeyPatch, per_processor: float) -> None:
    load = per_processor * (os.cpu_count() or 1)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))


def test_the_best_of_several_processes_is_kept(folder: Path, device: Any, processes: list[int]) -> None:
    first, second = (measured_ceilings.measure_ceilings.__wrapped__(device) for _ in range(2))
    assert first == second == read_ceilings(device) and len(processes) == PROCESSES and len(os.listdir(folder)) == 1
    assert (first.flops, first.bytes_per_second, first.processes, first.load) == (3, 2, 3, 0.0)
    assert "best of 3 processes on " in first.source and first.source.endswith("load 0 per processor")


def test_a_busy_machine_is_told_and_measured_again_when_idle(
    folder: Path, device: Any, processes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_load(monkeypatch, 0.9)
    busy = calibrate_cpu(device)
    assert busy is not None and busy.source.endswith("load 0.9 per processor, a busy machine: perhaps too low")
    assert calibrate_cpu(device) == busy and len(processes) == PROCESSES  # while it is busy, no other is better
    set_load(monkeypatch, 0.1)
    idle = calibrate_cpu(device)
    assert idle is not None and idle.load == pytest.approx(0.1) and "busy" not in idle.source
    assert calibrate_cpu(device) == idle and len(processes) == 2 * PROCESSES


def test_old_ones_are_measured_again_and_never_get_worse(folder: Path, device: Any, processes: list[int]) -> None:
    old = FOUND._replace(time=time.time() - ceilings_store.MAX_AGE_SECONDS - 1)
    store_ceilings(device, old)
    again = calibrate_cpu(device)
    assert again is not None and len(processes) == PROCESSES
    assert (again.flops, again.bytes_per_second, again.processes) == (1e11, 2e10, 6) and again.time > old.time


def test_other_programs_replace_the_rates() -> None:
    assert join_ceilings(FOUND._replace(programs="others"), FOUND) == FOUND
    assert join_ceilings(None, FOUND) == FOUND


def test_where_no_process_starts_this_one_measures(folder: Path, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration.sys, "executable", str(folder / "nothing"))
    monkeypatch.setattr(measured_ceilings, "run_benchmarks", lambda device: FOUND._replace(processes=0))
    assert calibrate_cpu(device) is None
    found = measured_ceilings.measure_ceilings.__wrapped__(device)
    assert "in this process on " in found.source and read_ceilings(device) == found
    monkeypatch.setattr(calibration.sys, "executable", "")
    assert calibration._measure_in_process() is None


def test_a_fresh_process_prints_its_rates(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    rates = calibration._measure_in_process()
    assert (
        rates is not None
        and rates["flops"] > 1e8
        and rates["bytes_per_second"] > 1e7
        and "float32" in rates["programs"]
    )
    monkeypatch.setattr(measured_ceilings, "run_benchmarks", lambda device: FOUND)
    measured_ceilings.print_benchmarks()
    assert capsys.readouterr().out.startswith('{"flops": 100000000000.0, "bytes_per_second": 20000000000.0, ')


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 2, "flops": "many"}', "\x00"])
def test_what_is_damaged_is_measured_again(folder: Path, device: Any, content: str) -> None:
    store_ceilings(device, FOUND)
    (file,) = folder.iterdir()
    file.write_text(content)
    assert read_ceilings(device) is None
    store_ceilings(device, FOUND)
    assert read_ceilings(device) == FOUND


def test_a_load_that_nobody_reports_is_kept(folder: Path, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Any:
        raise OSError

    monkeypatch.setattr(os, "getloadavg", refuse)
    assert math.isnan(ceilings_store.load_per_cpu()) and ceilings_store.is_machine_idle()
    store_ceilings(device, FOUND._replace(load=math.nan))
    found = read_ceilings(device)
    assert found is not None and math.isnan(found.load) and "load" not in found.source and found.is_current()


@pytest.mark.skipif(os.name == "nt", reason="Windows says who may write by access lists")
def test_what_others_may_write_is_not_believed(folder: Path, device: Any) -> None:
    store_ceilings(device, FOUND)
    folder.chmod(0o777)
    assert read_ceilings(device) is None


def test_how_busy_a_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for load, idle in ((0.1, True), (0.9, False)):
        set_load(monkeypatch, load)
        assert ceilings_store.is_machine_idle() is idle
