"""Provenance of traced values, as text for errors about tracers."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from ..ir.jaxpr import ClosedJaxpr, RawEquation, Var
from ..ir.sources import locate, user_line, where_text

_MOST_NAMED = 3


class Traced:
    """Function being traced: its name, the variables of its arguments, and the user's names for them."""

    __slots__ = ("invars", "name", "names")

    def __init__(self, name: str, invars: Sequence[Var], names: Sequence[str] | Callable[[], Sequence[str]]) -> None:
        self.name = name
        self.invars = invars
        self.names = names

    def argument_names(self) -> Sequence[str]:
        """Return the user's names for the arguments, as far as they are known."""
        return self.names() if callable(self.names) else self.names

    def positional_names(self) -> Sequence[str]:
        """Return the names of the positional parameters, where what finds the arguments' names was given them."""
        given = getattr(self.names, "args", ())
        return given[0] if given else ()


class Ended:
    """Summary of a trace that has ended: the name of its function, and a weak reference to its program."""

    __slots__ = ("name", "program")
    alive: ClassVar[bool] = False
    parent: ClassVar[None] = None

    def __init__(self, name: str, program: ClosedJaxpr | None) -> None:
        self.name = name
        self.program = None if program is None else weakref.ref(program)


def origin_text(tracer: Any) -> str:
    """Return a sentence, with a leading space, naming the arguments that a traced value depends on; or ""."""
    variable = _variable(tracer)
    mapped = " It stands for every example of a vmap at once." if _is_mapped(tracer) else ""
    return mapped if variable is None else _origin_of(tracer, variable) + mapped


def _origin_of(tracer: Any, variable: Var) -> str:
    """Return the sentence about a value that ends in a variable of a program, with a space in front; or nothing."""
    trace = variable._trace
    traced: Traced | None = getattr(trace, "traced", None)
    if traced is None:
        return ""
    made = _made_by(variable, trace.equations)
    if made is None:
        return _sentence("is", _arguments(variable, trace, traced), traced.name)
    computed = f"was computed by {made[0].name}{_elsewhere(made)}"
    if depends_on_nothing(tracer):
        return f" It {computed} from known values alone."
    return _sentence(f"{computed} from", _arguments(variable, trace, traced), traced.name)


def dependence_text(tracer: Any) -> str:
    """Return how a traced value hangs on the arguments, to go on after a name: ``depends on the argument x``."""
    variable = _variable(tracer)
    traced: Traced | None = getattr(getattr(variable, "_trace", None), "traced", None)
    names = [] if variable is None or traced is None else _arguments(variable, variable._trace, traced)
    if variable is None or traced is None or not names:
        return "differs from example to example of a vmap" if _is_mapped(tracer) else "is a traced value"
    verb = "is" if _made_by(variable, variable._trace.equations) is None else "depends on"
    return f"{verb} {_listed(names)}"


def is_mapped(tracer: Any) -> bool:
    """Return whether a traced value is one of each example of a vmap."""
    return _is_mapped(tracer)


def static_advice(tracer: Any) -> str:
    """Return how the one number that a value depends on is made static: ``n static: jit(f, static_argnums=1)``.

    Nothing where it depends on several arguments, on an array, on a part of an argument, or on those of no jit.
    """
    variable = _variable(tracer)
    traced: Traced | None = getattr(getattr(variable, "_trace", None), "traced", None)
    if variable is None or traced is None or _is_mapped(tracer):
        return ""
    needed = _needed(variable, variable._trace.equations)
    pairs = [(n, v) for n, v in zip(traced.argument_names(), traced.invars, strict=False) if id(v) in needed]
    if len(pairs) != 1 or not pairs[0][0].isidentifier() or pairs[0][1].aval.shape:
        return ""
    name = pairs[0][0]
    positional = traced.positional_names()
    which = f"static_argnums={positional.index(name)}" if name in positional else f"static_argnames={name!r}"
    function = traced.name if traced.name.isidentifier() else "f"
    return f"{name} static: jit({function}, {which})"


def depends_on_nothing(tracer: Any) -> bool:
    """Return whether a traced value was computed from constants alone, so that Python could have computed it."""
    variable = _variable(tracer)
    trace = getattr(variable, "_trace", None)
    traced: Traced | None = getattr(trace, "traced", None)
    if variable is None or trace is None or traced is None:
        return False
    eqn = _made_by(variable, trace.equations)
    if eqn is None:
        return False
    return not _needed(variable, trace.equations) & {id(v) for v in traced.invars}


def function_text(tracer: Any) -> str:
    """Return the name of the function that is being traced for a value; "the function" where it is not known."""
    traced = getattr(getattr(_variable(tracer), "_trace", None), "traced", None)
    return (traced is not None and traced.name) or "the function"


def ended_text(value: Any) -> str:
    """Return a sentence, with a leading space, about where a value of an ended trace comes from; or ""."""
    ended = value._trace
    if not isinstance(ended, Ended) or not ended.name:
        return ""
    program = ended.program() if ended.program is not None else None
    if program is None:
        return f" It belongs to {ended.name}."
    if value in program.jaxpr.invars:
        names = program.jaxpr.argument_names
        index = program.jaxpr.invars.index(value)
        return f" It is the argument {names[index]} of {ended.name}." if index < len(names) else ""
    eqn = _made_by(value, program.jaxpr.raw)
    if eqn is None:
        return f" It belongs to {ended.name}."
    return f" It was computed by {eqn[0].name}{where_text(locate(eqn[3], eqn[4]))} while {ended.name} was traced."


def _variable(tracer: Any) -> Any:
    """Return the jaxpr variable under a tracer, looking through transformations; None if there is none."""
    while tracer is not None and not isinstance(tracer, Var):
        tracer = tracer.inner() if hasattr(tracer, "inner") else None
    return tracer


def _is_mapped(tracer: Any) -> bool:
    while tracer is not None:
        if hasattr(tracer, "axis"):
            return True
        tracer = tracer.inner() if hasattr(tracer, "inner") else None
    return False


def _made_by(variable: Var, equations: Iterable[RawEquation]) -> RawEquation | None:
    return next((raw for raw in equations if any(y is variable for y in raw[2])), None)


def _elsewhere(eqn: RawEquation) -> str:
    """Return where an equation was recorded, "" for the line that the error names already."""
    location, user = locate(eqn[3], eqn[4]), user_line()
    if location is None or (user is not None and (location.file, location.line) == (user.file, user.line)):
        return ""
    return where_text(location)


def _arguments(variable: Var, trace: Any, traced: Traced) -> list[str]:
    """Return the names of the arguments that a variable depends on."""
    needed = _needed(variable, trace.equations)
    names = traced.argument_names()
    return [name for name, v in zip(names, traced.invars, strict=False) if id(v) in needed]


def _needed(variable: Var, equations: Sequence[RawEquation]) -> set[int]:
    """Return the ids of the values that a variable depends on, including its own."""
    needed = {id(variable)}
    for _, inputs, outputs, *_ in reversed(equations):
        if any(id(y) in needed for y in outputs):
            needed.update(id(x) for x in inputs)
    return needed


def _sentence(computed: str, names: list[str], function: str) -> str:
    if not names:
        return ""
    return f" It {computed} {_listed(names)} of {function or 'the function'}."


def _listed(names: Sequence[str]) -> str:
    """Return ``the arguments x, y``."""
    listed = ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
    return f"the argument{'s' if len(names) > 1 else ''} {listed}"
