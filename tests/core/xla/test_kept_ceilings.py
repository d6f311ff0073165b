"""The ceilings of this machine: measured once, while it is idle, and kept."""

import os
from pathlib import Path
from typing import Any

import pytest

from xlascope.xla.devices.backend import default_device
from xlascope.xla.profiling import ceilings, kept_ceilings
from xlascope.xla.profiling.kept_ceilings import Kept, keep, read

FOUND = Kept(1e11, 2e10, "a product and a pass", 5.0)


@pytest.fixture
def device() -> Any:
    return default_device()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept_ceilings, "user_folder", lambda: str(tmp_path / "xlascope" / "executables"))
    monkeypatch.setattr(kept_ceilings, "is_idle", lambda: True)
    return tmp_path / "xlascope" / "ceilings"


def test_measured_once(folder: Path, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    monkeypatch.setattr(ceilings, "_measured", lambda device: measured.append(device) or FOUND)
    assert [ceilings.measure_ceilings.__wrapped__(device) for _ in range(2)] == [FOUND, FOUND]
    assert len(measured) == 1 and len(os.listdir(folder)) == 1


def test_a_busy_machine_keeps_nothing(folder: Path, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_ceilings, "is_idle", lambda: False)
    keep(device, FOUND)
    assert read(device) is None and not folder.exists()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 1, "flops": "many"}', "\x00"])
def test_what_is_damaged_is_measured_again(folder: Path, device: Any, content: str) -> None:
    keep(device, FOUND)
    (file,) = folder.iterdir()
    file.write_text(content)
    assert read(device) is None
    keep(device, FOUND)
    assert read(device) == FOUND


@pytest.mark.skipif(os.name == "nt", reason="Windows says who may write by access lists")
def test_what_others_may_write_is_not_believed(folder: Path, device: Any) -> None:
    keep(device, FOUND)
    folder.chmod(0o777)
    assert read(device) is None


def test_how_busy_a_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    processors = os.cpu_count() or 1
    for load, idle in ((0.1 * processors, True), (0.9 * processors, False)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert kept_ceilings.is_idle() is idle
