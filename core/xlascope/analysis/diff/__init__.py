"""Two programs compared as plain data: equations, kernels, numbers, timing. See :func:`compare`."""

from .changes import EquationChange, KernelChange, Number, Timing
from .compare import Diff, compare
from .saved import diff_from_json, load_shown
from .timing import quartiles, timing

__all__ = [
    "Diff",
    "EquationChange",
    "KernelChange",
    "Number",
    "Timing",
    "compare",
    "diff_from_json",
    "load_shown",
    "quartiles",
    "timing",
]
