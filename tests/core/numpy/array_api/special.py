"""Which special cases of the array API standard a library gives otherwise; `failures(library)` is given one.

Each function is called once, with all of its cases in one array.
"""

from __future__ import annotations

import math
import operator
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

_HERE = Path(__file__).parent
_LANGUAGE = runpy.run_path(str(_HERE / "language.py"), run_name="array_api_language")
Case, Wanted = _LANGUAGE["Case"], _LANGUAGE["Wanted"]
_REAL = runpy.run_path(str(_HERE / "real_cases.py"))
_COMPLEX = runpy.run_path(str(_HERE / "complex_cases.py"))
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv},
    **{"%": operator.mod, "**": operator.pow, "==": operator.eq, "!=": operator.ne, "<": operator.lt},
    **{"<=": operator.le, ">": operator.gt, ">=": operator.ge},
}
_PRECISION = {"float16": 4e-3, "float32": 1e-5, "float64": 1e-11}
_COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}


# The cases of each function ------------------------------------------------------------------------------------------


def real_tables() -> dict[str, list[Any]]:
    """The cases of each function and operator of real numbers."""
    tables = {name: list(_LANGUAGE["cases"](table)) for name, table in (_REAL["UNARY"] | _REAL["BINARY"]).items()}
    tables["subtract"] = [Case(c.text, (c.operands[0], -c.operands[1]), _subtracted(c)) for c in tables["add"]]
    tables |= {f"x1 {sign} x2": tables[name] for name, sign in _REAL["OPERATORS"].items()}
    return tables | {"x1 - x2": tables["subtract"]}


def _subtracted(case: Any) -> Any:
    """x1 + x2 is x1 - (-x2)."""
    return case.wanted


def complex_tables() -> dict[str, list[Any]]:
    """The cases of each function of complex numbers, those that follow from others among them."""
    tables = {name: list(_symmetric(name, text)) for name, text in _COMPLEX["TABLES"].items()}
    for name, source in _COMPLEX["TURNED"].items():  # -j g(jz)
        tables[name] = [_turned(case, lambda r, s: (s, _negative(r))) for case in tables[source]]
    tables["cos"] = [_turned(case, lambda r, s: (r, s)) for case in tables["cosh"]]
    for name, base in (("log2", 2), ("log10", 10)):
        tables[name] = [Case(c.text, c.operands, _divided(c.wanted, math.log(base))) for c in tables["log"]]
    return tables


def _symmetric(name: str, text: str) -> Iterator[Any]:
    for case in _LANGUAGE["complex_cases"](text):
        (a, b), results = case.operands, case.wanted
        yield case
        if name in _COMPLEX["WITHOUT_CONJUGATE"]:
            continue
        r, s = results
        yield Case(f"{case.text} (conj)", (a, -b), (r, _negative(s)))
        if name in _COMPLEX["ODD"]:
            yield Case(f"{case.text} (odd)", (-a, -b), (_negative(r), _negative(s)))
            yield Case(f"{case.text} (odd)", (-a, b), (_negative(r), s))
        if name in _COMPLEX["EVEN"]:
            yield Case(f"{case.text} (even)", (-a, -b), (r, s))
            yield Case(f"{case.text} (even)", (-a, b), (r, _negative(s)))


def _negative(x: Any) -> Any:
    return Wanted(-x.value, x.unsigned, x.sign_alone)


def _turned(case: Any, result: Callable[[Any, Any], tuple[Any, Any]]) -> Any:
    p, q = case.operands
    return Case(f"jz = {case.text}", (q, -p), result(*case.wanted))


def _divided(results: tuple[Any, ...], by: float) -> tuple[Any, ...]:
    return tuple(Wanted(x.value / by, x.unsigned, x.sign_alone) for x in results)


# What a library gives ------------------------------------------------------------------------------------------------


def _function(library: Any, name: str) -> Callable[..., Any]:
    xp = library.numpy
    if name.startswith("x1 "):
        return _OPERATORS[name.split()[1]]
    if name == "clip, min":
        return lambda x, bound: xp.clip(x, bound, 9e4)
    if name == "clip, max":
        return lambda x, bound: xp.clip(x, -9e4, bound)
    return getattr(xp, name)  # type: ignore[no-any-return]


def _wrong(found: Any, cases: list[Any], precision: float) -> dict[str, str]:
    """What came out otherwise, by the text of the case: one example of each."""
    parts = [found.real, found.imag] if found.dtype.kind == "c" else [found]
    wrong: dict[str, str] = {}
    for at, case in enumerate(cases):
        got = tuple(float(part[at]) for part in parts)
        if not all(want.allows(x, precision) for want, x in zip(case.wanted, got, strict=True)):
            wrong.setdefault(case.text, f"{case.operands} gave {got}")
    return wrong


def _called(function: Callable[..., Any], operands: list[Any]) -> Any:
    return np.asarray(function(*operands))


def real_failures(library: Any, dtype: str = "float32", jit: bool = False) -> dict[str, dict[str, str]]:
    """For each function of real numbers the cases that it gives otherwise, an example for each."""
    found = {}
    for name, cases in real_tables().items():
        operands = [library.numpy.asarray(np.array(x, dtype)) for x in zip(*(c.operands for c in cases), strict=True)]
        function = _function(library, name)
        found[name] = _wrong(_called(library.jit(function) if jit else function, operands), cases, _PRECISION[dtype])
    return {name: wrong for name, wrong in found.items() if wrong}


def complex_failures(library: Any, dtype: str = "float32", jit: bool = False) -> dict[str, dict[str, str]]:
    """The same for functions of complex numbers, whose parts have the dtype."""
    found = {}
    for name, cases in complex_tables().items():
        z = np.empty(len(cases), _COMPLEX_OF[dtype])
        z.real, z.imag = zip(*(c.operands for c in cases), strict=True)
        function = _function(library, name)
        result = _called(library.jit(function) if jit else function, [library.numpy.asarray(z)])
        found[name] = _wrong(result, cases, _PRECISION[dtype])
    return {name: wrong for name, wrong in found.items() if wrong}


def every(library: Any) -> dict[str, dict[str, dict[str, str]]]:
    """All of them in single precision."""
    return {"real": real_failures(library), "complex": complex_failures(library)}


def every_double(library: Any) -> dict[str, dict[str, dict[str, str]]]:
    """All of them in double precision, which has to be on."""
    return {"real": real_failures(library, "float64"), "complex": complex_failures(library, "float64")}
