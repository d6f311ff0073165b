"""Reader of kernel launch configurations in XLA's GPU thunk sequences (``*.thunk_sequence.txt``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..format_error import FormatError

_STEP = re.compile(
    r"^\s*\d+: \S+ \[[^\]]*\] (?P<name>\S+) grid: \[(?P<grid>[\d, ]+)\] threads: \[(?P<block>[\d, ]+)\]\s+"
    r"shared_memory: (?P<shared>\d+) bytes",
    re.MULTILINE,
)
#: Any step, and one that starts a kernel.
_ANY_STEP = re.compile(r"^\s*\d+: ", re.MULTILINE)
_KERNEL_STEP = re.compile(r"^\s*\d+: k(?:Custom)?Kernel\b.*", re.MULTILINE)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_]")


class Launch(NamedTuple):
    """Launch configuration: blocks of the grid and threads of a block along each axis, and shared memory in bytes.

    >>> str(Launch((2048, 1, 1), (64, 1, 1), 1024)), str(Launch((16, 16, 1), (32, 4, 1), 0))
    ('2048 × 64 threads, 1024 B shared', '16·16 × 32·4 threads')
    """

    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int

    def __str__(self) -> str:
        shared = f", {self.shared} B shared" if self.shared else ""
        return f"{_format_extent(self.grid)} × {_format_extent(self.block)} threads{shared}"


def read_launches(text: str, kernels: Iterable[str]) -> dict[str, Launch]:
    """Return the launch configuration of each of the named kernels that the thunk sequence lists.

    Raises FormatError for a text that is no such list, and where no kernel in it has a launch.

    >>> text = "1: kCustomKernel [sink] input_fusion_1 grid: [8, 1, 1] threads: [1024, 1, 1]  shared_memory: 0 bytes"
    >>> read_launches(text, ["input_fusion.1", "copy"])
    {'input_fusion.1': Launch(grid=(8, 1, 1), block=(1024, 1, 1), shared=0)}
    """
    began = next(_KERNEL_STEP.finditer(text), None)
    if text.strip() and (_ANY_STEP.search(text) is None or (began and _STEP.search(text) is None)):
        line = (began[0] if began else text).strip()[:120]
        raise FormatError(
            "XLA's list of steps", f"expected NAME grid: […] threads: […] shared_memory: …, found {line!r}"
        )
    launches = {
        step["name"]: Launch(_parse_ints(step["grid"]), _parse_ints(step["block"]), int(step["shared"]))
        for step in _STEP.finditer(text)
    }
    # PTX names have no dots: XLA replaces them by underscores.
    names = ((name, _NOT_IN_A_NAME.sub("_", name)) for name in kernels)
    return {name: launches[plain] for name, plain in names if plain in launches}


def _parse_ints(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(","))


def _format_extent(sizes: tuple[int, ...]) -> str:
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes = sizes[:-1]
    return "·".join(map(str, sizes))
