"""One account of a call: shares that add up, times that are those of a call, and nothing of what was not seen whole."""

import pytest

from xlascope.analysis.costs.call_times import compute_call_times, equation_locations
from xlascope.records import (
    Compiled,
    DeviceTime,
    Equation,
    Executed,
    Jaxpr,
    Kernel,
    KernelTime,
    SourceRange,
    Span,
    Traced,
    Variable,
)


def kernel(name: str, *equations: str, moves: tuple[str, ...] = ()) -> Kernel:
    return Kernel(name, "fusion", "loop", "f32[8]", equations, 1, 0, 1000, 0, 0, moves=moves)


def compiled(*kernels: Kernel) -> Compiled:
    return Compiled(1, "f", 0.0, 0.1, "miss", "cpu", ("cpu:0",), "jit_f.1", kernels, "")


def traced(**lines: int) -> Traced:
    """Equations by number, each of a line."""
    names = [name.removeprefix("e") for name in lines]
    sources = [SourceRange("f.py", line, 0, line, 0, "f") for line in lines.values()]
    equations = [Equation(n, "sin", "", ("a",), ("b",), source=s) for n, s in zip(names, sources, strict=True)]
    variables = {name: Variable(name, (8,), "float32", False) for name in "ab"}
    return Traced(1, "f", 0.0, 0.1, Jaxpr("f", (), ("a",), ("b",), variables, tuple(equations)), "", "")


def device(busy: float, *kernels: KernelTime, name: str = "cpu:0", end: float = 0.0, whole: bool = True) -> DeviceTime:
    return DeviceTime(name, busy, kernels, (Span("sin", 0.0, end),) if end else (), whole=whole)


def executed(*devices: DeviceTime, calls: int = 2, step: float = 5.0, clock: str = "host") -> Executed:
    return Executed(1, "f", 0.0, 9, 45.0, 10.0, calls, step, devices, clock)  # type: ignore[arg-type]


def test_a_kernel_of_a_loop_has_the_time_of_all_its_runs() -> None:
    """Kernels and hottest once gave one kernel 586 µs (a run) and 753 µs (a call)."""
    found = compute_call_times(executed(device(8.0, KernelTime("add", 2, 2.0), KernelTime("sin", 200, 6.0))))
    assert found.mean is not None and found.calls == 2
    assert [tuple(each) for each in found.mean.kernels] == [("sin", 3.0, 100.0, 0.75), ("add", 1.0, 1.0, 0.25)]
    assert (found.mean.running_seconds, found.mean.busy, found.mean.overlaps) == (4.0, 0.8, False)


def test_of_kernels_side_by_side_there_are_two_sums() -> None:
    whole = compute_call_times(executed(device(8.0, KernelTime("a", 2, 6.0), KernelTime("b", 2, 6.0)))).mean
    assert whole is not None and whole.overlaps
    assert (whole.kernel_seconds, whole.running_seconds) == (6.0, 4.0)
    assert sum(each.share for each in whole.kernels) == 1.0


@pytest.mark.parametrize(("calls", "whole"), [(0, True), (2, False), (0, False)])
def test_of_a_part_of_a_step_nothing_is_said(calls: int, whole: bool) -> None:
    account = traced(e0=3)
    run = executed(device(8.0, KernelTime("a", 1, 6.0), end=4.0, whole=whole), calls=calls)
    found = compute_call_times(run, compiled(kernel("a", "0")), equation_locations(account))
    assert (found.mean, found.devices, found.equations, found.lines) == (None, (), {}, {})
    assert (found.seconds, found.calls, found.attributed, found.copied) == (5.0, 0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("clock", "step", "end", "factor"),
    [
        ("host", 5.0, 10.0, 0.5),  # the profiler slowed it down to half
        ("host", 5.0, 4.0, 1.0),  # what a call takes beyond its kernels is no kernel's
        ("profile", 5.0, 10.0, 1.0),
        ("", 5.0, 10.0, 1.0),
        ("host", 0.0, 10.0, 1.0),
    ],
)
def test_times_are_those_of_calls_without_the_profiler(clock: str, step: float, end: float, factor: float) -> None:
    run = executed(device(8.0, KernelTime("a", 2, 8.0), end=end), clock=clock, step=step)
    whole = compute_call_times(run).mean
    assert whole is not None and whole.kernels[0].seconds == whole.running_seconds == pytest.approx(4.0 * factor)
    assert whole.busy == pytest.approx(4.0 * factor / step if step else 0.0)
    assert whole.kernels[0].share == 1.0


def test_devices_have_their_own_accounts_and_the_call_their_mean() -> None:
    both = (
        device(8.0, KernelTime("a", 2, 8.0)),
        device(4.0, KernelTime("a", 2, 2.0), KernelTime("b", 2, 2.0), name="cpu:1"),
    )
    found = compute_call_times(executed(*both))
    assert [each.device for each in found.devices] == ["cpu:0", "cpu:1"] and found.mean is not None
    assert [tuple(each) for each in found.mean.kernels] == [
        ("a", 2.5, 1.0, pytest.approx(5 / 6)),
        ("b", 0.5, 0.5, pytest.approx(1 / 6)),
    ]
    assert (found.mean.kernel_seconds, found.mean.busy) == (3.0, pytest.approx(0.6))


def test_equations_and_lines_divide_what_kernels_took() -> None:
    kernels = (kernel("both", "0", "1", "1"), kernel("one", "2"), kernel("copy", moves=("0",)), kernel("nobody"))
    times = (
        KernelTime(name, 2, seconds) for name, seconds in (("both", 8.0), ("one", 4.0), ("copy", 2.0), ("nobody", 6.0))
    )
    run = executed(device(20.0, *times), step=10.0)
    found = compute_call_times(run, compiled(*kernels), equation_locations(traced(e0=3, e1=4, e2=3)))
    assert found.equations == {"0": 2.0, "1": 2.0, "2": 2.0}
    assert {line: (each.seconds, each.equation) for (_, line), each in found.lines.items()} == {
        3: (4.0, "0"),
        4: (2.0, "1"),
    }
    assert next(iter(found.lines)) == ("f.py", 3)
    assert (found.attributed, found.copied) == (pytest.approx(0.6), pytest.approx(0.1))  # and no source for the rest
