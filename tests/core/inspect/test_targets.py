"""`inspect.target` and `inspect.targets`: records, and the text that tells them."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, records
from xlascope.inspect.jobs import Cancelled, Job
from xlascope.records import Compiled, Traced
from xlascope.xla.targets import UnknownTargetError

needs_compilers = pytest.mark.usefixtures("target_compilers")
X = np.ones((64, 64), np.float32)


def layer(x: Any) -> Any:
    return jnp.tanh(x @ x).sum()


def test_the_cpu_is_a_target_like_others() -> None:
    found = inspect.target(layer, X, target="cpu")
    traced, compiled = found.records
    assert isinstance(traced, Traced) and isinstance(compiled, Compiled)
    assert (compiled.target, compiled.platform) == ("cpu", "cpu")
    fused = inspect.fusions(layer, X).records[-1]
    assert isinstance(fused, Compiled)
    assert [k.equations for k in fused.kernels] == [k.equations for k in compiled.kernels]
    assert fused.target == ""


@needs_compilers
def test_one_target_as_text() -> None:
    text = inspect.target(layer, X, target="gpu:h100").text.splitlines()
    assert text[0].startswith("layer for gpu:h100 (NVIDIA H100 80GB HBM3): 3 equations, compiled in ")
    assert text[1].split() == ["kernel", "kind", "equations", "saved", "moved", "at", "least", "launch", "operations"]
    assert any("(roofline estimate: bytes and operations at the chip's peaks, launches apart)" in line for line in text)
    assert any("no device, no tuning" in line for line in text)


@needs_compilers
def test_several_side_by_side() -> None:
    found = inspect.targets(layer, X, targets=["cpu", "gpu:h100", "tpu:v5e", "tpu:v5e:2x2"])
    traced, *compiled = found.records
    assert isinstance(traced, Traced)
    assert [each.target for each in compiled if isinstance(each, Compiled)] == ["cpu", "gpu:h100", "tpu:v5e:2x2"]
    assert {each.program for each in found.records} == {traced.program}
    assert found.text.startswith("layer: 3 equations, for 3 targets; nothing was run\n")
    assert "at least: for tpu:v5e:2x2 the TPU compiler's, at the chip's peaks" in found.text
    assert "not estimated" in found.text  # nobody estimates the CPU's time


@needs_compilers
def test_records_of_targets_are_kept_in_files(tmp_path: Path) -> None:
    found = inspect.target(layer, X, target="gpu:a100")
    found.save(tmp_path / "a100.json")
    assert records.load(tmp_path / "a100.json") == found.records


def test_records_from_before_targets_are_still_read() -> None:
    data = records.to_json(inspect.fusions(layer, X).records[-1])
    for name in ("target", "estimated_seconds", "estimated_by"):
        del data[name]
    for kernel in data["kernels"]:
        for name in ("layout", "launch", "estimated_seconds", "estimated_cycles"):
            del kernel[name]
    read = records.from_json(data)
    assert isinstance(read, Compiled)
    assert (read.target, read.kernels[0].launch) == ("", "")


@needs_compilers
def test_a_target_is_compiled_once() -> None:
    jitted = xs.jit(lambda x: jnp.cos(x) * 2.0)
    first, second = (inspect.target(jitted, X, target="gpu:l4").records[-1] for _ in range(2))
    assert first is second


@needs_compilers
def test_a_watched_session_hears_nothing_of_it() -> None:
    seen: list[Any] = []
    jitted = xs.jit(lambda x: jnp.cos(x) * 3.0)
    jitted(X)
    with records.watch(seen.append):
        inspect.target(jitted, X, target="gpu:l4")
    assert seen == []


@needs_compilers
@pytest.mark.slow
@pytest.mark.parametrize("target", ["gpu:h100", "tpu:v5e"])
def test_the_work_of_a_large_step_is_found_in_the_kernels(
    target: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(root))
    bench, sides = (importlib.import_module(f"bench.{name}") for name in ("transformer", "sides"))
    found = inspect.target(bench.make_gradient(sides.side("xlascope")), *bench.weights_and_tokens(), target=target)
    traced, compiled = found.records
    assert isinstance(traced, Traced) and isinstance(compiled, Compiled)
    inside = {path for kernel in compiled.kernels for path in kernel.equations}
    flops = {each.path: each.flops for each in traced.jaxpr.walk() if not each.bodies}
    assert sum(flops[path] for path in inside & flops.keys()) > 0.97 * sum(flops.values())
    assert sum(each.unknown for each in compiled.kernels) < 0.05 * sum(each.instructions for each in compiled.kernels)


def test_a_function_with_such_a_keyword_is_asked_about_as_a_call() -> None:
    def towards(x: Any, target: Any) -> Any:
        return x - target

    found = inspect.target(inspect.call(towards, X, target=1.0), target="cpu")
    assert isinstance(found.records[0], Traced)
    assert found.records[0].function == "towards"


WRONG = [
    ({"targets": "gpu:h100"}, TypeError, "targets is a list of names, not the text 'gpu:h100'"),
    ({"targets": []}, ValueError, "targets names none; there are cpu"),
    ({"targets": ["cpu", "gpu"]}, UnknownTargetError, "there is no target 'gpu'; the targets are cpu"),
]


@pytest.mark.parametrize(("asked", "kind", "message"), WRONG)
def test_what_is_wrong_is_said_before_anything_is_compiled(asked: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        inspect.targets(layer, X, **asked)


# Jobs ----------------------------------------------------------------------------------------------------------------


def test_a_job_hands_on_what_its_work_raises() -> None:
    def fail(job: Job[None]) -> None:
        raise LookupError("not there")

    job = Job(fail)
    with pytest.raises(LookupError, match="not there"):
        job.result(10)
    assert (job.state, job.message) == ("failed", "not there")


def test_a_job_that_is_waited_for_too_briefly_goes_on() -> None:
    job: Job[int] = Job(lambda job: (job.report(0.1, "thinking"), job._cancelled.wait(0.3), 7)[2])
    with pytest.raises(TimeoutError, match=r"not done after 0.01 s"):
        job.result(0.01)
    assert job.result(10) == 7
    job.cancel()  # too late: nothing happens
    assert (job.state, job.cancelled) == ("done", False)


def test_a_cancelled_job_stops_what_it_waits_for() -> None:
    stopped: list[str] = []

    def work(job: Job[None]) -> None:
        job.on_cancel(lambda: stopped.append("process"))
        job._cancelled.wait(10)
        job.check()

    states: list[str] = []
    job = Job(work)
    job.on_change(lambda job: states.append(job.state))
    job.cancel()
    with pytest.raises(Cancelled):
        job.result(10)
    assert stopped == ["process"]
    assert states[0] == "working" and states[-1] == "cancelled"


def test_a_watcher_that_fails_does_not_end_the_work(caplog: pytest.LogCaptureFixture) -> None:
    def watcher(job: Job[int]) -> None:
        raise RuntimeError("watcher")

    job = Job(lambda job: job.report(0.5, "half") or 3)
    job.on_change(watcher)
    assert job.result(10) == 3
    assert "a watcher of a job failed" in caplog.text
