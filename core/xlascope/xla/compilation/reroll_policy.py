"""Policy for turning repeated parts of a program into loops: from its function, or from the settings.

The rewriting itself is in a layer above (``control/loop_rerolling``), which sets a hook.
"""

from __future__ import annotations

from typing import Literal

from ...ir.jaxpr import ClosedJaxpr
from ...runtime.boot import reroll
from ..system.hooks import HOOKS

#: Repeats to turn into loops: those with a negligible cost per call, all that save compile time, or none.
RerollPolicy = Literal["auto", "always", "off"]


def resolve_reroll_policy(requested: RerollPolicy | None) -> RerollPolicy:
    """Return the policy that a function requests, or that of the settings if it requests none."""
    return reroll.value if requested is None else requested


def reroll_repeats(program: ClosedJaxpr, policy: RerollPolicy, platform: str) -> ClosedJaxpr:
    """Return the program with loops in place of repeated regions, or the program itself if ``policy`` excludes it.

    ``"auto"`` applies to CPUs alone, where the cost of loops is known.
    """
    if policy == "off" or (policy == "auto" and platform != "cpu"):
        return program
    if HOOKS.reroll is None:  # a single operation, before `jit` is loaded
        return program
    return HOOKS.reroll(program, policy)
