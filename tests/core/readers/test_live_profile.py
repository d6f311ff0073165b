"""The profiler's windows on a program that runs, from XLA to records."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jaxlib import _profiler

from xlascope.readers.hlo.kernels import read_kernels
from xlascope.readers.profiles import ModuleProfile, read_profile
from xlascope.xla.profiling.profiler_windows import (
    MAX_WINDOW_SECONDS,
    MIN_WINDOW_SECONDS,
    ProfilerInUseError,
    Window,
    next_window_seconds,
    record_window,
)


@pytest.fixture(scope="module")
def noise(load_program: Callable[[str], Any]) -> Any:
    """A program without operands: random bits, sine, matrix product."""
    return load_program("no_operands")


def run(executable: Any, times: int) -> None:
    for _ in range(times):
        executable.execute_sharded([], with_tokens=True).consume_token().block_until_ready()


def test_a_window_sees_each_call_and_each_kernel(noise: Any) -> None:
    with Window() as opened:
        run(noise, 5)
    (compiled,) = noise.hlo_modules()
    schedules = {compiled.name: (tuple(each.name for each in read_kernels(compiled.to_string())),)}
    found = read_profile(opened.data, schedules=schedules)
    (module,) = (each for each in found if each.module.startswith("jit_noise"))
    assert (module.module, module.observed_calls) == (compiled.name, 5) == ("jit_noise.1", 5)
    (device,) = module.devices
    assert device.device == "cpu:0"
    assert {each.kernel for each in device.kernels} == {each.name for each in read_kernels(compiled.to_string())}
    assert all(each.calls == 5 and each.seconds > 0 for each in device.kernels)
    assert 0 < module.step < 1
    assert sum(span.duration for span in device.spans) <= module.step


def test_a_window_from_another_thread(noise: Any) -> None:
    seen: list[bytes] = []
    watcher = threading.Thread(target=lambda: seen.append(record_window(0.05)))
    watcher.start()
    while watcher.is_alive():
        run(noise, 1)
    assert any(each.module == "jit_noise.1" and each.observed_calls > 1 for each in read_profile(seen[0]))


def test_one_window_at_a_time() -> None:
    with Window(), pytest.raises(ProfilerInUseError, match="open already"):
        record_window(0.0)
    assert isinstance(record_window(0.0), bytes)


def test_somebody_elses_profiler_is_named(noise: Any) -> None:
    session = _profiler.ProfilerSession()
    with pytest.raises(ProfilerInUseError, match="another profiler is active"):
        record_window(0.0)
    session.stop()
    with Window() as opened:
        run(noise, 1)
    assert read_profile(opened.data)


def test_an_error_inside_ends_the_window() -> None:
    with pytest.raises(KeyboardInterrupt), Window():
        raise KeyboardInterrupt
    assert isinstance(record_window(0.0), bytes)


def test_a_window_whose_end_was_interrupted_closes_when_nobody_holds_it():
    window = Window()
    window.__enter__()
    with pytest.raises(ProfilerInUseError, match="open already"), window:
        pass
    del window  # an interrupt came between the block and `__exit__`
    with Window() as again:
        pass
    assert isinstance(again.data, bytes)


@pytest.mark.parametrize(
    ("seconds", "step", "runs", "longer"),
    [(0.01, 1e-3, 750, 0.002), (0.001, 1e-4, 240, 0.001), (0.002, 5e-3, 5, 0.05), (0.05, 2.0, 10, MAX_WINDOW_SECONDS)],
)
def test_the_next_window_fits_the_program(seconds: float, step: float, runs: int, longer: float) -> None:
    chosen = next_window_seconds(seconds, [ModuleProfile("m", 1, 5, step, (), runs=runs)])
    assert chosen == pytest.approx(longer, rel=0.2)
    assert MIN_WINDOW_SECONDS <= chosen <= MAX_WINDOW_SECONDS


def test_importing_the_records_loads_no_jaxlib(fresh_python: Callable[[str], str], root: Path) -> None:
    program = "import sys, xlascope.records; print([name for name in sys.modules if name.startswith('jaxlib')])"
    assert fresh_python(f"import sys; sys.path.insert(0, {str(root / 'core')!r}); {program}") == "[]\n"
