"""Comparison of two programs as plain data: equations, kernels, numbers, timing. See :func:`compare`."""

from .changes import EquationChange as EquationChange
from .changes import KernelChange as KernelChange
from .changes import Number as Number
from .changes import Timing as Timing
from .compare import Diff as Diff
from .compare import compare as compare
from .saved import diff_from_json as diff_from_json
from .saved import load_shown as load_shown
from .timing import compare_timings as compare_timings
from .timing import quartiles as quartiles
