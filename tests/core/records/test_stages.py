"""The stages of one program: which records are held, the latest of each kind."""

from dataclasses import replace

import pytest

from xlascope.records import (
    Ceilings,
    Compiled,
    Executed,
    Failure,
    Jaxpr,
    Lowered,
    Missed,
    Started,
    Traced,
    from_json,
    to_json,
)
from xlascope.records.stages import Stages

NOTHING = Jaxpr("f", (), (), (), {}, ())
TRACED = Traced(1, "f", 0.0, 0.1, NOTHING, "", "first call", origin="first")
LOWERED = Lowered(1, "f", 0.1, 0.1, 3)


def compiled(module="jit_f", target=""):
    return Compiled(1, "f", 0.2, 0.1, "miss", "cpu", ("cpu:0",), module, (), "", target=target)


def executed(module="jit_f"):
    return Executed(1, "f", 0.3, 1, 0.1, 0.1, 1, 0.1, (), module=module)


def test_the_latest_of_each_stage():
    stages = Stages.of([TRACED, LOWERED, compiled(), replace(TRACED, seconds=0.2), replace(LOWERED, operations=4)])
    assert (stages.traced.seconds, stages.lowered.operations, stages.compiled) == (0.2, 4, compiled())


def test_what_ran_is_what_is_shown():
    stages = Stages.of([compiled("a"), compiled("b")])
    assert stages.compiled.module == "b" and list(stages.compilations) == ["a", "b"]
    assert stages.receive(executed("a")) and stages.compiled.module == "a"
    assert not stages.receive(executed("a")) and not stages.receive(executed("unknown"))
    assert stages.compiled.module == "a"


def test_another_target_is_no_compilation_of_this_device():
    stages = Stages.of([compiled(target="gpu:h100")])
    assert stages.compiled is None and list(stages.asked) == [(Compiled, "gpu:h100", "")]


@pytest.mark.parametrize(
    ("record", "active"), [(LOWERED, False), (executed(), True), (Started(1, "f", "compile", 0.2), True)]
)
def test_a_stage_lasts_until_another_one_is_told(record, active):
    stages = Stages.of([Started(1, "f", "compile", 0.1)])
    stages.receive(record)
    assert (stages.active is not None) == active


def test_the_stage_of_running_ends_when_it_was_measured():
    stages = Stages.of([Started(1, "f", "run", 0.1), executed()])
    assert stages.active is None


@pytest.mark.parametrize("record", [LOWERED, Ceilings(1, "f", 0.0, "cpu", 1.0, 1.0, "measured here")])
def test_numbers_alone_change_no_picture(record):
    assert not Stages().receive(record)


def test_slow_calls_are_not_held():
    stages = Stages()
    assert not stages.receive(Missed(1, "f", 0.0, "why", "")) and not list(stages.records())


def test_records_in_the_order_of_stages():
    failure = Failure(1, "f", "run", 0.4, "ValueError", "no")
    given = [failure, executed(), compiled("b"), compiled("a"), LOWERED, TRACED]
    assert list(Stages.of(given).records()) == [TRACED, LOWERED, compiled("b"), compiled("a"), executed(), failure]


@pytest.mark.parametrize(
    ("reason", "seconds", "is_operation"),
    [("run outside of jit", 0.1, True), ("first call", 0.1, False), ("first call", 0.0, True)],
)
def test_the_origin_of_a_trace_in_a_file_without_origins(reason, seconds, is_operation):
    saved = to_json(replace(TRACED, reason=reason, seconds=seconds))
    del saved["origin"]
    assert from_json(saved).is_operation == is_operation


@pytest.mark.parametrize(("origin", "is_operation"), [("first", False), ("again", False), ("operation", True)])
def test_an_origin_is_kept(origin, is_operation):
    record = from_json(to_json(replace(TRACED, origin=origin, seconds=0.0)))
    assert (record.origin, record.is_operation) == (origin, is_operation)
