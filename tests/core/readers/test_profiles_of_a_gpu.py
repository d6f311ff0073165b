"""What is read of profiles that jaxlib 0.11.2 recorded on an NVIDIA H100, with the optimized HLO of what ran.

XLA launches most of these kernels in CUDA graphs, where the profiler names neither instruction nor call.
"""

import gzip
from pathlib import Path

import pytest

from xlascope.readers.cuda_graphs import match_kernels
from xlascope.readers.hlo import read_kernels
from xlascope.readers.hlo.schedules import Schedules, read_schedules
from xlascope.readers.profiles import ModuleProfile, read_profile

#: The program; its module; calls in the window; µs of a call; kernels of the HLO that run; runs of kernels in a call.
RECORDED = {
    "mlp": ("jit_step.3", 5, 726, 64, 64),  # training: one graph
    "scan": ("jit__lambda_.7", 3, 285, 11, 74),  # a graph in each step of a loop
    "digits": ("jit_update.1", 5, 1807, 33, 35),  # products that set memory before they add parts
    "mixed": ("jit__lambda_.9", 3, 284, 10, 13),  # cuSOLVER, which launches several kernels, then a graph
}


@pytest.fixture
def recorded(root: Path):
    def read(name: str) -> tuple[bytes, set[str], Schedules]:
        folder = root / "tests" / "data" / "h100"
        text = gzip.decompress((folder / f"{name}.hlo.txt.gz").read_bytes()).decode()
        kernels = {kernel.name for kernel in read_kernels(text)}
        profile = gzip.decompress((folder / f"{name}.xplane.pb.gz").read_bytes())
        return profile, kernels, read_schedules(text, kernels)

    return read


@pytest.mark.parametrize("name", RECORDED)
def test_each_kernel_is_an_instruction_and_each_call_is_counted_once(recorded, name: str) -> None:
    module, calls, step, instructions, runs = RECORDED[name]
    data, kernels, schedules = recorded(name)
    (found,) = read_profile(data, schedules={module: schedules})
    (device,) = found.devices
    assert (found.module, found.observed_calls, round(found.step * 1e6)) == (module, calls, step)
    assert found.runs == runs * calls
    ran = {each.kernel for each in device.kernels}
    assert ran <= kernels and len(ran) == instructions
    assert device.busy <= sum(each.seconds for each in device.kernels) <= calls * found.step


def test_without_a_schedule_a_graph_is_one_kernel_of_one_call(recorded) -> None:
    data, _, _ = recorded("mlp")
    (found,) = read_profile(data)
    assert found.observed_calls == 3  # of five, those between two others
    assert {each.kernel for each in found.devices[0].kernels} == {"command_buffer_1"}


def test_a_window_of_which_the_schedule_is_another_programs_says_no_time_of_a_call(recorded) -> None:
    data, _, _ = recorded("scan")
    (found,) = read_profile(data, schedules={"jit__lambda_.7": (("sine.1",), ("cosine.2",))})
    assert (found.observed_calls, found.step) == (0, 0.0)


LIBRARY = ["gemm", "void cutlass<int>"]
SCHEDULES = {
    "one library call, two kernels of it": (["add_1", *LIBRARY, "add_1"], [["add.1", "dot.2", "add.3"]], [0, 1, 1, 2]),
    "two library calls, two kernels": (["add_1", *LIBRARY, "add_1"], [["add.1", "d", "e", "add.3"]], [0, 1, 2, 3]),
    "three kernels of two library calls": (["add_1", *LIBRARY, "g", "add_1"], [["add.1", "d", "e", "add.3"]], None),
    "a product that sets memory": (
        ["add_1", "Memset 0", *LIBRARY, "add_1"],
        [["add.1", "d", "e", "add.3"]],
        [0, 1, 1, 2, 3],
    ),
    "a stretch of the schedule": (["mul_4", "add_1"], [["add.0", "mul.2", "add.1"]], [1, 2]),
    "a stretch that could be two": (["add_1"], [["add.0", "d", "add.1"]], []),
    "a graph in the body of a loop": (["mul_4"], [["add.0", "while.3"], ["mul.7"]], ["mul.7"]),
    "another order": (["add_1", "mul_4"], [["mul.2", "add.1"]], []),
    "library calls alone": (LIBRARY, [["d", "e"]], [0, 1]),
    "no kernel at all": ([], [["d", "e"]], []),
}


@pytest.mark.parametrize("case", SCHEDULES)
def test_what_is_ambiguous_has_no_instruction(case: str) -> None:
    functions, schedules, expected = SCHEDULES[case]
    found = match_kernels(functions, [tuple(each) for each in schedules], {"add", "mul"})
    if expected is None:  # the kernels between the generated ones are nobody's
        assert found == ["add.1", None, None, None, "add.3"]
    elif not expected:
        assert set(found) <= {None}
    else:
        assert list(found) == [each if isinstance(each, str) else schedules[0][each] for each in expected]


def test_the_profile_says_what_the_card_is(recorded) -> None:
    data, _, schedules = recorded("mlp")
    found: ModuleProfile = read_profile(data, schedules={"jit_step.3": schedules})[0]
    peaks = found.devices[0].peaks
    assert peaks is not None and peaks.cores == 132 and peaks.bytes_per_second == 3_352_320_000_000
