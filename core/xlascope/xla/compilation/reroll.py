"""Whether what repeats in a program becomes a loop: by its function, or by the settings.

How it does is known above (``control/rerolling``), from where it is handed down.
"""

from __future__ import annotations

from typing import Literal

from ...ir.jaxpr import ClosedJaxpr
from ...runtime.boot import reroll
from ..system.hooks import HOOKS

#: Which repeats become loops: those that cost a call nothing to speak of, all that spare compiling, or none.
Reroll = Literal["auto", "always", "off"]


def asked_to_reroll(given: Reroll | None) -> Reroll:
    """Which repeats become loops where a function says ``given``: what the settings say, when that is None."""
    return reroll.value if given is None else given


def with_loops(program: ClosedJaxpr, how: Reroll, platform: str) -> ClosedJaxpr:
    """The program with loops in place of repeats; what costs nothing is known of CPUs alone."""
    if how == "off" or (how == "auto" and platform != "cpu"):
        return program
    if HOOKS.rerolled is None:  # a single operation, where `jit` has not been loaded
        return program
    return HOOKS.rerolled(program, how)
