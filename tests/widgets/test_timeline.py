"""What the browser gets to draw of time and memory."""

import dataclasses
import json

import pytest

from xlascope.records import Buffer, Ceilings, Compiled, Executed, MemoryUse, Span
from xlascope_widgets import wire
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.wire_measured import (
    MAX_BUFFERS,
    MAX_CURVE_POINTS,
    MAX_SPANS,
    encode_ceilings,
    encode_memory,
    encode_stages,
    merge_spans,
)


def of(records, kind):
    return next(record for record in records if isinstance(record, kind))


def test_bars_that_can_be_sent_are_sent_as_they_are():
    spans = [Span(f"k{i}", i * 1e-6, 5e-7) for i in range(MAX_SPANS)]
    assert merge_spans(spans) == [[each.kernel, each.start, each.duration] for each in spans]


@pytest.mark.parametrize("count", [2001, 5000, 100_000])
def test_too_many_bars_are_merged_and_counted(count):
    spans = [Span("loop", 0.0, count * 1e-6), *(Span(f"k{i % 7}", i * 1e-6, 4e-7) for i in range(count))]
    bars = merge_spans(spans)
    assert len(bars) <= MAX_SPANS
    assert sum(bar[3] if len(bar) > 3 else 1 for bar in bars) == count + 1
    assert bars[0] == ["loop", 0.0, count * 1e-6]
    assert [bar[1] for bar in bars] == sorted(bar[1] for bar in bars)
    assert all(bar[1] >= 0 and bar[1] + bar[2] <= count * 1e-6 * 1.000001 for bar in bars)


def test_the_host_says_when_each_stage_was(samples):
    records = samples.training_records()
    (program, *_) = ProgramStore.of(records).sorted_by_weight()
    assert [stage for stage, *_ in encode_stages(program)] == ["trace", "lower", "compile"]
    assert encode_stages(program)[-1][-1] in ("hit", "miss")
    assert wire.encode_light(program)["stages"] == encode_stages(program)


def test_ceilings_come_with_their_source(samples):
    ledger = ProgramStore.of(samples.training_records())
    assert encode_ceilings(ledger.programs.values()) == {}
    number = ledger.sorted_by_weight()[0].number
    assert not ledger.receive(Ceilings(number, "update", 1.0, "cpu:0", 1e11, 5e10, "a product"))
    found = encode_ceilings(ledger.programs.values())["ceilings"]
    assert found["flops_per_s"] == 1e11 and found["bytes_per_s"] == 5e10
    assert "measured here" in found["source"] and "a product" in found["source"]


def planned(compiled, buffers):
    return dataclasses.replace(compiled, memory=MemoryUse(10, 20, 30, 30, tuple(buffers)))


def test_memory_is_a_curve_a_peak_and_arrays(samples):
    compiled = of(samples.training_records(), Compiled)
    names = [kernel.name for kernel in compiled.kernels]
    buffers = [
        Buffer("argument.0", "argument", (), 0, 0, 64, 0, len(names) - 1, 2),
        Buffer(names[3], "temporary", ("1",), 1, 0, 128, 3, 5),
        Buffer(names[6], "result", ("2",), 1, 0, 32, 6, len(names) - 1),
    ]
    sent = encode_memory(planned(compiled, buffers))["memory"]
    assert sent["live"] == [64] * 3 + [192] * 3 + [96] * (len(names) - 6)
    assert (sent["at"], sent["most"], sent["per"], sent["more"]) == (3, 192, 1, 0)
    assert sent["buffers"][1] == [3, 3, 128, 3, 5, -1, 1, 0]
    assert encode_memory(dataclasses.replace(compiled, memory=None)) == {}
    assert encode_memory(planned(compiled, [])) == {}


def test_memory_of_a_huge_program_stays_small(samples):
    compiled = of(samples.training_records(), Compiled)
    kernels = [dataclasses.replace(compiled.kernels[0], name=f"k{i}") for i in range(20_000)]
    buffers = [Buffer(f"k{i}", "temporary", ("3",), 0, 64 * (i % 50), 64, i, i + 30) for i in range(20_000)]
    huge = dataclasses.replace(planned(compiled, buffers), kernels=tuple(kernels))
    sent = encode_memory(huge)["memory"]
    assert len(sent["buffers"]) <= MAX_BUFFERS and sent["more"] == 20_000 - len(sent["buffers"])
    assert len(sent["live"]) <= MAX_CURVE_POINTS and max(sent["live"]) == sent["most"]
    assert len(json.dumps(sent)) < 60_000


def test_devices_are_sent_with_their_part_of_the_account(samples):
    records = samples.training_records()
    run = of(records, Executed)
    (program, *_) = ProgramStore.of(records).sorted_by_weight()
    sent = wire.encode_light(program)["executed"]["devices"]
    for device, own in zip(sent, program.account.devices, strict=True):
        assert device["busy"] == own.busy and "whole" not in device
        assert {name: seconds for name, (_, seconds) in device["kernels"].items()} == {
            each.kernel: pytest.approx(each.seconds) for each in own.kernels
        }
    assert len(sent[0]["spans"]) == len(run.devices[0].spans)


def test_of_a_part_of_a_step_only_bars_are_sent(samples):
    run = of(samples.training_records(), Executed)
    parts = [dataclasses.replace(each, whole=False, kernels=(), busy=0.0) for each in run.devices]
    part = dataclasses.replace(run, observed_calls=0, devices=tuple(parts), clock="host")
    (program, *_) = ProgramStore.of([*samples.training_records()[:-1], part]).sorted_by_weight()
    sent = wire.encode_light(program)["executed"]
    assert "account" not in sent and (sent["observed"], sent["step"], sent["clock"]) == (0, run.step, "host")
    assert all(each["whole"] is False and not each["kernels"] and each["spans"] for each in sent["devices"])


def test_a_targets_view_has_its_own_plan_of_memory_and_no_ceilings(samples, script):
    """It once showed the plan of what ran here."""
    compiled = of(samples.training_records(), Compiled)
    here = planned(compiled, [Buffer(compiled.kernels[0].name, "temporary", (), 0, 0, 64, 0, 1)])
    there = planned(compiled, [Buffer(compiled.kernels[0].name, "temporary", (), 0, 0, 4096, 0, 1)])
    for found, most in ((there, 4096), (dataclasses.replace(compiled, memory=None), None)):
        target = dataclasses.replace(found, target="gpu:h100")
        (program, *_) = ProgramStore.of([samples.traced(), here, samples.executed(), target]).sorted_by_weight()
        view = "viewForTarget(Object.assign(new Program(a, b), { ceilings: {} }), a.targets['gpu:h100'])"
        heavy, light = wire.encode_heavy(program), wire.encode_light(program)
        assert heavy["memory"]["most"] == 64
        assert script(f"[{view}.heavy.memory?.most ?? null, {view}.ceilings ?? null]", heavy, light) == [most, None]
        assert script(f"[{view}.times.size, {view}.account ?? null]", heavy, light) == [0, None]
