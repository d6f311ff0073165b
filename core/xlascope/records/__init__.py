"""What happened, as plain data, and who wants to know. Imports nothing of the engine and boots nothing."""

from .compiled import Buffer, Kernel, MemoryUse, Read
from .decisions import Explained, FusionDecision, Pass, Passes
from .events import (
    Ceilings,
    Compiled,
    DeviceTime,
    Executed,
    Failure,
    KernelTime,
    Lowered,
    Missed,
    Record,
    Span,
    Started,
    Traced,
)
from .programs import Equation, Jaxpr, SourceRange, SourceText, Variable
from .store import from_json, load, save, to_json
from .watch import Subscription, next_program, publish, watch

__all__ = [
    "Buffer",
    "Ceilings",
    "Compiled",
    "DeviceTime",
    "Equation",
    "Executed",
    "Explained",
    "Failure",
    "FusionDecision",
    "Jaxpr",
    "Kernel",
    "KernelTime",
    "Lowered",
    "MemoryUse",
    "Missed",
    "Pass",
    "Passes",
    "Read",
    "Record",
    "SourceRange",
    "SourceText",
    "Span",
    "Started",
    "Subscription",
    "Traced",
    "Variable",
    "from_json",
    "load",
    "next_program",
    "publish",
    "save",
    "to_json",
    "watch",
]
