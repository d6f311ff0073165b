"""NVIDIA GPUs as XLA's GPU compiler wants them described, from NVIDIA's published specifications.

XLA takes a ``GpuTargetConfigProto`` in place of a device. The source of each figure is an NVIDIA document, or says
from which of them the figure follows. Peaks are without sparsity: data sheets that count sparse operations are
halved.
"""

from __future__ import annotations

from dataclasses import dataclass

from .chip_specs import ChipSpecs, Figure

_GUIDE = "NVIDIA, CUDA C++ Programming Guide, Technical Specifications per Compute Capability"
_A100 = "NVIDIA, A100 Tensor Core GPU Architecture (whitepaper), and A100 data sheet (80 GB SXM)"
_H100 = "NVIDIA, H100 Tensor Core GPU Architecture (whitepaper), and H100 data sheet (SXM)"
_L4 = "NVIDIA, L4 data sheet"
_ADA = "NVIDIA, Ada GPU Architecture (whitepaper), AD104"
_B200 = "NVIDIA, HGX B200 data sheet, per GPU"
_TUNING = "NVIDIA, Blackwell Tuning Guide"
_SMS_OF_L4 = "30.3 TFLOPS of FP32 (L4 data sheet) / (128 lanes x 2 x 2.04 GHz)"
_SMS_OF_B200 = "as a B200 reports itself (CUDA's multiProcessorCount)"
_AS_BF16 = "an A100 has no units for FP8: its factors are multiplied in BF16"
_ADA_F64 = "1/64 of FP32, as NVIDIA's Ada whitepaper gives it"
_DGX = "NVIDIA, DGX BasePOD reference architecture, core components: one ConnectX-7 of 400 Gb/s for each of 8 GPUs"
_DGX_A100 = "NVIDIA, DGX A100 data sheet: one ConnectX-6 of 200 Gb/s for each of 8 GPUs"
#: NCCL's cost model has this constant for a tree or ring over a network, with the protocol of large messages.
_NETWORK_LATENCY = Figure(14e-6, "NVIDIA, NCCL's cost model (tuning.cc, hwLatencies of NET, protocol Simple)")
_CLOCK = "FP32 peak / (multiprocessors x FP32 lanes x 2)"

_KB, _MB, _GB, _TERA = 1024, 1024**2, 10**9, 10**12


@dataclass(frozen=True, slots=True)
class GpuSpecs:
    """One GPU: what CUDA reports of it, and the specifications of its chip.

    ``capability`` is the compute capability (major, minor); ``figures`` are by the names of XLA's
    ``GpuDeviceInfoProto``.
    """

    chip: ChipSpecs
    capability: tuple[int, int]
    figures: dict[str, Figure]

    def to_textproto(self) -> str:
        """Return the description of the GPU that XLA takes in place of a device, as text.

        >>> print(GPUS["h100"].to_textproto().splitlines()[6])
          core_count: 132
        """
        major, minor = self.capability
        lines = [f"  {name}: {_format_number(figure.value)}" for name, figure in self.figures.items()]
        lines.append(f"  cuda_compute_capability {{ major: {major} minor: {minor} }}")
        info = "\n".join(["gpu_device_info {", *lines, "}"])
        # A GPU's description does not say which cuDNN is installed: jaxlib's CUDA plugin is built for the 9 series.
        library = "dnn_version_info { major: 9 minor: 8 patch: 0 }"
        return f'{info}\nplatform_name: "CUDA"\n{library}\ndevice_description_str: "{self.chip.name}"\n'


def _format_number(value: float) -> str:
    return str(round(value)) if value > 1000 else f"{value:g}"  # only the clock rate, in GHz, has a fraction


def _make_gpu(
    chip: ChipSpecs,
    capability: tuple[int, int],
    *,
    multiprocessors: Figure,
    lanes: int,
    threads: int,
    shared: int,
    cache: Figure,
) -> GpuSpecs:
    """Build a GPU's description.

    ``lanes`` (FP32), ``threads`` and ``shared`` (memory in KiB, of which CUDA reserves 1) are per multiprocessor;
    ``cache`` is the size of the L2 cache in bytes.
    """
    assert chip.vector is not None
    clock = chip.vector.value / (multiprocessors.value * lanes * 2) / 10**9
    guide = {
        "threads_per_block_limit": 1024,
        "threads_per_warp": 32,
        "shared_memory_per_block": 48 * _KB,
        "shared_memory_per_core": shared * _KB,
        "threads_per_core_limit": threads,
    }
    limits = {
        "fpus_per_core": lanes,
        "block_dim_limit_x": 2**31 - 1,
        "block_dim_limit_y": 65535,
        "block_dim_limit_z": 65535,
    }
    optional_limits = {
        "shared_memory_per_block_optin": (shared - 1) * _KB,
        "registers_per_core_limit": 65536,
        "registers_per_block_limit": 65536,
    }
    figures = {
        **_from_guide(guide),
        "core_count": multiprocessors,
        **_from_guide(limits),
        "memory_bandwidth": chip.bandwidth,
        "l2_cache_size": cache,
        "clock_rate_ghz": Figure(clock, _CLOCK),
        "device_memory_size": chip.memory,
        **_from_guide(optional_limits),
    }
    return GpuSpecs(chip, capability, figures)


def _from_guide(values: dict[str, int]) -> dict[str, Figure]:
    return {name: Figure(value, _GUIDE) for name, value in values.items()}


def _dense_peaks(source: str, *, tf32: float, bf16: float, **further: Figure | float) -> dict[str, Figure]:
    """Return peaks in operations per second by the dtype of a product's factors, from TFLOPS without sparsity.

    A ``Figure`` is used as it is. Factors in float32 are rounded to TF32, which is XLA's default on these GPUs.
    """
    table = {"float32": tf32, "bfloat16": bf16, "float16": bf16, **further}
    return {name: peak if isinstance(peak, Figure) else Figure(peak * _TERA, source) for name, peak in table.items()}


def _nvlink_bandwidth(gigabytes: float, source: str) -> Figure:
    """Return the NVLink bandwidth in one direction, ``gigabytes`` GB/s.

    That is half of the data sheet's number, which counts both directions; ``source`` names the data sheet.
    """
    return Figure(gigabytes * _GB, f"{source}: half of NVLink's bandwidth, which counts both directions")


def _network_bandwidth(gigabits: float, source: str) -> Figure:
    """Return the bandwidth of a GPU's network adapter, ``gigabits`` Gb/s in each direction."""
    return Figure(gigabits * _GB / 8, source)


GPUS = {
    "h100": _make_gpu(
        ChipSpecs(
            "NVIDIA H100 80GB HBM3",
            bandwidth=Figure(3.35 * _TERA, _H100),
            memory=Figure(80 * _GB, _H100),
            peaks=_dense_peaks(_H100, tf32=494.7, bf16=989.4, float64=67, float8=1978.9),
            vector=Figure(66.9 * _TERA, _H100),
            links=_nvlink_bandwidth(450, _H100),
            max_linked_chips=8,
            network=_network_bandwidth(400, _DGX),
            network_latency=_NETWORK_LATENCY,
        ),
        (9, 0),
        multiprocessors=Figure(132, _H100),
        lanes=128,
        threads=2048,
        shared=228,
        cache=Figure(50 * _MB, _H100),
    ),
    "a100": _make_gpu(
        ChipSpecs(
            "NVIDIA A100-SXM4-80GB",
            bandwidth=Figure(2.039 * _TERA, _A100),
            memory=Figure(80 * _GB, _A100),
            peaks=_dense_peaks(_A100, tf32=156, bf16=312, float64=19.5, float8=Figure(312 * _TERA, _AS_BF16)),
            vector=Figure(19.5 * _TERA, _A100),
            links=_nvlink_bandwidth(300, _A100),
            max_linked_chips=8,
            network=_network_bandwidth(200, _DGX_A100),
            network_latency=_NETWORK_LATENCY,
        ),
        (8, 0),
        multiprocessors=Figure(108, _A100),
        lanes=64,
        threads=2048,
        shared=164,
        cache=Figure(40 * _MB, _A100),
    ),
    "l4": _make_gpu(
        ChipSpecs(
            "NVIDIA L4",
            bandwidth=Figure(0.3 * _TERA, _L4),
            memory=Figure(24 * _GB, _L4),
            peaks=_dense_peaks(_L4, tf32=60, bf16=121, float64=Figure(30.3 * _TERA / 64, _ADA_F64), float8=242.5),
            vector=Figure(30.3 * _TERA, _L4),
        ),
        (8, 9),
        multiprocessors=Figure(58, _SMS_OF_L4),
        lanes=128,
        threads=1536,
        shared=100,
        cache=Figure(48 * _MB, _ADA),
    ),
    "b200": _make_gpu(
        ChipSpecs(
            "NVIDIA B200",
            bandwidth=Figure(7.7 * _TERA, _B200),
            memory=Figure(180 * _GB, _B200),
            peaks=_dense_peaks(_B200, tf32=1125, bf16=2250, float64=37, float8=4500),
            vector=Figure(75 * _TERA, _B200),
            links=_nvlink_bandwidth(900, _B200),
            max_linked_chips=8,
            network=_network_bandwidth(400, _DGX),
            network_latency=_NETWORK_LATENCY,
        ),
        (10, 0),
        multiprocessors=Figure(148, _SMS_OF_B200),
        lanes=128,
        threads=2048,
        shared=228,
        cache=Figure(126 * _MB, _TUNING),
    ),
}
