"""What happened, as plain data, and who wants to know. Imports nothing of the engine and boots nothing."""

from .events import (
    Compiled,
    DeviceTime,
    Executed,
    Failure,
    Kernel,
    KernelTime,
    Lowered,
    MemoryUse,
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
    "Compiled",
    "DeviceTime",
    "Equation",
    "Executed",
    "Failure",
    "Jaxpr",
    "Kernel",
    "KernelTime",
    "Lowered",
    "MemoryUse",
    "Missed",
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
