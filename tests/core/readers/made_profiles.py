"""Small profiles of a GPU and of a TPU. They are MADE, by hand, in the public form: no such device has run anything.

The form is that of `xplane.proto` (XSpace, XPlane, XLine, XEvent) with the names that XLA's profilers write: for GPUs
`cupti_collector.cc` (lines `Stream #13(Compute)`; statistics `kernel_details`, `memcpy_details` and the annotations
`hlo_module`, `hlo_op`, `program_id`), for TPUs those of XProf's demonstrations (lines `XLA Modules`, `XLA Ops`, `Async
XLA Ops`, `Steps`; figures such as `flops` with the names of the events). The numbers are chosen for their answers.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from jaxlib._profile_data import ProfileData

Fact = str | int | float
Facts = Mapping[str, Fact]
NONE: Facts = MappingProxyType({})


class Happened(NamedTuple):
    """An event: its name, microseconds, and statistics of its own."""

    name: str
    start: float
    duration: float
    facts: Facts = NONE


class Lane(NamedTuple):
    """A line of a plane."""

    name: str
    events: Sequence[Happened]


class Plane(NamedTuple):
    """A plane: its lines, what it says of its device, and statistics that stand with the names of events."""

    name: str
    lanes: Sequence[Lane]
    facts: Facts = NONE
    of_names: Mapping[str, Facts] = MappingProxyType({})


def space(*planes: Plane) -> bytes:
    """The bytes that a profiler would give."""
    return bytes(ProfileData.text_proto_to_serialized_xspace(" ".join(map(_plane, planes))))


def _plane(plane: Plane) -> str:
    happened = [event for lane in plane.lanes for event in lane.events]
    names = list(dict.fromkeys(event.name for event in happened))
    told = [plane.facts, *plane.of_names.values(), *(event.facts for event in happened)]
    stats = list(dict.fromkeys(name for facts in told for name in facts))
    parts = [f"name: {_quoted(plane.name)}", _stats(plane.facts, stats)]
    for number, lane in enumerate(plane.lanes, 1):
        events = " ".join(
            f"events {{ metadata_id: {names.index(each.name) + 1} offset_ps: {round(each.start * 1e6)} "
            f"duration_ps: {round(each.duration * 1e6)} {_stats(each.facts, stats)} }}"
            for each in lane.events
        )
        parts.append(f"lines {{ id: {number} name: {_quoted(lane.name)} {events} }}")
    for number, name in enumerate(names, 1):
        inside = f"id: {number} name: {_quoted(name)} {_stats(plane.of_names.get(name, NONE), stats)}"
        parts.append(f"event_metadata {{ key: {number} value {{ {inside} }} }}")
    for number, name in enumerate(stats, 1):
        parts.append(f'stat_metadata {{ key: {number} value {{ id: {number} name: "{name}" }} }}')
    return f"planes {{ {' '.join(parts)} }}"


def _stats(facts: Facts, names: list[str]) -> str:
    kinds = {str: "str_value", int: "int64_value", float: "double_value"}
    return " ".join(
        f"stats {{ metadata_id: {names.index(name) + 1} {kinds[type(value)]}: "
        f"{_quoted(value) if isinstance(value, str) else value} }}"
        for name, value in facts.items()
    )


def _quoted(text: str) -> str:
    return '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'


GPU_FACTS: dict[str, Fact] = {
    "clock_rate": 1_980_000,
    "core_count": 132,
    "memory_bandwidth": 3_352_320_000_000,
    "memory_size": 85_045_870_592,
    "compute_cap_major": 9,
    "compute_cap_minor": 0,
}


def gpu_call(begins: float, module: str = "jit_f", graph: bool = False) -> dict[str, list[Happened]]:
    """One call of a program of three kernels: 10 + 20 + 5 us on two streams, 45 us long, and a copy each way."""
    said: dict[str, Fact] = {} if graph else {"hlo_module": module, "program_id": 3}
    details: dict[str, Fact] = {"correlation_id": 1, "kernel_details": "regs:38 shm:0 grid:160,1,1 block:1024,1,1"}

    def kernel(name: str, start: float, duration: float, instruction: str) -> Happened:
        op: dict[str, Fact] = {} if graph else {"hlo_op": instruction}
        return Happened(name, begins + start, duration, {**details, **said, **op})

    copied = "kind_src:pinned kind_dst:device size:{} dest:0 async:1"
    return {
        "Stream #13(Compute)": [
            kernel("loop_add_fusion", 0, 10, "loop_add_fusion"),
            kernel("nvjet_hsh_128x64" if not graph else "gemm_fusion_dot_2", 20, 20, "gemm_fusion_dot.2"),
        ],
        "Stream #14(Compute)": [kernel("wrapped_sine", 40, 5, "wrapped_sine")],
        "Stream #15(MemcpyH2D)": [
            Happened("MemcpyH2D", begins + 2, 4, {"memcpy_details": copied.format(40_000)}),
        ],
        "Stream #16(MemcpyD2H)": [
            Happened("MemcpyD2H", begins + 30, 5, {"memcpy_details": "size:1000 dest:0 async:1"}),
        ],
    }


def gpu(*begins: float, graph: bool = False, number: int = 0, derived: bool = True) -> Plane:
    """A GPU that makes such a call at each of these times, with the lines that tools derive from the others."""
    lanes: dict[str, list[Happened]] = {}
    for at in begins:
        for name, events in gpu_call(at, graph=graph).items():
            lanes.setdefault(name, []).extend(events)
    ops = [event for name, events in lanes.items() if "Compute" in name for event in events]
    more = [Lane("XLA Ops", ops), Lane("Steps", [Happened("0", begins[0], 1000)])] if derived else []
    return Plane(f"/device:GPU:{number}", [*(Lane(*each) for each in lanes.items()), *more], GPU_FACTS)


TPU_FACTS: dict[str, Fact] = {
    "peak_teraflops_per_second": 197.0,
    "peak_hbm_bw_gigabytes_per_second": 819.0,
    "has_megacore": 0,
    "core_type": "TensorCore",
}
FUSION = "%fusion.3 = bf16[8,128]{1,0:T(8,128)(2,1)} fusion(bf16[8,128]{1,0} %p.1), kind=kOutput, calls=%body.1"
LOOP = "%while.2 = (s32[], f32[8]) while((s32[], f32[8]) %tuple.1), condition=%c, body=%b"
INNER = "%add.7 = f32[8]{0} add(f32[8] %x, f32[8] %y)"
COPY = "%copy-start.1 = (f32[8]{0}, f32[8]{0:S(1)}, u32[]) copy-start(f32[8]{0} %p.2)"


def tpu(*begins: float, number: int = 0) -> Plane:
    """A TPU that runs a product (30 us) and a loop (40 us, 2 x 10 us of it inside) in each call, and copies 8 us."""
    modules, operations, copies = [], [], []
    for run, at in enumerate(begins):
        modules.append(Happened("jit_f(1234567)", at, 80, {"run_id": run + 40}))
        operations += [Happened(FUSION, at, 30), Happened(LOOP, at + 40, 40)]
        operations += [Happened(INNER, at + 45, 10), Happened(INNER, at + 60, 10)]
        copies.append(Happened(COPY, at + 10, 8))
    lanes = [Lane("Steps", [Happened("1", begins[0], 80)]), Lane("XLA Modules", modules)]
    lanes += [Lane("XLA Ops", operations), Lane("Async XLA Ops", copies), Lane("XLA TraceMe", [Happened("x", 0, 5)])]
    figures: dict[str, Facts] = {
        FUSION: {"flops": 3_000_000, "bytes_accessed": 600_000, "hlo_category": "convolution fusion"},
        INNER: {"flops": 8, "bytes_accessed": 96},
        COPY: {"bytes_accessed": 6_400},
    }
    return Plane(f"/device:TPU:{number}", lanes, TPU_FACTS, figures)
