"""Registry of compilation targets by name."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Literal

from .chip_specs import ChipSpecs
from .gpu_specs import GPUS
from .tpu_specs import DEVICES_PER_CHIP, TPU_SHAPES, TPUS

#: An upper bound for the number of devices that a compiler accepts.
MAX_DEVICES = 65_536


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
    chip: ChipSpecs | None = None
    description: str = ""
    devices: int = 1


def known_targets() -> tuple[str, ...]:
    """Return the names of all targets.

    >>> known_targets()[:3]
    ('cpu', 'tpu:v5e:2x2', 'tpu:v5e:1x1')
    """
    return tuple(_TARGETS)


def find_target(name: str) -> Target:
    """Return the target with that name; a TPU's shape may be omitted, and several GPUs counted (``gpu:h100:8``).

    Raises :class:`UnknownTargetError`, whose message lists the targets.

    >>> find_target("gpu:h100").platform, find_target("tpu:v5e").name
    ('cuda', 'tpu:v5e:2x2')
    >>> find_target("tpu:v5e:16x16").devices, find_target("gpu:h100:8").devices
    (256, 8)
    >>> find_target("gpu:h900")
    Traceback (most recent call last):
    xlascope.xla.targets.registry.UnknownTargetError: there is no target 'gpu:h900'; the targets are cpu, ...
    """
    key = name.strip().lower() if isinstance(name, str) else ""
    target = (
        _TARGETS.get(key)
        or _TARGETS.get(_DEFAULT_SHAPES.get(key, ""))
        or _find_tpu_shape(key)
        or _find_multi_device(key)
    )
    if target is None:
        raise UnknownTargetError(f"there is no target {name!r}; the targets are {', '.join(_TARGETS)}")
    return target


def _find_tpu_shape(key: str) -> Target | None:
    """Return a TPU target of another shape than the listed ones; None if ``key`` is not the name of one.

    Its compiler validates the shape.
    """
    match = re.fullmatch(r"tpu:(\w+):(\d+x\d+(?:x\d+)?)", key)
    return None if match is None or match[1] not in TPUS else _tpu_target(match[1], match[2])


def _tpu_target(generation: str, shape: str) -> Target:
    chips = math.prod(map(int, shape.split("x")))
    devices = chips * DEVICES_PER_CHIP.get(generation, 1)
    return Target(f"tpu:{generation}:{shape}", "tpu", TPUS[generation], f"{generation}:{shape}", devices)


def _find_multi_device(key: str) -> Target | None:
    """Return the target of several GPUs or CPU devices that ``key`` names by a count at its end; None for others."""
    name, _, count = key.rpartition(":")
    target = _TARGETS.get(name)
    if target is None or target.platform == "tpu" or not count.isdecimal() or not 0 < int(count) <= MAX_DEVICES:
        return None
    return replace(target, name=key, devices=int(count))


_TARGETS = {
    "cpu": Target("cpu", "cpu"),
    **{
        f"tpu:{generation}:{shape}": _tpu_target(generation, shape)
        for generation, shapes in TPU_SHAPES.items()
        for shape in shapes
    },
    **{f"gpu:{name}": Target(f"gpu:{name}", "cuda", gpu.chip, gpu.to_textproto()) for name, gpu in GPUS.items()},
}
_DEFAULT_SHAPES = {f"tpu:{generation}": f"tpu:{generation}:{shapes[0]}" for generation, shapes in TPU_SHAPES.items()}
