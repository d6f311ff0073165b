"""The names of targets, and what stands behind each."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Literal

from .figures import Chip
from .gpus import GPUS
from .tpus import CORES, SHAPES, TPUS

#: More than any compiler of ours takes.
MOST_DEVICES = 65_536


class UnknownTargetError(ValueError):
    """There is no target of that name; the message lists those there are."""


@dataclass(frozen=True, slots=True)
class Target:
    """Something to compile for.

    ``platform`` is what lowering rules call it (``cpu``, ``cuda``, ``tpu``); ``description`` is what the plugin is
    given: the topology's name for a TPU, a textproto for a GPU, nothing for the CPU. ``devices`` is how many it has; a
    TPU v4's compiler counts both cores of a chip.
    """

    name: str
    platform: Literal["cpu", "cuda", "tpu"]
    chip: Chip | None = None
    description: str = ""
    devices: int = 1


def known_targets() -> tuple[str, ...]:
    """The names of all targets.

    >>> known_targets()[:3]
    ('cpu', 'tpu:v5e:2x2', 'tpu:v5e:1x1')
    """
    return tuple(_TARGETS)


def find_target(name: str) -> Target:
    """The target of a name; a TPU's shape may be left out, and several GPUs counted (``gpu:h100:8``).

    Raises :class:`UnknownTargetError`, which lists them.

    >>> find_target("gpu:h100").platform, find_target("tpu:v5e").name
    ('cuda', 'tpu:v5e:2x2')
    >>> find_target("tpu:v5e:16x16").devices, find_target("gpu:h100:8").devices
    (256, 8)
    >>> find_target("gpu:h900")
    Traceback (most recent call last):
    xlascope.xla.targets.known.UnknownTargetError: there is no target 'gpu:h900'; the targets are cpu, ...
    """
    key = name.strip().lower() if isinstance(name, str) else ""
    found = _TARGETS.get(key) or _TARGETS.get(_WITHOUT_SHAPE.get(key, "")) or _larger_tpu(key) or _several(key)
    if found is None:
        raise UnknownTargetError(f"there is no target {name!r}; the targets are {', '.join(_TARGETS)}")
    return found


def _larger_tpu(key: str) -> Target | None:
    """A TPU of another shape, for programs that many chips share; its compiler says which shapes there are."""
    found = re.fullmatch(r"tpu:(\w+):(\d+x\d+(?:x\d+)?)", key)
    return None if found is None or found[1] not in TPUS else _tpu(found[1], found[2])


def _tpu(generation: str, shape: str) -> Target:
    chips = math.prod(map(int, shape.split("x")))
    devices = chips * CORES.get(generation, 1)
    return Target(f"tpu:{generation}:{shape}", "tpu", TPUS[generation], f"{generation}:{shape}", devices)


def _several(key: str) -> Target | None:
    """As many GPUs, or parts of this CPU, as the last part of a name counts."""
    name, _, count = key.rpartition(":")
    found = _TARGETS.get(name)
    if found is None or found.platform == "tpu" or not count.isdecimal() or not 0 < int(count) <= MOST_DEVICES:
        return None
    return replace(found, name=key, devices=int(count))


_TARGETS = {
    "cpu": Target("cpu", "cpu"),
    **{
        f"tpu:{generation}:{shape}": _tpu(generation, shape)
        for generation, shapes in SHAPES.items()
        for shape in shapes
    },
    **{f"gpu:{name}": Target(f"gpu:{name}", "cuda", gpu.chip, gpu.textproto()) for name, gpu in GPUS.items()},
}
_WITHOUT_SHAPE = {f"tpu:{generation}": f"tpu:{generation}:{shapes[0]}" for generation, shapes in SHAPES.items()}
