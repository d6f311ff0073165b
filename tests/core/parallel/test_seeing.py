"""What is seen of a program that several devices share: a lane for each, and the equation behind each collective."""

from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("seen_programs.py")


@pytest.mark.live
def test_each_device_has_its_kernels_and_each_collective_its_equation(on_eight) -> None:
    devices, equations, flops, lanes = on_eight(PROGRAMS, "measured")
    assert devices == tuple(f"cpu:{i}" for i in range(8))
    assert flops == {}, "equations count whole arrays, and each device has a part"
    assert set(lanes) == set(devices)
    (collective,) = (name for name in equations if name.startswith("all-reduce"))
    assert equations[collective] == 1
    for kernels in lanes.values():
        assert kernels == set(equations)


@pytest.mark.usefixtures("target_compilers")
def test_a_shared_program_is_compiled_for_as_many_chips(on_eight) -> None:
    found = on_eight(PROGRAMS, "elsewhere")
    for target in ("tpu:v5e:2x2", "gpu:h100"):
        (equations,) = (count for name, count in found[target] if name.startswith("all-reduce"))
        assert equations == 1
    assert "4 devices share the program, and the target has 1" in found["tpu:v5e:1x1"]


def test_how_values_lie_and_what_is_exchanged(on_eight) -> None:
    told, lies, exchanged, across, shown, types, text = on_eight(PROGRAMS, "laid_out")
    assert told == ("x=4, y=2", ("P(x, y)", "P(y)"), ("P()", "P(x)"))
    assert (lies["sharding_constraint"], lies["shard_map"], lies["tanh"]) == ("P(x)", "P()", "")
    assert {("all-reduce", 2), ("all-reduce", 4)} <= exchanged
    assert sorted(set(map(tuple, across))) == sorted(exchanged)
    assert shown == {"a": "P(x, y)", "w": "P(y)"}
    assert "f32[512,64] P(x)" in types and "f32[128,64] P()" in types
    assert "collective" in text and "seen_programs.py:" in text


def test_collectives_that_xla_joined_have_all_their_equations(on_eight) -> None:
    gradients, sums = on_eight(PROGRAMS, "joined")
    assert gradients == [["dot_general", "dot_general"]]
    assert sums == [["psum", "psum"], ["psum", "psum", "psum"]]


def test_waiting_is_told_from_working(on_eight) -> None:
    text, (account,), drawn, none = on_eight(PROGRAMS, "waits")
    assert "1.5 ms of 2.5 ms, last cpu:3" in text
    assert "derived from when each began" in text
    assert (account["last"], round(account["waiting"], 6), round(account["seconds"], 6)) == ("cpu:3", 1.5e-3, 2.5e-3)
    starts = [[(start, duration) for _, start, duration in device] for device in drawn]
    assert starts == [[(0.0, 3e-3)], [(1e-3, 2e-3)], [(2e-3, 1e-3)], []]
    assert none is None, "nothing is derived of devices that do not meet as XLA's CPU devices do"


def test_types_say_how_each_value_lies(on_eight) -> None:
    found = on_eight(PROGRAMS, "typed")
    assert {("tanh", "P(x, y)"), ("reduce_sum", "P(x)"), ("reduce_sum", ""), ("mul", "P(x, y)")} <= found
