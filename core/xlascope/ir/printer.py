"""Jaxprs as text, in JAX's notation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .atoms import Literal, Var
from .operation import Operation

_WIDTH = 100


def letters(index: int) -> str:
    """The name of the variable with that index: a to z, then ba to bz, ca and so on.

    >>> [letters(i) for i in (0, 25, 26, 27)]
    ['a', 'z', 'ba', 'bb']
    """
    name = chr(ord("a") + index % 26)
    while index >= 26:
        index //= 26
        name = chr(ord("a") + index % 26) + name
    return name


class Names:
    """Names for variables, in the order in which they are met."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []

    def of(self, x: Any) -> str:
        """The name of a variable, or the text of a literal."""
        if x.__class__ is Literal:
            return f"{literal_text(x.val)}:{x.aval.str_short()}"
        name = self._names.get(id(x))
        if name is None:
            name = self._names[id(x)] = letters(len(self._names))
            self._kept.append(x)  # an id must not be given out again while it names something
        return name

    def typed(self, v: Var) -> str:
        """A variable with its type."""
        return f"{self.of(v)}:{v.aval.str_short()}"


def literal_text(value: Any) -> str:
    """A scalar as a person would write it."""
    return str(value)  # of a NumPy scalar: as many digits as tell it apart in its own type


def jaxpr_text(program: Any, names: Names | None = None) -> str:
    """A program (Jaxpr or ClosedJaxpr) in JAX's notation: ``{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }``."""
    jaxpr = getattr(program, "jaxpr", program)
    return "\n".join(_lines(jaxpr, names or Names()))


def _lines(jaxpr: Any, names: Names) -> Iterator[str]:
    consts = " ".join(names.typed(v) for v in jaxpr.constvars)
    arguments = " ".join(names.typed(v) for v in jaxpr.invars)
    head = f"{{ lambda {consts}; {arguments}." if consts else f"{{ lambda ; {arguments}."
    if not jaxpr.raw:
        yield f"{head} let  in ({_results(jaxpr, names)}) }}"
        return
    yield f"{head} let"
    for equation in jaxpr.eqns:
        yield from ("    " + line for line in _equation_lines(equation, names))
    yield f"  in ({_results(jaxpr, names)}) }}"


def _results(jaxpr: Any, names: Names) -> str:
    return ", ".join(names.of(x) for x in jaxpr.outvars) + ("," if len(jaxpr.outvars) == 1 else "")


def _equation_lines(equation: Any, names: Names) -> Iterator[str]:
    operands = " ".join(names.of(x) for x in equation.invars)
    parameters = [_parameter_lines(key, value, names) for key, value in shown_parameters(equation.operation).items()]
    left = " ".join(names.typed(v) for v in equation.outvars)
    inside = " ".join(line for lines in parameters for line in lines)
    name = equation.operation.name
    short = f"{left} = {name}[{inside}] {operands}" if parameters else f"{left} = {name} {operands}"
    if all(len(lines) == 1 for lines in parameters) and len(short) <= _WIDTH:
        yield short.rstrip()
        return
    yield f"{left} = {name}["
    for lines in parameters:
        yield from ("  " + line for line in lines)
    yield f"] {operands}".rstrip()


def shown_parameters(operation: Operation) -> dict[str, Any]:
    """The parameters that say something: those with a value of None are left out."""
    return {key: value for key, value in operation.params.items() if value is not None}


def _parameter_lines(key: str, value: Any, names: Names) -> list[str]:
    if hasattr(value, "jaxpr") or hasattr(value, "eqns"):
        first, *rest = jaxpr_text(value, names).split("\n")
        return [f"{key}={first}", *rest]
    return [f"{key}={parameter_text(value)}"]


def parameter_text(value: Any) -> str:
    """A static parameter as text: dtypes by name."""
    return value.name if hasattr(value, "itemsize") and hasattr(value, "name") else str(value)
