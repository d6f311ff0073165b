"""What follows from a program alone is computed once, however often its cell runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import xlascope as xs
from xlascope.analysis.costs.call_times import break_down_call
from xlascope.inspect import timings
from xlascope.records import Record, SourceRange, Traced
from xlascope_widgets import program_store, wire
from xlascope_widgets.identity_cache import IdentityCache
from xlascope_widgets.program_store import ProgramStore


def test_a_result_belongs_to_these_very_objects_and_equal_values() -> None:
    cache: IdentityCache[int] = IdentityCache(max_results=2)
    counter: Iterator[int] = iter(range(9))
    one, same = [1], [1]
    assert cache.get_or_compute((one,), (1,), lambda: next(counter)) == 0
    assert cache.get_or_compute((one,), (1,), lambda: next(counter)) == 0
    assert cache.get_or_compute((same,), (1,), lambda: next(counter)) == 1
    assert cache.get_or_compute((one,), (2,), lambda: next(counter)) == 2
    assert cache.get_or_compute((one,), (1,), lambda: next(counter)) == 3  # the oldest was evicted


@pytest.fixture(scope="module")
def measured() -> tuple[Record, ...]:
    @xs.jit
    def step(w: Any, x: Any) -> Any:
        return w - 0.1 * xs.grad(lambda w: xs.numpy.sum(xs.numpy.tanh(x @ w)))(w)

    return tuple(timings(step, np.ones((8, 8), np.float32), np.ones((4, 8), np.float32)).records)


def test_a_program_is_encoded_once_for_all_runs_of_its_cell(measured: tuple[Record, ...]) -> None:
    moved = [
        dataclasses.replace(record, call_site=SourceRange("In[9]", 3, 0, 3, 9, "<module>"))
        if isinstance(record, Traced)
        else record
        for record in measured
    ]
    mains = [ProgramStore.of(records).main for records in (measured, measured, moved)]
    first, second, other = mains
    assert first is not None and second is not None and other is not None and first is not second
    assert first.compiled is second.compiled is other.compiled
    assert first._static_costs() is second._static_costs() is other._static_costs()
    heavy, again, elsewhere = map(wire.encode_heavy, (first, second, other))
    assert heavy == again and heavy["jaxpr"] is again["jaxpr"] and heavy["kernels"] is again["kernels"]
    assert elsewhere["site"] != heavy.get("site") and elsewhere["files"][elsewhere["site"][0]] == "In[9]"
    assert second.account == first.account and second.equations == first.equations > 3


def test_a_profile_is_added_up_once_for_all_reports_of_its_program(
    measured: tuple[Record, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ProgramStore.of(measured)
    program = store.main
    assert program is not None and program.executed is not None and program.account is not None
    run, account = program.executed, program.account
    monkeypatch.setattr(program_store, "compute_profiled_times", lambda *_: pytest.fail("the profile is the same"))
    for factor in (0.5, 1.0, 2.0):
        later = dataclasses.replace(run, calls=run.calls + 9, step=run.step * factor)
        store.receive(later)
        expected = break_down_call(later, program.compiled, program.traced)
        assert program.account == expected and (program.account == account) == (factor == 1.0)
        assert sum(program.account.lines[place].seconds for place in account.lines) > 0
    monkeypatch.undo()
    devices = tuple(dataclasses.replace(device, busy=device.busy / 2) for device in run.devices)
    store.receive(dataclasses.replace(run, devices=devices))
    assert program.account == break_down_call(program.executed, program.compiled, program.traced) != account
