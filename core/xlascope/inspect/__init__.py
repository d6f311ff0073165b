"""From a call to what became of it: the same questions in a script as in a notebook.

``explore`` and ``jaxpr`` trace, ``fusions`` and ``memory`` compile too, ``timings`` also runs and measures, and
``doctor`` says what is wrong then. ``target`` and ``targets`` compile for hardware that is not here, ``scaling`` for
more and more of it, ``what_if`` changes one thing and compares. Each returns an :class:`Inspection`, which holds
records, prints as text, and turns into JSON.

A question is asked of a call (``f, *args``), which our engine traces and which starts it, or of a :class:`Program`:
StableHLO of anybody's, which needs no engine.
"""

from .comparing.diff import Comparison, Diff, compare, diff
from .comparing.what_if import ChangeError, WhatIf, what_if
from .compiler.passes import PassByPass, passes
from .compiler.scaling import scaling
from .compiler.stages import STAGES, hlo
from .compiler.targets import known_targets, target, targets
from .compiler.why import why
from .doctor import Examined, doctor
from .drawing import NoRendererError, register_drawing
from .producers import Producer, call, find_program, register_producer
from .program import Host, Program, QuestionError, Source
from .questions import explore, fusions, jaxpr, kept, memory, timings
from .recompile_log import RecompileLog, recompiles, watch_recompiles
from .result import Inspection, Renderer, register_renderer

__all__ = [
    "STAGES",
    "ChangeError",
    "Comparison",
    "Diff",
    "Examined",
    "Host",
    "Inspection",
    "NoRendererError",
    "PassByPass",
    "Producer",
    "Program",
    "QuestionError",
    "RecompileLog",
    "Renderer",
    "Source",
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
    "watch_recompiles",
    "what_if",
    "why",
]
