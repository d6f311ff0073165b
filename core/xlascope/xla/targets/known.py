"""Registry of compilation targets by name."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Literal

from .figures import Chip
from .gpus import GPUS
from .tpus import CORES, SHAPES, TPUS

#: An upper bound for the number of devices that a compiler accepts.
MOST_DEVICES = 65_536


class UnknownTargetError(ValueError):
    """Error for an unknown target name; the message lists the targets."""


@dataclass(frozen=True, slots=True)
class Target:
    """Hardware to compile for.

    ``platform`` is what lowering rules call it (``cpu``, ``cuda``, ``tpu``); ``description`` is what the plugin is
    given: the topology's name for a TPU, a textproto for a GPU, nothing for the CPU. ``devices`` is how many it has;
    a TPU v4's compiler counts both cores of a chip.
    """

    name: str
    platform: Literal["cpu", "cuda", "tpu"]
    chip: Chip | None = None
    description: str = ""
    devices: int = 1


def known_targets() -> tuple[str, ...]:
    """Return the names of all targets.

    >>> known_targets()[:3]
    ('cpu', 'tpu:v5e:2x2', 'tpu:v5e:1x1')
    """
    return tuple(_TARGETS)


def find_target(name: str) -> Target:
    """Return the target of a name; a TPU's shape may be omitted, and several GPUs counted (``gpu:h100:8``).

    Raises :class:`UnknownTargetError`, which lists them.

    >>> find_target("gpu:h100").platform, find_target("tpu:v5e").name
    ('cuda', 'tpu:v5e:2x2')
    >>> find_target("tpu:v5e:16x16").devices, find_target("gpu:h100:8").devices
    (256, 8)
    >>> find_target("gpu:h900")
    Traceback (most recent call last):
    xlascope.xla.targets.registry.UnknownTargetError: there is no target 'gpu:h900'; the targets are cpu, ...
    """
    key = name.strip().lower() if isinstance(name, str) else ""
    target = _TARGETS.get(key) or _TARGETS.get(_WITHOUT_SHAPE.get(key, "")) or _larger_tpu(key) or _several(key)
    if target is None:
        raise UnknownTargetError(f"there is no target {name!r}; the targets are {', '.join(_TARGETS)}")
    return target


def _larger_tpu(key: str) -> Target | None:
    """Return a TPU of another shape, for programs that many chips share; its compiler validates the shape."""
    match = re.fullmatch(r"tpu:(\w+):(\d+x\d+(?:x\d+)?)", key)
    return None if match is None or match[1] not in TPUS else _tpu(match[1], match[2])


def _tpu(generation: str, shape: str) -> Target:
    chips = math.prod(map(int, shape.split("x")))
    devices = chips * CORES.get(generation, 1)
    return Target(f"tpu:{generation}:{shape}", "tpu", TPUS[generation], f"{generation}:{shape}", devices)


def _several(key: str) -> Target | None:
    """Return a target of as many GPUs, or parts of this CPU, as the last part of the name says."""
    name, _, count = key.rpartition(":")
    target = _TARGETS.get(name)
    if target is None or target.platform == "tpu" or not count.isdecimal() or not 0 < int(count) <= MOST_DEVICES:
        return None
    return replace(target, name=key, devices=int(count))


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
