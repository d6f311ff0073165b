"""Records of values over the calls of a training step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .paths import EquationPath
from .programs import SourceRange


@dataclass(frozen=True, slots=True)
class ValueCurve:
    """Number of a step over its calls: the loss, the norm of a gradient, or the share of zeros of a relu.

    ``steps`` are numbers of calls, counted from 0, and ``numbers`` the values at these; a longer history is thinned
    evenly. ``path`` is the equation that computes it, ``""`` for a result of the program.
    """

    kind: Literal["loss", "gradient", "zeros"]
    name: str
    path: EquationPath
    source: SourceRange | None
    steps: tuple[int, ...]
    numbers: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ValueHistory:
    """Values of a step over its calls.

    ``calls`` is the number of calls, ``sampled`` of those at which a twin measured gradients and zeros. ``every`` is
    the number of calls between two samples that the user asked for, 0 if the cost decides. ``lost_share`` is the share
    of the time of the loop that watching took, without ``compile_seconds``, which compiling the twin took once;
    ``twin_seconds`` is the time of one sample. ``bad_step`` is the first call known to compute NaN or infinity, None
    if none did, ``bad_sentence`` what happened there, with its line and equation where that is known.
    """

    program: int
    function: str
    time: float
    calls: int
    sampled: int
    every: int
    lost_share: float
    twin_seconds: float
    compile_seconds: float
    curves: tuple[ValueCurve, ...]
    bad_step: int | None = None
    bad_sentence: str = ""
    bad_source: SourceRange | None = None
    bad_path: EquationPath | None = None
    notes: tuple[str, ...] = ()
