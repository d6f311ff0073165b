"""What cannot be read of XLA's words is said where the view would have been, and the program goes on."""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, readers, records
from xlascope.inspect.memory_text import memory_text
from xlascope.inspect.running import measurement, profile_sampler
from xlascope.readers import FormatError
from xlascope.records import Compiled, Executed, Explained, Passes
from xlascope.xla.explain import fusion_decisions, pass_history

X = np.arange(8.0, dtype=np.float32)


def function(x: Any) -> Any:
    return jnp.sin(x) * 2.0


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], None]:
    """Makes a reader, where it is called, fail as one does that meets a form it does not know."""

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise FormatError("XLA's writing", "expected one thing, found another")

    return lambda module, name: monkeypatch.setattr(module, name, fail)


def test_without_a_plan_the_memory_view_says_why(unreadable: Callable[[Any, str], None], tmp_path: Path) -> None:
    unreadable(readers.memory, "read_buffers")
    found = inspect.memory(xs.jit(lambda x: function(x)), X)
    assert str(found).startswith("note: the plan of memory cannot be shown: XLA's writing: expected one thing, found")
    assert "knows the form of jaxlib" in str(found)
    compiled = found.records[-1]
    assert isinstance(compiled, Compiled) and compiled.kernels and compiled.memory is not None
    found.save(tmp_path / "f.json")
    assert records.load(tmp_path / "f.json") == found.records


def test_without_kernels_the_program_runs_and_its_questions_say_why(unreadable: Callable[[Any, str], None]) -> None:
    unreadable(readers.hlo, "read_module")
    seen: list[records.Record] = []
    jitted = xs.jit(lambda x: function(x))
    with records.watch(seen.append):
        np.testing.assert_allclose(jitted(X), np.sin(X) * 2.0, rtol=1e-6)
    (compiled,) = (each for each in seen if isinstance(each, Compiled))
    assert compiled.kernels == () and "no kernels can be shown: XLA's writing" in compiled.notes[0]
    told = str(inspect.fusions(jitted, X))
    assert "note: no kernels can be shown" in told and "to kernels that nobody knows" in told


def test_a_fault_of_a_reader_reaches_no_program_that_is_watched(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def faulty(*args: Any) -> Any:
        raise IndexError("list index out of range")

    monkeypatch.setattr(readers.memory, "read_buffers", faulty)
    seen: list[records.Record] = []
    with records.watch(seen.append):
        np.testing.assert_allclose(xs.jit(lambda x: function(x))(X), np.sin(X) * 2.0, rtol=1e-6)
    (compiled,) = (each for each in seen if isinstance(each, Compiled))
    assert compiled.kernels and "a reader of xlascope failed (IndexError" in compiled.notes[0]
    assert "a reader of compiled programs failed" in caplog.text


def test_kernels_that_name_no_equation_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    read = readers.hlo.read_module
    monkeypatch.setattr(readers.hlo, "read_module", lambda text: read(text.replace("op_name", "operation_name")))
    assert "note: no kernel can be traced to equations: expected op_name" in str(
        inspect.fusions(xs.jit(lambda x: function(x)), X)
    )


@pytest.mark.parametrize("program", [function, lambda x: x, lambda x: x.T, lambda x: jnp.zeros(3), lambda x: x + x])
def test_what_can_be_read_has_no_notes(program: Callable[[Any], Any]) -> None:
    compiled = inspect.memory(program, X).records[-1]
    assert isinstance(compiled, Compiled) and compiled.notes == ()


def test_a_profile_of_another_form_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "read_profile", lambda data, schedules, labels: ())
    found = inspect.timings(xs.jit(function), X)
    assert "note: no kernel's time can be shown: expected events of the profiler with hlo_module" in str(found)
    (run,) = (each for each in found.records if isinstance(each, Executed))
    assert len(run.notes) == 1


def test_a_profile_that_is_none_says_so(unreadable: Callable[[Any, str], None]) -> None:
    unreadable(measurement, "read_profile")
    assert "note: no kernel's time can be shown: XLA's writing" in str(inspect.timings(function, X))


def test_a_live_view_says_once_that_profiles_cannot_be_read(unreadable: Callable[[Any, str], None]) -> None:
    unreadable(profile_sampler, "read_profile")
    jitted, seen = xs.jit(lambda x: function(x)), list[records.Record]()
    with profile_sampler.Sampler(emit=seen.append):
        until, calls = time.perf_counter() + 1.0, 0
        while time.perf_counter() < until:
            jitted(X)
            calls += 1
    (failure,) = (each for each in seen if isinstance(each, records.Failure))
    assert (failure.stage, failure.error) == ("profile", "FormatError") and "XLA's writing" in failure.message
    assert [each for each in seen if isinstance(each, Executed)][-1].calls == calls, "calls are counted all the same"


def test_a_log_in_other_words_is_a_note(unreadable: Callable[[Any, str], None]) -> None:
    unreadable(fusion_decisions, "read_fusion_log")
    found = inspect.why(function, X)
    assert "no decision can be shown: XLA's writing" in str(found)
    explained = found.records[-1]
    assert isinstance(explained, Explained) and explained.before


def test_snapshots_of_another_name_are_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (fusion_decisions, pass_history):
        monkeypatch.setattr(module, "list_snapshots", lambda folder: [])
    assert "no pass can be shown: expected snapshots named" in str(inspect.passes(function, X))
    found = inspect.why(function, X, edge=("0", "1"))
    assert "What the compiler wrote of this program could not be read." in str(found)
    assert "the program before fusion cannot be shown: expected snapshots named" in str(found)


def test_snapshots_of_another_form_are_a_note(unreadable: Callable[[Any, str], None]) -> None:
    unreadable(pass_history, "read_passes")
    found = inspect.passes(function, X)
    assert "XLA's writing: expected one thing" in str(found)
    assert isinstance(found.records[-1], Passes) and not found.records[-1].complete


def test_memory_without_buffers_has_the_sizes() -> None:
    """The plugins of GPUs report sizes, and no buffers."""
    (*others, compiled) = inspect.memory(function, X).records
    assert isinstance(compiled, Compiled) and compiled.memory is not None
    bare = dataclasses.replace(compiled, memory=dataclasses.replace(compiled.memory, buffers=()))
    assert "arguments " in memory_text([*others, bare]) and "which arrays" in memory_text([*others, bare])
    assert "reports no plan" in memory_text([*others, dataclasses.replace(compiled, memory=None)])
