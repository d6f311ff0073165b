"""The names of targets, and what stands behind each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from .figures import Chip
from .gpus import GPUS
from .tpus import SHAPES, TPUS

#: The extra that has the compilers for hardware that is not here.
EXTRA = 'pip install "xlascope[targets]"'


class UnknownTargetError(ValueError):
    """There is no target of that name; the message lists those there are."""


@dataclass(frozen=True, slots=True)
class Target:
    """Something to compile for.

    ``platform`` is what lowering rules call it (``cpu``, ``cuda``, ``tpu``); ``description`` is what the plugin is
    given: the topology's name for a TPU, a textproto for a GPU, nothing for the CPU.
    """

    name: str
    platform: Literal["cpu", "cuda", "tpu"]
    chip: Chip | None = None
    description: str = ""


def known_targets() -> tuple[str, ...]:
    """The names of all targets.

    >>> known_targets()[:3]
    ('cpu', 'tpu:v5e:2x2', 'tpu:v5e:1x1')
    """
    return tuple(_TARGETS)


def find_target(name: str) -> Target:
    """The target of a name; a TPU's shape may be left out. Raises :class:`UnknownTargetError`, which lists them.

    >>> find_target("gpu:h100").platform, find_target("tpu:v5e").name
    ('cuda', 'tpu:v5e:2x2')
    >>> find_target("gpu:h900")
    Traceback (most recent call last):
    xlascope.xla.targets.known.UnknownTargetError: there is no target 'gpu:h900'; the targets are cpu, ...
    """
    key = name.strip().lower() if isinstance(name, str) else ""
    found = _TARGETS.get(key) or _TARGETS.get(_WITHOUT_SHAPE.get(key, "")) or _larger_tpu(key)
    if found is None:
        raise UnknownTargetError(f"there is no target {name!r}; the targets are {', '.join(_TARGETS)}")
    return found


def _larger_tpu(key: str) -> Target | None:
    """A TPU of another shape, for programs that many chips share; its compiler says which shapes there are."""
    found = re.fullmatch(r"tpu:(\w+):(\d+x\d+(?:x\d+)?)", key)
    if found is None or found[1] not in TPUS:
        return None
    return Target(key, "tpu", TPUS[found[1]], f"{found[1]}:{found[2]}")


_TARGETS = {
    "cpu": Target("cpu", "cpu"),
    **{
        name: Target(name, "tpu", TPUS[generation], f"{generation}:{shape}")
        for generation, shapes in SHAPES.items()
        for shape in shapes
        for name in (f"tpu:{generation}:{shape}",)
    },
    **{f"gpu:{name}": Target(f"gpu:{name}", "cuda", gpu.chip, gpu.textproto()) for name, gpu in GPUS.items()},
}
_WITHOUT_SHAPE = {f"tpu:{generation}": f"tpu:{generation}:{shapes[0]}" for generation, shapes in SHAPES.items()}
