"""The ceilings of this machine: measured once, while it is idle, and kept."""

import os
from pathlib import Path
from typing import Any

import pytest

from xlascope.xla.devices.backend import default_device
from xlascope.xla.profiling import ceilings_store, measured_ceilings
from xlascope.xla.profiling.ceilings_store import DeviceCeilings, read_ceilings, store_ceilings

FOUND = DeviceCeilings(1e11, 2e10, "a product and a pass", 5.0)


@pytest.fixture
def device() -> Any:
    return default_device()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ceilings_store, "default_cache_folder", lambda: str(tmp_path / "xlascope" / "executables"))
    monkeypatch.setattr(ceilings_store, "is_machine_idle", lambda: True)
    return tmp_path / "xlascope" / "ceilings"


def test_measured_once(folder: Path, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    monkeypatch.setattr(measured_ceilings, "_run_benchmarks", lambda device: measured.append(device) or FOUND)
    assert [measured_ceilings.measure_ceilings.__wrapped__(device) for _ in range(2)] == [FOUND, FOUND]
    assert len(measured) == 1 and len(os.listdir(folder)) == 1


def test_a_busy_machine_keeps_nothing(folder: Path, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings_store, "is_machine_idle", lambda: False)
    store_ceilings(device, FOUND)
    assert read_ceilings(device) is None and not folder.exists()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 1, "flops": "many"}', "\x00"])
def test_what_is_damaged_is_measured_again(folder: Path, device: Any, content: str) -> None:
    store_ceilings(device, FOUND)
    (file,) = folder.iterdir()
    file.write_text(content)
    assert read_ceilings(device) is None
    store_ceilings(device, FOUND)
    assert read_ceilings(device) == FOUND


@pytest.mark.skipif(os.name == "nt", reason="Windows says who may write by access lists")
def test_what_others_may_write_is_not_believed(folder: Path, device: Any) -> None:
    store_ceilings(device, FOUND)
    folder.chmod(0o777)
    assert read_ceilings(device) is None


def test_how_busy_a_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    processors = os.cpu_count() or 1
    for load, idle in ((0.1 * processors, True), (0.9 * processors, False)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert ceilings_store.is_machine_idle() is idle
