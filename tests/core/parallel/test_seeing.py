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
