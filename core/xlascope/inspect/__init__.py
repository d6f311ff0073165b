"""Inspection of programs: trace, compile, measure and explain a call, in scripts and notebooks alike.

``explore`` and ``jaxpr`` trace, ``fusions`` and ``memory`` also compile, ``timings`` also runs and measures,
and ``doctor`` then reports performance problems. ``target`` and ``targets`` compile for hardware that is not
present, ``scaling`` for growing numbers of devices, and ``what_if`` changes one thing and compares. ``values``
runs a call and says where a NaN is born, ``look`` shows an array. Each returns an :class:`Inspection`, which
holds records, prints as text, and converts to JSON.

A question is about a call (``f, *args``), which xlascope traces and for which it starts its engine, or about
a :class:`Program`: StableHLO of any origin, which needs no engine.
"""

from ..analysis.costs.topology import Link, Topology
from .arrays.host_array import UnviewableArrayError
from .arrays.look import Look, look
from .comparing.diff import Comparison, Diff, compare, diff
from .comparing.what_if import ChangeError, WhatIf, what_if
from .compiler.passes import PassByPass, passes
from .compiler.scaling import scaling
from .compiler.stages import STAGES, hlo
from .compiler.targets import known_targets, target, targets
from .compiler.why import why
from .doctor import Examined, doctor
from .producers import Producer, call, find_program, register_producer
from .program import Host, Program, QuestionError, Source
from .questions import explore, fusions, jaxpr, kept, memory, timings
from .recompile_log import RecompileLog, recompiles, watch_recompiles
from .renderers import NoRendererError, register_drawing
from .result import Inspection, Renderer, register_renderer
from .values import Values, values
from .watch_values import watch_values

__all__ = [
    "STAGES",
    "ChangeError",
    "Comparison",
    "Diff",
    "Examined",
    "Host",
    "Inspection",
    "Link",
    "Look",
    "NoRendererError",
    "PassByPass",
    "Producer",
    "Program",
    "QuestionError",
    "RecompileLog",
    "Renderer",
    "Source",
    "Topology",
    "UnviewableArrayError",
    "Values",
    "WhatIf",
    "call",
    "compare",
    "diff",
    "doctor",
    "explore",
    "find_program",
    "fusions",
    "hlo",
    "jaxpr",
    "kept",
    "known_targets",
    "look",
    "memory",
    "passes",
    "recompiles",
    "register_drawing",
    "register_producer",
    "register_renderer",
    "scaling",
    "target",
    "targets",
    "timings",
    "values",
    "watch_recompiles",
    "watch_values",
    "what_if",
    "why",
]
