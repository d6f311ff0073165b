"""Timings of a GPU and a TPU as text, from profiles that are made by hand (no such device has run anything)."""

import pytest
from tests.core.readers.made_profiles import GPU_FACTS, TPU_FACTS, Happened, Lane, Plane, space

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.inspect import text
from xlascope.inspect.running.accumulator import ProgramTally
from xlascope.readers.profiles import read_profile
from xlascope.records import Compiled, Record, Traced


@pytest.fixture(scope="module")
def compiled() -> list[Record]:
    """The records of a real program: what its kernels are called, and their equations."""
    apart = xs.lax.optimization_barrier  # since 0.11 a library does all of it in one kernel
    found = xs.inspect.fusions(lambda x, w: jnp.sin(apart(x @ w)).sum(), jnp.ones((256, 256)), jnp.ones((256, 256)))
    return list(found.records)


def timed(records: list[Record], plane: Plane) -> str:
    module = next(each for each in records if isinstance(each, Compiled))
    traced = next(each for each in records if isinstance(each, Traced))
    schedules = {module.module: (tuple(kernel.name for kernel in module.kernels),)}
    tally = ProgramTally(traced.program, traced.function, 0.0, calls=2)
    tally.add_window(read_profile(space(plane), schedules=schedules))
    return text.format_timings([*records, tally.record()])


def kernels_of(records: list[Record]) -> tuple[str, list[str]]:
    module = next(each for each in records if isinstance(each, Compiled))
    return module.module, [kernel.name for kernel in module.kernels]


def test_a_gpus_kernels_have_equations_and_its_streams_copies_and_idle_time_are_told(compiled: list[Record]) -> None:
    module, names = kernels_of(compiled)
    runs, copies = [], []
    for at in (100, 300):
        for number, name in enumerate(names):
            facts = {"hlo_op": name, "hlo_module": module, "program_id": 3, "kernel_details": "regs:38"}
            runs.append(Happened(f"kernel_{number}", at + 20 * number, 15, facts))
        copies.append(Happened("MemcpyH2D", at + 1, 4, {"memcpy_details": "size:40000 dest:0 async:1"}))
    lanes = [Lane("Stream #13(Compute)", runs), Lane("Stream #14(MemcpyH2D)", copies)]
    said = timed(compiled, Plane("/device:GPU:0", lanes, GPU_FACTS))
    length, still = 20 * len(names) - 5, 5 * (len(names) - 1)
    assert "100 % of the kernels' time has an equation" in said
    assert f"gpu:0 in the step shown, {length} µs: Stream #13 {15 * len(names)} µs" in said
    assert f"{still} µs idle" in said
    assert "gpu:0: 1 copy host → device: 40 kB in 4 µs, 10 GB/s" in said
    assert "gpu:0, as its profile says: 3.35 TB/s to and from its memory, 85" in said


def test_a_tpu_tells_xlas_own_figures_and_of_how_many_kernels(compiled: list[Record]) -> None:
    module, names = kernels_of(compiled)
    events = [Happened(f"%{name} = f32[8] fusion()", 10 + 20 * number, 20) for number, name in enumerate(names)]
    lanes = [Lane("XLA Modules", [Happened(f"{module}(77)", 10, 20 * len(names))]), Lane("XLA Ops", events)]
    figures = {events[0].name: {"flops": 2_000_000, "bytes_accessed": 80_000}}
    said = timed(compiled, Plane("/device:TPU:0", lanes, TPU_FACTS, figures))
    assert "100 % of the kernels' time has an equation" in said
    of_all = f"1 of {len(names)} kernel"
    assert f"tpu:0, XLA's own figures for {of_all}" in said and "2,000,000 FLOP and 80,000 B per call" in said
    assert "tpu:0, as its profile says: 197 TFLOP/s, 819 GB/s to and from its memory" in said
    assert "0 ns idle (0 %)" in said
