"""Records of the values that a program computed: their range, where a NaN or an infinity was born, and statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .findings import Finding
from .paths import EquationPath
from .programs import SourceRange

#: What a value holds: NaN goes before infinity. ``"not run"`` is a value of a branch or a loop that did not run.
Health = Literal["finite", "inf", "nan", "not run"]
#: The place of a value: an argument (or constant) or output of the program, an operand or a result of an equation.
Position = Literal["argument", "operand", "result", "output"]


@dataclass(frozen=True, slots=True)
class ValueStatistics:
    """Full statistics of one value: of all its elements, in loops over all iterations or those that are said.

    ``elements`` and the counts below it are numbers of elements (of complex numbers, of parts). ``minimum``,
    ``maximum``, ``mean`` and ``root_mean_square`` are of the finite elements, None where there are none.
    ``exponents`` is a histogram of finite elements other than 0: pairs of an exponent of 2 and a number of elements; of
    values with more than 4,096 elements, in loops with more than 64, every seventh is counted there.
    """

    elements: int
    zeros: int
    subnormals: int
    nans: int
    infs: int
    negatives: int
    minimum: float | None
    maximum: float | None
    mean: float | None
    root_mean_square: float | None
    exponents: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ProbedValue:
    """Value of a program as it was computed.

    ``path`` is its equation (``""`` for the program's own), ``position`` and ``index`` its place there, ``name`` its
    variable, ``label`` the user's name of an argument. ``largest`` is the largest magnitude, None where the value holds
    NaN or infinity, or did not run. ``first_nan`` and ``first_inf`` are the iterations of the loops around it,
    outermost first, in which it first held NaN, or NaN or infinity; None where it never did (``()`` outside of loops).
    ``devices`` has its health on each device of a ``shard_map`` around it.
    """

    path: EquationPath
    position: Position
    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    health: Health
    largest: float | None
    label: str = ""
    source: SourceRange | None = None
    first_nan: tuple[int, ...] | None = None
    first_inf: tuple[int, ...] | None = None
    devices: tuple[Health, ...] = ()
    statistics: ValueStatistics | None = None


@dataclass(frozen=True, slots=True)
class Birth:
    """Equation whose result holds NaN or infinity (``kind``) and whose operands held none of it.

    ``sentence`` says what happened (``log of 0: 3 of 512 elements are 0``). ``iterations`` are those of the loops
    around it, outermost first, counted from 0. ``operands`` are its operands when it happened, with statistics.
    ``is_argument`` marks an argument that held it already; ``path`` is ``""`` then. ``reaches_results`` says whether
    a result of the program holds NaN or infinity at all; without that, what was born was masked.
    """

    kind: Literal["nan", "inf"]
    path: EquationPath
    operation: str
    sentence: str
    source: SourceRange | None
    iterations: tuple[int, ...] = ()
    operands: tuple[ProbedValue, ...] = ()
    reaches_results: bool = True
    is_argument: bool = False


@dataclass(frozen=True, slots=True)
class ValueReport:
    """Values of one call, computed by twins of its program.

    ``values`` are all probed values in program order, ``births`` the first NaN and what led to it, ``findings`` those
    of the doctor's rules about values. ``results`` has the health of each result. ``call_seconds`` is the time of the
    program itself, ``first_seconds`` of its twin that finds ranges, ``full_seconds`` of the one with statistics (0.0
    where it was not needed): warm calls, measured once. ``equal_results`` is the number of results that equal the
    program's own to the bit, ``difference`` the largest difference of the others relative to the result's largest
    magnitude (None where nothing could be compared). ``notes`` say what was left out.
    """

    program: int
    function: str
    time: float
    values: tuple[ProbedValue, ...]
    births: tuple[Birth, ...]
    findings: tuple[Finding, ...]
    results: tuple[Health, ...]
    call_seconds: float
    first_seconds: float
    full_seconds: float
    equal_results: int
    difference: float | None
    notes: tuple[str, ...] = ()
