"""What is read of profiles of GPUs and TPUs. The profiles are made by hand, in the public form, with known answers."""

import pytest
from tests.core.readers.made_profiles import GPU_FACTS, Happened, Lane, Plane, gpu, space, tpu

from xlascope.readers.profiles import ModuleProfile, read_profile
from xlascope.records import DeviceTime, Peaks

GPU_SCHEDULES = {"jit_f": (("loop_add_fusion", "gemm_fusion_dot.2", "wrapped_sine"),)}
TPU_SCHEDULES = {"jit_f": (("fusion.3", "while.2"),)}


def micros(seconds: float) -> int:
    return round(seconds * 1e6)


def of_gpu(*planes: Plane) -> ModuleProfile:
    (module,) = read_profile(space(Plane("/host:CPU", []), *planes), schedules=GPU_SCHEDULES)
    return module


def kernels(device: DeviceTime) -> dict[str, tuple[int, int]]:
    return {each.kernel: (each.calls, micros(each.seconds)) for each in device.kernels}


def test_kernels_of_a_gpu_by_stream() -> None:
    module = of_gpu(gpu(100, 200))
    assert (module.module, module.program_id, module.observed_calls, micros(module.step)) == ("jit_f", 3, 2, 45)
    (device,) = module.devices
    assert (device.device, micros(device.busy)) == ("gpu:0", 70)
    assert kernels(device) == {"loop_add_fusion": (2, 20), "gemm_fusion_dot.2": (2, 40), "wrapped_sine": (2, 10)}
    spans = [(each.kernel, each.stream, micros(each.start), micros(each.duration)) for each in device.spans]
    assert spans == [
        ("loop_add_fusion", "Stream #13", 0, 10),
        ("gemm_fusion_dot.2", "Stream #13", 20, 20),
        ("wrapped_sine", "Stream #14", 40, 5),
    ]


def test_copies_of_a_gpu_with_their_bytes() -> None:
    (device,) = of_gpu(gpu(100)).devices
    assert [(each.kernel, each.stream, micros(each.duration), each.bytes) for each in device.transfers] == [
        ("MemcpyH2D", "Stream #15", 4, 40_000),
        ("MemcpyD2H", "Stream #16", 5, 1000),
    ]


def test_of_a_copy_that_was_under_way_nobody_knows_the_rest() -> None:
    early = Lane(
        "Stream #15(MemcpyH2D)", [Happened("MemcpyH2D", 98, 4, {"memcpy_details": "size:4000 dest:0 async:1"})]
    )
    plane = gpu(100)
    (device,) = of_gpu(plane._replace(lanes=[*plane.lanes, early])).devices
    assert (micros(device.transfers[-1].duration), device.transfers[-1].bytes) == (2, None)


def test_what_a_gpu_says_of_itself() -> None:
    (device,) = of_gpu(gpu(100)).devices
    assert device.peaks == Peaks(
        None, GPU_FACTS["memory_bandwidth"], GPU_FACTS["memory_size"], GPU_FACTS["core_count"], 1.98e9
    )


@pytest.mark.parametrize("cut", [110, 125, 150, 260])
def test_a_window_that_begins_within_a_call(cut: float) -> None:
    """A device waits longest before a call: that is where one begins, and the part before it is of none."""
    plane = gpu(100, 200, 300)
    lanes = [Lane(lane.name, [each for each in lane.events if each.start >= cut]) for lane in plane.lanes]
    module = of_gpu(plane._replace(lanes=lanes))
    assert module.observed_calls == (1 if cut == 260 else 2)
    assert micros(module.step) == 45
    assert module.devices[0].spans[0].kernel == "loop_add_fusion"


def test_kernels_in_a_cuda_graph_are_known_by_their_names() -> None:
    module = of_gpu(gpu(100, 200, graph=True))
    assert module.observed_calls == 2
    assert kernels(module.devices[0])["gemm_fusion_dot.2"] == (2, 40)


def test_a_kernel_whose_name_two_programs_have_is_of_neither() -> None:
    schedules = {**GPU_SCHEDULES, "jit_g": GPU_SCHEDULES["jit_f"]}
    assert read_profile(space(gpu(100, graph=True)), schedules=schedules) == ()


def test_two_gpus_meet_in_the_same_call() -> None:
    """The window began when the second one had begun its call already."""
    second = gpu(200, 300, number=1)
    module = of_gpu(gpu(102, 202, 302), second)
    assert module.observed_calls == 2
    assert [device.device for device in module.devices] == ["gpu:0", "gpu:1"]
    assert micros(module.step) == 47


def test_kernels_of_a_tpu_with_xlas_figures() -> None:
    (module,) = read_profile(space(Plane("/host:CPU", []), tpu(10, 110, 210)), schedules=TPU_SCHEDULES)
    assert (module.module, module.program_id, module.observed_calls, micros(module.step)) == ("jit_f", 1234567, 3, 80)
    (device,) = module.devices
    assert (device.device, micros(device.busy)) == ("tpu:0", 210)
    assert kernels(device) == {"fusion.3": (3, 90), "while.2": (3, 60), "add.7": (6, 60)}
    figures = {each.kernel: (each.flops, each.bytes_accessed) for each in device.kernels}
    assert figures == {"fusion.3": (3e6, 6e5), "while.2": (None, None), "add.7": (8.0, 96.0)}
    assert {each.stream for each in device.spans} == {"XLA Ops"}


def test_asynchronous_copies_and_peaks_of_a_tpu() -> None:
    (module,) = read_profile(space(tpu(10)), schedules=TPU_SCHEDULES)
    (device,) = module.devices
    assert [(each.kernel, micros(each.start), micros(each.duration), each.bytes) for each in device.transfers] == [
        ("copy-start.1", 10, 8, 6400)
    ]
    assert device.peaks == Peaks(flops=197e12, bytes_per_second=819e9)


def test_cores_of_a_tpu_are_devices() -> None:
    (module,) = read_profile(space(tpu(10, 110), tpu(12, 112, number=1)), schedules=TPU_SCHEDULES)
    assert [device.device for device in module.devices] == ["tpu:0", "tpu:1"]
    assert (module.observed_calls, micros(module.step)) == (2, 82)


def test_what_runs_outside_of_programs_is_of_none() -> None:
    outside = Plane(
        "/device:TPU:0", [Lane("XLA Modules", []), Lane("XLA Ops", [Happened("%add.1 = f32[] add()", 0, 9)])]
    )
    assert read_profile(space(outside)) == ()
