"""TPU topologies that are offered as targets, and the published specifications of their chips.

Peaks, bandwidth and memory are Google's (Cloud TPU documentation, one page for each generation).
"""

from __future__ import annotations

from .chip_specs import ChipSpecs, Figure

_TERA, _GB = 10**12, 10**9

#: Topologies by generation, the default first. A 2x2 is what one host has.
TPU_SHAPES = {
    "v5e": ("2x2", "1x1"),
    "v4": ("2x2x1",),
    "v5p": ("2x2x1",),
    "v6e": ("2x2", "1x1"),
}

#: Devices of a chip, where there are several: a v4's compiler separates its two cores unless asked for megacore.
DEVICES_PER_CHIP = {"v4": 2}


def _make_tpu(generation: str, *, bf16: float, bandwidth: float, memory: int, links: float) -> ChipSpecs:
    """Return a chip of one generation.

    ``bf16`` is the peak rate in TFLOPS, ``bandwidth`` that of the memory in GB/s, ``memory`` its size in GB, and
    ``links`` the bandwidth to other chips in Gbit/s.
    """
    source = f"Google, Cloud TPU documentation, TPU {generation}"
    peak = Figure(bf16 * _TERA, source)
    # A TPU multiplies in bfloat16: float32 factors are rounded unless more precision is asked for.
    peaks = {"bfloat16": peak, "float32": peak}
    name, link_bandwidth = (
        f"TPU {generation}",
        Figure(links * _GB / 8, f"{source} (interchip interconnect per chip)"),
    )
    return ChipSpecs(name, Figure(bandwidth * _GB, source), Figure(memory * _GB, source), peaks, links=link_bandwidth)


TPUS = {
    "v5e": _make_tpu("v5e", bf16=197, bandwidth=819, memory=16, links=1600),
    "v4": _make_tpu("v4", bf16=275, bandwidth=1228, memory=32, links=2400),
    "v5p": _make_tpu("v5p", bf16=459, bandwidth=2765, memory=95, links=4800),
    "v6e": _make_tpu("v6e", bf16=918, bandwidth=1640, memory=32, links=3584),
}
